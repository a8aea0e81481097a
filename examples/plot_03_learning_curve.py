"""
A learning curve: would more answers help?
==========================================

You have votes and wonder whether to ask for more. You get the accuracy for each number of answers per person.
"""

from matplotlib.ticker import MultipleLocator

import rather

votes = rather.datasets.film_club()
comparisons = rather.Comparisons.from_frame(votes)

# %%
# A fifth of the answers is held out. Each fit sees at most so many answers of each person, and predicts the answers
# that are held out. The bars are 90 % intervals.

axes = rather.plot.learning_curve(rather.AltSVM(), comparisons, answers=[2, 5, 10, 20])
axes.figure.suptitle("Personal rankings gain from every answer, one ranking for all does not")
axes.yaxis.set_major_locator(MultipleLocator(0.05))
axes.yaxis.set_major_formatter("{x:.0%}")

# %%
# A curve that still rises says that more answers would help. Here ten answers per person bring most of the gain. One
# ranking for everybody gains nothing from further answers.
