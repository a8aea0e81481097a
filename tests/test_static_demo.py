"""The voting page in the browser: its mathematics in JavaScript agrees with Python's, and it needs no server."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server's packages are not installed: pip install 'rather[serve]'")
static_demo = pytest.importorskip("static_demo", reason="the documentation is not part of this copy")

import rather  # noqa: E402
from rather.models.information import values  # noqa: E402
from rather.server import panels  # noqa: E402
from rather.server.knowledge import Knowledge, Said  # noqa: E402
from rather.server.listed import only_ids  # noqa: E402

ROOT = Path(__file__).parents[1]
NODE = shutil.which("node") or shutil.which("nodejs")
REPLIES = "left", "right", "tie"
N_ITEMS = 12


def sequences():
    """Ten visitors with up to 18 answers, ties among them; the first has said nothing."""
    rng = np.random.default_rng(0)
    for n in range(0, 20, 2):
        pairs = [rng.choice(N_ITEMS, 2, replace=False).tolist() for _ in range(n)]
        yield [{"left": j, "right": k, "reply": REPLIES[rng.choice(3, p=(0.45, 0.45, 0.1))]} for j, k in pairs]


def fitted(**parameters):
    votes = rather.simulate(n_users=40, n_items=N_ITEMS, rank=3, per_user=20, seed=1).comparisons
    return rather.AltSVM(rank=3, **parameters).fit(votes)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def site(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "try"
    static_demo.write(folder, model, "A title")
    return folder


def in_node(folder, said):
    if NODE is None:
        pytest.skip("node is not installed: sudo apt-get install nodejs")
    (folder / "package.json").write_text('{"type": "module"}')
    command = [NODE, ROOT / "tests" / "visitors.mjs", folder]
    done = subprocess.run(command, input=json.dumps(said), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def folded_in(model, said):
    pairs = []
    for answer in said:
        left, right = model.items_[answer["left"]], model.items_[answer["right"]]
        pairs.append({"left": (left, right), "right": (right, left), "tie": (left, right, "tie")}[answer["reply"]])
    return model.fold_in(pairs, asked=True)


def test_visitors_are_as_in_python(model, site):
    """Ten sequences of answers give the same vector, list, next question and panels as in Python."""
    said = list(sequences())
    knowledge = Knowledge(only_ids(model.items_.tolist()), model)
    for answers, visitor in zip(said, in_node(site, said), strict=True):
        person = folded_in(model, answers)
        assert visitor["vector"] == pytest.approx(person.factors.tolist(), abs=1e-4)
        assert visitor["scores"] == pytest.approx(person.score(model.items_).tolist(), abs=1e-3)
        told = [Said(**answer) for answer in answers]
        belief = knowledge.belief(told)
        worth = belief.expected(np.arange(N_ITEMS))
        assert visitor["worth"] == pytest.approx(worth.tolist(), abs=1e-3)

        value = values(belief, knowledge.pool, "everything")[0] * np.outer(1 + knowledge.count, 1 + knowledge.count)
        for answer in answers:
            j, k = answer["left"], answer["right"]
            value[j, k] = value[k, j] = -1
        left, right = np.triu_indices(N_ITEMS, 1)
        best = np.argsort(-value[left, right])[:5]
        fives = {frozenset((model.items_[left[at]], model.items_[right[at]])) for at in best}
        asked = visitor["asked"]
        assert frozenset((asked["left"]["id"], asked["right"]["id"])) in fives
        code = {name: n for n, name in enumerate(model.items_.tolist())}
        pair = np.array([code[asked["left"]["id"]]]), np.array([code[asked["right"]["id"]]])
        assert asked["probability"] == pytest.approx(belief.probability(*pair)[0], abs=1e-3)

        ours, theirs = panels.ranking(knowledge, belief, told, 500), visitor["ranking"]
        assert [row["item"]["id"] for row in theirs["rows"]] == [row["item"]["id"] for row in ours["rows"]]
        for ends in ("best", "worst"):
            assert max(abs(a[ends] - b[ends]) for a, b in zip(ours["rows"], theirs["rows"], strict=True)) <= 2
        assert theirs["settled"]["share"] == pytest.approx(ours["settled"]["share"], abs=0.1)
        assert theirs["settled"]["left"] == ours["settled"]["left"]

        difference = panels.difference(knowledge, belief, told, 10)["rows"]
        assert [row["low"] for row in visitor["difference"]["rows"]] == pytest.approx(
            [row["low"] for row in difference], abs=0.01
        )
        crowd = panels.crowd(knowledge, 3)
        assert [row["item"]["id"] for row in visitor["crowd"]["divides"]] == [r["item"]["id"] for r in crowd["divides"]]
        mine, their_map = panels.taste_map(knowledge, belief, told), visitor["map"]
        for name, number in mine["me"].items():
            assert their_map["me"][name] == pytest.approx(number, abs=1e-3)
        chances = panels.chances(knowledge, belief, told)["chances"]
        for row, chance in zip(visitor["answers"]["answers"][::-1], chances, strict=True):
            assert row["probability"] == (None if chance is None else pytest.approx(chance, abs=1e-3))
        whatif = panels.whatif(knowledge, belief, told, int(pair[0][0]), int(pair[1][0]))
        for reply in ("left", "right"):  # items that move equally far may be in another order
            far = ([row["to"] / row["from"] for row in moves[reply]] for moves in (whatif, visitor["whatif"]))
            theirs_far, ours_far = (np.sort(np.abs(np.log(ratios))).tolist() for ratios in far)
            assert theirs_far == pytest.approx(ours_far)


@pytest.mark.parametrize("parameters", [{"loss": "logistic"}, {"loss": "hinge"}, {"balance": 0.5, "user_power": 0.5}])
def test_vectors_of_other_problems_are_as_in_python(parameters, tmp_path):
    """Every loss, and users' own weights and ridges, give the vectors of fold_in."""
    model, said = fitted(reg=5.0, **parameters), list(sequences())
    static_demo.write(tmp_path, model, "A title")
    for answers, visitor in zip(said, in_node(tmp_path, said), strict=True):
        assert visitor["vector"] == pytest.approx(folded_in(model, answers).factors.tolist(), abs=3e-4)


def test_page_needs_no_server(site):
    """No path of the page is absolute, and its modules are mapped to those that ask nobody."""
    pages = {path.name: path.read_text() for path in site.glob("*.html")}
    assert set(pages) == {"index.html", "arena.html"}
    for text in pages.values():
        assert 'href="/' not in text and 'src="/' not in text and "API" not in text
        assert "Nothing is sent." in text and '"./api.js": "./local.js"' in text
    assert 'id="share" hidden' in pages["index.html"]
    assert json.loads((site / "model.json").read_text())["title"] == "A title"


def test_models_without_vectors_are_refused(tmp_path):
    """One ranking for all has no vectors to write."""
    model = rather.Global().fit(rather.simulate(n_users=20, n_items=5, per_user=10).comparisons)
    with pytest.raises(rather.InputError, match="Global has no item vectors"):
        model.to_json(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
