"""
Will more answers help?
=======================

The curve shows the accuracy on held-out answers, by the number of answers of each member that the model learned from.
If it still rises, more answers will help.
"""

import rather

train, test = rather.Comparisons.from_frame(rather.datasets.film_club()).split(test=0.2, seed=0)
rather.plot.learning_curve(rather.AltSVM(), train, test, answers=(2, 5, 10, 20))
