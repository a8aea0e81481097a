"""The default number of threads is the smallest of the limits on this process, and memory knows its control groups."""

import os

import pytest

from rather import cgroups, cores, memory, native
from rather.cli.main import main


@pytest.fixture(autouse=True)
def _no_limits(monkeypatch, tmp_path):
    """Give each test a process without control groups that may use eight cores."""
    monkeypatch.setattr(cgroups, "_PROC", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    kept = cores._cores, cores._quota
    for cached in kept:
        cached.cache_clear()
    yield
    for cached in kept:
        cached.cache_clear()


def grouped(proc, version, group, root="/", controller="cpu"):
    """Write what /proc says of a process in a group, and return the folder at which the groups are mounted."""
    point = proc / "mounted"
    point.mkdir()
    kind = "cgroup2 cgroup2 rw" if version == 2 else f"cgroup cgroup rw,{controller},{controller}acct"
    line = f"0::{group}" if version == 2 else f"4:{controller},{controller}acct:{group}"
    (proc / "cgroup").write_text(f"1:name=systemd:/elsewhere\n{line}\n")
    (proc / "mountinfo").write_text(
        f"31 23 0:28 / {proc}/other rw,relatime - tmpfs tmpfs rw\n"
        f"32 31 0:29 {root} {point} rw,relatime shared:9 - {kind}\n"
    )
    return point


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def test_without_limits_all_cores_are_used():
    """Cores and affinity alone count where there are no control groups."""
    assert cores.limits() == {"cores": 8, "affinity": 8}
    assert native.threads(None) == 8


def test_affinity_is_kept(monkeypatch):
    """A process that may run on three of the cores uses three threads."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 2, 5})
    assert native.threads(None) == 3


@pytest.mark.parametrize("quota, expected", [("150000 100000", 2), ("50000 100000", 1), ("200000 100000", 2)])
def test_quota_of_version_2_is_rounded_up(tmp_path, quota, expected):
    """A quota of one and a half processors allows two threads."""
    write(grouped(tmp_path, 2, "/pod/one") / "pod" / "one", cpu__max=quota)
    assert native.threads(None) == expected


def test_quota_of_version_1(tmp_path):
    """The older files have the quota and the period apart."""
    write(grouped(tmp_path, 1, "/"), cpu__cfs_quota_us="250000", cpu__cfs_period_us="100000")
    assert native.threads(None) == 3


def test_no_quota(tmp_path):
    """A quota of "max", or of -1, limits nothing."""
    point = grouped(tmp_path, 2, "/pod")
    write(point / "pod", cpu__max="max 100000")
    assert "cgroup" not in cores.limits()
    cores._quota.cache_clear()
    write(tmp_path, cgroup="4:cpu:/pod", mountinfo=f"32 31 0:29 / {point} rw - cgroup cgroup rw,cpu")
    write(point / "pod", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert "cgroup" not in cores.limits()


def test_groups_around_a_group_limit_it_too(tmp_path):
    """The tightest group from the innermost to the outermost decides."""
    point = grouped(tmp_path, 2, "/pod/one")
    write(point / "pod" / "one", cpu__max="600000 100000")
    write(point / "pod", cpu__max="400000 100000")
    assert cores.limits()["cgroup"] == 4


@pytest.mark.parametrize("root, group", [("/docker/ab", "/docker/ab"), ("/", "/../docker/ab")])
def test_a_container_sees_its_own_group_at_the_mount_point(tmp_path, root, group):
    """The group's name may be one outside the container; its files lie at the mount point."""
    write(grouped(tmp_path, 2, group, root), cpu__max="300000 100000")
    assert cores.limits()["cgroup"] == 3


@pytest.mark.parametrize("value, expected", [("3", 3), ("2,1", 2), ("64", 8), ("", 8), ("0", 8), ("many", 8)])
def test_omp_num_threads(monkeypatch, value, expected):
    """OMP_NUM_THREADS limits the default; a value that is no number of threads is ignored."""
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert native.threads(None) == expected


def test_a_given_number_is_taken(monkeypatch):
    """A number that the caller gives is taken as it is."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert native.threads(5) == 5


def test_workers_of_joblib():
    """The inner limit that joblib sets for its workers is the number of threads in them."""
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config("loky", inner_max_num_threads=1):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(_threads_here)() for _ in range(2))
    assert found == [1, 1]


def _threads_here():
    from rather import native

    return native.threads(None)


def test_the_doctor_says_which_limit_decides(monkeypatch, capsys):
    """The report has the default number, every limit, and the name of the smallest."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert main(["doctor"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "2 by default, limited by OMP_NUM_THREADS (cores: 8, affinity: 8, OMP_NUM_THREADS: 2)" in out


@pytest.mark.parametrize("version", [1, 2])
def test_memory_of_the_groups_of_this_process(tmp_path, version):
    """The tightest group decides, and its file cache counts as free."""
    point = grouped(tmp_path, version, "/pod/one", controller="memory")
    limit, used = (
        ("memory__max", "memory__current") if version == 2 else ("memory__limit_in_bytes", "memory__usage_in_bytes")
    )
    stat = "anon 1\ninactive_file 100" if version == 2 else "cache 1\ntotal_inactive_file 100"
    write(point / "pod" / "one", **{limit: "5000", used: "900", "memory__stat": stat})
    write(point / "pod", **{limit: "3000", used: "1100", "memory__stat": stat})
    assert memory.available() == 2000
