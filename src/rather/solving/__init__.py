"""The optimisation: the problem that a low-rank model poses, where to start, and what solves it."""
