"""Fitted models of this package: AltSVM, Convex and ClickRanker, and all that models share."""
