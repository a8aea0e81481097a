"""A script as users write it, which type checkers read against the installed wheel (scripts/wheel): it has types."""

import rather

comparisons = rather.Comparisons.from_frame({"user": ["a", "b"], "winner": ["x", "y"], "loser": ["y", "x"]})
train, test = comparisons.split(test=0.5, seed=0)
model = rather.AltSVM(rank=3)
accuracy: float = rather.pairwise_accuracy(model.fit(train), test)
person: rather.Person = model.fold_in([("x", "y")])
table: rather.Table = model.recommend("a", k=1)
train.split(test="half")  # type: ignore[arg-type]
rather.AltSVM(rank="three")  # type: ignore[arg-type]
