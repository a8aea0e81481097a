"""Users and items of whom the training part knows nothing, as a split leaves them: all models keep their places."""

import numpy as np
import pytest

import rather
from rather import Comparisons

ROUNDS = {"rank": 2, "max_iter": 2}
RATED = [
    rather.ItemMean(), rather.CofiRank(**ROUNDS), rather.CofiRank(loss="ordinal", **ROUNDS),
    rather.LCR(anchors=2, **ROUNDS), rather.Global(), rather.AltSVM(rank=2), rather.SGD(rank=2),
]  # fmt: skip
CLICKED = [
    rather.Popularity(), rather.EASE(), rather.RP3beta(), rather.BPR(**ROUNDS), rather.RobiRank(**ROUNDS),
    rather.ClickRanker(), rather.AltSVM(rank=2),
]  # fmt: skip


def parts(clicks):
    """Data whose first and last users, and the items that they alone met, say nothing; and the same without them."""
    rng = np.random.default_rng(0)
    met = rng.random((12, 10)) < 0.6
    met[:, [0, 9]] = False
    met[[0, 11]] = True
    user, item = np.nonzero(met)
    table = {"user": user, "item": item}
    if not clicks:
        table["rating"] = rng.integers(1, 6, len(user))
    inner = (user > 0) & (user < 11)
    within = {name: column[inner] for name, column in table.items()}
    read = Comparisons.from_clicks if clicks else Comparisons.from_ratings
    whole = read(table)
    left = np.ones(12, bool)
    left[[0, 11]] = False
    return whole._with(whole.source.of_users(left)), read(within)


@pytest.mark.parametrize(
    ("model", "clicks"), [*((m, False) for m in RATED), *((m, True) for m in CLICKED)], ids=lambda v: type(v).__name__
)
def test_those_who_say_nothing_keep_their_places(model, clicks, tmp_path):
    comparisons, within = parts(clicks)
    model = type(model)(**{**model.get_params(), "n_threads": 1}).fit(comparisons)
    assert model.users_.tolist() == list(range(12)) and model.items_.tolist() == list(range(10))
    scores = np.array([model.score(user, model.items_) for user in model.users_])
    assert np.isfinite(scores).all() and len(model.recommend(model.users_, k=10)) == 120
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(rather.load(tmp_path / "m").score(3, model.items_), scores[3])
    if isinstance(model, (rather.ItemMean, rather.Popularity, rather.EASE, rather.RP3beta)):  # which is by counts alone
        alone = type(model)().fit(within)
        np.testing.assert_allclose(scores[1:11, 1:9], [alone.score(u, alone.items_) for u in alone.users_], rtol=1e-5)
        np.testing.assert_allclose(scores[:, [0, 9]], 0, atol=1e-6)
