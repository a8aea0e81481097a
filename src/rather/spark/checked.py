"""Columns of a DataFrame, and for every row that cannot be used a sentence with the reason.

The sentence is a column, ``trouble``, so that every computation on the rows carries it along.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..data.frames import EXACT
from ..errors import InputError
from .columns import Column, column

IDS = ("user", "item")
ID_TYPES, NUMBERS, ROUNDED = (T.StringType, T.IntegralType), T.NumericType, (T.LongType, T.DecimalType)
SCORES = ("prediction", "winner", "loser", "score")  # compared in single precision, as by the local metrics
COLD = ' (coldStartStrategy="everyone" gives what a model does not know a score, as locally; "drop" leaves it out)'


def read(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """The named columns (role -> column) under the names of their roles, and the first trouble with each row."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    columns, troubles = [], []
    for role, name in names.items():
        what = f"the {role} (column {name!r})"
        raw = column(frame, name, role)
        wanted, need = (
            (ID_TYPES, "ids must be strings or integers") if role in IDS else (NUMBERS, "it must hold numbers")
        )
        if not isinstance(types[name], wanted):
            raise InputError(f"{what} holds values of type {types[name].simpleString()}; {need}: cast the column first")
        if role in IDS:
            columns.append(raw.alias(role))
            troubles.append(F.when(F.col(role).isNull(), F.lit(f"{what} is missing in a row; drop such rows first")))
            if isinstance(types[name], T.StringType):
                troubles.append(F.when(~F.col(role).rlike(r"\S"), F.lit(f"{what} is empty in a row; drop such rows")))
            continue
        columns.append(raw.cast("float" if role in SCORES else "double").alias(role))
        advice = "; it must be a finite number" + (COLD if role in SCORES else "")
        finite = F.coalesce(F.abs(F.col(role)) < float("inf"), F.lit(False))  # NaN is above infinity here
        troubles.append(F.when(~finite, value_of(role, names, advice)))
        if isinstance(types[name], ROUNDED) and role not in SCORES:
            advice = "; whole numbers beyond 2**53 would tie: rescale them"
            troubles.append(F.when(F.abs(F.col(role)) >= EXACT, value_of(role, names, advice)))
    return frame.select(*columns).withColumn("trouble", F.coalesce(*troubles))


def also(rows: DataFrame, wrong: Column, sentence: Column) -> DataFrame:
    """The rows, with a sentence where something more is wrong."""
    return rows.withColumn("trouble", F.coalesce("trouble", F.when(wrong, sentence)))


def once_each(rows: DataFrame) -> DataFrame:
    """The rows, in trouble where a user has an item twice."""
    before = F.lag("item").over(Window.partitionBy("user").orderBy("item"))
    return also(rows, before == F.col("item"), twice())


def twice() -> Column:
    return F.concat(F.lit("user "), _quoted("user"), F.lit(" has item "), _quoted("item"), F.lit(" twice; keep one"))


def value_of(role: str, names: Mapping[str, str], advice: str) -> Column:
    """A sentence about a number: where it stands, what it is, and what to do."""
    place = [part for who in IDS if who in names for part in (F.lit(f" and {who} "), _quoted(who))]
    place[0] = F.lit(" of user ")
    value = F.coalesce(F.col(role).cast("string"), F.lit("null"))
    return F.concat(F.lit(f"the {role} (column {names[role]!r})"), *place, F.lit(" is "), value, F.lit(advice))


def _quoted(what: str) -> Column:
    """An id as error messages show it: 'ann' or 7."""
    mark = F.when(F.typeof(what) == "string", "'").otherwise("")
    return F.concat(mark, F.col(what).cast("string"), mark)
