"""The border of the core: what does not fit is refused by name, never converted, and never read out of bounds."""

import numpy as np
import pytest

from rather import simulate
from rather.native import core, factor

N_USERS, N_ITEMS, RANK = 4, 6, 2
RATED = simulate(n_users=N_USERS, n_items=N_ITEMS, per_user=5, levels=3, seed=1).comparisons
STORE = RATED.store
N = STORE.n_entries


def floats(n):
    return np.ones(n, np.float32)


def whole(*numbers, kind=np.int32):
    return np.array(numbers, kind)


def places(n):
    return np.zeros(n, np.int64)


def clicks():
    return {"start": whole(0, 2, 3, 3, 5, kind=np.int64), "user": whole(0, 0, 1, 3, 3), "item": whole(0, 5, 2, 1, 4)}


def calls():
    """Arguments with which every function and class of the core works."""
    U, V = factor(N_USERS, RANK + 1), factor(N_ITEMS, RANK + 1)
    p, q, beta, weight = floats(N_USERS), floats(N_ITEMS), floats(N_ITEMS), floats(N_USERS)
    state = core.State(STORE, floats(N), floats(N), floats(N), weight)
    lists = core.RatedLists(STORE, core.LISTS["ndcg"], 3, np.ones(N))
    priors = [core.Prior(A, 2, floats(len(A)), 0.5, 1) for A in (U, V)]
    a_pass = core.Pass(p, q, U, V, RANK, 0.1, 0.0, 0.0, 3, 1, 1)
    r = RATED.ratings
    start = np.arange(N_USERS + 1) * 5
    pairs = [len(np.nonzero(np.subtract.outer(x, x) > 0)[0]) for x in r.rating.reshape(N_USERS, 5)]
    pair_start = np.concatenate(([0], np.cumsum(pairs)))
    steps = {"cg_steps": 2, "cg_tol": 0.1, "n_threads": 1}
    draws = {"updates": 3, "seed": 1, "n_threads": 1}
    rated = {"user": r.user, "item": r.item, "rating": r.rating}
    voted = {"user": whole(0, 1, 3), "winner": whole(0, 1, 5), "loser": whole(1, 5, 0)}
    singular = {"left": U, "right": V, "columns": 2, "iterations": 1, "n_threads": 1}
    bundle = {"planes": 5, "gap": 0.1, "n_threads": 1}
    described = {"described": priors[1], "U": U, "C": factor(2, RANK + 1), "V": V, "rank": RANK, "loss_before": 1.0}
    roots = {"user_root": p, "users": priors[0], "item_root": q, "items": priors[1]}
    two = {"winner": places(len(r.user)), "loser": places(len(r.user)), "n_threads": 1}
    seen = {"seen_start": clicks()["start"], "seen": clicks()["item"]}
    left, right = whole(0, -1, N_USERS - 1), whole(0, 1, N_ITEMS - 1)
    gone = {"start": whole(0, 1, 2, kind=np.int64), "excluded": whole(0, N_ITEMS - 1)}
    best = {"item": np.zeros((2, 3), np.int32), "score": np.zeros((2, 3), np.float32)}
    one_by_one = core.store_from_pairs(N_USERS, N_ITEMS, *voted.values(), None, None, 1)
    votes = {
        "store": one_by_one,
        "count": np.ones(3),
        "lead": np.zeros(3),
        "context": floats(6).reshape(3, 2),
        "rank": 2,
    }
    both = {"rows": np.ones((2, N_ITEMS, 3)), "effect": np.ones((2, 2)), "own": np.ones(2)}  # draws
    pair_state = core.State(one_by_one, floats(6), floats(6), floats(6), weight, floats(3))
    return {
        "most_flops": {"n_threads": 1},
        "most_bytes": {"n_threads": 1, "bytes": 1 << 12},
        "store_from_ratings": {"n_users": N_USERS, "n_items": N_ITEMS, **rated, "n_threads": 1},
        "store_from_pairs": {
            "n_users": N_USERS, "n_items": N_ITEMS, **voted, "weight": floats(3), "gap": floats(3), "n_threads": 1,
        },
        "connected_parts": {"store": STORE, "part": np.zeros(N_ITEMS, np.int32)},
        "comparisons_per_user": {"store": STORE, "out": np.zeros(N_USERS)},
        "count_comparisons": {"store": STORE, "users": np.zeros(N_USERS), "items": np.zeros(N_ITEMS)},
        "sample_clicks": {
            "start": clicks()["start"], "clicked": clicks()["item"], **seen, "n_items": N_ITEMS, "per_user": 2,
            "seed": 1, "winner": whole(*range(8)), "loser": whole(*range(8)), "n_threads": 1,
        },
        "sample_unseen": {
            "start": clicks()["start"], "seen": clicks()["item"], "weight": np.ones(N_ITEMS), "wanted": places(4) + 1,
            "place": np.arange(4), "seed": 1, "item": whole(0, 0, 0, 0), "n_threads": 1,
        },
        "sample_items": {
            "n_users": 2, "n_items": N_ITEMS, "per_user": 3, "seed": 1, "item": whole(*range(6)), "n_threads": 1,
        },
        "all_pairs": {
            "start": start, "rating": r.rating, "pair_start": pair_start, "winner": places(pair_start[-1]),
            "loser": places(pair_start[-1]), "n_threads": 1,
        },
        "largest_gaps": {"start": start, "rating": r.rating, "seed": 1, **two},
        "State": {"store": STORE, "m": floats(N), "c": floats(N), "d": floats(N), "weight": weight, "offset": None},
        "user_step": {
            "state": state, "loss": 0, "delta": 0.0, "p": p, "centre": U.copy(), "V": V, "U": U, "rank": RANK,
            "newton_steps": 1, "grad_tol": 0.0, **steps,
        },
        "joint_user_step": {
            "state": state, "loss": 0, "delta": 0.0, "shape": p, "reg": 1.0, "prior": priors[0], "V": V, "U": U,
            "rank": RANK, "loss_before": 1.0, **steps,
        },
        "item_step": {
            "state": state, "loss": 0, "delta": 0.0, "shape": q, "reg": 1.0, "bias_reg": 1.0, "prior": priors[1],
            "U": U, "V": V, "rank": RANK, "loss_before": 1.0, **steps,
        },
        "tied_item_step": {
            "state": state, "loss": 0, "delta": 0.0, "reg": 1.0, "bias_reg": 1.0, **described, **steps,
        },
        "principal": {"F": U, "k": 2, "axes": np.zeros((2, 2)), "n_threads": 1},
        "pair_slopes": {
            "state": pair_state, "loss": 0, "delta": 0.0, "slope": floats(3), "curvature": floats(3), "n_threads": 1,
        },
        "mixed_pass": {
            "store": one_by_one, "V": V, "rank": RANK, "tied": np.zeros(3, np.uint8), "Z": floats(6).reshape(3, 2),
            "fixed": np.zeros(6), "precision": np.eye(3), "people": np.zeros((N_USERS, 4)), "variance": floats(3),
            "count": np.ones(N_USERS), "steps": 1, "moments": np.zeros((3, 3)), "gradient": np.zeros(6),
            "information": np.zeros((6, 6)), "squares": np.zeros((6, 6)), "bound": np.zeros(N_USERS), "n_threads": 1,
        },
        "evaluate": {"state": state, "loss": 0, "delta": 0.0, "n_threads": 1},
        "dual_value": {"state": state, "loss": 2, "delta": 0.0, "tau": 0.5, "n_threads": 1},
        "sdca_users": {
            "store": STORE, "loss": 0, "weight": weight, "p": p, "V": V, "U": U, "rank": RANK,
            "user_dual": floats(STORE.n_comparisons), **draws,
        },
        "sdca_items": {
            "store": STORE, "loss": 0, "weight": weight, "q": q, "beta": beta, "U": U, "V": V, "rank": RANK,
            "item_dual": floats(STORE.n_comparisons), **draws,
        },
        "Pass": {
            "p": p, "q": q, "U": U, "V": V, "rank": RANK, "step": 0.1, "decay": 0.0, "passes_done": 0.0, **draws,
        },
        "Clicks": {**clicks(), "n_items": N_ITEMS},
        "descend_comparisons": {"store": STORE, "loss": 0, "weight": weight, "descent": a_pass},
        "descend_clicks": {"clicks": core.Clicks(**clicks(), n_items=N_ITEMS), "descent": a_pass},
        "robirank_pass": {
            "clicks": core.Clicks(**clicks(), n_items=N_ITEMS), "order": whole(3, 2, 1, 0), "descent": a_pass,
        },
        "scores": {"store": STORE, "U": U, "V": V, "out": floats(N), "n_threads": 1},
        "item_products": {"store": STORE, "coefficient": floats(N), "U": U, "out": V, "n_threads": 1},
        "user_products": {"store": STORE, "coefficient": floats(N), "V": V, "out": U, "n_threads": 1},
        "scaled": {"store": STORE, "c": floats(N), "left": p, "right": q, "out": floats(N), "n_threads": 1},
        "scale_rows": {"out": U.copy(), "by_row": p, "by_column": floats(U.shape[1]), "n_threads": 1},
        "square_sum": {"store": STORE, "x": floats(N), "n_threads": 1},
        "sum_users": {"store": STORE, "x": np.ones(N_USERS), "n_threads": 1},
        "copy_within": {"x": floats(N), "out": floats(N), "largest": 1e9, "n_threads": 1},
        "slope_along": {"state": state, "loss": 0, "delta": 0.0, "x": floats(N), "t": 0.5, "n_threads": 1},
        "row_and_column_sums": {
            "store": STORE, "x": floats(N), "row_absolute": np.ones(N_USERS), "row_square": np.ones(N_USERS),
            "column_square": np.ones(N_ITEMS), "n_threads": 1,
        },
        "singular": {"store": STORE, "coefficient": floats(N), **singular},
        "Prior": {"features": U, "k": 2, "weight": p, "ridge": 0.5, "n_threads": 1},
        "Prior.regress": {
            "self": priors[0], "X": U, "C": np.zeros((2, U.shape[1]), np.float32), "mean": U.copy(), "n_threads": 1,
        },
        "Prior.means": {"self": priors[0], "C": factor(2, RANK + 1), "out": U.copy(), "n_threads": 1},
        "singular_expanded": {"store": STORE, "coefficient": floats(N), **roots, **singular},
        "singular_tied": {
            "store": STORE, "coefficient": floats(N), "user_root": p, "users": priors[0], "described": priors[1],
            **singular,
        },
        "RatedLists": {"store": STORE, "loss": 0, "k": 3, "rating": np.ones(N)},
        "evaluate_lists": {"lists": lists, "m": floats(N), "c": floats(N), "n_threads": 1},
        "bundle_users": {"lists": lists, "V": V, "U": U, "rank": RANK, "reg": 1.0, **bundle},
        "bundle_items": {"lists": lists, "U": U, "V": V, "rank": RANK, "q": q, "beta": beta, **bundle},
        "regress_users": {"store": STORE, "y": floats(N), "V": V, "U": U, "rank": RANK, "reg": 1.0, "n_threads": 1},
        "regress_items": {
            "store": STORE, "y": floats(N), "U": U, "V": V, "rank": RANK, "bias": True, "q": q, "beta": beta,
            "n_threads": 1,
        },
        "score_pairs": {"A": U, "left": left, "B": V, "right": right, "out": floats(3), "n_threads": 1},
        "best_items": {"A": U, "query": whole(0, N_USERS - 1), "B": V, "k": 3, **gone, **best, "n_threads": 1},
        "order_rows": {"start": start, "key": floats(20), "order": places(20), "n_threads": 1},
        "clicked_together": {
            "row": whole(0, 1, 3, kind=np.int64), "user": whole(0, 1, 3), "start": clicks()["start"],
            "item": clicks()["item"], "weight": weight, "n_items": N_ITEMS, "out": floats(2 * N_ITEMS), "n_threads": 1,
        },
        "sum_rows": {
            "start": whole(0, 1, 3, kind=np.int64), "code": whole(0, 3, 2), "B": floats(8), "width": 2,
            "out": floats(4), "n_threads": 1,
        },
        "count_ordered": {
            "start": start, "value": r.rating, "key": floats(20), "min_gap": 0.0, "ordered": places(4),
            "total": places(4), "n_threads": 1,
        },
        "taste_sweep": {
            **votes, "user": whole(0, 1, 3), "item_start": whole(0, 2, 4, 4, 4, 4, 6, kind=np.int64),
            "item_pair": whole(0, 5, 2, 1, 4, 3, kind=np.int64), "rows": np.ones((N_ITEMS, 3)),
            "z": np.ones((N_USERS, 2)), "e": np.ones(6), "effect": np.ones(2), "variance": np.ones(4),
            "scale": np.ones(3), "seed": 1, "sweep": 1, "n_threads": 1,
        },
        "taste_means": {
            **votes, "rows": np.ones((N_ITEMS, 3)), "effect": np.ones(2), "own": np.ones(1), "z": floats(2 * N_USERS),
            "e": floats(6), "n_threads": 1,
        },
        "taste_margins": {
            **votes, **both, "users": whole(0, 3), "start": whole(0, 1, 3, kind=np.int64), "left": whole(0, 1, 2),
            "right": whole(5, 4, 3), "mean": np.ones(3), "variance": np.ones(3), "n_threads": 1,
        },
        "taste_answers": {**votes, **both, "user": 1, "slope": np.ones(2), "curvature": np.ones(2)},
        "polya_gamma": {"b": np.ones(3), "c": np.ones(3), "out": np.ones(3), "seed": 1},
    }  # fmt: skip


OUTPUTS = {
    "out", "winner", "loser", "users", "items", "m", "c", "d", "U", "V", "user_dual", "item_dual", "left", "right",
    "row_absolute", "row_square", "column_square", "slope", "curvature", "people", "variance", "moments", "gradient",
    "information", "squares", "bound", "C", "F", "axes", "mean", "item", "score", "order", "ordered", "total", "part",
    "rows", "z", "e", "effect",
}  # fmt: skip
INPUTS = {  # where arguments of these names are read only
    "store_from_ratings": {"item"}, "store_from_pairs": {"winner", "loser"}, "user_step": {"V"},
    "joint_user_step": {"V"}, "item_step": {"U"}, "sdca_users": {"V"}, "sdca_items": {"U"}, "Clicks": {"item"},
    "robirank_pass": {"order"}, "scores": {"U", "V"}, "item_products": {"U"}, "user_products": {"V"},
    "scaled": {"c", "left", "right"}, "evaluate_lists": {"m"}, "bundle_users": {"V"}, "bundle_items": {"U"},
    "regress_users": {"V"}, "regress_items": {"U"}, "score_pairs": {"left", "right"}, "mixed_pass": {"V"},
    "tied_item_step": {"U"}, "Prior.means": {"C"}, "clicked_together": {"item"},
    "taste_means": {"rows", "effect"}, "taste_margins": {"rows", "effect", "users", "left", "right"},
    "taste_answers": {"rows", "effect"}, "polya_gamma": {"c"},
}  # fmt: skip
ANY_LENGTH = {("robirank_pass", "order"), ("principal", "F")}  # any users may have their turn; rows of any kind
MORE_IS_FINE = {  # more rows, or places, than the codes ask for
    ("score_pairs", "A"), ("score_pairs", "B"), ("best_items", "A"), ("best_items", "B"),
    ("sample_unseen", "weight"), ("sample_unseen", "item"),
}  # fmt: skip
ARRAYS = [
    (f, name) for f, given in calls().items() for name, x in given.items() if isinstance(x, np.ndarray) and x.size > 1
]
WRITTEN = [(f, name) for f, name in ARRAYS if name in OUTPUTS - INPUTS.get(f, set())]
CODES = [
    (f, name)
    for f, name in ARRAYS
    if calls()[f][name].dtype == np.int32 and (f, name) not in WRITTEN  # those that are written may hold anything
]


def call(f, **changed):
    function = core
    for part in f.split("."):
        function = getattr(function, part)
    return function(**{**calls()[f], **changed})


def refused(error, f, **changed):
    """The sentence with which a call is refused: it begins with the name of one of the arguments."""
    with pytest.raises(error, match="; it must ") as caught:
        call(f, **changed)
    name = str(caught.value).split()[0].split("[")[0]
    assert name in calls()[f]
    return name


def test_every_function_is_here_and_works_by_keyword():
    made = {name for name in dir(core) if callable(getattr(core, name)) and not name.startswith("_")}
    assert made - {"Store"} == {f for f in calls() if "." not in f}
    for f in calls():
        call(f)


@pytest.mark.parametrize(("f", "name"), ARRAYS)
def test_no_array_is_converted(f, name):
    """Of another type, or strided, it would be copied: a cost for an input, and the end of what an output got."""
    x = calls()[f][name]
    other = np.int64 if x.dtype == np.int32 else np.float32 if x.dtype == np.float64 else np.float64
    twice = np.repeat(x, 2, axis=-1)[..., ::2]
    assert not twice.flags.c_contiguous
    for bad in (x.astype(other), twice, x.tolist()):
        assert refused(TypeError, f, **{name: bad}) == name


@pytest.mark.parametrize(("f", "name"), WRITTEN)
def test_outputs_are_writable(f, name):
    fixed = calls()[f][name].copy()
    fixed.flags.writeable = False
    assert refused(TypeError, f, **{name: fixed}) == name


@pytest.mark.parametrize(("f", "name"), ARRAYS)
def test_inputs_may_be_read_only(f, name):
    if (f, name) not in WRITTEN:
        fixed = calls()[f][name].copy()
        fixed.flags.writeable = False
        call(f, **{name: fixed})


@pytest.mark.parametrize(("f", "name"), ARRAYS)
def test_lengths_agree(f, name):
    """One row or number too few, or too many, for the store or for the other arguments."""
    x = calls()[f][name]
    for bad in (x[:-1].copy(), np.concatenate((x, x[-1:] + (name == "start")))):
        if (f, name) not in ANY_LENGTH and (len(bad) < len(x) or (f, name) not in MORE_IS_FINE):
            refused((ValueError, IndexError), f, **{name: bad})


@pytest.mark.parametrize(("f", "name"), [(f, name) for f, name in ARRAYS if calls()[f][name].shape[-1] == 16])
def test_rows_are_whole_cache_lines_of_one_length(f, name):
    x = calls()[f][name]
    for columns in (15, 32):
        bad = np.zeros((len(x), columns), np.float32)
        if columns < 32 or (name != "features" and f not in ("mixed_pass", "principal")):  # which may be of any length
            refused(ValueError, f, **{name: bad})


@pytest.mark.parametrize(("f", "name"), CODES)
@pytest.mark.parametrize("code", [-1, 99])
def test_codes_are_in_range(f, name, code):
    bad = calls()[f][name].copy()
    bad[-1] = code
    if f == "score_pairs" and code < 0:
        call(f, **{name: bad})  # unknown: the score is 0
    else:
        assert refused(IndexError, f, **{name: bad}) == name


@pytest.mark.parametrize("f", [f for f, given in calls().items() if "loss" in given])
def test_unknown_losses(f):
    for loss in (-1, 99):
        assert refused(ValueError, f, loss=loss) == "loss"


@pytest.mark.parametrize(
    ("f", "name", "bad"),
    [(f, name, bad) for name, bad in (("n_threads", 0), ("rank", 16), ("rank", -1), ("columns", 17), ("k", -1))
     for f, given in calls().items() if name in given and not (bad == 16 and f.startswith("taste"))]
    + [("Pass", "updates", 0), ("sdca_users", "updates", -1), ("sample_items", "per_user", 7), ("Prior", "k", 17)]
)  # fmt: skip
def test_numbers_are_within_limits(f, name, bad):
    assert refused(ValueError, f, **{name: bad}) == name


def test_what_fits_by_itself_but_not_together():
    voted = core.store_from_pairs(1, 2, whole(0), whole(0), whole(1), None, None, 1)
    empty = core.store_from_pairs(N_USERS, N_ITEMS, whole(), whole(), whole(), None, None, 1)
    state = core.State(voted, floats(2), floats(2), floats(2), floats(1))
    assert refused(ValueError, "evaluate", state=state, loss=core.GAP_LOSSES["gap_logistic"]) == "loss"
    assert refused(ValueError, "State", offset=floats(3)) == "offset"
    assert (
        refused(ValueError, "pair_slopes", state=core.State(STORE, floats(N), floats(N), floats(N), floats(4)))
        == "state"
    )
    assert refused(ValueError, "mixed_pass", store=STORE) == "store"
    assert refused(ValueError, "mixed_pass", steps=0) == "steps"
    assert refused(ValueError, "RatedLists", store=voted, rating=np.ones(2)) == "store"
    assert refused(ValueError, "descend_comparisons", store=empty) == "store"
    assert refused(ValueError, "descend_comparisons", store=voted, weight=floats(1)) == "descent"
    assert refused(ValueError, "sdca_items", store=empty, item_dual=floats(0)) == "updates"
    assert refused(ValueError, "store_from_pairs", user=whole(1, 0, 3)) == "user"
    assert refused(ValueError, "Clicks", item=whole(5, 0, 2, 1, 4)) == "item"
    assert refused(ValueError, "Clicks", user=whole(0, 1, 1, 3, 3)) == "user"
    assert refused(ValueError, "best_items", start=None) == "start"
    assert refused(ValueError, "sample_unseen", wanted=whole(5, 1, 1, 1, kind=np.int64)) == "wanted"
    assert refused(ValueError, "sample_unseen", place=whole(0, 1, 2, 4, kind=np.int64)) == "place"
    all_clicked = core.Clicks(whole(0, 2, kind=np.int64), whole(0, 0), whole(0, 1), 2)
    assert refused(ValueError, "descend_clicks", clicks=all_clicked) == "clicks"


def test_the_sampler_takes_finite_numbers_and_everyones_own_votes():
    """Others would be looked up where they are not, or drawn for without end."""
    assert refused(ValueError, "taste_sweep", user=whole(0, 0, 3)) == "user"
    for f, name in [("taste_sweep", name) for name in ("count", "lead", "variance", "scale")] + [
        ("polya_gamma", "b"), ("polya_gamma", "c"),
    ]:  # fmt: skip
        for number in (np.nan, np.inf, 1e300):
            bad = calls()[f][name].copy()
            bad[-1] = number
            assert refused(ValueError, f, **{name: bad}) == name
    assert refused(ValueError, "polya_gamma", b=np.array([1.0, 1.0, -0.5])) == "b"
