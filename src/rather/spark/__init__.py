"""AltSVM as an Estimator of pyspark.ml. The page "On Spark" of the site shows how to use it."""

import select

if not hasattr(select, "poll"):
    raise ImportError("rather.spark needs Linux or macOS, on the driver and on the executors; AltSVM fits on Windows")

try:
    from .cluster import Budget, ClusterError
    from .estimator import AltSVM
    from .evaluation import RankingEvaluator, ndcg, pairwise_accuracy, precision
    from .model import AltSVMModel
except ModuleNotFoundError as e:
    raise ModuleNotFoundError("Spark needs pyspark and pyarrow; run: pip install 'rather[spark]'", name=e.name) from e

__all__ = [
    "AltSVM", "AltSVMModel", "Budget", "ClusterError", "RankingEvaluator", "ndcg", "pairwise_accuracy", "precision",
]  # fmt: skip
