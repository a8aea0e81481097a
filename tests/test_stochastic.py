"""BPR, SGD and RobiRank: their steps against the formulas, their objectives against brute force, their promises."""

from types import SimpleNamespace

import numpy as np
import pytest

import rather
from rather import BPR, SGD, Comparisons, PaperAltSVM, RobiRank, simulate
from rather.logistic import sigmoid
from rather.native import LOSSES as CODES
from rather.native import core, factor
from rather.rivals import robirank, stochastic
from rather.rivals.bpr import _click_shares
from rather.rivals.stochastic import click_rows, counts
from rather.solving.reg import reg_scales
from rather.solving.scales import scales
from reference import LOSSES
from test_passes import KINDS

ALL = (BPR, SGD, RobiRank)


def clicks_of(n_users=30, n_items=12, seed=0):
    """Two tastes: even users click even items more often than odd ones, odd users the other way round."""
    rng = np.random.default_rng(seed)
    same = (np.arange(n_users)[:, None] + np.arange(n_items)) % 2 == 0
    user, item = np.nonzero(rng.random((n_users, n_items)) < np.where(same, 0.7, 0.1))
    return Comparisons.from_clicks({"user": user, "item": item}, per_user=20)


def random_factors(n_users, n_items, rank, bias, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    U, V = factor(n_users, rank + 1), factor(n_items, rank + 1)
    U[:, :rank], V[:, :rank] = rng.normal(0, scale, (n_users, rank)), rng.normal(0, scale, (n_items, rank))
    U[:, rank] = float(bias)
    if bias:
        V[:, rank] = rng.normal(0, scale, n_items)
    return U, V


def same_ridges(comparisons, reg):
    return np.full(comparisons.n_users, reg, np.float32), np.full(comparisons.n_items, reg, np.float32)


def mean_direction(U, V, run, repeats, eta):
    """Minus what run(number) adds to U and V, over eta, averaged over repeats that all begin at the same place."""
    start, moved = (U.copy(), V.copy()), [np.zeros(U.shape), np.zeros(V.shape)]
    for number in range(repeats):
        U[:], V[:] = start
        run(number)
        for total, before, after in zip(moved, start, (U, V), strict=True):
            total += (before.astype(float) - after) / (eta * repeats)
    return moved


def gradient(value, A, B, rank, columns):
    """Finite differences of value() in the first ``rank`` columns of A and ``columns`` of B."""
    found = []
    for M, width in ((A, rank), (B, columns)):
        g = np.zeros(M.shape)
        for at in np.ndindex(len(M), width):
            kept = M[at]
            M[at] = kept + 1e-5
            up = value()
            M[at] = kept - 1e-5
            g[at] = (up - value()) / 2e-5
            M[at] = kept
        found.append(g)
    return found


def assert_close_directions(found, wanted, error=0.05):
    for f, w in zip(found, wanted, strict=True):
        assert np.linalg.norm(f - w) <= error * np.linalg.norm(w)


# -- steps and objectives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("bias", [False, True])
def test_one_step_by_hand(loss, bias):
    """One comparison, one step: the three rows move as the formula says, and the fixed column not at all."""
    votes = Comparisons.from_frame({"user": [0], "winner": [2], "loser": [1], "weight": [1.5]}, weight="weight")
    U, V = random_factors(1, 2, 5, bias)
    p, q = np.array([0.3], np.float32), np.array([0.2, 0.4], np.float32)
    u, v = U[0].astype(float), V.astype(float)
    margin, eta = u @ (v[1] - v[0]), 0.1 / (1 + 0.5 * 3)  # item 2 has code 1
    g = 1.5 * LOSSES[loss][1](margin)
    wanted_u = (u - eta * g * (v[1] - v[0])) / (1 + eta * 0.3)
    wanted_u[5] = float(bias)
    wanted_v = np.array([(v[0] + eta * g * u) / (1 + eta * 0.2), (v[1] - eta * g * u) / (1 + eta * 0.4)])
    mean = core.descend_comparisons(
        votes.store, CODES[loss], np.ones(1, np.float32), core.Pass(p, q, U, V, 5, 0.1, 0.5, 3, 1, 0, 1)
    )
    assert mean == pytest.approx(1.5 * LOSSES[loss][0](margin), rel=1e-5)
    np.testing.assert_allclose(U[0], wanted_u, atol=1e-6)
    np.testing.assert_allclose(V, wanted_v, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_counts(kind):
    """Comparisons are counted by user and by item without being written down."""
    comparisons = KINDS[kind](np.random.default_rng(0))
    pairs = comparisons.pairs()
    users, items = counts(comparisons)
    assert (users == np.bincount(pairs.user, minlength=comparisons.n_users)).all()
    both = np.concatenate((pairs.winner, pairs.loser))
    assert (items == np.bincount(both, minlength=comparisons.n_items)).all()


@pytest.mark.parametrize("kind", ["weighted votes", "short ratings"])
def test_steps_follow_the_gradient_of_the_objective(kind):
    """Steps on drawn comparisons with shares of the ridge are, on average, along the gradient of SGD's objective."""
    comparisons = KINDS[kind](np.random.default_rng(1))
    pairs, rank, reg = comparisons.pairs(), 3, 2.0
    weight = 1.0 if pairs.weight is None else pairs.weight
    U, V = random_factors(comparisons.n_users, comparisons.n_items, rank, bias=False)
    users, items = counts(comparisons)
    p, q = (np.asarray(reg / np.maximum(n, 1), np.float32) for n in (users, items))

    A, B = U.astype(float), V.astype(float)
    x = B[pairs.winner] - B[pairs.loser]
    g = (weight * LOSSES["logistic"][1](np.einsum("tk,tk->t", A[pairs.user], x)))[:, None]
    wanted = [reg * A * (users > 0)[:, None], reg * B * (items > 0)[:, None]]  # who is never drawn never moves
    np.add.at(wanted[0], pairs.user, g * x)
    np.add.at(wanted[1], pairs.winner, g * A[pairs.user])
    np.add.at(wanted[1], pairs.loser, -g * A[pairs.user])

    alike, eta, steps = np.ones(comparisons.n_users, np.float32), 1e-4, 20

    def run(number):
        core.descend_comparisons(
            comparisons.store, CODES["logistic"], alike, core.Pass(p, q, U, V, rank, eta, 0, 0, steps, number, 1)
        )

    found = mean_direction(U, V, run, 5000, eta * steps / len(comparisons))
    assert_close_directions(found, wanted, error=0.1)


def test_bpr_from_clicks_follows_its_objective():
    """The mean over all (click, unclicked item), with the ridge of what a draw touches; and the value is reported."""
    comparisons, rank, reg = clicks_of(8, 6), 2, 0.3
    clicks = comparisons.clicks
    has = np.zeros((comparisons.n_users, comparisons.n_items), bool)
    has[clicks.user, clicks.item] = True
    e, k = np.nonzero(~has[clicks.user])
    i, j = clicks.user[e], clicks.item[e]
    share = 1 / (~has).sum(1)[i] / len(clicks.user)
    users, items = _click_shares(clicks, comparisons)
    np.testing.assert_allclose(users, np.bincount(i, share, minlength=comparisons.n_users))
    np.testing.assert_allclose(
        items, np.bincount(np.r_[j, k], np.r_[share, share], minlength=comparisons.n_items), atol=1e-12
    )

    U, V = random_factors(comparisons.n_users, comparisons.n_items, rank, bias=True)
    A, B = U.astype(float), V.astype(float)

    def loss():
        return (share * np.logaddexp(0, -np.einsum("tk,tk->t", A[i], B[j] - B[k]))).sum()

    def value():
        return loss() + reg / 2 * (users @ (A[:, :rank] ** 2).sum(1) + items @ (B**2).sum(1))

    wanted = gradient(value, A, B, rank, rank + 1)
    p, q = same_ridges(comparisons, reg)
    rows, eta, steps, losses = click_rows(clicks, comparisons), 1e-4, 20, []

    def run(number):
        losses.append(core.descend_clicks(rows, core.Pass(p, q, U, V, rank, eta, 0, 0, steps, number, 1)))

    assert_close_directions(mean_direction(U, V, run, 3000, eta * steps), wanted)
    assert np.mean(losses) == pytest.approx(loss(), rel=0.02)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_robirank_follows_its_objective(spread):
    """log2(1 + T) of every click, T over all other items, exactly; and steps on sampled items that average to it."""
    comparisons, rank, reg = clicks_of(8, 70), 2, 0.3
    clicks = comparisons.clicks
    U, V = random_factors(comparisons.n_users, comparisons.n_items, rank, bias=False, scale=spread)
    A, B = U.astype(float), V.astype(float)
    i, j = clicks.user, clicks.item

    def robust():
        s = A @ B.T
        above = np.logaddexp(0, s[i] - s[i, j][:, None]) / np.log(2)
        return np.log2(1 + above.sum(1) - 1)  # the item itself counts 1 in the sum

    def value():
        return robust().sum() + reg / 2 * ((A[i, :rank] ** 2).sum() + (B[j] ** 2).sum())

    wanted = gradient(value, A, B, rank, rank)
    p, q = same_ridges(comparisons, reg)
    rows, eta, found = click_rows(clicks, comparisons), 1e-4, []
    order = np.arange(comparisons.n_users, dtype=np.int32)

    def run(number):
        found.append(core.robirank_pass(rows, order, core.Pass(p, q, U, V, rank, eta, 0, 0, len(i), number, 1)))

    assert_close_directions(mean_direction(U, V, run, 1000, eta), wanted)
    assert found[0] == pytest.approx(robust().mean(), rel=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_sgd_reaches_the_optimum_of_newton(loss):
    """On the same objective the two meet: SGD's is at most 2 per cent above where Newton stops."""
    comparisons = simulate(n_users=60, n_items=20, rank=2, per_user=30, seed=1).comparisons
    sgd = SGD(rank=3, loss=loss, max_iter=60, tol=0, n_threads=1).fit(comparisons)
    plain = PaperAltSVM(rank=3, loss=loss, reg=sgd.reg_, solver="newton", max_iter=60, tol=1e-5).fit(comparisons)
    assert sgd.history_[-1]["objective"] <= 1.02 * plain.history_[-1]["objective"]
    assert sgd.history_[-1]["objective"] < sgd.history_[0]["objective"]


def test_ridges_of_any_size_are_stable():
    """An item in one comparison carries the whole ridge in one step: it goes to zero, not to infinity."""
    model = SGD(rank=2, reg=1e6, n_threads=1).fit(simulate(n_users=20, n_items=10, per_user=5).comparisons)
    assert np.abs(model.item_factors_).max() < 1e-3


# -- what they learn --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [BPR, SGD])
def test_held_out_comparisons_are_predicted(kind):
    train, test = simulate(n_users=150, n_items=30, rank=2, per_user=60, seed=2).comparisons.split(0.2, seed=0)
    model = kind(rank=8, n_threads=1).fit(train)
    assert rather.pairwise_accuracy(model, test) > 0.7


@pytest.mark.parametrize("kind", [BPR, RobiRank])
def test_tastes_are_found_in_clicks(kind):
    """Of what a user has not clicked, items of their own taste come first."""
    comparisons = clicks_of(n_users=200, n_items=20)
    model = kind(rank=2, n_threads=1).fit(comparisons)
    top = model.recommend(comparisons.users, k=1, exclude="seen")
    assert np.mean(top["user"] % 2 == top["item"] % 2) > 0.9


def test_users_who_clicked_everything_are_let_be():
    clicks = {"user": [0, 0, 0, 1], "item": [0, 1, 2, 0]}
    for kind in (BPR, RobiRank):
        model = kind(rank=2, n_threads=1).fit(Comparisons.from_clicks(clicks))
        assert np.isfinite(model.score([0, 1], [2, 0])).all()


# -- the contract -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_one_thread_is_reproducible(kind):
    comparisons = clicks_of()
    first, again, other = (kind(rank=3, max_iter=3, n_threads=1, seed=s).fit(comparisons) for s in (5, 5, 6))
    assert (
        (first.fitted.scorer.U == again.fitted.scorer.U).all()
        and (first.fitted.scorer.V == again.fitted.scorer.V).all()
        and (first.fitted.scorer.V != other.fitted.scorer.V).any()
    )
    assert [r["objective"] for r in first.history_] == [r["objective"] for r in again.history_]


@pytest.mark.parametrize("kind", ALL)
def test_several_threads_learn_as_well(kind):
    comparisons = clicks_of()
    alone, both = (kind(rank=3, max_iter=10, n_threads=n).fit(comparisons) for n in (1, 2))
    assert both.history_[-1]["objective"] == pytest.approx(alone.history_[-1]["objective"], rel=0.1)


@pytest.mark.parametrize("kind", ALL)
def test_saved_is_loaded(kind, tmp_path):
    model = kind(rank=3, max_iter=3, n_threads=1).fit(clicks_of()).calibrate()
    model.save(tmp_path / "m")
    loaded = rather.load(tmp_path / "m")
    assert type(loaded) is kind and loaded.get_params() == model.get_params()
    assert (loaded.score(3, [0, 1]) == model.score(3, [0, 1])).all() and loaded.history_ == model.history_
    assert loaded.probability(3, 0, 1) == model.probability(3, 0, 1)


@pytest.mark.parametrize("kind", [BPR, SGD])
def test_newcomers_are_measured_by_the_same_loss(kind):
    """A newcomer's vector is the minimum of the loss of the answers, weighted as in fit, plus the ridge."""
    model = kind(rank=3, n_threads=1).fit(simulate(n_users=50, n_items=10, per_user=40).comparisons)
    answers = [(model.items_[0], model.items_[1]), (model.items_[2], model.items_[1])]
    u = model.fold_in(answers).factors.astype(float)
    j, k = np.array([0, 2]), np.array([1, 1])
    x = (model.fitted.scorer.V[j] - model.fitted.scorer.V[k]).astype(float)
    g = LOSSES[model.loss_][1](x[:, :3] @ u + x[:, 3])
    weight = 1 / len(answers) if kind is BPR else 1.0  # BPR's ridge is for each step, SGD's once for all
    np.testing.assert_allclose(weight * g @ x[:, :3] + model.reg_ * u, 0, atol=1e-3 * max(1, model.reg_))


def test_the_slope_is_found_on_clicks_not_seen():
    """Held-out clicks are hidden from the twin: probabilities are not those of a memory of the answers."""
    rng = np.random.default_rng(0)
    noise = Comparisons.from_clicks(
        {"user": rng.integers(0, 200, 3000), "item": rng.integers(0, 60, 3000)}, per_user=20
    )
    model = BPR(rank=20, max_iter=30, n_threads=1).fit(noise).calibrate()
    pairs, scores = noise.pairs(), model.fitted.scorer.scores
    sure = sigmoid(model.slope_ * (scores(pairs.user, pairs.winner, 1) - scores(pairs.user, pairs.loser, 1)))
    assert rather.pairwise_accuracy(model, noise) > 0.9 and sure.mean() < 0.75


@pytest.mark.parametrize("kind", ALL)
def test_callback_and_history(kind):
    seen = []
    model = kind(rank=2, n_threads=1, callback=lambda m, r: seen.append(m.score(0, 0)) or r["round"] == 2)
    model.fit(clicks_of())
    assert [r["round"] for r in model.history_] == [1, 2] and len(seen) == 2 and not model.interrupted_
    assert {"round", "seconds", "objective", "gap"} <= set(model.history_[0])


def test_interruption_keeps_what_was_learned():
    def stop(model, record):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 1 rounds"):
        model = BPR(rank=2, n_threads=1, callback=stop).fit(clicks_of())
    assert model.interrupted_ and len(model.rank(0)) == 12


# -- bad input --------------------------------------------------------------------------------------------------------

BAD = {
    "rank": (0, 2.5, "3"),
    "reg": (0, -1, float("inf"), "cv"),
    "step": (0, float("nan")),
    "decay": (-1,),
    "max_iter": (0, 1.5),
    "seed": (-1,),
    "n_threads": (0,),
    "callback": (3,),
}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_bad_parameters(kind, name, value):
    with pytest.raises(rather.InputError, match=f"^{name} is "):
        kind(**{name: value}).fit(clicks_of())


def test_bad_parameters_of_one_kind():
    with pytest.raises(rather.InputError, match=r"^loss is 'cubic'"):
        SGD(loss="cubic").fit(clicks_of())
    with pytest.raises(rather.InputError, match=r"^tol is -1"):
        SGD(tol=-1).fit(clicks_of())
    with pytest.raises(rather.InputError, match=r"^reg is None"):
        RobiRank(reg=None).fit(clicks_of())


def test_robirank_wants_clicks():
    with pytest.raises(rather.InputError, match=r"RobiRank needs clicks.*from_clicks"):
        RobiRank().fit(simulate(n_users=10, n_items=5).comparisons)


def test_steps_that_diverge():
    with pytest.raises(rather.InputError, match=r"objective became .* smaller than 1000"):
        SGD(step=1000, decay=0, reg=1e-3, n_threads=1).fit(simulate(n_users=30, n_items=10, per_user=30).comparisons)


# -- real data --------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_movielens_100k(data):
    """The paper's Figure 1: a fifth of the pairs held out, BPR orders three quarters of them."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(data / "ml-100k" / "ratings.parquet", columns=["user", "item", "rating"])
    train, test = Comparisons.from_ratings(frame).split(0.2, seed=0)
    assert rather.pairwise_accuracy(BPR(max_iter=10).fit(train), test) > 0.7


def test_racing_threads_leave_the_bias_column_alone():
    """With several threads on few users the scores are still those of the factors: the column against the bias is 1."""
    comparisons = rather.simulate(n_users=4, n_items=30, rank=2, per_user=300, seed=0).comparisons
    model = rather.BPR(rank=8, max_iter=20, n_threads=4).fit(comparisons)
    assert (model.fitted.scorer.U[:, model.rank_] == 1).all()


# -- what a fit hands to the core -------------------------------------------------------------------------------------


@pytest.fixture
def passes(monkeypatch):
    """Record the arguments of every pass of a fit: ridges, step, decay, passes done, updates and random stream."""
    found = []

    def recorded(p, q, U, V, rank, step, decay, done, updates, stream, n_threads):
        found.append({"p": p, "q": q, "step": step, "decay": decay, "done": done, "stream": stream})
        return core.Pass(p, q, U, V, rank, step, decay, done, updates, stream, n_threads)

    kernels = {name: getattr(core, name) for name in dir(core) if not name.startswith("__")}
    monkeypatch.setattr(stochastic, "core", SimpleNamespace(**{**kernels, "Pass": recorded}))
    return found


@pytest.mark.parametrize("kind", ALL)
def test_rounds_differ_in_their_draws_and_shorten_their_steps(kind, passes):
    """Each round has a random stream of its own, which the seed decides, and knows how many came before it."""
    fitted = {"rank": 2, "step": 0.02, "decay": 0.7, "max_iter": 3, "n_threads": 1}
    if kind is SGD:
        fitted["tol"] = 0.0
    streams = []
    for seed in (0, 0, 1):
        passes.clear()
        kind(seed=seed, **fitted).fit(clicks_of())
        assert [(one["step"], one["decay"], one["done"]) for one in passes] == [(0.02, 0.7, t) for t in range(3)]
        streams.append([one["stream"] for one in passes])
    assert streams[0] == streams[1] and len({*streams[0], *streams[2]}) == 6


def test_sgds_shares_of_the_ridge_add_up(passes):
    """A step carries reg over the number of its row's comparisons; reg is twice the scale of the gradient at zero."""
    comparisons = simulate(n_users=20, n_items=8, per_user=1).comparisons
    model = SGD(rank=2, max_iter=1, n_threads=1).fit(comparisons)
    scaled, _ = scales(comparisons.store, user_power=0.0, item_power=0.0, balance=0.0)
    scale, _ = reg_scales(comparisons.store, loss="squared_hinge", scales=scaled, n_threads=1)
    assert model.reg_ == pytest.approx(2 * scale)
    for ridge, n in zip((passes[0]["p"], passes[0]["q"]), counts(comparisons), strict=True):
        np.testing.assert_allclose(ridge * n, model.reg_, rtol=1e-5)


@pytest.mark.parametrize("kind", ALL)
def test_the_gap_is_the_relative_change_of_the_objective(kind):
    model = kind(rank=2, max_iter=3, n_threads=1, **({"tol": 0.0} if kind is SGD else {})).fit(clicks_of())
    objectives = np.array([record["objective"] for record in model.history_])
    np.testing.assert_allclose([r["gap"] for r in model.history_[1:]], abs(np.diff(objectives)) / objectives[1:])


@pytest.mark.parametrize("kind", [BPR, RobiRank])
def test_a_draws_rows_have_the_whole_ridge(kind, passes):
    kind(rank=2, reg=0.25, max_iter=1, n_threads=1).fit(clicks_of())
    assert [np.unique(passes[0][side]).tolist() for side in "pq"] == [[0.25], [0.25]]


def test_the_seed_decides_the_order_of_robiranks_users(passes, monkeypatch):
    """Every round goes through all users, each time in an order of its own."""
    orders, comparisons = [], clicks_of()

    def recorded(rows, order, steps):
        orders.append(order.tolist())
        return core.robirank_pass(rows, order, steps)

    monkeypatch.setattr(stochastic.core, "robirank_pass", recorded)
    monkeypatch.setattr(robirank, "core", stochastic.core)
    for seed in (0, 0, 1):
        RobiRank(rank=2, max_iter=2, n_threads=1, seed=seed).fit(comparisons)
    assert all(sorted(order) == list(range(comparisons.n_users)) for order in orders)
    assert orders[:2] == orders[2:4] and len({tuple(order) for order in orders}) == 4


def test_default_ridges_of_bpr():
    """Clicks have the smaller ridge."""
    votes = simulate(n_users=20, n_items=8, per_user=5).comparisons
    assert BPR(rank=2, max_iter=1).fit(clicks_of()).reg_ == 0.01
    assert BPR(rank=2, max_iter=1).fit(votes).reg_ == 0.08


@pytest.mark.parametrize("kind", [BPR, RobiRank])
def test_the_objective_has_the_ridge_of_users_and_items(kind):
    """With a ridge beside which the loss is nothing, the objective is the mean ridge of what a draw touches."""
    comparisons = clicks_of()
    clicks, reg = comparisons.clicks, 1e9
    model = kind(rank=2, reg=reg, step=1e-25, max_iter=1, n_threads=1).fit(comparisons)
    users = (model.user_factors_.astype(float) ** 2).sum(1)
    items = (model.item_factors_.astype(float) ** 2).sum(1)
    touched = users[clicks.user] + items[clicks.item]
    if kind is BPR:  # an item that the user did not click, uniformly
        left = np.ones((comparisons.n_users, comparisons.n_items))
        left[clicks.user, clicks.item] = 0
        touched += (left @ items / left.sum(1))[clicks.user]
    assert model.history_[-1]["objective"] == pytest.approx(reg / 2 * touched.mean(), rel=1e-4)
