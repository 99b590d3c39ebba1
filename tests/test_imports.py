"""The import arrows of the design, held: leaves import nothing of ours, capabilities not one another."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "covmis_build"
LEAVES = {"errors", "keyed"}
FRAME = LEAVES | {"options", "tables", "storage", "engine", "text", "stats", "report"}
CAPABILITIES = {
    "claims", "queries", "retrieval", "cleaning", "sampling", "annotation", "corpus", "datasets", "evaluation", "models",
}  # fmt: skip
ALLOWED = {
    "errors": set(),
    "keyed": set(),
    "options": {"errors"},
    "tables": {"errors"},
    "storage": {"errors", "tables"},
    "ledger": {"errors", "storage"},
    "engine": LEAVES | {"tables", "storage", "text"},
    "text": LEAVES,
    "stats": LEAVES,
    "report": LEAVES | {"tables"},
    "study": {"errors", "options"},  # run, stages, flow and explain orchestrate
    **dict.fromkeys(CAPABILITIES, FRAME),
    "evaluation": FRAME | {"sampling"},
    "models": FRAME | {"evaluation", "datasets"},
}
NETWORK = {
    "httpx",
    "requests",
    "urllib.request",
    "http.client",
    "socket",
    "twarc",
    "atproto",
    "mastodon",
    "snscrape",
}
MAY_USE_NETWORK = (
    "retrieval/sources/",
    "claims/fact_check.py",
    "annotation/label_studio.py",
    "annotation/server.py",
    "datasets/fetching.py",
    "storage.py",  # names the machine that holds a lock; opens no connection
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "covmis_build":
                yield from (f"covmis_build.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_point_one_way(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own not in ALLOWED:
        return  # the frame's stages, and the command line, orchestrate
    used = {name.split(".")[1] for name in imported(path) if name.startswith("covmis_build.")}
    assert used - {own, "__version__"} <= ALLOWED[own]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_network_is_used_where_the_design_says(path):
    place = str(path.relative_to(PACKAGE))
    used = {name for name in imported(path) if name in NETWORK or name.split(".")[0] in NETWORK}
    if used:
        assert place.startswith(MAY_USE_NETWORK), f"{place} imports {used}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints(path):
    calls = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]  # fmt: skip
    assert not calls or path.parent.name == "cli"


def test_modules_stay_readable():
    assert {
        str(path.relative_to(PACKAGE)): n
        for path in MODULES
        if (n := len(path.read_text().splitlines())) > 400
    } == {}
