"""Answers that look like a script's: they are kept, marked, and left out of fits.

- fast: the answer came sooner after the question than anybody reads two cards;
- flood: a visitor gave more answers in a minute than anybody does, or an address more than many people do;
- one side: a visitor took one side far more often than chance, although the sides are drawn.

Times are the server's own, because a browser may send anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

FAST = 0.25  # seconds
MINUTE, OF_VISITOR, OF_ORIGIN = 60.0, 60, 600  # seconds; answers within them
SIDED, LEAST = 1e-6, 20  # chance of as many on one side, by a coin; answers
FIRST = "", "fast", "flood", "one side"


def marked(visitor: Any, origin: Any, reply: Any, asked: Any, answered: Any) -> Any:
    """The mark of each answer, in arrays of the same length: the first of these that holds, or nothing."""
    visitor, origin, reply = (np.asarray(x, object) for x in (visitor, origin, reply))
    asked, answered = np.asarray(asked, np.float64), np.asarray(answered, np.float64)
    made = np.zeros(len(reply), np.int64)
    if len(made):
        made[_of_one_side(visitor, reply)] = 3
        made[_flooding(visitor, answered, OF_VISITOR) | _flooding(origin, answered, OF_ORIGIN)] = 2
        made[answered - asked < FAST] = 1
    return np.array(FIRST, object)[made]


def _flooding(who: Any, when: Any, most: int) -> Any:
    """Return which answers are among too many within a minute."""
    out = np.zeros(len(when), bool)
    code = np.unique(who, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((when, code))
    code, when = code[order], when[order]
    if len(when) <= most:
        return out
    near = (code[most:] == code[:-most]) & (when[most:] - when[:-most] < MINUTE)
    change = np.zeros(len(when) + 1, np.int64)
    np.add.at(change, np.flatnonzero(near), 1)
    np.add.at(change, np.flatnonzero(near) + most + 1, -1)
    out[order] = np.cumsum(change[:-1]) > 0
    return out


def _of_one_side(visitor: Any, reply: Any) -> Any:
    """Return which answers are by visitors who nearly always take one side."""
    names, code = np.unique(visitor, return_inverse=True)
    code = code.reshape(-1)
    left = np.bincount(code[reply == "left"], minlength=len(names))
    right = np.bincount(code[reply == "right"], minlength=len(names))
    n, most = left + right, np.maximum(left, right)
    return ((n >= LEAST) & (2 * scipy.stats.binom.sf(most - 1, n, 0.5) < SIDED))[code]
