"""What comments and docstrings refer to is there: files of the package, pages of docs/, no sections of papers of our own."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [
    path
    for folder in ("covmis_build", "tests", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
OURS = {path.name for path in FILES} | {path.name for path in (ROOT / "docs").glob("*.py")}
PAGE = re.compile(r"(?<![\w/])(?:docs|benchmarks)/[\w./-]*\w")
MODULE = re.compile(r"`([\w/]+\.py)`")
SECTION = re.compile(r"\bDESIGN \d|\bCONTRACTS\b|\b[a-z-]+\.md, \d")


def said(source: str) -> list[str]:
    """All comments, and all strings that are statements."""
    comments = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    ]
    strings = [
        node.value.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return comments + strings


def missing(text: str) -> list[str]:
    """What this text refers to and nobody can look up."""
    pages = [
        page for page in PAGE.findall(text) if not (ROOT / page).exists() and not list(ROOT.glob(f"{page}-*"))
    ]
    return (
        pages + [name for name in MODULE.findall(text) if Path(name).name not in OURS] + SECTION.findall(text)
    )


def test_missing_names_what_is_not_there():
    text = "As `gone.py` has it (DESIGN 6; evaluation.md, 3): docs/explanation/gone.md, docs/decisions/0064, docs/design.md"
    assert missing(text) == [
        "docs/explanation/gone.md",
        "gone.py",
        "DESIGN 6",
        "evaluation.md, 3",
    ]


def test_what_is_referred_to_is_there():
    found = {
        str(path.relative_to(ROOT)): [
            name for text in said(path.read_text("utf-8")) for name in missing(text)
        ]
        for path in FILES
        if path != Path(__file__)
    }
    assert {path: names for path, names in found.items() if names} == {}
