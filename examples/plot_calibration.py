"""
Are probabilities right?
========================

Of all answers that were given a probability of 0.8, about 80 % should come true. A fifth of the answers is held out and
put to the test.
"""

import rather

train, test = rather.Comparisons.from_frame(rather.datasets.film_club()).split(test=0.2, seed=0)
model = rather.fit(train)
rather.plot.calibration(model, test)
