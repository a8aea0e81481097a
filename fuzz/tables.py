"""Small tables in CSV and Parquet files, of all the ways to write them."""

from __future__ import annotations

import io
import random

ROWS = [("ann", "tea", "coffee", 1.5), ("bob", 'co"la', "tea, green", 2.0), ("zoé", "日本", "x\ny", 0.25)] * 3
NUMBERS = [(1, 2, 3, 1.0), (2, 30, 4, 0.5), (-7, 10**12, 5, 1e-3)] * 3


def samples() -> tuple[list[bytes], list[bytes]]:
    """(CSV texts, Parquet files) of votes with weights, ids text or integers."""
    import csv

    import pyarrow
    import pyarrow.parquet

    texts, files, rng = [], [], random.Random(0)
    for rows in (ROWS, NUMBERS):
        for mark, end in ((",", "\n"), (";", "\r\n"), ("\t", "\n")):
            out = io.StringIO()
            writer = csv.writer(out, delimiter=mark, lineterminator=end)
            writer.writerow(("user", "winner", "loser", "weight"))
            writer.writerows(rng.sample(rows, len(rows)))
            texts.append(out.getvalue().encode())
        texts.append(b"\xef\xbb\xbf" + texts[-3])
        names = ("user", "winner", "loser", "weight")
        table = pyarrow.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        for compression in ("none", "snappy"):
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(table, buffer, compression=compression)
            files.append(buffer.getvalue())
    return texts, files
