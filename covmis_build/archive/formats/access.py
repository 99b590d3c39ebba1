"""Code that reads the values of a form: of decoded objects, with types for what is used, and of a table's rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from covmis_build.archive.formats.grammar import EACH, FormError, Path, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

IDS = ("int", "str")


class Code(NamedTuple):
    """Python code of a value, and its kind: text, maybe (a text or None), scalar (or a number), any, list, id."""

    code: str
    kind: str

    @property
    def text(self) -> str:
        """Code that gives a text."""
        if self.kind == "list":
            raise FormError(
                "a list where a text was expected: name one of it, like `links[0]`, or add `| joined`"
            )
        if self.kind == "maybe":
            return f"({self.code} or '')"
        return self.code if self.kind in {"text", "id"} else f"_text({self.code})"

    @property
    def called_once(self) -> str:
        """The same as `text`, without a call where the value is a text already."""
        return (
            f"(t if type(t := {self.code}) is str else _text(t))"
            if self.kind in {"any", "scalar"}
            else self.text
        )

    @property
    def is_empty(self) -> bool:
        """True if the value is always empty: a column that the table does not have."""
        return self.code in {"''", "[]"}

    @property
    def listed(self) -> str:
        """Code that gives a list."""
        return self.code if self.kind == "list" else f"_each({self.code} or None)"


EMPTY = Code("''", "text")


_PLAIN = re.compile(r'[^\\"\x00-\x1f]*')


class Used:
    """A value of JSON as far as a form uses it."""

    def __init__(self, names: Iterator[int]) -> None:
        self.name, self._names = f"T{next(names)}", names
        self.keys: dict[str, Used] = {}
        self.element: Used | None = None
        self.kinds: set[str] = set()

    def key(self, key: str) -> Used:
        """Return the value of a key."""
        if not _PLAIN.fullmatch(key):
            raise FormError(f"'{key}': keys with quotation marks, backslashes or line ends cannot be read")
        return self.keys.setdefault(key, Used(self._names))

    def elements(self) -> Used:
        """Return what is used of each element of a list."""
        self.element = self.element or Used(self._names)
        return self.element

    def below(self, steps: Iterable[Step]) -> Used:
        """Return what is used at a path."""
        value = self
        for key, place in steps:
            value = value.key(key) if place is None else value.key(key).elements()
        return value

    def link(self, steps: Sequence[Step], target: Used) -> None:
        """Make a place below this one of the same type as `target`: posts may be in several places, and in each other."""
        *above, (key, place) = steps
        holder = self.below(above)
        if place is None:
            holder.keys[key] = target
        else:
            holder.key(key).element = target

    def check(self, steps: Sequence[Step]) -> None:
        """Refuse a place of posts that a value reads, too."""
        value = self
        for key, place in steps:
            value = value.key(key)
            if value.is_plain:
                raise FormError(f"'{key}' is read both as a value and as a place of posts")
            value = value.elements() if place is not None else value
        if value.is_plain:
            raise FormError("a post is read as a value")

    @property
    def is_plain(self) -> bool:
        """True if the value may be several things, or all of it is used: it is decoded as it is."""
        uses = bool(self.kinds) + bool(self.keys) + bool(self.element)
        return "Any" in self.kinds or uses > 1


def attribute(key: str) -> str:
    """Return the attribute of a decoded object that has this key."""
    return "k_" + re.sub(r"\W", lambda mark: f"_{ord(mark[0]):x}_", key, flags=re.ASCII)


def decoder_of(root: Used) -> Any:
    """Return a decoder of what a form uses. An object may contain objects of its own type."""
    structs: dict[str, Any] = {"Any": Any}

    def annotation(used: Used, *, may_lack: bool = True) -> str:
        if used.is_plain:
            return "Any"
        if used.element:
            kind = f"list[{annotation(used.element, may_lack=False)}]"
        elif used.keys:
            define(used)
            kind = used.name
        else:
            kind = " | ".join(sorted(used.kinds)) or "Any"
        return f"{kind} | None" if may_lack else kind

    def define(used: Used) -> None:
        if used.name in structs:
            return
        structs[used.name] = None
        fields = [(attribute(key), annotation(inner), None) for key, inner in used.keys.items()]
        names = {attribute(key): key for key in used.keys}
        structs[used.name] = msgspec.defstruct(used.name, fields, rename=names, gc=False)

    define(root)
    for struct in structs.values():
        if struct is not Any:
            for name, value in structs.items():
                setattr(struct, name, value)  # annotations are looked up in the class
    return msgspec.json.Decoder(structs[root.name])


class Place(NamedTuple):
    """A Python variable, and what of it is used; None for plain JSON."""

    variable: str
    used: Sequence[Used] | None


@dataclass(slots=True)
class Objects:
    """Access to a decoded post: by attributes where types are known, by key elsewhere."""

    row: Place
    ups: list[Place]
    before: dict[str, str] = field(default_factory=dict)
    """Objects inside the post, each read once: code → variable."""
    inside: bool = False
    """True within a loop, where nothing is read ahead."""
    leaves: bool = False
    """True if a value stands outside the post."""

    def note(self, path: Path, kinds: Iterable[str]) -> None:
        """Note that a form uses this."""
        for used in self._place(path).used or ():
            used.below(path.steps).kinds.update(kinds)

    def _place(self, path: Path) -> Place:
        if path.ups > len(self.ups) or (path.ups and not self.ups[path.ups - 1].used):
            raise FormError(f"'{'^' * path.ups}{path.column}': there is no object so far around a post")
        self.leaves = self.leaves or bool(path.ups)
        return self.ups[path.ups - 1] if path.ups else self.row

    def get(self, path: Path) -> Code:
        """Return code for the value at a path."""
        place = self._place(path)
        used = place.used[0] if place.used else None
        return self._below(place.variable, used, path.steps, may_lack=bool(path.ups))

    def _below(self, code: str, used: Used | None, steps: Sequence[Step], *, may_lack: bool) -> Code:
        guards = [code] if may_lack else []
        for at, (key, place) in enumerate(steps):
            if used is None or used.is_plain:
                return self._plain(" and ".join([*guards, code]), steps[at:])
            used, code = used.key(key), f"{code}.{attribute(key)}"
            if place is not None and used.is_plain:
                return self._plain(" and ".join([*guards, code]), [Step("", place), *steps[at + 1 :]])
            if place == EACH:
                return self._loop(
                    f"({' and '.join([*guards, code])} or ())", used.elements(), steps[at + 1 :]
                )
            if place is not None:
                code, _ = self._ahead(guards, code)
                used, code, guards = (
                    used.elements(),
                    f"({code}[{place}] if {code} and len({code}) > {place} else None)",
                    [],
                )
            if at < len(steps) - 1 and not used.is_plain:
                code, guards = self._ahead(guards, code)
        whole = " and ".join([*guards, code])
        return Code(f"({whole})" if guards else whole, kind_of(used))

    def _ahead(self, guards: list[str], code: str) -> tuple[str, list[str]]:
        """Read an object inside the post once, before all values. Returns its variable, and the guard that it is there."""
        whole = " and ".join([*guards, code])
        if self.inside:
            return code, [*guards, code]
        variable = self.before.setdefault(whole, f"o{len(self.before)}")
        return variable, [variable]

    def _plain(self, code: str, steps: Sequence[Step]) -> Code:
        names: list[str] = []
        for at, (key, place) in enumerate(steps):
            names += [repr(key)] if key else []
            if place == EACH:
                return self._loop(f"_each(_at({', '.join([code, *names])}))", None, steps[at + 1 :])
            names += [] if place is None else [str(place)]
        return Code(f"_at({', '.join([code, *names])})", "any")

    def _loop(self, source: str, used: Used | None, steps: Sequence[Step]) -> Code:
        was, self.inside = self.inside, True
        inner = self._below("e", used, steps, may_lack=False) if steps else Code("e", kind_of(used))
        self.inside = was
        if inner.kind == "list":
            return Code(f"[w for e in {source} for w in {inner.code}]", "list")
        return Code(f"[{inner.code if inner.kind == 'maybe' else inner.text} for e in {source}]", "list")


def kind_of(used: Used | None) -> str:
    """Return the kind of a value that is used so."""
    if used is None or used.is_plain or not used.kinds:
        return "any"
    return "maybe" if used.kinds == {"str"} else "scalar" if used.kinds == set(IDS) else "any"


@dataclass(slots=True)
class Cells:
    """Access to a table's row by place. A column that the table does not have is empty."""

    header: Sequence[str]

    def note(self, path: Path, kinds: Iterable[str]) -> None:
        """All cells are texts."""

    def get(self, path: Path) -> Code:
        """Return code for the cell of a column."""
        return Code(f"c[{self.header.index(path.column)}]", "text") if path.column in self.header else EMPTY
