"""AltSVM on Spark: the ordinary fit, run by barrier tasks that each have some of the users."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, replace
from typing import Any

from pyspark.ml import Estimator
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.utils import AnalysisException

from .. import __version__
from ..data.clicks import AgainstUnseen, usual_unseen
from ..errors import InputError
from ..models.altsvm import AltSVMParams
from ..models.calibration import SHARES, Calibration
from ..models.tuning import LARGE, PART, RANK
from ..warned import warn
from . import cluster, table
from .aside import calibration
from .choosing import choice
from .files import ParamsReader, ParamsWriter
from .model import AltSVMModel
from .params import FitParams, signature
from .plan import ABOUT, ASIDE, Plan, out_schema
from .table import Said
from .watch import watched
from .worker import work

ROWS_A_SHARD, LEAST_SHARDS, MOST_SHARDS = 2**20, 8, 4096
SOME = 0.8 * LARGE  # answers that a choice is made on, at most
FEW_RATINGS = 30_000  # up to which held-out ones may choose


class AltSVM(Estimator, FitParams, MLReadable, MLWritable):  # type: ignore[misc]
    """Low-rank personal rankings from comparisons in a Spark DataFrame: :class:`rather.AltSVM`, where the data lives.

    Its parameters are the ordinary class's, in pyspark.ml's spelling (``explainParams()`` says each in a line); a fit
    comes to the same optimum by the same steps. Users are in a fixed number of shards, and sums over them are added in
    a fixed order: the same data, parameters and ``numShards`` give the same bits, whatever the executors, tasks and
    failures. See the page "On Spark" of the site.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**{name: value for name, value in params.items() if value is not None})

    __init__.__signature__ = signature()  # type: ignore[attr-defined]

    def setParams(self, **params: Any) -> AltSVM:
        """Set parameters by name; an unknown name is an error."""
        for name in params:
            if not self.hasParam(name):
                raise InputError(f"AltSVM has no parameter {name!r}; it has {', '.join(p.name for p in self.params)}")
        self._set(**params)
        return self

    def calibrate(self, model: AltSVMModel, dataset: DataFrame) -> AltSVMModel:
        """The model with what probabilities take, found by another fit to what is left of its data when some is put
        aside. (A fit that chose its regularisation on held-out answers found it then.)
        """
        about = model._about
        settled = {"rank": about["rank"], "regParam": about["reg"], "exposure": bool(about["k"])}
        if self._get("bias") is True:
            settled["bias"] = about["bias_reg"]
        twin: AltSVM = self.copy({self.getParam(name): value for name, value in settled.items()})
        made: AltSVMModel = model.copy()
        made._about = {**about, "calibration": asdict(Fitting(twin, dataset).calibrated())}
        return made

    def budget(self, dataset: DataFrame) -> cluster.Budget:
        """Return the memory a task and the traffic a round of a fit to this data here."""
        return Fitting(self, dataset).budget

    def _fit(self, dataset: DataFrame) -> AltSVMModel:
        return Fitting(self, dataset).run()

    def write(self) -> ParamsWriter:
        return ParamsWriter(self)

    @classmethod
    def read(cls) -> ParamsReader:
        return ParamsReader(cls)


class Fitting:
    """One fit of an estimator to a table, as the driver sees it."""

    def __init__(self, estimator: AltSVM, dataset: DataFrame) -> None:
        self.of, self.spark = estimator, dataset.sparkSession
        estimator._check()
        self.kind, names = estimator._get("source"), estimator._names()
        self.params = estimator._local_params()
        AltSVMParams(**self.params).check()
        self.weighted = "weight" in names
        table_, given = table.columns_of(dataset, self.kind, names)
        cluster.refuse_settings(self.spark)
        self.n_rows, self.n_users, self.fingerprint = self._counted(table_)
        self.path = estimator._get("checkpointPath")
        self.before = self._progress()
        if self.before is None:
            items = table.numbered(table_, self.kind)
            items = items.persist() if self.path is None else self._kept(items, "items")  # can be made again
        else:  # models may be made of it
            items = self.spark.read.parquet(self._folder("items"))
        self.said = Said(table.coded(table_, items, self.kind), items, dict(table_.dtypes)["user"], given)
        self.n_items = items.count()
        if self.n_items < 2:
            raise InputError(f"there is nothing to compare: the table has {self.n_items} items")
        self.shards = estimator._get("numShards") or min(
            max(LEAST_SHARDS, 2 * cluster.power_of_two(max(1, self.n_rows // ROWS_A_SHARD))), MOST_SHARDS
        )
        self.slots = self._slots(must=True)
        self.budget = self._budgeted()

    def run(self) -> AltSVMModel:
        """Jobs of so many rounds each, until the fit has ended."""
        size = f"{self.n_rows:,} rows of about {self.n_users:,} users, {self.n_items:,} items"
        self._say(f"rather.spark: {size}; {self.budget}")
        cluster.require(self.budget)
        about, state = self._resumed() or self._chosen()
        failures, full = 0, self.slots.tasks
        while not (about.get("history") and (about["converged"] or len(about["history"]) >= self.params["max_iter"])):
            done = len(about.get("history", ()))
            try:
                if failures or self.slots.tasks < full:  # executors are gone, or may have come back
                    self.slots = self._slots()
                    self.budget = self._budgeted()
                about, state = self._job(about, state, done, failures)
                failures = 0
            except Exception as e:
                if (refused := cluster.refusal(e)) is not None:
                    raise refused from None
                failures += 1
                if failures > self.of._get("maxRetries"):
                    raise cluster.ClusterError(
                        f"the fit failed {failures} times after round {done}: {cluster.in_short(e)}"
                    ) from e
                text = f"rather.spark: {cluster.in_short(e)}; the fit goes on from round {done}"
                warn(text, "spark-retry")
        return AltSVMModel.from_state(self.of, self.said, about, state)

    # -- before ---------------------------------------------------------------------------------------------------

    def _counted(self, rows: DataFrame) -> tuple[int, int, str]:
        """Return the number of rows, about the number of users, and a key of this fit."""
        digest = F.sum(F.xxhash64(*rows.columns).cast("decimal(20,0)")).cast("string")
        n, users, data = rows.agg(F.count("*"), F.approx_count_distinct("user"), digest).first()
        if not n:
            raise InputError("there is nothing to compare: the table has no rows")
        said = [self.kind, self.params, rows.dtypes, n, data, __version__]
        said += [self.of._get(name) for name in ("numShards", "checkpointInterval", "unseen", "perUser")]
        return n, max(users, 1), hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:16]

    def _slots(self, must: bool = False) -> cluster.Slots:
        """Return as many slots as there are or are wanted; with ``must``, no fewer than are wanted."""
        wanted = self.of._get("numTasks")
        found = cluster.slots(self.spark, self.shards, wanted)
        if must and wanted is not None and found.tasks < wanted:
            raise InputError(
                f"numTasks is {wanted}, but {found.tasks} of them run at the same time here; ask for at most "
                f"{cluster.power_of_two(found.tasks)}, or for more executors"
            )
        return replace(found, tasks=min(cluster.power_of_two(found.tasks), self.shards))

    def _budgeted(self) -> cluster.Budget:
        drawn = 0
        if self.kind == "clicks":
            drawn = self.of._get("perUser") or self.of._get("unseen") or usual_unseen(self.n_items)
        return cluster.budget(
            self.n_users, self.n_items, self.n_rows, self._rank(), shards=self.shards, slots=self.slots,
            kind=self.kind, exposed=self.kind != "clicks" and self.params["exposure"] is not False, drawn=drawn,
        )  # fmt: skip

    def _rank(self) -> int:
        usual = AgainstUnseen.rank if self.kind == "clicks" and not self.of._get("perUser") else RANK
        return self.params["rank"] or usual

    def _plan(self, **more: Any) -> Plan:
        get = self.of._get
        ports = get("ports")
        plan = Plan(
            self.params, self.kind, self.n_items, self.shards, self.slots.tasks, get("checkpointInterval"),
            token=secrets.token_hex(16), weighted=self.weighted, unseen=get("unseen"), per_user=get("perUser"),
            timeout=get("timeout"), ports=None if ports is None else (ports[0], ports[1] + 1),
            bind=cluster.bind_address(self.spark),
        )  # fmt: skip
        return replace(plan, **more)

    # -- jobs -----------------------------------------------------------------------------------------------------

    def _chosen(self) -> tuple[dict[str, Any], DataFrame | None]:
        """Return the choices on held-out answers that the parameters leave open."""
        few = self.kind == "ratings" and self.n_rows <= FEW_RATINGS
        if self.params["reg"] != "cv" and (self.params["reg"] is not None or not (self.kind == "votes" or few)):
            return {}, None
        state = self._by_one_task("choice")
        return self._about(state), state

    def calibrated(self) -> Calibration:
        """Return the calibration, from a fit without the held-out comparisons."""
        cluster.require(self.budget)
        if self.kind == "votes":
            return Calibration(**self._about(self._by_one_task("aside", aside=True)))
        try:
            made = self._tasks({}, None, self.params["max_iter"], "aside", aside=True)
        except Exception as e:
            raise cluster.refusal(e) or e from None
        rows = made.where(F.col("kind") == ASIDE).select("vector").collect()
        return calibration(sorted(row["vector"] for row in rows), SHARES[1] * self.n_rows)

    def _by_one_task(self, name: str, **more: Any) -> DataFrame:
        """Return the result of one task on all answers or, if there are many, on some users'."""
        share = 1.0 if self.n_rows <= LARGE else min(PART, SOME / self.n_rows)
        rows = self.said.rows
        if share < 1:
            rows = rows.where(F.pmod(F.xxhash64("user", F.lit("choice")), F.lit(1 << 30)) < int(share * (1 << 30)))
        plan = self._plan(n_shards=1, n_tasks=1, **more)

        def chosen(batches: Any) -> Any:
            return choice(plan, batches)

        into = table.in_tasks(table.in_shards(rows, 1), 1, 1)
        try:
            return self._kept(into.mapInArrow(chosen, out_schema(self.said.user_type)), name)
        except Exception as e:
            raise cluster.refusal(e) or e from None

    def _job(
        self, begun: dict[str, Any], state: DataFrame | None, done: int, failures: int
    ) -> tuple[dict[str, Any], DataFrame]:
        """Run some rounds, after so many failed tries."""
        most = self.params["max_iter"] - done
        if self.path is not None:
            most = min(most, self.of._get("checkpointInterval"))
        at = f"round-{done + most}" + (f".{failures}" if failures else "")  # one that was given up may write there yet
        made = self._tasks(begun, state, most, at)
        about = self._about(made)
        last = about["history"][-1]
        self._say(f"rather.spark: round {last['round']:.0f}, objective {last['objective']:.6g}, gap {last['gap']:.2g}")
        if self.path is not None:
            line = json.dumps({"fit": self.fingerprint, "rounds": last["round"], "at": at})
            self.spark.createDataFrame([(line,)], "value string").coalesce(1).write.mode("append").text(
                f"{self.path}/progress"
            )
        return about, made

    def _tasks(self, begun: dict[str, Any], state: DataFrame | None, rounds: int, name: str, **more: Any) -> DataFrame:
        """Run the tasks for so many rounds."""
        params = {**self.params, "rank": self._rank()}
        plan = self._plan(begun=begun, rounds=rounds, params=params, **more)
        rows = table.in_shards(self.said.rows, self.shards)
        if state is not None:
            rows = rows.unionByName(table.left_over(state))

        def some_rounds(batches: Any) -> Any:
            return work(plan, batches)

        into = table.in_tasks(rows, self.shards, self.slots.tasks)
        made = into.mapInArrow(some_rounds, out_schema(self.said.user_type), barrier=True)
        return watched(self.spark, self.slots.tasks, lambda: self._kept(made, name, barrier=True))

    def _progress(self) -> dict[str, Any] | None:
        """The last checkpoint of the same fit: what is written of it was written to its end."""
        if self.path is None:
            return None
        try:
            lines = [json.loads(row["value"]) for row in self.spark.read.text(f"{self.path}/progress").collect()]
        except AnalysisException:  # nothing is there
            return None
        mine = [line for line in lines if line["fit"] == self.fingerprint]
        return max(mine, key=lambda line: line["rounds"]) if mine else None

    def _resumed(self) -> tuple[dict[str, Any], DataFrame] | None:
        """Return the state of an earlier fit of the same data and parameters."""
        if self.before is None:
            return None
        self._say(f"rather.spark: going on from round {self.before['rounds']:.0f}")
        state = self.spark.read.parquet(self._folder(self.before["at"]))
        return self._about(state), state

    def _about(self, state: DataFrame) -> dict[str, Any]:
        (row,) = state.where(F.col("kind") == ABOUT).select("text").collect()
        found: dict[str, Any] = json.loads(row["text"])
        return found

    def _kept(self, frame: DataFrame, name: str, barrier: bool = False) -> DataFrame:
        """A table computed once: in the checkpoint's folder, or without one on the executors."""
        if self.path is None:
            if not hasattr(frame, "localCheckpoint"):
                raise InputError("this Spark keeps no tables on its executors; give checkpointPath")
            kept = frame.localCheckpoint()
            # What comes from barrier tasks counts as theirs until it was shuffled, and cannot be looked at in part.
            return kept.repartition(self.slots.tasks).localCheckpoint() if barrier else kept
        frame.write.mode("overwrite").parquet(self._folder(name))
        return self.spark.read.parquet(self._folder(name))

    def _folder(self, name: str) -> str:
        return f"{self.path}/{self.fingerprint}/{name}"

    def _say(self, text: str) -> None:
        if self.of._get("verbose"):
            print(text, flush=True)
