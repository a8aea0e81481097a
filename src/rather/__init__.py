"""Learn every user's full ranking of all items from a few choices each.

Each user compares a few items: "I would rather have j than k". One low-rank model of all comparisons gives a score for
every user and item.
"""

from . import datasets, plot
from .asking import Question, TopCertainty, next_question, questionnaire, top_certainty
from .data.comparisons import Comparisons
from .data.needed import answers_needed
from .data.simulate import World, simulate
from .data.splits import Split, split_clicks, split_ratings, split_time
from .data.tables import Table
from .errors import FileError, InputError, NotFittedError
from .estimators import ESTIMATORS, default_estimator, fit, load
from .judging.mean import Mean
from .judging.metrics import ndcg, pairwise_accuracy, precision
from .judging.scoring import HasScores
from .models.altsvm import AltSVM
from .models.click_ranker import ClickRanker
from .models.convex import Convex
from .models.estimator import Estimator
from .models.factors import FactorEstimator
from .models.newcomer import Newcomer
from .models.person import Person
from .models.scorers import Factors, Scorer
from .models.tensors import NoChecksumWarning
from .models.unknown import UnknownUserWarning
from .models.vote_ranker import VoteRanker
from .models.voter import Voter
from .rivals.bpr import BPR
from .rivals.cofirank import CofiRank
from .rivals.differences import Differences
from .rivals.ease import EASE
from .rivals.global_ranking import Global
from .rivals.item_mean import ItemMean
from .rivals.lcr import LCR
from .rivals.paper_altsvm import PaperAltSVM
from .rivals.popularity import Popularity
from .rivals.robirank import RobiRank
from .rivals.rp3beta import RP3beta
from .rivals.sgd import SGD
from .solving.certificate import Certificate

__version__ = "0.2.0"

__all__ = [
    "BPR",
    "EASE",
    "ESTIMATORS",
    "LCR",
    "SGD",
    "AltSVM",
    "Certificate",
    "ClickRanker",
    "CofiRank",
    "Comparisons",
    "Convex",
    "Differences",
    "Estimator",
    "FactorEstimator",
    "Factors",
    "FileError",
    "Global",
    "HasScores",
    "InputError",
    "ItemMean",
    "Mean",
    "Newcomer",
    "NoChecksumWarning",
    "NotFittedError",
    "PaperAltSVM",
    "Person",
    "Popularity",
    "Question",
    "RP3beta",
    "RobiRank",
    "Scorer",
    "Split",
    "Table",
    "TopCertainty",
    "UnknownUserWarning",
    "VoteRanker",
    "Voter",
    "World",
    "answers_needed",
    "datasets",
    "default_estimator",
    "fit",
    "load",
    "ndcg",
    "next_question",
    "pairwise_accuracy",
    "plot",
    "precision",
    "questionnaire",
    "simulate",
    "split_clicks",
    "split_ratings",
    "split_time",
    "top_certainty",
]
