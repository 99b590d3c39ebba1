"""The import arrows of the design, held: leaves import nothing of ours, rooms not one another, and nothing in a circle.

Imports inside functions count. Imports that only the type checker sees count where no circle may be among files that name
one another's types: in study/.
"""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "covmis_build"
GROUND = {
    "errors",
    "keyed",
    "options",
    "label_words",
    "settings",
    "addresses",
    "places",
    "far_tables",
    "records",
    "registry",
    "tables",
    "storage",
    "checked_parquet",
    "credentials",
    "children",
    "characters",
    "bounds",
    "anchors",
    "operations",
}
LEAVES = {"text", "stats", "engine", "report", "files"}
ROOMS = {
    "claims", "queries", "archive", "matching", "ranking", "cleaning", "sampling", "collecting", "annotation",
    "estimation", "corpus", "evaluation", "models", "datasets",
}  # fmt: skip
ARROWS = {
    "errors": set(),
    "keyed": {"errors"},
    "addresses": {"errors"},
    "places": {"addresses", "far_tables"},
    "far_tables": {"errors", "addresses", "storage"},
    "options": {"errors"},
    "label_words": {"errors"},
    "settings": {"errors", "options", "label_words", "addresses", "text", "files"},
    "credentials": {"errors"},
    "children": {"errors"},
    "characters": set(),
    "bounds": set(),
    "anchors": {"errors", "storage", "bounds"},
    "operations": set(),  # it reads signatures, and loads an operation when it is called
    "records": set(),
    "registry": {"errors"},
    "tables": {"errors", "records"},
    "checked_parquet": {"errors"},
    "storage": {"errors", "records", "tables", "addresses", "checked_parquet"},
    "files": {"errors", "children", "characters", "storage"},
    "text": {"errors", "keyed", "characters"},
    "stats": {"errors", "keyed"},
    "engine": {"errors", "keyed", "addresses", "tables", "storage", "checked_parquet", "text", "children"},
    "report": {"errors", "children", "keyed", "tables"},
    **dict.fromkeys(ROOMS, GROUND | LEAVES),
    "building": GROUND | LEAVES | ROOMS,
    "study": GROUND | LEAVES | ROOMS | {"building"},
    "workbench": {
        "study",
        "errors",
        "operations",
        "report",
        "storage",
    },  # pages over the study; it calculates nothing
    "cli": {"study", "errors", "operations", "engine", "report", "workbench"}
    | {"models", "annotation", "estimation", "evaluation"},  # commands that need no study
}
for room, further in {
    "matching": {"archive"},
    "ranking": {"archive"},
    "collecting": {"archive"},
    "corpus": {"sampling"},
    "estimation": {"sampling"},
    "evaluation": {"sampling"},
    "models": {"evaluation", "datasets"},
}.items():
    ARROWS[room] = ARROWS[room] | further
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
    "pyarrow.fs",
}
MAY_USE_NETWORK = (
    "addresses.py",
    "anchors.py",  # asks for a time stamp; verifies without a network
    "collecting/sources/",
    "claims/fact_check.py",
    "annotation/channels/label_studio/",
    "datasets/fetching.py",
    "models/asking.py",
    "workbench/app.py",  # listens on this machine; opens no connection
    "workbench/team_server.py",  # listens where the lead says; opens no connection
    "bounds.py",  # limits answers of others; opens no connection
    "storage.py",  # names the machine that holds a lock; opens no connection
)
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


@cache
def statements(path):
    """All nodes but those that only the type checker runs."""
    tree = ast.parse(path.read_text("utf-8"))
    unseen = {
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If)
        and isinstance(branch.test, ast.Name)
        and branch.test.id == "TYPE_CHECKING"
        for statement in branch.body
        for node in ast.walk(statement)
    }
    return [node for node in ast.walk(tree) if node not in unseen]


def imported(path, nodes=statements):
    """Every module that a file imports, ours as files: `from covmis_build.text import urls` is covmis_build.text.urls."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in FILES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def ours(path):
    return {name for name in imported(path) if name in FILES and name != "covmis_build"}


def test_arrows_point_one_way():
    wrong = {}
    for name, path in FILES.items():
        own = name.split(".")[1] if "." in name else ""
        used = {other.split(".")[1] for other in ours(path)} - {own}
        if own in ARROWS and not used <= ARROWS[own]:
            wrong[name] = used - ARROWS[own]
    assert wrong == {}


def circles(arrows):
    """Files that import one another, directly or through others."""
    after: dict[str, set[str]] = {}
    for start in arrows:
        reached, waiting = set(), [start]
        while waiting:
            for name in arrows[waiting.pop()] - reached:
                reached.add(name)
                waiting.append(name)
        after[start] = reached
    return sorted({tuple(sorted({name, *(other for other in after[name] if name in after[other])}))
                   for name in arrows if name in after[name]})  # fmt: skip


def test_nothing_is_imported_in_a_circle():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [("b", "c")]
    assert circles({name: ours(path) - {name} for name, path in FILES.items()}) == []


def every_node(path):
    """Also what only the type checker runs."""
    return ast.walk(ast.parse(path.read_text("utf-8")))


def test_files_of_study_do_not_even_name_one_another_s_types_in_a_circle():
    """An operation takes a study as `OfStudy` describes it; `Study` alone names all operations' results."""
    files = {name: path for name, path in FILES.items() if name.startswith("covmis_build.study.")}
    arrows = {name: set(imported(path, every_node)) & files.keys() - {name} for name, path in files.items()}
    assert len(arrows["covmis_build.study.study"]) > 20
    assert circles(arrows) == []


FACES = {
    "Study": ("covmis_build.study.study", {"study", "home"}),
    "Round": ("covmis_build.study.round", {"round_", "opened"}),
}
"""The objects whose methods load the files of verbs, and the names under which functions take them."""


def loaded_by_methods(tree, name):
    """For each method of this class the files that a call of it loads, also by way of other methods."""
    methods = {
        method.name: list(ast.walk(method))
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }

    def loads(method, seen):
        for node in methods[method]:
            if isinstance(node, ast.ImportFrom):
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from {each if each in FILES else node.module for each in names}
            elif (
                isinstance(node, ast.Attribute)
                and getattr(node.value, "id", "") == "self"
                and node.attr in methods.keys() - seen
            ):
                yield from loads(node.attr, seen | {node.attr})

    return {method: set(loads(method, {method})) for method in methods}


def by_methods(tree, faces):
    """The files that this file reaches by calling methods of a study or a round that it was given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = getattr(node.value, "id", getattr(node.value, "attr", ""))
            for called, methods in faces:
                yield from methods.get(node.attr, ()) if of in called else ()


def test_no_circle_by_way_of_a_study_s_methods():
    """A function that calls `study.verb()` depends on what this verb loads, as if it imported it."""
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in FILES.items() if ".study." in name}
    faces = {file: (called, loaded_by_methods(trees[file], name)) for name, (file, called) in FACES.items()}
    study = faces["covmis_build.study.study"][1]
    assert "covmis_build.study.run" in study["run"]
    arrows = {name: ours(path) - {name} for name, path in FILES.items()}
    arrows["covmis_build.study.study"] = set()  # it names the verbs, and they are handed it
    for name, tree in trees.items():
        of_others = [face for file, face in faces.items() if file != name]
        if name != "covmis_build.study.study":
            arrows[name] |= {file for file in by_methods(tree, of_others) if file in FILES} - {name}
    assert "covmis_build.study.claims" in arrows["covmis_build.study.rebuilding"]
    assert circles(arrows) == []


def test_the_network_is_used_where_the_design_says():
    used = {
        str(path.relative_to(PACKAGE))
        for path in FILES.values()
        if any(module in NETWORK or module.split(".")[0] in NETWORK for module in imported(path))
    }
    assert "addresses.py" in used
    assert [place for place in sorted(used) if not place.startswith(MAY_USE_NETWORK)] == []


def test_only_the_command_line_prints():
    printing = {
        name
        for name, path in FILES.items()
        for node in statements(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }
    assert [name for name in sorted(printing) if not name.startswith("covmis_build.cli")] == []


def test_files_stay_readable():
    """One subject a file, whatever its length; none is as long as two."""
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in FILES.items()}
    del lines["covmis_build.study.study"]  # the list of all that can be done, each with all that can be set
    assert {name: count for name, count in lines.items() if count > 750} == {}
