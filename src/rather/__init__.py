"""rather learns everyone's full ranking from a few choices each.

Many users, each saying "I would rather have j than k" a few times; out comes a personal score for every user and item,
learned together through a low-rank model.
"""

from typing import Any as _Any

from .data.comparisons import Comparisons
from .data.needed import needed
from .data.simulate import World, simulate
from .data.splits import split_clicks, split_ratings
from .data.tables import Table
from .errors import FileError, InputError, NotFittedError
from .judging.metrics import ndcg, pairwise_accuracy, precision
from .models.altsvm import AltSVM
from .models.convex import Convex
from .models.factors import FactorModel
from .models.files import load
from .models.model import Model
from .models.person import Person
from .rivals.bpr import BPR
from .rivals.cofirank import CofiRank
from .rivals.differences import Differences
from .rivals.global_ranking import Global
from .rivals.lcr import LCR
from .rivals.robirank import RobiRank
from .rivals.sgd import SGD
from .solving.certificate import Certificate

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
