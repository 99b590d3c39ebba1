"""An operation is written once: its signature says of each parameter what it is, what it may be, and in one line what it does.

`pages: Annotated[int, About("Posts per page.", at_least=0)] = 0` is all there is to write for an option. The command line
and its help, the browser's buttons, the session's script and the reference are made from it. A parameter without
`About` is for Python alone.

Signatures are read from the source, so that nothing is loaded that computes: `covmis --help` stays fast.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import importlib.util
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class About:
    """What a parameter is for; `flag` only where it is called otherwise than the parameter."""

    help: str
    flag: str = ""
    metavar: str = ""
    at_least: float | None = None
    at_most: float | None = None
    argument: bool = False
    """Written without a flag."""
    commas: bool = False
    """Several values are written as one text, with commas between."""
    may_be_empty: bool = False
    """A value of NAME=VALUE may be left out."""
    environment: str = ""
    """The environment variable that gives it, too."""


class Many(StrEnum):
    """How many values a parameter has."""

    ONE = "one"
    SEVERAL = "several"
    PAIRS = "pairs"


REQUIRED = object()
"""The default of a parameter that has to be given."""


@dataclass(frozen=True)
class Parameter:
    """A parameter that people can set."""

    name: str
    about: About
    kind: Any
    """bool, int, float, str, Path, or a tuple of them."""
    many: Many = Many.ONE
    default: Any = REQUIRED

    @property
    def flag(self) -> str:
        """As it is written on the command line."""
        return "" if self.about.argument else self.about.flag or f"--{self.name.replace('_', '-')}"

    @property
    def written(self) -> str:
        """Its flag, or the name of an argument."""
        return self.flag or self.about.metavar or self.name.upper()

    @property
    def is_required(self) -> bool:
        """Whether it has to be given."""
        return self.default is REQUIRED

    @property
    def is_switched_off(self) -> bool:
        """Whether the flag turns off what is on without it."""
        return self.kind is bool and self.default is True

    def words(self, value: Any) -> list[str]:
        """The words of the command line that give it this value."""
        if value == self.default or (value is None and self.default == ()):
            return []
        if self.kind is bool:
            return [self.flag.partition("/")[0 if value or self.is_switched_off else 2]]
        if self.many is Many.PAIRS:
            texts = [f"{key}={one}" for key, one in value.items()]
        elif self.many is Many.SEVERAL and not isinstance(value, str | Path):
            texts = [",".join(map(str, value))] if self.about.commas else [str(one) for one in value]
        else:
            texts = [str(value)]
        return texts if self.about.argument else [word for text in texts for word in (self.flag, text)]


@dataclass(frozen=True)
class Operation:
    """What can be done: a method of `Study`, `Round` or `Recall`, or a function."""

    home: str
    """The module below covmis_build and the name in it: "study.round:Round.push"."""
    help: str
    parameters: tuple[Parameter, ...]
    others: frozenset[str]
    """Names of parameters that people do not set, such as `progress`."""

    @property
    def owner(self) -> str:
        """The class whose method it is; empty for a function."""
        return self.home.partition(":")[2].rpartition(".")[0]

    @property
    def name(self) -> str:
        """The name of the method or function."""
        return self.home.partition(":")[2].rpartition(".")[2]

    def load(self) -> Callable[..., Any]:
        """The function itself, with all that it needs to compute."""
        module, _, name = self.home.partition(":")
        part: Any = importlib.import_module(f"{__package__}.{module}")
        for attribute in name.split("."):
            part = getattr(part, attribute)
        return part  # type: ignore[no-any-return]

    def words(self, given: Mapping[str, Any], further: Sequence[str] = ()) -> list[str]:
        """The arguments as words of the command line, with `further` options."""
        flags: list[str] = []
        arguments: list[str] = []
        for parameter in self.parameters:
            if parameter.name in given:
                words = parameter.words(given[parameter.name])
                (arguments if parameter.about.argument else flags).extend(words)
        if any(word.startswith("-") for word in arguments):
            return [*flags, *further, "--", *arguments]
        return [*arguments, *flags, *further]

    def python(self, given: Mapping[str, Any], *, of: str = "study") -> str:
        """The same as a line of Python; `of` is the study's or round's name there."""
        required = [at.name for at in self.parameters if at.default is REQUIRED]
        shown = [
            f"{given[name]!r}" if name in required else f"{name}={given[name]!r}"
            for name in [*required, *(name for name in given if name not in required)]
        ]
        return f"{of}.{self.name}({', '.join(shown)})"


class _Elsewhere(type):
    """Stands for types that are not loaded."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, _: Any) -> Any:
        return cls


class _Unknown(metaclass=_Elsewhere):
    pass


class _Names(dict[str, Any]):
    """The names in an annotation; of what would have to be loaded, a placeholder."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, _Unknown)


@functools.cache
def operation(home: str) -> Operation:
    """Read an operation from the source of its module.

    >>> operation("study.round:Round.push").parameters[0].flag
    '--channel'
    """
    module, _, name = home.partition(":")
    tree, names = _source(module), _names(module)
    body: Sequence[ast.stmt] = tree.body
    for part in name.split("."):
        node = next(
            one for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == part
        )
        body = node.body
    if not isinstance(node, ast.FunctionDef):
        raise TypeError(f"{home} is no function")
    parameters, others = [], []
    for argument, default in _arguments(node):
        hint = _evaluated(argument.annotation, names) if argument.annotation else None
        described, about = _described(hint)
        if about is None:
            others.append(argument.arg)
        else:
            written = described.__forward_arg__ if isinstance(described, ForwardRef) else None
            kind, many = _kind(eval(written, names) if written else described)  # noqa: S307
            value = REQUIRED if default is None else _value(default, module)
            parameters.append(Parameter(argument.arg, about, kind, many, value))
    return Operation(home, ast.get_docstring(node) or "", tuple(parameters), frozenset(others))


def _evaluated(annotation: ast.expr, names: _Names) -> Any:
    """What an annotation of our own source says."""
    return eval(compile(ast.Expression(annotation), "annotation", "eval"), names)  # noqa: S307


def _described(hint: Any) -> tuple[Any, About | None]:
    """The type and the description in an annotation, also where it is one of several types."""
    for kind in get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,):
        for about in getattr(kind, "__metadata__", ()):
            if isinstance(about, About):
                return get_args(kind)[0], about
    return None, None


def _kind(hint: Any) -> tuple[Any, Many]:
    """What the command line gives for this type; of several, the first that can be written there."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        kind = _kind(next(one for one in of if one not in {_Unknown, type(None)}))
    elif origin in {list, Sequence, Iterable}:
        kind = _kind(of[0])[0], Many.SEVERAL
    elif origin in {dict, Mapping}:
        kind = _kind(of[1])[0], Many.PAIRS
    else:
        kind = str if origin is Literal else hint, Many.ONE
    return kind


def _arguments(function: ast.FunctionDef) -> list[tuple[ast.arg, ast.expr | None]]:
    """The arguments with their defaults, without self."""
    plain = [*function.args.posonlyargs, *function.args.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(function.args.defaults))
    own = [*zip(plain, [*missing, *function.args.defaults], strict=True)]
    own += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [(argument, default) for argument, default in own if argument.arg != "self"]


_PARSER = threading.Lock()
"""CPython 3.11 counts the depth of all syntax trees in one place: two threads that parse at once end in a SystemError."""


@functools.cache
def _source(module: str) -> ast.Module:
    """The source of a module below covmis_build, which is not loaded."""
    path = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    if not path.exists():
        path = path.with_suffix("") / "__init__.py"
    with _PARSER:
        return ast.parse(path.read_text("utf-8"))


@functools.cache
def _names(module: str) -> _Names:
    """The names that annotations of this module use: its own descriptions, those of this file, and plain types."""
    known = _Names(globals())
    for name, value in _descriptions(module):
        known[name] = _evaluated(value, known)
    return known


def _descriptions(module: str) -> list[tuple[str, ast.expr]]:
    """The described types that a module names: `Level = Annotated[float, About(…)]`."""
    described: list[tuple[str, ast.expr]] = []
    for node in _source(module).body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="Annotated")) as value
            ):
                described.append((name, value))
    return described


def _value(default: ast.expr, module: str) -> Any:
    """A default: a literal, or a constant of this module or of the one that it comes from."""
    if not isinstance(default, ast.Name):
        return ast.literal_eval(default)
    for node in _source(module).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=default.id)], value=value):
                return ast.literal_eval(value)
            case ast.ImportFrom(module=str(home), names=names) if any(
                one.name == default.id for one in names
            ):
                return _value(default, home.removeprefix(f"{__package__}."))
    raise LookupError(f"{module} has no constant {default.id}")


Level = Annotated[float, About("Confidence level of the intervals.", at_least=0.5, at_most=0.999)]
Rebuild = Annotated[bool, About("Rebuild out-of-date tables first; otherwise they are an error.")]
Spark = Annotated[
    "Mapping[str, str] | None", About("A setting for Spark.", flag="--conf", metavar="KEY=VALUE")
]
