"""Plain values of options without pydantic, which typer loads to check them: a seventh of what a small command takes.

A switch, a text, a number or a path that has one meaning only is taken as it is. Everything else, and so every
error message, is typer's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN = object()
"""What only typer can read."""
_NUMBERS = {int: re.compile(r"-?[1-9][0-9]{0,14}|0"), float: re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")}


class Command(TyperCommand):
    """A command whose plain values are read without pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters."""
        return read_plainly(super().get_params(ctx))


def read_plainly(parameters: list[Any]) -> list[Any]:
    """Let these parameters take plain values as they are. Versions of typer that convert otherwise stay as they are."""
    for parameter in parameters:
        theirs = getattr(parameter, "get_runtime_param", None)
        described = getattr(parameter, "type_descriptor", None)
        if theirs and described and "get_runtime_param" not in vars(parameter):
            parameter.get_runtime_param = _Plain(theirs, described)
    return parameters


class _Plain:
    """What typer calls to convert the value of one parameter."""

    def __init__(self, theirs: Callable[[], Any], described: Any) -> None:
        self._theirs, self._described = theirs, described

    def __call__(self) -> _Plain:
        """Return what converts."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of the parameter's type."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind, about = self._described.annotation, self._described.parameter_info
        if several:
            (kind,) = get_args(kind) or (None,)
            values = [_plain(each, kind, about) for each in _each(value)]
            known = None if UNKNOWN in values else values
        else:
            known = _plain(value, kind, about)
        return self._theirs().coerce(value, param=param, ctx=ctx) if known in (None, UNKNOWN) else known


def _each(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [UNKNOWN]


def _plain(value: Any, kind: Any, about: Any) -> Any:
    """Return a value that typer would read as the same.

    >>> from typer.models import OptionInfo
    >>> [_plain(*pair, OptionInfo()) for pair in (("7", int), ("a", str), (True, bool))]
    [7, 'a', True]
    >>> _plain("7.0", int, OptionInfo()) is _plain("9", int, OptionInfo(max=8)) is UNKNOWN
    True
    """
    if about.parser is not None:
        return UNKNOWN
    if kind in (str, bool) and type(value) is kind:
        return value
    if kind in _NUMBERS and (
        type(value) is kind or (isinstance(value, str) and _NUMBERS[kind].fullmatch(value))
    ):
        number, least, most = kind(value), about.min, about.max
        within = (least is None or number >= least) and (most is None or number <= most)
        return number if within and not about.clamp else UNKNOWN
    if kind is Path and isinstance(value, str | Path) and not _is_special(about):
        path = Path(value)
        return UNKNOWN if path.exists() and not os.access(path, os.R_OK) else path
    return UNKNOWN


def _is_special(about: Any) -> bool:
    """True if typer is to look at what the path names."""
    return (
        about.exists or about.writable or about.resolve_path or about.allow_dash or about.path_type is not None
        or not about.file_okay or not about.dir_okay
    )  # fmt: skip
