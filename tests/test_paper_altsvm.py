"""PaperAltSVM: the published objective and algorithm, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

import rather
from rather import AltSVM, Comparisons, InputError, PaperAltSVM

LOSSES = {
    "squared_hinge": lambda x: np.maximum(0, 1 - x) ** 2,
    "hinge": lambda x: np.maximum(0, 1 - x),
    "logistic": lambda x: np.log1p(np.exp(-x)),
}


@pytest.fixture(scope="module")
def world():
    return rather.simulate(n_users=40, n_items=15, rank=2, per_user=20, seed=0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["sdca", "newton"])
def test_the_objective_is_the_papers(world, solver, loss):
    """The last objective is the sum of the losses plus one ridge on all vectors, in double precision."""
    model = PaperAltSVM(rank=3, reg=4.0, loss=loss, solver=solver, n_threads=1, max_iter=20).fit(world.comparisons)
    U, V = (x.astype(float) for x in (model.user_factors_, model.item_factors_))
    pairs = world.comparisons.pairs()
    margin = np.einsum("tr,tr->t", U[pairs.user], V[pairs.winner] - V[pairs.loser])
    expected = LOSSES[loss](margin).sum() + 2.0 * (np.square(U).sum() + np.square(V).sum())
    assert model.history_[-1]["objective"] == pytest.approx(expected, rel=1e-4)
    assert not model.item_bias_.any()


def test_a_tie_is_half_a_vote_each_way():
    """A tie and the two half votes that it stands for give the same factors."""
    votes = {"user": ["a", "b", "a"], "winner": ["x", "y", "y"], "loser": ["y", "z", "z"], "tie": [1, 0, 0]}
    tied = Comparisons.from_frame(votes, tie="tie")
    halves = {
        "user": ["a", "a", "b", "a"], "winner": ["x", "y", "y", "y"], "loser": ["y", "x", "z", "z"],
        "weight": [0.5, 0.5, 1, 1],
    }  # fmt: skip
    models = [
        PaperAltSVM(rank=2, reg=1.0, solver="newton", max_iter=4, tol=0).fit(data)
        for data in (tied, Comparisons.from_frame(halves, weight="weight"))
    ]
    np.testing.assert_allclose(models[0].user_factors_, models[1].user_factors_, rtol=1e-5, atol=1e-7)


def test_probabilities_come_from_the_same_objective(world, monkeypatch):
    """Calibration refits an AltSVM with the paper's objective, its loss and its reg, to what is not held out."""
    refits = []
    fit = AltSVM._fit
    monkeypatch.setattr(AltSVM, "_fit", lambda self, data: refits.append(self.get_params()) or fit(self, data))
    model = PaperAltSVM(rank=3, reg=4.0, loss="logistic", n_threads=1, max_iter=5).fit(world.comparisons)
    left, right = model.rank("user 0")["item"][[0, -1]]
    assert model.probability("user 0", left, right)[0] > 0.5
    expected = {
        "rank": 3, "reg": 4.0, "loss": "logistic", "bias": False, "item_power": 0.0, "user_power": 0.0, "balance": 0.0,
        "exposure": False, "ties": "half",
    }  # fmt: skip
    assert refits and all(expected.items() <= params.items() for params in refits)


def test_reg_is_chosen_on_held_out_answers(world):
    """reg="cv" and, for votes, reg=None choose it; the rank stays."""
    fits = [PaperAltSVM(rank=3, reg=reg, solver="newton", max_iter=3).fit(world.comparisons) for reg in ("cv", None)]
    assert fits[0].reg_ == fits[1].reg_ and len(fits[0].cv_results_) >= 3
    assert {row["rank"] for row in fits[0].cv_results_} == {3}


def test_an_old_file_keeps_its_bias():
    """A file of AltSVM(solver="sdca") has a bias, which its refits and a second file keep."""
    old = rather.load(Path(__file__).parent / "corpus/0.1.0-paper/AltSVM-sdca.model")
    assert old.item_bias_.any() and old._twin().get_params()["bias"] == old.bias_reg_


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"solver": "adam"}, "solver is 'adam'"),
        ({"rank": "auto"}, "rank is 'auto'"),
        ({"rank": None}, "rank is None"),
        ({"reg": "auto"}, "reg is 'auto'"),
        ({"reg": -1.0}, "reg is -1"),
    ],
)
def test_mistakes_are_refused_by_name(world, params, sentence):
    with pytest.raises(InputError, match=sentence):
        PaperAltSVM(**params).fit(world.comparisons)


def test_it_takes_no_update(world):
    model = PaperAltSVM(rank=2, reg=4.0, max_iter=2, n_threads=1).fit(world.comparisons)
    with pytest.raises(InputError, match="cannot be updated"):
        model.update(world.comparisons)
