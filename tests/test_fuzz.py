"""A few seconds of every fuzzing campaign: nothing crashes, is mixed, is lost or is taken for something else."""

import pytest

isolated = pytest.importorskip("fuzz.isolated", reason="fuzz/ is part of a checkout only")
TINY = {"files": 2_000, "frames": 300, "fits": 60, "kills": 1, "interrupts": 6, "threads": 1}


@pytest.mark.parametrize("name", TINY)
def test_a_short_campaign(name):
    """No case of a small number fails; a failure names the seed and the case to run again."""
    outcome = isolated.campaign(name, TINY[name], seed=0)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.counts, "nothing was tried"
