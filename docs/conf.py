"""The documentation as a site: `make docs` (tests/site.py hands over the gallery's pages)."""

from __future__ import annotations

import ast
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import covmis_build
from tests.demonstration.pages import PAGES

NAMED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

project = "covmis"
author = "The covmis developers"
copyright = author  # noqa: A001 - the name is Sphinx's
release = version = NAMED["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"  # tests/demonstration/test_notebooks.py runs them; the site shows what they printed
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]
default_role = "code"  # our docstrings write code between single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
html_theme = "furo"
html_title = f"covmis {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}
html_extra_path += [folder] if (folder := os.environ.get("COVMIS_SITE_EXTRA")) else []  # gallery/*.html


def setup(app: Sphinx) -> None:
    """Two pages hold a marker for what is known only when the site is built."""
    app.connect("source-read", _fill)


FILES = {
    "benchmarks/RESULTS.md": "project/results",
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "SECURITY.md": "project/reporting",
}
"""Files of the repository that are pages of the site, too."""


def _fill(_: Sphinx, docname: str, source: list[str]) -> None:
    folder = (ROOT / "docs" / docname).parent
    if marker := re.match("<!-- file (.*) -->", source[0]):
        source[0] = (ROOT / marker[1]).read_text("utf-8")
        source[0] = re.sub(LINK, lambda link: _link(link, (ROOT / marker[1]).parent, folder), source[0])
    else:
        source[0] = re.sub(LINK, lambda link: _link(link, folder, folder), source[0])
    if docname == "gallery":
        source[0] = source[0].replace("<!-- pages -->", _gallery()).replace("<!-- pictures -->", _pictures())
    elif docname == "reference/errors":
        source[0] = source[0].replace("<!-- messages -->", _messages())


LINK = re.compile(r"\[([^\]\n]*)\]\((\.{0,2}[\w./-]+?)(#[\w-]+)?\)")


def _link(link: re.Match[str], written: Path, shown: Path) -> str:
    """A link to a file, as it is written in this folder, for the page that shows it; of a file that the site lacks, its name."""
    target = (written / link[2]).resolve()
    if not target.is_relative_to(ROOT):
        return link[0]
    name = str(target.relative_to(ROOT))
    if name in FILES:
        target = ROOT / "docs" / f"{FILES[name]}.md"
    if not target.is_relative_to(ROOT / "docs") or not target.is_file():
        return link[1]
    return f"[{link[1]}]({os.path.relpath(target, shown)}{link[3] or ''})"


def _gallery() -> str:
    """Every page, by name, with a frame to look into."""
    frame = (
        '## {title}\n\n{shows}.\n\n```{{raw}} html\n<p><a href="gallery/{name}.html">Open the page</a></p>\n'
        '<div class="gallery-page"><iframe src="gallery/{name}.html" title="{title}" loading="lazy"></iframe></div>\n```\n'
    )
    titles = {page: page.name.replace("-", " ").capitalize() for page in PAGES}
    return "\n".join(frame.format(name=page.name, title=titles[page], shows=page.shows) for page in PAGES)


def _pictures() -> str:
    """Pictures of `covmis open` in each state, where a browser has taken them."""
    taken = sorted((Path(os.environ.get("COVMIS_SITE_EXTRA", "")) / "gallery" / "browser").glob("*.png"))
    links = "".join(
        f'<a href="gallery/browser/{path.name}"><img src="gallery/browser/{path.name}" alt="{path.stem}" loading="lazy"></a>\n'
        for path in taken
    )
    return f'```{{raw}} html\n<div class="gallery-pictures">{links}</div>\n```' if links else ""


def _messages() -> str:
    """What every error of ours says, and what to do, as the sources have it; … stands for what is filled in."""
    kinds = {
        name
        for name in covmis_build.__all__
        if str(getattr(covmis_build, name)).startswith("<class 'covmis_build.errors")
    }
    rows = set()
    for path in sorted((ROOT / "covmis_build").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in kinds and node.args:
                remedy = next((word.value for word in node.keywords if word.arg == "remedy"), None)
                rows.add(
                    (path.parent.name.replace("covmis_build", "study"), _text(node.args[0]), _text(remedy))
                )
    lines = [f"| {room} | {problem} | {remedy} |" for room, problem, remedy in sorted(rows) if problem]
    return "\n".join(["| part | it says | what to do |", "|---|---|---|", *lines])


def _text(node: ast.expr | None) -> str:
    """A message as its sources write it; nothing where it is not written out."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    words = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in parts]
    text = " ".join("".join(words).split())
    return "" if text.strip("… ") == "" else "`" + text.replace("|", "\\|").replace("`", "'") + "`"
