"""An import that lacks what an extra installs names the line that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("absent", ["pyspark", "pyarrow"])
def test_spark_without_its_extra(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; import rather.spark"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: Spark needs pyspark and pyarrow; run: pip install 'rather[spark]'"
