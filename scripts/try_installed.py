"""Tries an installed rather as a stranger would: the README's code, commands, files, Ctrl-C, extras that are absent.

``python scripts/try_installed.py`` needs nothing but rather and runs on every system. With ``--save FOLDER`` it only
fits and saves models there; with ``--saved FOLDER`` it also loads them, and another build must have the same answers.
With ``--one-process`` it starts no other, for an emulator.
"""

import argparse
import doctest
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import rather

ROOT = Path(__file__).resolve().parents[1]
COMMAND = [sys.executable, "-m", "rather"]
ABSENT = {  # a module that an extra installs, what is tried, and the extra
    "pyspark": ("import rather.spark", "spark"),
    "matplotlib": ("from rather.cli.main import main; main(['plot', 'leaderboard', 'x', '--out', 'x.png'])", "plot"),
    "fastapi": ("from rather.cli.main import main; main(['serve', 'votes.csv'])", "serve"),
}


def models():
    """Estimators that learn from votes, and small ones to fit."""
    votes = rather.simulate(n_users=60, n_items=30, per_user=20, seed=0).comparisons
    for name in ("AltSVM", "Global", "SGD", "Convex", "PaperAltSVM"):
        yield name, getattr(rather, name)().fit(votes)


def answers(model):
    """What a model says, as numbers."""
    items = model.items_.tolist()
    return {str(user): np.asarray(model.score(user, items), float).tolist() for user in model.users_[:5].tolist()}


def save(folder):
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, model in models():
        model.save(folder / f"{name}.model")
        said[name] = answers(model)
    (folder / "said.json").write_text(json.dumps(said), encoding="utf-8")


def load(folder):
    """Models that another build saved say the same here, to the last digits of single precision."""
    for name, said in json.loads((folder / "said.json").read_text(encoding="utf-8")).items():
        here = answers(rather.load(folder / f"{name}.model"))
        for user, scores in said.items():
            np.testing.assert_allclose(here[user], scores, rtol=1e-5, atol=1e-6, err_msg=name)


def over_itself(path):
    """A model is saved over a file that is there, and read again; newcomers get finite scores."""
    model = rather.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
    for _ in range(2):
        model.save(path)
    again = rather.load(path)
    best = model.rank(model.users_[0])["item"].tolist()
    assert again.rank(model.users_[0])["item"].tolist() == best
    assert np.isfinite(again.fold_in([(best[0], best[-1])]).score(best)).all()


def interrupt():
    """Ctrl-C during a fit ends it with KeyboardInterrupt."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
    model = rather.AltSVM(rank=2, reg=5.0, callback=press, on_interrupt="raise")
    try:
        model.fit(rather.Comparisons.from_frame(rather.datasets.film_club()))
    except KeyboardInterrupt:
        return
    raise AssertionError("Ctrl-C did not end a fit")


def press(model, record):
    signal.raise_signal(signal.SIGINT)


def run(*command):
    """On a console that knows few characters."""
    print("$", *command, flush=True)
    env = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run([*map(str, command)], capture_output=True, encoding="cp1252", env=env)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr
    return done.stdout


def main(options):
    """Try everything that an option does not leave out."""
    print(f"rather {rather.__version__}, {rather.native.core.__file__}")
    saved = options.saved.resolve() if options.saved else None
    os.chdir(tempfile.mkdtemp())  # where there is no source
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried.attempted and not tried.failed, tried
    over_itself(Path("Filmclub äöü.rather"))
    interrupt()
    if saved:
        load(saved)
    if not options.one_process:
        commands()
        extras()
    print("rather: this installation does what the README says")


def commands():
    """Those of the README, of which the first is found where pip put it."""
    run(Path(sysconfig.get_path("scripts")) / "rather", "demo", "--members", "100")
    run(*COMMAND, "doctor")
    run(*COMMAND, "simulate", "--out", "votes.csv")
    run(*COMMAND, "fit", "votes.csv", "--out", "model.rather")
    run(*COMMAND, "rank", "model.rather", "user 7", "--interval", "0.9")


def extras():
    """What needs an extra says how to install it."""
    for module, (code, extra) in ABSENT.items():
        lacking = f"import sys; sys.modules[{module!r}] = None; {code}"
        done = subprocess.run([sys.executable, "-c", lacking], capture_output=True, encoding="utf-8")
        assert f"pip install 'rather[{extra}]'" in done.stdout + done.stderr, (module, done.stdout + done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--saved", type=Path)
    parser.add_argument("--one-process", action="store_true")
    options = parser.parse_args()
    if options.save:
        save(options.save)
    else:
        main(options)
