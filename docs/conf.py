"""How Sphinx builds the site: ``make docs`` writes it to docs/_build/html."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import rather  # noqa: E402

project = "rather"
author = "the authors of rather"
copyright = "2026, the authors of rather"
version = release = rather.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
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

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
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
    "footer_start": ["copyright"],
    "footer_end": [],
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


def without_last_blank(app: Any, name: str, source: list[str]) -> None:
    """Take away the blank line that ends a block of code for doctest's sake."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    app.connect("source-read", without_last_blank)
