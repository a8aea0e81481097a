"""The convex program against a general-purpose solver, and the proofs that come with it."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import rather
from rather import AltSVM, Comparisons, Convex, Differences, InputError, PaperAltSVM
from rather.solving.growth import Growing
from rather.solving.scales import scales
from rather.solving.spectrum import spectral_norm, sure_norm

LOSSES = ("squared_hinge", "hinge", "logistic")


SHORT = "ignore:the gap of Convex"


def votes(seed=0, n_users=14, n_items=9, n=90, weights=True):
    """Random triples over all ids, with weights."""
    rng = np.random.default_rng(seed)
    user, winner = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    loser = (winner + rng.integers(1, n_items, n)) % n_items
    user[:n_users], winner[:n_items], loser[:n_items] = range(n_users), range(n_items), np.roll(range(n_items), 1)
    frame = {"user": user, "winner": winner, "loser": loser}
    if weights:
        frame["weight"] = rng.uniform(0.5, 2, n)
    return Comparisons.from_frame(frame, weight="weight" if weights else None)


def general_purpose(comparisons, model):
    """The optimum of the model's program, by cvxpy."""
    cp = pytest.importorskip("cvxpy")
    pairs = comparisons.pairs()
    n, m = comparisons.n_users, comparisons.n_items
    balance = comparisons.source.balance if model.balance is None else model.balance
    scaled, _ = scales(comparisons.store, user_power=model.user_power, item_power=model.item_power, balance=balance)
    weight = (np.ones(len(pairs.user)) if pairs.weight is None else pairs.weight) * scaled.user_weight[pairs.user]
    X, b = cp.Variable((n, m)), cp.Variable(m)
    choose = np.zeros((3, len(weight), max(n, m)))
    for a, code in enumerate((pairs.user, pairs.winner, pairs.loser)):
        choose[a, np.arange(len(code)), code] = 1
    rows = choose[0][:, :n] @ X
    difference = choose[1][:, :m] - choose[2][:, :m]
    margin = cp.sum(cp.multiply(rows, difference), axis=1) + difference @ b
    each = {
        "squared_hinge": cp.square(cp.pos(1 - margin)),
        "hinge": cp.pos(1 - margin),
        "logistic": cp.logistic(-margin),
    }[model.loss]
    norm = cp.normNuc(
        np.diag(np.sqrt(scaled.user_ridge.astype(float))) @ X @ np.diag(np.sqrt(scaled.item_ridge.astype(float)))
    )
    objective, constraints = weight @ each, []
    if model.bias is False:
        constraints.append(b == 0)
    else:
        objective += 0.5 * cp.sum(cp.multiply(model.bias_reg_ * scaled.item_ridge, cp.square(b)))
    if model.lam is None:
        objective += model.reg_ * norm
    else:
        constraints.append(norm <= np.sqrt(model.lam * n * m))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    loose = dict.fromkeys(
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-7
    )  # its 1e-8 is out of reach on some processors
    problem.solve(solver=cp.CLARABEL, **loose)
    return problem.value


@pytest.mark.filterwarnings(SHORT)  # the hinge's
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [{"lam": 0.3}, {"reg": 2.0}, {"lam": 0.1, "bias": 1.5}, {"bias": True}])
def test_same_optimum_as_a_general_purpose_solver(loss, form):
    comparisons = votes()
    model = Convex(loss=loss, tol=1e-4, max_iter=400, **{"bias": False, **form}).fit(comparisons)
    best, proof = general_purpose(comparisons, model), model.certificate()
    assert proof.objective == pytest.approx(best, rel=1e-3)
    assert proof.lower_bound <= best * (1 + 1e-5)  # never above the true optimum
    assert proof.relative_gap < 2e-3 and (model.converged_ or loss == "hinge")


def test_inside_the_radius_the_constraint_does_not_matter():
    comparisons = votes(n=40)
    with pytest.warns(UserWarning, match="the constraint does not bind; give a smaller lam"):
        free = Convex.plain(lam=1e3, max_iter=20).fit(comparisons)
    proof = free.certificate()
    assert proof.nuclear_norm < 0.1 * np.sqrt(1e3 * comparisons.n_users * comparisons.n_items)
    assert proof.objective == pytest.approx(general_purpose(comparisons, free), rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_constraint_and_multiplier_agree(loss):
    """The constrained program and the regularised one with its multiplier have the same solution."""
    comparisons = rather.simulate(60, 40, rank=2, per_user=40, seed=1).comparisons
    bound = Convex(lam=1.0, loss=loss, tol=5e-4).fit(comparisons)
    same = Convex(reg=bound.reg_, loss=loss, tol=5e-4).fit(comparisons)
    limit = np.sqrt(60 * 40)
    assert bound.converged_ and 0.98 * limit < bound.certificate().nuclear_norm <= limit
    assert same.certificate().nuclear_norm == pytest.approx(limit, rel=0.1 if loss == "hinge" else 0.02)
    users, items = np.repeat(bound.users_, 40), np.tile(bound.items_, 60)
    a, b = bound.score(users, items), same.score(users, items)
    assert np.corrcoef(a, b)[0, 1] > (0.98 if loss == "hinge" else 0.999)


def test_history_descends_to_a_proven_gap():
    comparisons = rather.simulate(80, 50, rank=3, per_user=30, seed=0, levels=5).comparisons
    model = Convex(reg=19.0, bias=95.0, tol=1e-4).fit(comparisons)
    last = model.history_[-1]
    assert model.converged_ and last["gap"] <= 1e-4
    assert last["gap"] == pytest.approx(1 - last["lower_bound"] / last["objective"])
    assert last["rank"] >= model.rank_ == model.user_factors_.shape[1] == 3  # what holds next to nothing is dropped
    bounds = [record["lower_bound"] for record in model.history_]
    assert all(bound <= last["objective"] for bound in bounds)


def test_zero_is_the_optimum_at_a_large_reg():
    comparisons = votes()
    model = Convex(reg=1e4, bias=False).fit(comparisons)
    proof = model.certificate()
    assert model.converged_ and proof.nuclear_norm == 0 and proof.gradient_norm < proof.limit
    assert proof.objective == pytest.approx(comparisons.pairs().weight.sum())  # all margins 0, L(0) = 1


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"lam": 1.0, "reg": 1.0}, "give one of them"),
        ({"lam": 0.0}, "lam is 0"),
        ({"lam": float("nan")}, "lam"),
        ({"loss": "square"}, "loss"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_bad_parameters(params, sentence):
    with pytest.raises(InputError, match=sentence):
        Convex(**params).fit(votes())


@pytest.fixture(scope="module")
def random_answers():
    """Answers with much noise, of a truth of rank 8: flat directions, which hardly change the objective."""
    world = rather.simulate(n_users=100, n_items=100, rank=8, per_user=1, noise=1.0, seed=2)
    return world.test(6400, seed=3)


@pytest.mark.parametrize("lam", [0.003, 0.01, 0.1, 10, 30])
def test_the_gap_reaches_tol(random_answers, lam):
    """Neither columns that hold little nor a multiplier that swings keep the gap above it."""
    model = Convex.plain(lam=lam, loss="logistic", max_iter=13, tol=2e-4).fit(random_answers)
    assert model.converged_ and model.history_[-1]["gap"] <= 2e-4


def test_the_gap_reaches_tol_with_a_penalty_and_features(random_answers):
    model = Convex(reg=4.1, loss="logistic", bias=False, tol=1e-4, max_iter=25)
    assert model.fit(random_answers).converged_
    rng = np.random.default_rng(0)
    items = {"item": random_answers.item_vocabulary.ids, "a": rng.standard_normal(random_answers.n_items)}
    assert model.fit(random_answers, item_features=items).converged_


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"max_iter": 2}, "2 rounds, above tol=0.001: it still falls; set max_iter above 2"),
        (
            {"tol": 1e-9, "max_iter": 24},
            "24 rounds, above tol=1e-09: single precision keeps it there; set tol to",
        ),
    ],
)
def test_a_fit_short_of_tol_warns_once(random_answers, params, sentence):
    with pytest.warns(UserWarning) as warned:
        model = Convex.plain(lam=0.1, loss="logistic", **params).fit(random_answers)
    assert [sentence in str(w.message) for w in warned] == [True]
    assert warned[0].filename == __file__
    assert not model.converged_ and len(model.history_) == model.max_iter  # and the rounds are kept


def test_no_warning_where_the_caller_ends_a_fit_or_a_twin_is_short(random_answers):
    Convex.plain(lam=10, loss="logistic", callback=lambda model, record: True).fit(random_answers)
    with pytest.warns(UserWarning) as warned:
        Convex.plain(lam=10, loss="logistic", max_iter=2).fit(random_answers).calibrate()
    assert len(warned) == 1


# -- certificates -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(SHORT)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["pairs", "stars"])
def test_certificates_never_lie(loss, kind):
    """At every rank the bound is below the true optimum, and it closes as the rank grows."""
    levels = 5 if kind == "stars" else None
    comparisons = rather.simulate(70, 45, rank=4, per_user=30, seed=2, levels=levels).comparisons
    model = AltSVM(rank=2, reg=2.0, loss=loss, tol=1e-6, max_iter=300)
    best = Convex(reg=2.0, loss=loss, tol=2e-4, max_iter=30).fit(comparisons).certificate()
    gaps = []
    for rank in (1, 4, 45):
        proof = model.set_params(rank=rank).fit(comparisons).certificate()
        assert proof.lower_bound <= best.objective
        assert proof.objective >= best.lower_bound
        gaps.append(proof.relative_gap)
    assert gaps[0] > gaps[-1] and gaps[-1] < (0.1 if loss == "hinge" else 2e-3)


def test_certificate_of_early_factors():
    """Far from any optimum the bound is weak, but still a bound."""
    comparisons = votes(weights=False)
    best = Convex(reg=1.0, bias=False).fit(comparisons).certificate().objective
    for seed in range(5):
        rough = PaperAltSVM(rank=3, reg=1.0, solver="newton", max_iter=1, seed=seed).fit(comparisons)
        assert 0 <= rough.certificate().lower_bound <= best <= rough.certificate().objective


def test_certificate_takes_the_best_factors_of_the_scores():
    model = AltSVM(rank=4, tol=1e-7, max_iter=200).fit(votes())
    proof = model.certificate()
    assert proof.objective == pytest.approx(model.history_[-1]["objective"], rel=1e-3)
    assert proof.limit == model.reg_
    assert "% above" in str(proof)


def test_certificate_of_rivals():
    world = rather.simulate(60, 30, rank=2, per_user=20, seed=0, levels=5)
    by_steps = rather.SGD(rank=8, n_threads=1, max_iter=5).fit(world.comparisons).certificate()
    assert 0 < by_steps.lower_bound < by_steps.objective
    squares = Differences(rank=30, tol=1e-7, max_iter=300).fit(world.comparisons).certificate()
    assert 0 <= squares.relative_gap < 2e-3
    assert not hasattr(rather.BPR, "certificate")


def test_no_certificate_without_data(tmp_path):
    model = AltSVM(rank=2).fit(votes())
    model.save(tmp_path / "m.rather", comparisons=False)
    with pytest.raises(InputError, match="read from a file"):
        rather.load(tmp_path / "m.rather").certificate()
    with pytest.raises(rather.NotFittedError):
        AltSVM().certificate()


# -- rank="auto" ------------------------------------------------------------------------------------------------------


def test_rank_grows_as_far_as_it_helps():
    comparisons = rather.simulate(150, 80, rank=3, per_user=60, seed=0).comparisons
    model = AltSVM(rank="auto", reg=3.0).fit(comparisons)
    assert model.converged_ and model.rank_ > 16
    assert model.certificate().relative_gap <= 0.01
    assert model.history_[-1]["rank"] >= model.rank_ == model.item_factors_.shape[1]
    stiff = AltSVM(rank="auto", reg=40.0).fit(comparisons)
    assert stiff.rank_ < model.rank_


def test_rank_auto_with_the_rest(tmp_path):
    """Checkpoints, warm starts, cross-validation, files, newcomers and probabilities go with it."""
    comparisons = rather.simulate(80, 40, rank=3, per_user=40, seed=0).comparisons
    whole = AltSVM(rank="auto", reg=2.0, tol=1e-4).fit(comparisons)
    path = tmp_path / "c"
    AltSVM(rank="auto", reg=2.0, tol=1e-4, max_iter=2, checkpoint=path).fit(comparisons)
    resumed = AltSVM(rank="auto", reg=2.0, tol=1e-4, checkpoint=path).fit(comparisons)
    assert len(resumed.history_) == len(whole.history_)
    np.testing.assert_array_equal(resumed.user_factors_, whole.user_factors_)
    again = AltSVM(rank="auto", reg=2.0, warm_start=True).fit(comparisons)
    again.fit(comparisons)
    assert len(again.history_) == 1
    chosen = AltSVM(rank="auto", reg="cv").fit(comparisons)
    assert chosen.cv_results_ and 0 < chosen.probability("user 1", "item 1", "item 2")[0] < 1
    assert chosen.fold_in([("item 1", "item 2")]).rank()["item"].size == 40
    chosen.save(tmp_path / "m.rather")
    np.testing.assert_array_equal(rather.load(tmp_path / "m.rather").user_factors_, chosen.user_factors_)


def test_a_rank_that_is_no_number():
    with pytest.raises(InputError, match="rank is 'big'"):
        AltSVM(rank="big").fit(votes())


@pytest.mark.parametrize("loss", LOSSES)
def test_growing_never_raises_the_objective(loss):
    comparisons = rather.simulate(60, 40, rank=3, per_user=40, seed=0).comparisons
    model = Convex(reg=1.0, loss=loss)
    scaled, _ = model._spec().scales(comparisons.source)
    solver = Growing(model._spec().problem(comparisons.source, scaled, None, 1), 0)
    objectives = [solver.round()["objective"] for _ in range(6)]
    assert all(b <= a * (1 + 1e-4) for a, b in pairwise(objectives))


# -- edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(SHORT)
@pytest.mark.parametrize("loss", LOSSES)
def test_rank_zero_and_tiny_data(loss):
    one = Comparisons.from_frame({"user": [0], "winner": [0], "loser": [1]})
    for model in (Convex(reg=1e4, loss=loss), AltSVM(rank="auto", reg=1e4, loss=loss)):
        model.set_params(tol=0.0, max_iter=4).fit(one)
        assert not model.user_factors_.any() and np.isfinite(model.score(0, 1)).all()


def test_few_users_and_many_items():
    """The gradient of three users is decomposed by its short side."""
    n = 30_000
    frame = {"user": np.arange(n) % 3, "winner": np.arange(n), "loser": (np.arange(n) + 1) % n}
    proof = AltSVM(rank=2, max_iter=2).fit(Comparisons.from_frame(frame)).certificate()
    assert 0 <= proof.lower_bound <= proof.objective


@pytest.mark.parametrize("shape", [(60, 300), (300, 60)])
def test_norm_of_the_gradient_by_lanczos(shape):
    matrix = sparse.random(*shape, density=0.2, random_state=0, format="csr")
    exact = np.linalg.norm(matrix.toarray(), 2)
    found = spectral_norm(aslinearoperator(matrix), 1e-4)
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3)


@pytest.mark.parametrize("kind", [AltSVM, Convex])
def test_a_callback_may_ask_anything(kind):
    comparisons = rather.simulate(60, 30, rank=2, per_user=20, seed=0).comparisons
    other = rather.simulate(50, 20, rank=2, per_user=20, seed=1).comparisons
    asked = []

    def ask(model, record):
        asked.append((model.probability("user 1", "item 1", "item 2")[0], model.certificate().relative_gap))
        return True

    model = kind(callback=ask).fit(comparisons)
    model.fit(other)  # what it asks is about the new data
    assert len(asked) == 2 and all(0 < p < 1 and 0 <= gap <= 1 for p, gap in asked)


def test_interrupted_before_the_first_round():
    def stop(model, record):
        raise KeyboardInterrupt

    model = Convex(callback=stop)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(votes())
    assert model.interrupted_ and model.certificate().objective >= model.certificate().lower_bound


def test_the_sure_norm_is_never_too_small():
    """Of matrices of many shapes and spectra, flat, clustered or steep; nor is it two per cent too large."""
    rng = np.random.default_rng(0)
    for trial in range(60):
        n, m = rng.integers(50, 400, 2)
        a, _ = np.linalg.qr(rng.standard_normal((n, 45)))
        b, _ = np.linalg.qr(rng.standard_normal((m, 45)))
        values = (np.ones(45), 1 - 1e-3 * np.arange(45), 0.7 ** np.arange(45), rng.random(45) + 0.5)[trial % 4]
        matrix = (a * values) @ b.T + 0.01 * rng.standard_normal((n, m)) / np.sqrt(n)
        norm = np.linalg.norm(matrix, 2)
        got = sure_norm(aslinearoperator(matrix), 0.0)
        assert norm * (1 - 1e-9) <= got <= 1.02 * norm


def test_the_sure_bound():
    """It is a bound below the other, by about a per cent at most, for every loss and with a constraint; and is said."""
    votes = rather.simulate(n_users=120, n_items=60, rank=2, per_user=40, seed=0).comparisons
    most = AltSVM(rank=60, tol=1e-6, max_iter=60)
    for model in (most, AltSVM(rank="auto"), Convex(), Convex(lam=0.05), Convex(loss="logistic")):
        proof = model.fit(votes).certificate()
        assert 0 < proof.high_probability_bound <= proof.lower_bound <= proof.objective
        assert proof.high_probability_bound > 0.97 * proof.lower_bound
        assert "one chance in a million" in str(proof)
