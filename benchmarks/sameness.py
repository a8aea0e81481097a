"""Compare the work tree with an earlier commit: the same bits, and how fast.

    python benchmarks/sameness.py REFERENCE                    # every array, table and file, bit by bit
    python benchmarks/sameness.py REFERENCE --speed            # CPU seconds, both builds in turn, ratios of medians
    python benchmarks/sameness.py REFERENCE --counts           # names, private uses, Any: how the code reads

The reference is built in build/sameness/ with this machine's instruction set. The work tree uses the core that is
installed with it. Both builds answer sameness_answers.py in processes of their own, on equal data.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from measuring import bench, smoke

ROOT = Path(__file__).parents[1]
CHILD = Path(__file__).with_name("sameness_answers.py")


class Build(NamedTuple):
    """A version of the package: where its sources are, and the folder that Python imports it from."""

    name: str
    tree: Path
    path: Path

    def environment(self) -> dict[str, str]:
        places = os.pathsep.join([str(self.path), *site_packages(), str(CHILD.parent)])
        return {**os.environ, "PYTHONPATH": places, "OPENBLAS_NUM_THREADS": "1"}

    def command(self, *arguments: str) -> list[str]:
        # -S: without the .pth file of an editable install, which would import the work tree in both processes.
        return [sys.executable, "-S", "-c", f"import sys, {CHILD.stem}; {CHILD.stem}.main(sys.argv[1:])", *arguments]


def site_packages() -> list[str]:
    """Return the folders of installed packages."""
    return [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]


def overlay(tree: Path, cores: list[Path], folder: Path) -> Path:
    """Put sources and compiled cores together, as a folder to import from."""
    shutil.rmtree(folder, ignore_errors=True)
    for package in ("rather", "rather_command"):
        shutil.copytree(tree / "src" / package, folder / package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for core in cores:
        shutil.copy(core, folder / "rather")
    return folder


def here(folder: Path) -> Build:
    """Put the work tree together with the cores that are installed, whatever their instruction sets."""
    import rather.native

    cores = sorted(Path(rather.native.core.__file__).parent.glob("_core_*.so"))
    return Build("work tree", ROOT, overlay(ROOT, cores, folder / "here"))


def reference(commit: str, folder: Path) -> Build:
    """Check a commit out, and compile its core for this machine."""
    import rather.native

    tree = folder / commit
    if not tree.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), commit], cwd=ROOT, check=True)
    made = folder / f"{commit}-core"
    modules = {"_core_baseline", "_core_processor", f"_core_{rather.native.simd}"}  # earlier commits lack the second
    targets = sorted(name for name in modules if name in (tree / "CMakeLists.txt").read_text())
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja()}"]
    subprocess.run(["cmake", "-S", tree, "-B", made, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", made, "--target", *targets, "-j2"], check=True, stdout=subprocess.DEVNULL)
    return Build(commit, tree, overlay(tree, sorted(made.glob("_core_*.so")), folder / f"{commit}-overlay"))


def short_name(reference: str) -> str:
    """Return the short name of a commit."""
    shown = subprocess.run(
        ["git", "rev-parse", "--short", reference], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return shown.stdout.strip()


def ninja() -> str:
    return shutil.which("ninja") or str(Path(sys.executable).with_name("ninja"))


# -- bits -------------------------------------------------------------------------------------------------------------


def answers(build: Build, folder: Path) -> dict[str, Any]:
    file = folder / f"{build.name.replace(' ', '-')}.npz"
    size = ["--smoke"] if smoke.ON else []
    subprocess.run(build.command("answers", str(file), *size), env=build.environment(), check=True)
    names = json.loads(Path(f"{file}.names").read_text())
    with np.load(file) as arrays:
        return {names[key]: arrays[key] for key in arrays.files}


def compare_answers(old: Build, new: Build) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        before, after = answers(old, Path(folder)), answers(new, Path(folder))
    rows: dict[str, dict[str, Any]] = {}
    for name in sorted({*before, *after}):
        group = name.partition(":")[0]
        row = rows.setdefault(group, {"fit": group, "equal": 0, "differ": 0, "which": ""})
        a, b = before.get(name), after.get(name)
        if a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
            row["equal"] += 1
        else:
            row["differ"] += 1
            what = name.partition(":")[2].strip()
            row["which"] = f"{row['which']}; {what} {how_far(a, b)}".strip("; ")
    return list(rows.values())


def how_far(a: Any, b: Any) -> str:
    if a is None or b is None:
        return "(new)" if a is None else "(gone)"
    if a.dtype.kind in "fiu" and b.dtype.kind in "fiu" and a.shape == b.shape and a.size:
        return f"({np.abs(a.astype(float) - b.astype(float)).max():.2g})"
    short = a.dtype.kind == b.dtype.kind == "U" and a.shape == b.shape == () and max(len(str(a)), len(str(b))) < 60
    return f"({a} -> {b})" if short else "(differs)"


# -- speed ------------------------------------------------------------------------------------------------------------


def compare_times(builds: tuple[Build, Build], pairs: int, only: list[str]) -> list[dict[str, Any]]:
    size = ["--smoke"] if smoke.ON else []
    children = [
        subprocess.Popen(
            b.command("times", *size), env=b.environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for b in builds
    ]

    def ask(child: Any, name: str) -> float:
        child.stdin.write(f"{name}\n")
        child.stdin.flush()
        return float(child.stdout.readline())

    cases = [json.loads(child.stdout.readline()) for child in children]  # type: ignore[union-attr]
    rows = []
    for name in [case for case in cases[0] if case in cases[1] and (not only or case in only)]:
        seconds = np.array([[ask(child, name) for child in children] for _ in range(pairs)])
        ratios = np.sort(seconds[:, 1] / seconds[:, 0])
        low, high = median_interval(ratios)
        before, after = np.median(seconds, axis=0)
        ratio = float(np.median(ratios))
        rows.append({"case": name, "before": before, "after": after, "ratio": ratio, "low": low, "high": high})
        print(f"{name}: {rows[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
    for child in children:
        child.stdin.close()  # type: ignore[union-attr]
        child.wait()
    return rows


def median_interval(ordered: Any) -> tuple[float, float]:
    """A 95 % interval of the median by order statistics (all of the range where there are fewer than 6)."""
    from scipy.stats import binom

    n = len(ordered)
    k = max(int(binom.ppf(0.025, n, 0.5)) - 1, 0)
    return float(ordered[k]), float(ordered[n - 1 - k])


# -- counts -----------------------------------------------------------------------------------------------------------

PARAMETER = "user_power"  # of AltSVM and Convex, checked, sent to Spark and carried by update
NAMES = """
import json, rather
kind = rather.AltSVM
model = kind(rank=2, reg=1.0).fit(rather.simulate(20, 10, per_user=9).comparisons)
public = {name for name in dir(model) if not name.startswith("__")}
own = {name for base in kind.__mro__ for name in vars(base) if name.startswith("_") and not name.startswith("__")}
print(json.dumps([len(kind.__mro__) - 1, len(public), len(own)]))
"""


def counts(build: Build) -> dict[str, Any]:
    """Count how much of the code reaches into other objects, and how many names a fitted AltSVM has."""
    source = [p.read_text() for p in sorted((build.tree / "src").rglob("*.py"))]
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "SLF001", "--output-format", "json",
         str(build.tree / "src")], capture_output=True, text=True,
    )  # fmt: skip
    found = subprocess.run(
        [sys.executable, "-S", "-c", NAMES], env=build.environment(), capture_output=True, text=True, check=True
    )
    classes, names, private = json.loads(found.stdout)
    return {
        "build": build.name,
        "files": len(source),
        "lines": sum(text.count("\n") for text in source),
        "classes of AltSVM": classes,
        "names of a fitted AltSVM": names,
        "private names of the class": private,
        "private uses (SLF001)": len(json.loads(ruff.stdout)),
        "expressions of type Any": any_expressions(build.tree),
        "the word Any": sum(len(re.findall(r"\bAny\b", text)) for text in source),
        "__dict__": sum(text.count("__dict__") for text in source),
        f"places that declare {PARAMETER}": sum(declarations(text, PARAMETER) for text in source),
        "calls of round()": sum(text.count(".round()") for text in source),
    }


def any_expressions(tree: Path) -> int:
    """Count the expressions to which mypy gives the type Any."""
    packages = [f"src/{name}" for name in ("rather", "rather_command")]
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", folder, "--any-exprs-report", folder, *packages],
            cwd=tree, capture_output=True, text=True,
        )  # fmt: skip
        report = Path(folder) / "any-exprs.txt"
        if not report.exists():
            sys.exit(said.stdout + said.stderr)
        return int(report.read_text().splitlines()[-1].split()[1])  # Total, Anys, Exprs, Coverage


def declarations(text: str, name: str) -> int:
    """Count the arguments of __init__, the fields of classes and the strings that spell the name of a parameter."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            found += any(argument.arg == name for argument in [*node.args.args, *node.args.kwonlyargs])
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found += node.target.id == name
        elif isinstance(node, ast.Constant):
            found += node.value in (name, "--" + name.replace("_", "-"))
    return found


def main() -> None:
    line = bench.parser(__doc__)
    line.add_argument("reference", nargs="?", default="HEAD", help="a commit to compare with (HEAD by default)")
    line.add_argument("--speed", action="store_true", help="compare CPU seconds instead of bits")
    line.add_argument("--counts", action="store_true", help="compare how the code reads")
    line.add_argument("--pairs", type=int, default=smoke.sized(15, 2), help="timed pairs of each case")
    line.add_argument("--only", nargs="*", default=[], help="timed cases by name")
    options = line.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rather-sameness-")) if smoke.ON else ROOT / "build" / "sameness"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        new = here(folder)
        old = new._replace(name="reference") if smoke.ON else reference(short_name(options.reference), folder)
        if options.counts:
            bench.report("sameness-counts", [counts(old), counts(new)])
        elif options.speed:
            bench.report("sameness-speed", compare_times((old, new), options.pairs, options.only))
        else:
            rows = compare_answers(old, new)
            bench.report("sameness", rows)
            differ = sum(row["differ"] for row in rows)
            print(f"{sum(row['equal'] for row in rows)} equal, {differ} differ")
    finally:
        if smoke.ON:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
