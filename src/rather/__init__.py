"""rather learns everyone's full ranking from a few choices each.

Many users, each saying "I would rather have j than k" a few times; out comes a personal score for every user and item,
learned together through a low-rank model.
"""

from typing import Any as _Any

from .altsvm import AltSVM
from .baselines.bpr import BPR
from .baselines.cofirank import CofiRank
from .baselines.differences import Differences
from .baselines.global_ranking import Global
from .baselines.lcr import LCR
from .baselines.robirank import RobiRank
from .baselines.sgd import SGD
from .certificate import Certificate
from .comparisons import Comparisons
from .convex import Convex
from .errors import FileError, InputError, NotFittedError
from .factors import FactorModel
from .files import load
from .metrics import ndcg, pairwise_accuracy, precision
from .model import Model
from .needed import needed
from .person import Person
from .protocols import split_clicks, split_ratings
from .simulate import World, simulate
from .tables import Table

__version__ = "0.1.0"

# What a model file may name.
ESTIMATORS: dict[str, type[_Any]] = {
    kind.__name__: kind for kind in (AltSVM, Convex, Global, BPR, SGD, Differences, CofiRank, LCR, RobiRank)
}

__all__ = [
    "BPR",
    "LCR",
    "SGD",
    "AltSVM",
    "Certificate",
    "CofiRank",
    "Comparisons",
    "Convex",
    "Differences",
    "FactorModel",
    "FileError",
    "Global",
    "InputError",
    "Model",
    "NotFittedError",
    "Person",
    "RobiRank",
    "Table",
    "World",
    "load",
    "ndcg",
    "needed",
    "pairwise_accuracy",
    "precision",
    "simulate",
    "split_clicks",
    "split_ratings",
]
