"""Sums over a group of ranks: the bits of one tree, whatever the sizes; and what happens when a rank is missing."""

import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'rather[spark]'")

from rather.spark import group as module
from rather.spark.group import CHUNK, HEADER, SMALL, Group, GroupError, Listener, Meeting

TOKEN = "not a secret"
JUST = SMALL // 8


@contextmanager
def formed(size, **options):
    """All ranks of a group, in this process."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(Listener("127.0.0.1")) for _ in range(size)]
        addresses = [f"127.0.0.1:{listener.port}" for listener in listeners]
        with ThreadPoolExecutor(size) as pool:
            tasks = [pool.submit(Group, r, addresses, listeners[r], TOKEN, **options) for r in range(size)]
        yield [stack.enter_context(task.result()) for task in tasks]


def sums(groups, arrays):
    """Every rank adds its array; what each has then."""
    arrays = [array.copy() for array in arrays]
    with ThreadPoolExecutor(len(groups)) as pool:
        for task in [pool.submit(group.sum, array) for group, array in zip(groups, arrays, strict=True)]:
            task.result()
    return arrays


def outcomes(*calls):
    """The exceptions, or None, of calls that run at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [task.exception() for task in [pool.submit(*call) for call in calls]]


def tree(arrays):
    """((x0+x1)+(x2+x3))+..."""
    while len(arrays) > 1:
        arrays = [a + b for a, b in zip(arrays[::2], arrays[1::2], strict=True)]
    return arrays[0]


def draw(size, shape, dtype=np.float64, seed=0):
    """Arrays of numbers of very different sizes, whose sum depends on the order."""
    rng = np.random.default_rng(seed)
    return [np.array(rng.normal(size=shape) * 10.0 ** rng.integers(0, 7, shape), dtype) for _ in range(size)]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_sums_are_the_trees_bit_for_bit(size):
    """All lengths, dtypes and shapes, one after the other over the same connections."""
    shapes = [0, 1, 3, size + 1, JUST - 1, JUST, JUST + 1, 2 * JUST + 1, 50_001, (), (7, 3), (0, 4), (301, 30)]
    with formed(size) as groups:
        for dtype in (np.float32, np.float64, np.int64):
            for number, shape in enumerate(shapes):
                arrays = draw(size, shape, dtype, seed=number)
                for found in sums(groups, arrays):
                    assert found.tobytes() == tree(arrays).tobytes()
        assert {group.calls for group in groups} == {3 * len(shapes)}


def test_the_order_of_the_tree_matters():
    """Or the test above would say nothing."""
    arrays = draw(8, 1000, np.float32)
    assert tree(arrays).tobytes() != sum(arrays[1:], arrays[0]).tobytes()


@pytest.mark.parametrize("n", [0, 1, 100, 50_001])
def test_partial_sums_give_the_same_bits(n):
    """Eight ranks, and two with the sums of four each."""
    arrays = draw(8, n, np.float32)
    with formed(8) as eight, formed(2) as two:
        alone = sums(eight, arrays)[0]
        assert sums(two, [tree(arrays[:4]), tree(arrays[4:])])[1].tobytes() == alone.tobytes()


def test_nan_and_infinity_pass():
    """Without a warning, which would be an error here; and whole numbers wrap."""
    big = np.finfo(float).max
    with formed(2) as groups:
        a, b = np.array([np.nan, np.inf, np.inf, big]), np.array([1.0, -np.inf, 1.0, big])
        first, second = sums(groups, [a, b])
        np.testing.assert_array_equal(first, [np.nan, np.nan, np.inf, np.inf])
        assert first.tobytes() == second.tobytes()
        most = np.full(3, np.iinfo(np.int64).max)
        assert (sums(groups, [most, np.ones_like(most)])[0] == np.iinfo(np.int64).min).all()


def test_many_megabytes_do_not_deadlock():
    """More than the sockets' buffers take, in chunks that do not divide it."""
    n = 40 * CHUNK // 8 + 3
    with formed(2) as groups:
        assert (sums(groups, [np.ones(n), np.full(n, 2.0)])[0] == 3).all()


@pytest.mark.parametrize("size", [2, 4, 8])
def test_traffic(size):
    """A small array goes to every partner; of a large one, 2 (T - 1) / T are sent."""
    steps = size.bit_length() - 1
    with formed(size) as groups:
        sums(groups, [np.ones(10)] * size)
        assert {group.sent for group in groups} == {steps * (80 + HEADER.size)}
        sums(groups, [np.ones(80_000)] * size)
        large = 2 * steps * HEADER.size + 640_000 * 2 * (size - 1) // size
        assert {group.sent for group in groups} == {steps * (80 + HEADER.size) + large}
        assert all(group.waited > 0 for group in groups)
        before = groups[0].sent
        sums(groups, [np.ones(JUST)] * size)  # the largest of the small
        assert {group.sent for group in groups} == {before + steps * (SMALL + HEADER.size)}


def test_bulk_waits_for_a_busy_partner():
    """A full window would be taken for a lost machine; so only a header is sent before the partner is there."""
    with formed(2) as groups, ThreadPoolExecutor(1) as pool:
        early = pool.submit(groups[0].sum, np.ones(CHUNK))
        while not groups[0].sent:
            time.sleep(0.01)
        time.sleep(0.1)
        assert groups[0].sent == HEADER.size
        groups[1].sum(np.ones(CHUNK))
        early.result()


def test_a_group_of_one_needs_no_listener():
    with Group(0, ["nowhere:1"], None, TOKEN) as group:
        array = np.arange(3.0)
        group.sum(array)
        assert array.tolist() == [0, 1, 2]
        assert (group.rank, group.size, group.sent, group.calls) == (0, 1, 0, 1)
    with pytest.raises(ValueError, match="needs a listener"):
        Group(0, ["a:1", "b:2"], None, TOKEN)


def test_what_cannot_be_added_is_refused():
    """And the group goes on."""
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with formed(2) as groups:
        for array in (np.ones(3, np.int32), np.ones(3, ">f8"), np.ones((4, 4))[:, ::2], np.ones((4, 4)).T[:2], frozen):
            with pytest.raises(ValueError, match="can only add up"):
                groups[0].sum(array)
        assert sums(groups, [np.ones(1), np.ones(1)])[0] == 2


@pytest.mark.parametrize("size", [0, 3, 6])
def test_the_size_is_a_power_of_two(size):
    with Listener("127.0.0.1") as listener, pytest.raises(ValueError, match=f"a group has {size} addresses"):
        Group(0, ["127.0.0.1:1"] * size, listener, TOKEN)


def test_the_rank_is_one_of_them():
    with pytest.raises(ValueError, match="rank is 2; it must be from 0 to 1"):
        Group(2, ["127.0.0.1:1"] * 2, None, TOKEN)


def test_close_twice():
    with formed(2) as groups:
        groups[0].close()
        groups[0].close()
        with pytest.raises(GroupError, match="has been closed"):
            groups[0].sum(np.ones(1))


@pytest.mark.parametrize("n", [1, 10 * CHUNK])
def test_a_lost_peer_is_noticed_at_once(n):
    """By its partner, which then fails too, and so by all."""
    with formed(4) as groups:
        threading.Timer(0.1, groups[3].close).start()
        errors = outcomes(*((group.sum, np.ones(n)) for group in groups[:3]))
        assert all(isinstance(error, GroupError) for error in errors)
        assert "lost the connection to 127.0.0.1:" in str(errors[2])


CHILD = """
import sys
import numpy as np
from rather.spark.group import Group, Listener
with Listener("127.0.0.1") as listener:
    print(listener.port, flush=True)
    with Group(1, [sys.argv[1], f"127.0.0.1:{listener.port}"], listener, sys.argv[2]) as group:
        group.sum(np.ones(3))
        print("summed", flush=True)
        sys.stdin.read()
"""


def test_a_killed_process_is_noticed():
    with Listener("127.0.0.1") as listener:
        address = f"127.0.0.1:{listener.port}"
        command = [sys.executable, "-c", CHILD, address, TOKEN]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            try:
                other = f"127.0.0.1:{child.stdout.readline().strip()}"
                with Group(0, [address, other], listener, TOKEN) as group:
                    array = np.ones(3)
                    group.sum(array)
                    assert array.tolist() == [2, 2, 2]
                    assert child.stdout.readline() == "summed\n"
                    timer = threading.Timer(0.1, child.kill)
                    timer.start()
                    with pytest.raises(GroupError, match=f"^lost the connection to {other}; the other task has"):
                        group.sum(np.ones(100_000))
            finally:
                child.kill()


def test_a_silent_peer():
    with formed(2, timeout=0.2) as groups:
        began = time.monotonic()
        with pytest.raises(GroupError, match=r"^127.0.0.1:\d+ was silent for 0.2 seconds"):
            groups[0].sum(np.ones(3))
        assert time.monotonic() - began >= 0.2
        groups[1].sum(np.ones(3))  # for which all had come
        with pytest.raises(GroupError, match=r"^lost the connection"):  # but the group was closed
            groups[1].sum(np.ones(3))


@pytest.mark.parametrize(
    ("first", "second"),
    [(np.ones(3), np.ones(4)), (np.ones(4), np.ones(8, np.float32)), (np.ones(3), np.ones(9 * JUST)),
     (np.ones(9 * JUST), np.ones(9 * JUST + 1)), (np.ones(0), np.ones(1))],
)  # fmt: skip
def test_out_of_step(first, second):
    """Arrays of different sizes or dtypes are an error, not a sum."""
    with formed(2) as groups:
        errors = outcomes((groups[0].sum, first), (groups[1].sum, second))
        assert all(isinstance(error, GroupError) for error in errors)
        assert any("out of step: it is at exchange 0 of sum 1" in str(error) for error in errors)


def test_out_of_step_in_number():
    """One rank has left out a sum that the other pair has made."""
    with formed(4) as groups:
        groups[0].calls = groups[1].calls = 1
        errors = outcomes(*((group.sum, np.ones(3)) for group in groups))
        assert all(isinstance(error, GroupError) for error in errors)
        text = "it is at exchange 1 of sum 1, of 24 bytes of float64, and this task at exchange 1 of sum 2"
        assert any(text in str(error) for error in errors)


def test_strangers_are_turned_away(monkeypatch):
    """Who says nothing, something else, or has another token; the group still forms."""
    monkeypatch.setattr(module, "HELLO_SECONDS", 0.3)
    with Listener("127.0.0.1") as first, Listener("127.0.0.1") as second, ExitStack() as stack:
        addresses = [f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}"]
        strangers = [socket.create_connection(("127.0.0.1", first.port), 60) for _ in range(3)]
        for stranger in strangers:
            stack.enter_context(stranger)
        strangers[1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        strangers[2].sendall(b"x" * module.HELLO_SIZE)
        with ThreadPoolExecutor(2) as pool:
            lower = pool.submit(Group, 0, addresses, first, TOKEN)
            with pytest.raises(ConnectionError, match=r"^it turned us away$"):
                Meeting(1, addresses, "guessed", 60.0).call(0, 60.0)
            assert [stranger.recv(1) for stranger in strangers] == [b""] * 3
            with Group(1, addresses, second, TOKEN) as higher, lower.result() as group:
                assert sums([group, higher], [np.ones(1), np.ones(1)])[0] == 2


def test_a_hello_is_good_once():
    """Whoever repeats another rank's hello is turned away, and does not take its place."""
    with Listener("127.0.0.1") as listener, ExitStack() as stack:
        meeting = Meeting(0, ["127.0.0.1:1"] * 4, TOKEN, 60.0)
        guests = []
        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(meeting.admit, {1, 2}, listener)
            for peer, answer in ((1, meeting.hello(0, 1)), (1, b""), (2, meeting.hello(0, 2))):
                guests.append(stack.enter_context(socket.create_connection(("127.0.0.1", listener.port), 60)))
                guests[-1].sendall(meeting.hello(peer, 0))
                assert guests[-1].recv(module.HELLO_SIZE) == answer
            admitted = task.result()
        assert {peer: one.getpeername() for peer, one in admitted.items()} == {
            1: guests[0].getsockname(), 2: guests[2].getsockname(),
        }  # fmt: skip
        for one in admitted.values():
            one.close()


def test_a_stranger_at_a_partners_address():
    """An echo is not an answer."""
    with socket.create_server(("127.0.0.1", 0)) as echo, ThreadPoolExecutor(1) as pool:
        address = f"127.0.0.1:{echo.getsockname()[1]}"
        task = pool.submit(Meeting(1, [address, "127.0.0.1:1"], TOKEN, 60.0).call, 0, 60.0)
        with echo.accept()[0] as connection:
            connection.sendall(connection.recv(100))
            with pytest.raises(ConnectionError, match=r"^what answers there is not one of us$"):
                task.result()


def test_a_missing_peer_is_named():
    """Whom we connect with, and who connects with us; within the time that is given."""
    with Listener("127.0.0.1") as listener, Listener("127.0.0.1") as gone:
        address = f"127.0.0.1:{gone.port}"
        gone.close()
        for rank, addresses, why in ((1, [address, "x:1"], "refused"), (0, ["x:1", address], "it did not connect")):
            text = rf"^{address} could not be reached within 1 seconds \(.*{why}.*\); the ports must be open"
            with pytest.raises(GroupError, match=text):
                Group(rank, addresses, listener, TOKEN, connect_timeout=1)
        late = Meeting(1, [address, "x:1"], TOKEN, 0.0)  # no time is left
        assert "refused" in late.reach(0)


def test_partners_may_be_late():
    """Connecting is tried again until the other rank listens."""
    with Listener("127.0.0.1") as second:
        with Listener("127.0.0.1") as free:
            port = free.port
        addresses = [f"localhost:{port}", f"localhost:{second.port}"]
        with ThreadPoolExecutor(1) as pool:
            task = pool.submit(Group, 1, addresses, second, TOKEN)
            time.sleep(0.15)
            first = Listener("127.0.0.1", range(port, port + 1))
            with first, Group(0, addresses, first, TOKEN) as group, task.result() as other:
                assert sums([group, other], [np.ones(1), np.ones(1)])[1] == 2


def test_ports():
    """The first free one of a range, or none."""
    with Listener("127.0.0.1") as taken:
        with pytest.raises(GroupError, match=rf"cannot listen at a port of range\({taken.port}, .*in use"):
            Listener("127.0.0.1", range(taken.port, taken.port + 1))
        with Listener("127.0.0.1", range(taken.port, taken.port + 20)) as listener:
            assert taken.port < listener.port < taken.port + 20
    with pytest.raises(GroupError, match="it is empty"):
        Listener("127.0.0.1", range(0))
