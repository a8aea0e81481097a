"""
Calibration: do probabilities hold?
===================================

You have a fitted model and answers that it has not seen. You get how often its predictions came true.
"""

import rather

votes = rather.datasets.film_club()[:6000]  # of the first 200 members
train, test = rather.Comparisons.from_frame(votes).split(test=0.3, seed=0)
model = rather.fit(train)

# %%
# Answers that were given a probability near 0.8 should come true in about 80 % of all cases. Dots on the dashed line
# are calibrated. A bar is a 90 % interval.

axes = rather.plot.calibration(model, test)
axes.figure.suptitle("Probabilities of answers that were held out")

# %%
# ECE is the expected calibration error: the mean distance of the dots from the dashed line.
