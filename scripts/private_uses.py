"""Compare the uses of other objects' private names with private-uses.toml, the list of those that are allowed.

    python scripts/private_uses.py             # says where the counts differ from the list, and fails if they do
    python scripts/private_uses.py --write     # writes the counts of today into the list, which may only become smaller

ruff refuses private names (its rule SLF001) in every file that the list lacks. tests/ may use them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "private-uses.toml"
HEAD = """# Files that use other objects' private names, and how often. The list may only become smaller.
# python scripts/private_uses.py --write writes it; pyproject.toml hands it to ruff.
[lint.per-file-ignores]
"tests/**" = ["SLF001"]
"""


def found() -> Counter[str]:
    """Return how often each file outside tests/ uses a private name of another object, as ruff counts."""
    command = ["check", "--isolated", "--select", "SLF001", "--exclude", "tests,build,.venv", "--output-format", "json"]
    done = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)
    return Counter(Path(use["filename"]).relative_to(ROOT).as_posix() for use in json.loads(done.stdout))


def allowed() -> Counter[str]:
    """Return the counts of the list."""
    lines = re.findall(r'^"(.+\.py)" = \["SLF001"\]  # (\d+)$', LIST.read_text(), re.M)
    return Counter({file: int(count) for file, count in lines})


def differences(uses: Counter[str], limits: Counter[str]) -> list[str]:
    """Return a sentence for each file whose count is not that of the list."""
    more = [f"{file} has {uses[file]} uses of private names, and {limits[file]} are allowed" for file in uses - limits]
    fewer = [f"{file} has only {uses[file]} of {limits[file]} uses; --write lowers the list" for file in limits - uses]
    return sorted(more) + sorted(fewer)


def main() -> None:
    uses = found()
    if "--write" in sys.argv:
        LIST.write_text(HEAD + "".join(f'"{file}" = ["SLF001"]  # {uses[file]}\n' for file in sorted(uses)))
    elif lines := differences(uses, allowed()):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
