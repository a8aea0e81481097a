"""What to ask next: information against quadrature, questions that obey, and fewer answers than at random."""

import numpy as np
import pytest

import rather
from rather import AltSVM, Global, InputError, next_question, questionnaire, top_certainty
from rather.logistic import sigmoid
from rather.models.information import information_of
from test_sure import club


@pytest.fixture(scope="module")
def fitted():
    votes, truth = club(n_users=200, n_items=40, per_user=30, seed=2)
    return AltSVM().fit(votes), truth


def entropy(p):
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


@pytest.mark.parametrize(("m", "v", "e"), [(0.0, 1.0, 0.0), (1.0, 4.0, 0.0), (-0.5, 0.25, 2.0), (2.0, 1.0, 1.0)])
def test_information_by_quadrature(m, v, e):
    z, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / w.sum()
    taste = m + np.sqrt(v) * z
    known = np.array([(w * sigmoid(t + np.sqrt(e) * z)).sum() for t in taste])  # given the taste, over own likings
    exact = entropy((w * known).sum()) - (w * entropy(known)).sum()
    assert information_of(m, v, e) == pytest.approx(exact, rel=0.12, abs=0.004)


def test_the_best_pair_is_asked(fitted):
    model, _ = fitted
    person = model.fold_in([(0, 1), (2, 3)], asked=True)
    best = next_question(model, person)
    every = [next_question(model, person, candidates=[a, b]).information for a in range(4, 12) for b in range(4, a)]
    again = next_question(model, person, candidates=range(4, 12))
    assert again.information == pytest.approx(max(every), rel=1e-6)
    assert best.information >= again.information and best.propensity == 1.0 and best.policy == "everything"
    told = person.probability_interval(best.left, best.right)["probability"][0]
    assert best.probability == pytest.approx(told, rel=1e-4)
    assert next_question(model, person) == best


def test_what_may_not_be_asked_is_not(fitted):
    model, _ = fitted
    answers = [(0, 1), (0, 2)]
    person = model.fold_in(answers, asked=True)
    assert {*(q := next_question(model, person, candidates=[0, 1, 2])).__dict__.values()} >= {1, 2}
    assert {q.left, q.right} == {1, 2}
    unknown = [int(j) for j in range(40) if j not in (5, 6)]
    left = next_question(model, person, unknown=unknown)
    assert {left.left, left.right} == {5, 6}
    with pytest.raises(InputError, match="nothing to ask"):
        next_question(model, person, unknown=range(39))
    with pytest.raises(InputError, match="no pair left"):
        next_question(model, person, candidates=[0, 1])
    for wrong in ({"aim": "much"}, {"explore": 2}, {"n_best": 0}, {"seed": -1}, {"prefer_familiar": 1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            next_question(model, person, **wrong)
    with pytest.raises(InputError, match=r"Global has no posterior for one user; fit AltSVM to votes with named users"):
        next_question(Global().fit(club(30, 8, 10)[0]))
    with pytest.raises(InputError, match="pass the fitted model first"):
        next_question(person)


def test_random_pairs_know_their_chance(fitted):
    model, _ = fitted
    drawn = [next_question(model, None, candidates=range(5), explore=1.0, seed=n) for n in range(300)]
    assert {q.policy for q in drawn} == {"random"} and {round(q.propensity, 6) for q in drawn} == {0.1}
    counts = {}
    for q in drawn:
        counts[frozenset((q.left, q.right))] = counts.get(frozenset((q.left, q.right)), 0) + 1
    assert len(counts) == 10 and max(counts.values()) < 60
    assert 100 < sum(q.left < q.right for q in drawn) < 200  # either side
    some = {frozenset((q.left, q.right)) for q in (next_question(model, n_best=4, seed=n) for n in range(80))}
    assert len(some) == 4
    both = next_question(model, None, explore=0.25, seed=0)
    n = 40 * 39 / 2
    assert both.propensity == pytest.approx(0.75 + 0.25 / n if both.policy == "everything" else 0.25 / n, rel=1e-6)


def test_familiar_items_are_asked_about():
    rng = np.random.default_rng(0)
    often = np.r_[np.full(5, 20.0), np.ones(35)]
    a, b = (rng.choice(40, 6000, p=often / often.sum()) for _ in range(2))
    keep = a != b
    votes = {"user": np.arange(6000)[keep] % 300, "winner": a[keep], "loser": b[keep]}
    model = AltSVM().fit(rather.Comparisons.from_frame(votes))
    asked = next_question(model, prefer_familiar=True)
    assert {asked.left, asked.right} <= set(range(5))


def test_chosen_questions_teach_faster_than_random_ones(fitted):
    """Twelve well-chosen answers order pairs at least as well as twelve random ones, over people of a known world."""
    model, _ = fitted
    rng = np.random.default_rng(7)
    bias = model._items_met().offset
    found = {}
    for aim in ("random", "everything", "top"):
        right = []
        for n in range(40):
            taste = np.random.default_rng(n).standard_normal(model._items_met().Z.shape[1])
            worth = bias + model._items_met().Z @ taste
            answers = []
            for _ in range(12):
                person = model.fold_in(answers, asked=True)
                if aim == "random":
                    q = next_question(model, person, explore=1.0, seed=n)
                else:
                    q = next_question(model, person, aim=aim, seed=n)
                won = rng.random() < sigmoid(worth[q.left] - worth[q.right])
                answers.append((q.left, q.right) if won else (q.right, q.left))
            guess = model.fold_in(answers, asked=True).posterior.expected(np.arange(40))
            order, short = worth[:, None] > worth, np.sort(worth)[-5:].mean() - worth[np.argsort(-guess)[:5]].mean()
            right.append(((guess[:, None] > guess)[order].mean(), short))
        found[aim] = np.mean(right, axis=0)
    assert found["everything"][0] > found["random"][0] + 0.01
    assert found["top"][1] < found["random"][1]


def test_a_list_for_everybody(fitted):
    model, _ = fitted
    sheet = questionnaire(model, 12)
    used = np.bincount(np.concatenate((sheet["left"], sheet["right"])))
    assert sheet["question"].tolist() == list(range(1, 13)) and used.max() <= 2
    pairs = {frozenset(pair) for pair in zip(sheet["left"].tolist(), sheet["right"].tolist(), strict=True)}
    assert len(pairs) == 12 and sheet["information"][0] == pytest.approx(next_question(model).information, rel=1e-6)
    assert questionnaire(model, 3, candidates=[4, 5, 6, 7], each=1 + 1)["information"].min() > 0
    with pytest.raises(InputError, match="no more than"):
        questionnaire(model, 5, candidates=[4, 5, 6, 7], each=1)


def test_how_much_is_settled(fitted):
    model, truth = fitted
    order = np.argsort(-truth[0])
    answers = [(int(order[a]), int(order[b])) for a in range(5) for b in range(a + 1, 40, 3)]
    none, all_of = top_certainty(model), top_certainty(model, model.fold_in(answers, asked=True))
    assert 0 <= none.share < all_of.share <= 1 and none.top == 3
    easy, hard = (top_certainty(model, target=sure).more_answers for sure in (none.share + 0.05, 0.9))
    assert easy is not None and (hard is None or hard > easy)
    assert top_certainty(model, target=none.share / 2).more_answers == 0
    assert top_certainty(model, 3).share != none.share  # of a user
    with pytest.raises(InputError, match="top"):
        top_certainty(model, top=41)


def test_no_more_answers_settle_a_top_than_there_are_pairs_left(fitted):
    """Of six items there are fifteen pairs; what these cannot settle is not settled by asking them again."""
    model, _ = fitted
    few = [3, 7, 11, 19, 23, 31]
    pairs = [(a, b) for a in few for b in few if a < b]
    found = {
        sure: top_certainty(model, top=2, items=few, target=sure, most=1000).more_answers
        for sure in np.linspace(0.3, 0.99, 24)
    }
    assert 0 in found.values() and None in found.values() and any(found.values())
    assert all(more is None or more <= 15 for more in found.values())
    person = model.fold_in(pairs[:12], asked=True)
    for sure in np.linspace(0.3, 0.99, 24):
        more = top_certainty(model, person, top=2, items=few, target=sure, most=1000).more_answers
        assert more is None or more <= 3
    person = model.fold_in(pairs, asked=True)
    assert top_certainty(model, person, top=2, items=few, target=0.999).more_answers is None
    assert top_certainty(model, top=1, items=[3, 7], target=0.999).more_answers is None
    two = top_certainty(model, top=1, items=[3, 7]).share
    assert top_certainty(model, top=1, items=[3, 7], target=two + 1e-3).more_answers in (1, None)


def test_nothing_known_is_not_settled():
    """Where all items look alike, the first three are three of them at random."""
    pairs = [(u, a, b) for u in range(20) for a in range(12) for b in range(a)]
    user, a, b = (np.array(column) for column in zip(*pairs, strict=True))
    votes = {"user": user, "winner": a, "loser": b, "tie": np.ones(len(a), bool)}
    model = AltSVM(ties="half", reg=5.0, bias=5.0).fit(rather.Comparisons.from_frame(votes, tie="tie"))
    assert top_certainty(model).share < 0.6


def test_one_persons_taste_is_no_crowds():
    votes = rather.Comparisons.from_frame({"user": [0] * 6, "winner": [0, 1, 2, 0, 1, 3], "loser": [1, 2, 3, 2, 3, 4]})
    model = AltSVM(reg=1.0, bias=1.0).fit(votes)
    with pytest.raises(InputError, match="all people that the model knows are alike"):
        next_question(model)
