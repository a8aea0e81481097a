"""A few seconds of the fuzzing campaigns: nothing crashes, is mixed, is lost or is taken for something else."""

from collections import Counter

import pytest

from rather import Comparisons, PaperAltSVM

isolated = pytest.importorskip("fuzz.isolated", reason="fuzz/ is part of a checkout only")
TINY = {"files": 2_000, "frames": 300, "fits": 60, "interrupts": 6, "threads": 1}  # make test-all has a kill


@pytest.mark.thorough
@pytest.mark.parametrize("name", TINY)
def test_a_short_campaign(name):
    """No case of a small number fails; a failure names the seed and the case to run again."""
    outcome = isolated.campaign(name, TINY[name], seed=0)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.counts, "nothing was tried"


def test_an_objective_that_single_precision_does_not_resolve():
    """A converged fit whose margins are right to all digits is not blamed for the last of them."""
    fits = pytest.importorskip("fuzz.fits")
    stars = {"user": [0, 0, 0], "item": [0, 1, 2], "rating": [1.0, 0.2, 1.0]}
    params = {"reg": 10**-8.5, "tol": 0.0}
    data = Comparisons.from_ratings(stars, keep="largest-gap")
    model = PaperAltSVM(rank=2, seed=0, n_threads=1, **params).fit(data)
    count = Counter()
    fits._converged(model, params, count)
    assert model.converged_ and count["converged fits of sdca checked"] == 1
