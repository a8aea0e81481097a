"""A script as users write it, which type checkers read against the installed wheel (scripts/wheel): it has types."""

from typing_extensions import assert_type

import rather

comparisons = rather.Comparisons.from_frame({"user": ["a", "b"], "winner": ["x", "y"], "loser": ["y", "x"]})
train, test = comparisons.split(test=0.5, seed=0)
model = rather.AltSVM(rank=3)
assert_type(model, rather.AltSVM)
accuracy: float = rather.pairwise_accuracy(model.fit(train), test)
assert_type(train, rather.Comparisons)
person: rather.Person = model.fold_in([("x", "y")])
table: rather.Table = model.recommend("a", k=1)
rather.AltSVM(rank="three")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
