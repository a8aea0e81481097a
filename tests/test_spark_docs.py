"""The Python of docs/guides/spark.md runs, from top to bottom."""

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PAGE = Path(__file__).parents[1] / "docs" / "guides" / "spark.md"


@pytest.mark.skipif(not PAGE.exists(), reason="of a checkout only")
def test_the_page_runs(spark):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    namespace = {"spark": spark}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert len(blocks) >= 6
    assert namespace["again"].history == namespace["model"].history
