"""The voting page without a server: ``make docs`` writes it to try/, with the film club's model as JSON beside it.

An import map puts ``local.js`` in the place of ``api.js``, through which the page talks to a server.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import rather
from rather import server

LOCAL = Path(__file__).parent / "try"
PAGE = Path(server.__file__).parent / "page"
LEFT_OUT = {"api.html", "docs.js", "shared.html", "shared.js"}  # these are of no use without a server
MAP = {"imports": {"./api.js": "./local.js"}, "scopes": {"./local.js": {"./api.js": "./api.js"}}}
HEAD = f'<script type="importmap">{json.dumps(MAP)}</script>\n  <link rel="stylesheet" href="./try.css">\n  '
BANNER = (
    '<p class="banner">Runs in your browser. Nothing is sent. '
    '<a href="../start/try.html">What is this?</a></p>\n  <header>'
)
CHANGES = (
    ('<link rel="icon"', f'{HEAD}<link rel="icon"'),
    ("<header>", BANNER),
    ('      <a href="/api">API</a>\n', ""),
    ('<a href="/openapi.json">API</a> does not.', "rest of the site does not."),
    (' id="share"', ' id="share" hidden'),
    ('"/static/', '"./'),
    ('href="/arena"', 'href="./arena.html"'),
    ('href="/"', 'href="./index.html"'),
)


def write(folder: Path, model: Any, title: str) -> None:
    """Write the page with a model into a folder."""
    shutil.copytree(PAGE, folder, dirs_exist_ok=True, ignore=lambda _, names: LEFT_OUT & set(names))
    shutil.copytree(LOCAL, folder, dirs_exist_ok=True)
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for before, after in CHANGES:
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    model.to_json(folder / "model.json")
    document = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    document |= {"title": title, "users": len(model.users_), "answers": len(model.fitted.training)}
    (folder / "model.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def film_club(app: Any, error: Exception | None) -> None:
    """Write the page with the film club's model, if the site was built as HTML."""
    if error is None and app.builder.format == "html":
        votes = rather.Comparisons.from_frame(rather.datasets.film_club())
        write(Path(app.outdir) / "try", rather.AltSVM(rank=3).fit(votes), "A film club")


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", film_club)
    return {"parallel_read_safe": True}
