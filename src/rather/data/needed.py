"""The number of answers to ask of each user, by a formula that was calibrated on simulations."""

from __future__ import annotations

import math

from ..errors import number

# Fitted, and then rounded, by paper/calibrate_needed.py.
CERTAIN, NOISY, MORE = 0.5, 0.6, 0.5


def answers_needed(n_users: int, n_items: int, rank: int, share: float = 0.9, noise: float = 0.5) -> int:
    r"""Plan how many answers to ask of each user.

    The result is a plan for worlds like those of :func:`simulate`: tastes of exactly that rank, random pairs, and users
    who answer equally often. Real users differ, so take the order of magnitude, run a pilot, and judge by held-out
    answers. Use :func:`top_certainty` for one user of a fitted model.

    Parameters
    ----------
    n_users : int
        Number of users who will answer.
    n_items : int
        Number of items to compare.
    rank : int
        Number of independent dimensions in which tastes differ.
    share : float, default 0.9
        Share of the possible accuracy above chance to reach, above 0 and below 1. If the true scores predict 80 % of
        answers, 0.9 means 0.5 + 0.9 (0.8 - 0.5) = 77 %.
    noise : float, default 0.5
        Noise of the answers, as in :func:`simulate`. At rank 3, the true scores predict 88, 80, 71 and 62 % of answers
        for noise 0.25, 0.5, 1 and 2.

    Returns
    -------
    int
        Comparisons to ask of each user: at least 1, at most the number of different pairs.

    Raises
    ------
    InputError
        If a parameter is out of range.

    See Also
    --------
    simulate : Simulate a world to check the plan.
    top_certainty : Estimate how many more answers one user needs.

    Notes
    -----
    The plan is

    .. math::

        \frac{0.5 + 0.6\,\text{noise}^2}{1 - \text{share}} \left(\text{rank} + \tfrac12\right)
        \left(1 + \sqrt{n_\text{items} / n_\text{users}}\right)^2 .

    Park et al. (2015) prove that about rank (1 + n_items / n_users) comparisons for each user are necessary and, up to
    logarithms, sufficient. The formula has this order and fits 80 simulated worlds of 30 to 2,000 users, 30 to 500
    items, ranks 1 to 8 and noise 0.25 to 2. In eight of ten worlds, 0.82 to 1.25 times the plan was needed. The default
    :class:`AltSVM` chooses its regularisation and needs fewer. It reached the share in 97 % of 60 other worlds. The
    page "The theory, seen in simulations" of the site has details.

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
