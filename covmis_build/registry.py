"""What is used by its name: ours, by a table in its room, and what other packages add.

A package adds something with an entry point, as in its pyproject.toml:

    [project.entry-points."covmis.measures"]
    hits = "their_package.measures:HITS"

It is imported when it is requested by its name. One that is faulty is an error then, and no sooner.
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
    """Values by name. To iterate gives ours; those of other packages are there for who names them."""

    def __init__(
        self, own: Mapping[str, Value], group: str, what: str, take: Callable[[str, Any], Value]
    ) -> None:
        """`group` is the entry points' group, `what` a word for messages, `take` what is used of a value under this name."""
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
        """The names that other packages add; a name of ours stays ours."""
        return sorted(points(self._group).keys() - self._own.keys())

    @property
    def names(self) -> list[str]:
        """All names."""
        return [*self._own, *self.added]

    def _load(self, name: str, point: EntryPoint) -> Value:
        try:
            return self._take(name, point.load())
        except Exception as error:  # noqa: BLE001 - whatever a package of others raises
            package = point.dist.name if point.dist else point.value
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(
                f"the {self._what} '{name}' of the package {package} cannot be used: {reason}",
                remedy=f"Update or remove {package}",
            ) from None


@cache
def points(group: str) -> Mapping[str, EntryPoint]:
    """What the installed packages add, by name; of two of one name that of the package that comes first by its name."""
    listed = sorted(
        entry_points(group=group), key=lambda point: point.dist.name if point.dist else "", reverse=True
    )
    return {point.name: point for point in listed}


def versions(group: str) -> list[str]:
    """The added names with their packages' versions: what is made with them depends on these."""
    return [
        f"{name} {point.dist.name} {point.dist.version}" if point.dist else f"{name} {point.value}"
        for name, point in sorted(points(group).items())
    ]
