"""How Sphinx builds the site: ``make docs`` writes it to docs/_build/html."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import rather  # noqa: E402
from rather.addresses import ISSUES, REPORT_A_HOLE, REPOSITORY, SITE  # noqa: E402

SOURCE = Path(rather.__file__).resolve().parents[1]  # a site may be built from an installed package
COMMIT = os.environ.get("GITHUB_SHA") or "main"
OWNER, NAME = urlsplit(REPOSITORY).path.strip("/").split("/")
ADDRESSES = {"Source": REPOSITORY, "Issues": ISSUES}

project = "rather"
author = "the authors of rather"
copyright = "2026, the authors of rather"
version = release = rather.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "notfound.extension",
    "command_line",
    "static_demo",
]
nitpicky = True
nitpick_ignore_regex = [
    (r"py:obj", r"[a-z_]+_|relative_gap"),  # attributes of a fitted model, named in docstrings
    (r"py:class", r"rather\.(models|rivals)\..*"),  # scorers, which are not public
    (r"py:(meth|obj)", r"probability|scorer|scores|ClickRanker\.fold_in"),  # inherited, and shown once
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "attrs_inline", "substitution"]
myst_heading_anchors = 3
myst_substitutions = {
    "issues": f"[issue tracker]({ISSUES})",
    "advisory": f"[private report]({REPORT_A_HOLE})",
}
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
copybutton_exclude = ".linenos, .gp, .go"
intersphinx_mapping = (
    {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }
    if os.environ.get("READTHEDOCS")  # elsewhere the site is built without a network
    else {}
)

html_theme = "pydata_sphinx_theme"
html_title = "rather"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "github_url": REPOSITORY,
    "use_edit_page_button": True,
    "footer_start": ["copyright"],
    "footer_center": ["addresses"],
    "footer_end": [],
}
html_baseurl = SITE + "/"
notfound_urls_prefix = urlsplit(SITE).path + "/"  # 404.html is shown at any address, so its links are not relative
html_context = {
    "github_url": "https://" + urlsplit(REPOSITORY).netloc,
    "github_user": OWNER,
    "github_repo": NAME,
    "github_version": "main",
    "doc_path": "docs",
    "addresses": ADDRESSES,
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("rather",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "image_srcset": ["2x"],
    "within_subsection_order": "FileNameSortKey",
}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of a documented name is, in the commit that the site describes."""
    thing = importlib.import_module(info["module"])
    for part in info["fullname"].split("."):
        thing = inspect.getattr_static(thing, part, None)
    for inner in ("fget", "func", "__func__"):  # of a property, a cached one, a class method
        thing = getattr(thing, inner, thing)
    thing = inspect.unwrap(thing)
    try:
        path = Path(inspect.getfile(thing)).resolve().relative_to(SOURCE)
        lines, first = inspect.getsourcelines(thing)
    except (TypeError, ValueError, OSError):  # data have no source, and other packages' names none here
        return None
    return f"{REPOSITORY}/blob/{COMMIT}/src/{path.as_posix()}#L{first}-L{first + len(lines) - 1}"


def without_last_blank(app: Any, name: str, source: list[str]) -> None:
    """Take away the blank line that ends a block of code for doctest's sake."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def without_edit(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Take the link "Edit on GitHub" away from pages that the repository does not have."""
    if page.startswith(("api/generated/", "examples/")):
        context["page_source_suffix"] = ""


def setup(app: Any) -> None:
    app.connect("html-page-context", without_edit, priority=400)  # before the theme looks at it
    app.connect("source-read", without_last_blank)
