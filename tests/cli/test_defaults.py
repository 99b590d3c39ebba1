"""What is not given means the same in a terminal and in Python: an option's default is that of the verb it goes to."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import covmis_build.cli
from covmis_build.study.round import Round
from covmis_build.study.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

NOTHING = (None, "", (), False, inspect.Parameter.empty)


def verb(call: ast.Call, function: ast.FunctionDef, module: ModuleType) -> Callable[..., Any] | None:
    """What a line of a command calls: a method of the study or of a round, or a function that the command imports."""
    if isinstance(call.func, ast.Attribute):
        return getattr(Study, call.func.attr, getattr(Round, call.func.attr, None))
    if not isinstance(call.func, ast.Name):
        return None
    for line in ast.walk(function):
        for name in line.names if isinstance(line, ast.ImportFrom) else ():
            if (name.asname or name.name) == call.func.id:
                return getattr(import_module(str(line.module)), name.name)
    return getattr(module, call.func.id, None)


def pairs(module: ModuleType) -> Iterator[tuple[str, Any, Any]]:
    """Each parameter that a command hands on under its name or another, and both defaults."""
    for function in ast.parse(inspect.getsource(module)).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        own = inspect.signature(getattr(module, function.name)).parameters
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            called = verb(call, function, module)
            if not inspect.isfunction(called):
                continue
            theirs = [at for at in inspect.signature(called).parameters.values() if at.name != "self"]
            defaults = {at.name: at.default for at in theirs}
            given = [*zip(defaults, call.args), *((word.arg, word.value) for word in call.keywords)]  # noqa: B905
            for name, value in given:
                if isinstance(value, ast.Name) and value.id in own and name in defaults:
                    yield f"{module.__name__}.{function.name}: {name}", own[value.id].default, defaults[name]


def test_an_option_that_is_left_out_means_what_it_means_in_python():
    found = [
        pair
        for path in sorted(Path(covmis_build.cli.__file__).parent.glob("[a-z]*.py"))
        for pair in pairs(import_module(f"covmis_build.cli.{path.stem}"))
    ]
    assert len(found) > 60
    differ = [
        pair for pair in found if pair[1] != pair[2] and not (pair[1] in NOTHING and pair[2] in NOTHING)
    ]
    assert [pair for pair in differ if inspect.Parameter.empty not in pair[1:]] == []
