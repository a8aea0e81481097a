"""How many answers to ask for: comparisons per user, planned from a formula that simulations calibrated."""

from __future__ import annotations

import math

from ..errors import number

# Fitted, and then rounded, by paper/calibrate_needed.py.
CERTAIN, NOISY, MORE = 0.5, 0.6, 0.5


def answers_needed(n_users: int, n_items: int, rank: int, share: float = 0.9, noise: float = 0.5) -> int:
    """Comparisons to plan for, *per user*, so that fresh answers are predicted nearly as well as can be.

        (0.5 + 0.6 noise^2) / (1 - share)  (rank + 1/2)  (1 + sqrt(n_items / n_users))^2

    Park et al. (2015) prove that about rank (1 + n_items / n_users) comparisons per user are necessary and, up to
    logarithms, sufficient. What stands in its place here is of the same order (the last factor lies between
    1 + n_items / n_users and twice that) and fitted simulations better: AltSVM with a ridge by rule in 80 worlds of 30
    to 2,000 users, 30 to 500 items, ranks 1 to 8, noise 0.25 to 2, for shares 0.5 to 0.95. Eight of ten needed 0.82 to
    1.25 times as many. Today's default chooses its ridge and needs fewer: in 60 other worlds it reached the share in
    97 %, at the worst 0.003 short of it, and on average 0.09 more. See docs/theory.md.

    It is a plan for a world like those of :func:`simulate`: tastes of exactly that rank, pairs drawn uniformly,
    everyone answering equally often, every answer independent and as noisy as the next. Real people have tastes of no
    exact rank, compare popular items more often, and some answer hardly at all. So take it for the order of magnitude,
    run a pilot, and judge by held-out answers (:meth:`Comparisons.split`).

    Parameters
    ----------
    n_users, n_items : int
    rank : int
        Number of independent traits that tastes differ by; more than users or items can tell apart counts as that many.
    share : float
        Accuracy above chance to be reached, as a share of what someone who knows the truth would reach: above 0 and
        below 1. Where the truth predicts 80 % of answers, 0.9 means 0.5 + 0.9 (0.8 - 0.5) = 77 %.
    noise : float
        As in :func:`simulate`: differences of scores between items are about 1.4 / noise in log-odds. At rank 3, 0.25,
        0.5, 1 and 2 let the truth predict 88, 80, 71 and 62 % of answers.

    Returns
    -------
    int
        At least 1 and at most the number of different pairs of items.

    References
    ----------
    D. Park, J. Neeman, J. Zhang, S. Sanghavi, I. Dhillon: Preference Completion: Large-scale Collaborative Ranking from
    Pairwise Comparisons. ICML 2015 (Theorems 3.1 and 3.2).

    Examples
    --------
    >>> import rather
    >>> rather.answers_needed(n_users=1000, n_items=100, rank=3)
    40
    >>> rather.answers_needed(n_users=20, n_items=100, rank=3)      # a small crowd must answer more
    239
    """
    number("n_users", n_users, at_least=1, integer=True)
    number("n_items", n_items, at_least=2, integer=True)
    number("rank", rank, at_least=1, integer=True)
    number("share", share, above=0, below=1)
    number("noise", noise, above=0, at_most=1e6)
    traits = min(rank, n_users, n_items - 1)
    crowd = (1 + math.sqrt(n_items / n_users)) ** 2
    plan = math.ceil((CERTAIN + NOISY * noise**2) / (1 - share) * (traits + MORE) * crowd)
    return min(plan, n_items * (n_items - 1) // 2)
