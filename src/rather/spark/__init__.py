"""The same model where the data lives: AltSVM on Spark, as an Estimator of pyspark.ml. See docs/spark.md."""

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
