"""
How far from the best fit?
==========================

A certificate bounds how far the objective of a fit is from the smallest that any rank allows. With the same
regularisation, more dimensions come closer to it.
"""

import matplotlib.pyplot as plt

import rather

comparisons = rather.Comparisons.from_frame(rather.datasets.film_club())
chosen = rather.fit(comparisons)
ranks = [1, 2, 3, 5, 8, 12, 20, 30, 40]
fits = [rather.AltSVM(rank=rank, reg=chosen.reg_, bias=chosen.bias_reg_).fit(comparisons) for rank in ranks]
best = rather.Convex(reg=chosen.reg_, bias=chosen.bias_reg_).fit(comparisons).certificate()

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(ranks, [fit.certificate().objective for fit in fits], "o-", color="#0b6e4f", label="objective of AltSVM")
axes.axhline(best.lower_bound, linestyle="--", color="#777777", label="no model is below this, by Convex")
axes.set_xlabel("rank")
axes.set_ylabel("objective")
axes.legend(frameon=False)
print(best)
