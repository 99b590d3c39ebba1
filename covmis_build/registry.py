"""Registries of named values: built-in ones, and additions by other packages.

A package adds a value with an entry point, in its pyproject.toml:

    [project.entry-points."covmis.measures"]
    hits = "their_package.measures:HITS"

It is imported when its name is requested. A faulty one is an error only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import EntryPoint

Value = TypeVar("Value")


class Registry(Mapping[str, Value]):
    """Values by name. Iteration gives the built-in ones; others are available by name."""

    def __init__(
        self, own: Mapping[str, Value], group: str, what: str, take: Callable[[str, Any], Value]
    ) -> None:
        """`group` is the entry points' group, `what` a noun for messages, `take` checks and converts an added value."""
        self._own, self._group, self._what, self._take = own, group, what, take
        self._loaded: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name in self._own:
            return self._own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name, points(self._group)[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in points(self._group)

    @property
    def added(self) -> list[str]:
        """The names added by other packages; built-in names take precedence."""
        return sorted(points(self._group).keys() - self._own.keys())

    @property
    def names(self) -> list[str]:
        """All names."""
        return [*self._own, *self.added]

    def _load(self, name: str, point: EntryPoint) -> Value:
        try:
            return self._take(name, point.load())
        except Exception as error:  # noqa: BLE001 - packages may raise anything
            package = point.dist.name if point.dist else point.value
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"the {self._what} '{name}' of the package {package} cannot be used: {reason}",
                remedy=f"Update or remove {package}",
            ) from None


@cache
def points(group: str) -> Mapping[str, EntryPoint]:
    """Return the installed additions by name; of equal names, the one of the alphabetically first package."""
    listed = sorted(
        entry_points(group=group), key=lambda point: point.dist.name if point.dist else "", reverse=True
    )
    return {point.name: point for point in listed}


def versions(group: str) -> list[str]:
    """Return the added names with their packages' versions, on which results depend."""
    return [
        f"{name} {point.dist.name} {point.dist.version}" if point.dist else f"{name} {point.value}"
        for name, point in sorted(points(group).items())
    ]
