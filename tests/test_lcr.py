"""LCR: the mixture of local models against its definition, its gradient against finite differences."""

from itertools import pairwise

import numpy as np
import pytest

import rather
from rather import LCR, Comparisons, InputError
from rather.native import GAP_LOSSES
from rather.rivals.gaps import gap_problem
from rather.rivals.lcr import LocalModels, _kernel
from rather.solving import lbfgs
from rather.solving.lbfgs import LBFGS
from test_differences import some_ratings

LOSSES = {
    "gap_times_logistic": lambda x, g: g * np.logaddexp(0, -x),
    "gap_logistic": lambda x, g: np.logaddexp(0, g - x),
    "squared_difference": lambda x, g: (x - g) ** 2,
}


def all_scores(model):
    """The matrix of scores, straight from the definition: local models, weights, and the base model elsewhere."""
    s, r = model.fitted.scorer, model.rank_
    q = len(s.anchors)
    near = np.einsum("iq,jq->ij", s.near_users[:, :q].astype(float), s.near_items[:, :q].astype(float))
    top = s.U[:, : q * (r + 1)].astype(float) @ s.V[:, : q * (r + 1)].astype(float).T
    U, V = (F[:, : r + 1].astype(float) for F in (s.base.U, s.base.V))
    return np.where(near > 0, top / np.where(near > 0, near, 1), U @ V.T)


def local_models(comparisons, loss, bandwidth, n_threads=2):
    base = gap_problem(
        comparisons.source, rank=2, loss=loss, reg=1.0, item_power=0.5, balance=0.5, n_threads=n_threads, seed=0
    )
    near = (
        _kernel(F[:, :2], np.array(anchors, np.int32), bandwidth, n_threads)
        for F, anchors in ((base.U, [0, 4, 7]), (base.V, [2, 5, 11]))
    )
    return base, LocalModels(base, *near, 3)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("bandwidth", [0.5, 1.5])
@pytest.mark.parametrize("loss", GAP_LOSSES)
def test_objective_and_gradient(loss, bandwidth, written):
    """The objective is the sum over pairs that defines it, and its gradient that of finite differences."""
    comparisons = some_ratings(seed=3)
    comparisons = comparisons.split(test=0.2)[0] if written else comparisons
    base, local = local_models(comparisons, loss, bandwidth)
    rng = np.random.default_rng(0)
    live = local.start() != 0
    x = (live * rng.normal(size=len(live))).astype(np.float32)
    value, gradient = local.value_and_gradient(x)
    assert (gradient[~live] == 0).all()

    pairs = comparisons.pairs()
    user, winner, loser, gap = pairs.user, pairs.winner, pairs.loser, pairs.gap.astype(float)
    if loss == "squared_difference" and not written:  # ties count
        r = comparisons.ratings
        a, b = np.triu_indices(len(r.user), 1)
        kept = (r.user[a] == r.user[b]) & (np.diff(base.store.start)[r.user[a]] > 0)
        user, winner, loser = r.user[a[kept]], r.item[a[kept]], r.item[b[kept]]
        gap = r.rating[a[kept]] - r.rating[b[kept]]
    scores = np.zeros((base.store.n_users, base.store.n_items))
    scores[np.repeat(np.arange(len(scores)), np.diff(base.store.start)), base.store.item] = base.m
    weight = base.scales.user_weight[user]
    by_hand = (weight * LOSSES[loss](scores[user, winner] - scores[user, loser], gap)).sum()
    assert value == pytest.approx(by_hand + 0.5 * (x.astype(float) ** 2).sum(), rel=1e-5)

    for _ in range(3):
        direction = (live * rng.normal(size=len(x))).astype(np.float32)
        h = 1e-2
        ahead, behind = (local.value_and_gradient(x + np.float32(t) * direction)[0] for t in (h, -h))
        expected = (ahead - behind) / (2 * h)
        assert float(gradient @ direction) == pytest.approx(expected, rel=1e-2, abs=1e-3 * abs(value))


def test_the_ridge_of_local_models():
    """The ridge is the base model's times the mean of sum_t a_t^2 over the data that an anchor is near."""
    base, local = local_models(some_ratings(), "gap_times_logistic", 0.8)
    users = np.repeat(np.arange(base.store.n_users), np.diff(base.store.start))
    near = (local._near_users[users] * local._near_items[base.store.item]).astype(float)[:, :, 0]
    total = near.sum(1)
    assert (total == 0).any() and (total > 0).any()
    share = ((near**2).sum(1)[total > 0] / total[total > 0] ** 2).mean()
    np.testing.assert_allclose(local._user_root.ravel() ** 2, share * base.p, rtol=1e-4)
    item_ridge = np.column_stack((base.q, base.q, base.beta))
    np.testing.assert_allclose(local._item_root[:, 0] ** 2, share * item_ridge, rtol=1e-4)


def test_the_start_is_the_base_model():
    """Where an anchor is near, local models that all agree with the base model score as it does."""
    base, local = local_models(some_ratings(), "gap_times_logistic", 1.0)
    base.refresh()
    m = base.m.copy()
    local.value_and_gradient(local.start())
    np.testing.assert_allclose(base.m, m, rtol=1e-4, atol=1e-5)


def test_local_models_start_at_nothing_where_they_count_for_nothing():
    """Rows that an anchor is not near are zero at the start, and only those."""
    _, local = local_models(some_ratings(), "gap_times_logistic", 0.8)
    for rows, near in zip(local._split(local.start()), (local._near_users, local._near_items), strict=True):
        assert (near == 0).any()
        np.testing.assert_array_equal((rows != 0).any(axis=2), near[:, :, 0] > 0)


def test_kernel_by_hand():
    """Right angles are at distance 1, opposites at 2, and a vector of zeros is at a right angle to all."""
    vectors = np.array([[2, 0], [0, 3], [1, 1], [-1, 0], [0, 0]], np.float32)
    found = _kernel(vectors, np.array([0], np.int32), 1.5, 1)[:, 0]
    np.testing.assert_allclose(found, [1, 1 - 4 / 9, 1 - 1 / 9, 0, 1 - 4 / 9], atol=1e-6)


def test_lbfgs_minimises_a_quadratic():
    """Twenty steps on a badly scaled quadratic reach its minimum, each lower than the one before."""
    scale, centre = np.array([1, 10, 100, 3], np.float32), np.array([1, -2, 3, 0.5], np.float32)
    solver = LBFGS(
        lambda x: (0.5 * float((scale * (x - centre) ** 2).sum()), scale * (x - centre)), np.zeros(4, np.float32)
    )
    values = [solver.value] + [solver.round()["objective"] for _ in range(20)]
    assert all(b <= a for a, b in pairwise(values))
    np.testing.assert_allclose(solver.x, centre, atol=1e-4)


@pytest.mark.parametrize("loss", GAP_LOSSES)
@pytest.mark.parametrize("bandwidth", [0.3, 1.2])
def test_fit(loss, bandwidth):
    """The objective never rises; scores and lists are the definition's."""
    comparisons = some_ratings(n_users=30, n_items=20)
    model = LCR(anchors=4, rank=2, loss=loss, bandwidth=bandwidth, tol=0, max_iter=20).fit(comparisons)
    found = [record["objective"] for record in model.history_]
    assert all(b <= a for a, b in pairwise(found))
    assert found[-1] < found[0]
    expected = all_scores(model)
    users, items = np.repeat(np.arange(30), 20), np.tile(np.arange(20), 30)
    np.testing.assert_allclose(model.score(users, items), expected.ravel(), rtol=1e-3, atol=1e-4)
    listed = model.recommend(model.users_, k=5, exclude="seen")
    seen = {(i, j) for i, j in zip(comparisons.ratings.user, comparisons.ratings.item, strict=True)}
    assert not seen & set(zip(listed["user"], listed["item"], strict=True))
    assert (model.score(listed["user"], listed["item"]) == listed["score"]).all()
    ranked = model.rank(3)
    assert sorted(ranked["item"]) == list(range(20)) and (np.diff(ranked["score"]) <= 0).all()
    assert rather.pairwise_accuracy(model, comparisons) > 0.6


def test_one_anchor_that_is_near_everything_is_one_model():
    """With one local model the weights cancel: scores are a product of factors of the given rank and a bias."""
    model = LCR(anchors=1, rank=2, bandwidth=10).fit(some_ratings(n_users=30))
    scores = all_scores(model)
    assert np.linalg.matrix_rank(scores - scores.mean(0), tol=1e-4) <= 2


def test_lists_do_not_depend_on_blocks(monkeypatch):
    model = LCR(anchors=3, rank=2).fit(some_ratings())
    lists = []
    for block in (1, 2**22):
        monkeypatch.setattr("rather.models.scorers.BLOCK", block)
        table = model.recommend(model.users_, k=15, exclude="seen")
        lists.append({name: column.tolist() for name, column in table.columns.items()})
    assert lists[0] == lists[1]


def test_threads_and_runs_agree():
    """The same bits on one thread, on three, and again; another seed draws other anchors."""
    comparisons = some_ratings(n_users=30)
    models = [LCR(anchors=3, rank=2, n_threads=n).fit(comparisons) for n in (1, 3, 3)]
    assert all((m.fitted.scorer.V == models[0]._V).all() and m.anchors_ == models[0].anchors_ for m in models)
    assert LCR(anchors=3, rank=2, seed=1, max_iter=1).fit(comparisons).anchors_ != models[0].anchors_


def test_loaded_is_saved(tmp_path):
    model = LCR(anchors=3, rank=2, bandwidth=0.8).fit(some_ratings()).calibrate()
    path = tmp_path / "m.rather"
    model.save(path)
    loaded = rather.load(path)
    users, items = np.repeat(model.users_, 15), np.tile(model.items_, 12)
    assert (loaded.score(users, items) == model.score(users, items)).all()
    assert loaded.rank(2)["item"].tolist() == model.rank(2)["item"].tolist()
    assert (loaded.probability(1, items, 0) == model.probability(1, items, 0)).all()
    assert (loaded.anchors_, loaded.reg_, loaded.history_) == (model.anchors_, model.reg_, model.history_)


def test_damaged_files_are_refused(tmp_path):
    """Altered bytes are refused: the checksum covers the tensors, and the header is checked."""
    path = tmp_path / "m.rather"
    LCR(anchors=2, rank=1).fit(some_ratings()).save(path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        altered = bytearray(content)
        altered[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(altered)
        try:
            loaded = rather.load(path)
        except rather.FileError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            loaded.recommend(loaded.users_, k=3)
    assert refused == 200


def test_factors_are_those_of_the_last_step_that_was_lower(monkeypatch):
    """A step whose trials are all higher leaves the factors where they were."""
    found = LocalModels.value_and_gradient
    calls = 0

    def higher_after_five(self, x):
        nonlocal calls
        calls += 1
        value, gradient = found(self, x)
        return (value if calls <= 5 else 2 * abs(value)), gradient

    monkeypatch.setattr(LocalModels, "value_and_gradient", higher_after_five)
    monkeypatch.setattr(lbfgs, "SHORTEST", 0.3)  # the last trial is far from where the step began
    scores = []
    users, items = np.repeat(np.arange(12), 15), np.tile(np.arange(15), 12)
    LCR(anchors=3, rank=2, max_iter=9, tol=0, callback=lambda m, r: scores.append(m.score(users, items))).fit(
        some_ratings()
    )
    np.testing.assert_array_equal(scores[-1], scores[-2])


def test_interrupted():
    """Ctrl-C in the middle of a step leaves the model of the last whole one."""
    kept = []

    def interrupt(model, record):
        kept.append(model.score(3, 4))
        if record["round"] == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 2 rounds"):
        model = LCR(anchors=3, rank=2, tol=0, callback=interrupt).fit(some_ratings())
    assert model.interrupted_ and model.score(3, 4) == kept[-1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"anchors": 0}, "anchors is 0"),
        ({"rank": 0}, "rank is 0"),
        ({"bandwidth": 0}, "bandwidth is 0"),
        ({"loss": "hinge"}, "loss is 'hinge'"),
        ({"reg": 0}, "reg is 0"),
        ({"max_iter": 1.5}, "max_iter is 1.5"),
        ({"tol": -1}, "tol is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"n_threads": 0}, "n_threads is 0"),
        ({"callback": 3}, "callback is 3"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(InputError, match=message):
        LCR(**params).fit(some_ratings())


def test_votes_are_refused():
    votes = Comparisons.from_frame({"user": [0], "winner": ["a"], "loser": ["b"]})
    with pytest.raises(InputError, match=r"LCR learns from the ratings .* Comparisons\.from_ratings"):
        LCR().fit(votes)


def test_fewer_ratings_than_anchors():
    frame = {"user": [0, 0, 1, 1], "item": [0, 1, 0, 1], "rating": [1, 2, 3, 1]}
    model = LCR(anchors=50, rank=1).fit(Comparisons.from_ratings(frame))
    assert len(model.anchors_) == 4 and np.isfinite(model.score(0, [0, 1])).all()


@pytest.mark.data
def test_movielens_as_good_as_published(data):
    """MovieLens 1M at N = 20: better than the figure the paper gives for LCR."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-1m" / "ratings.parquet", columns=["user", "item", "rating"])
    train, test = rather.split_ratings(frame, per_user=20, seed=0)
    assert rather.ndcg(LCR().fit(Comparisons.from_ratings(train)), test, k=10) > 0.7007
