"""``import rather`` loads numpy and the core, and leaves the rest until it is used."""

import subprocess
import sys

LATER = {
    "matplotlib", "narwhals", "pandas", "polars", "pyarrow", "pyspark", "rich", "safetensors", "scipy.linalg",
    "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "sklearn", "starlette", "threadpoolctl",
}  # fmt: skip


def test_import_leaves_other_packages_alone():
    """No optional package and no part of scipy is loaded, because these take longer than all of rather."""
    code = "import sys, rather; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not LATER & {*done.stdout.split()}
