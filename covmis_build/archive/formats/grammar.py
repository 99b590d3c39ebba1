"""The language of a form's values and conditions, parsed to trees; docs/design.md has an example.

A value is `path ?? path | filter | filter if condition`; a condition is `path = a, b & !path & path ~ expression`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("id", "own", "text", "platform")
"""What a value may use of the post itself: $id, $own (its whole id), $text, $platform."""
OPERATORS = (" | ", " ?? ", " if ")


class FormError(ValueError):
    """A form that cannot be used; says what of it."""


@contextmanager
def named(part: str) -> Iterator[None]:
    """Name the part of a form, a key or a case, whose error this is."""
    try:
        yield
    except FormError as error:
        raise FormError(f"{part}{error}") from None


class Step(NamedTuple):
    """One step of a path: a key, then the place in its list, or -1 for each element of it."""

    key: str
    place: int | None = None


EACH = -1


@dataclass(frozen=True, slots=True)
class Path:
    """A place in a post. `ups` leads out of it: 1 is the object around its list, 2 the one around that."""

    ups: int
    steps: tuple[Step, ...]
    column: str
    """The same as the name of a table's column."""


@dataclass(frozen=True, slots=True)
class Name:
    """A value of the post itself, like $text."""

    name: str


@dataclass(frozen=True, slots=True)
class Words:
    """A text with values in it; empty if one of them is."""

    parts: tuple[str | Path | Name, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter, and what follows its colon."""

    name: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Test:
    """One part of a condition. `sign` is "", "=", "~", "exists" or "is list"."""

    subject: Path | Name
    negated: bool
    sign: str = ""
    wanted: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The texts of which the value must be one."""
        return tuple(word.strip() for word in self.wanted.split(","))


@dataclass(frozen=True, slots=True)
class Value:
    """The first of these that is not empty, through these filters, if all tests hold."""

    choices: tuple[Value | Path | Name | Words, ...]
    filters: tuple[Filter, ...] = ()
    tests: tuple[Test, ...] = ()


Tree: TypeAlias = Value | Path | Name | Words

_STEP = re.compile(r"(?:`([^`]+)`|([^.\[\]`]+))?((?:\[\d*\])?)(?:\.|$)")
_PATH = re.compile(r"(?:`[^`]+`|(?! \|| \?\?| if )[^'`()])+")
_FILTER = re.compile(r"([a-z_]+(?:,[a-z_]+)*)(:?)")
_TEST = re.compile(r"(!?)\s*(\$\w+|(?:`[^`]+`|[^=~`])+?)\s*(?:(=|~)\s*(.*)|\b(exists|is list))?", re.DOTALL)


def parse_path(written: str) -> Path:
    """Parse a path: `a.b[].c`, `a[0]`, `` `odd.name` ``, `^name`.

    >>> parse_path("^a.b[0]").steps
    (Step(key='a', place=None), Step(key='b', place=0))
    """
    bare = written.strip().lstrip("^")
    ups, at, steps = len(written.strip()) - len(bare), 0, []
    while at < len(bare):
        match = _STEP.match(bare, at)
        if not match or not match[0].strip("."):
            raise FormError(f"'{written}' is no path; an odd name stands in backticks")
        key, place = match[1] or (match[2] or "").strip(), match[3]
        if not key:
            raise FormError(f"'{written}': a list has a name before its []")
        steps.append(Step(key, None if not place else EACH if place == "[]" else int(place[1:-1])))
        at = match.end()
    return Path(ups, tuple(steps), bare.replace("`", ""))


def parse_value(written: str) -> Value:
    """Parse a value."""
    reading = _Reading(written)
    value = reading.value(inside=False)
    if not reading.ended:
        raise FormError(f"cannot be understood from here: '{reading.rest}'")
    return value


def parse_condition(written: str) -> tuple[Test, ...]:
    """Parse a condition: tests joined by ` & `.

    >>> [test.words for test in parse_condition("kind = a, b & !gone")]
    [('a', 'b'), ('',)]
    """
    tests = []
    for part in written.split(" & "):
        match = _TEST.fullmatch(part.strip())
        if not match or not match[2].strip():
            raise FormError(
                f"'{part}' is no condition; there are: path, !path, = a, b, ~ expression, exists, is list"
            )
        subject = Name(match[2][1:]) if match[2][0] == "$" else parse_path(match[2])
        if match[3] == "~":
            pattern(match[4])
        tests.append(Test(subject, bool(match[1]), match[3] or match[5] or "", match[4] or ""))
    return tuple(tests)


def pattern(written: str) -> re.Pattern[str]:
    """Compile a regular expression of a form."""
    try:
        return re.compile(written)
    except re.error as error:
        raise FormError(f"'{written}' is no regular expression: {error}") from None


class _Reading:
    """Reads a value from left to right."""

    def __init__(self, written: str) -> None:
        self._written, self._at = written, 0

    @property
    def rest(self) -> str:
        return self._written[self._at :]

    @property
    def ended(self) -> bool:
        return not self.rest.strip()

    def _takes(self, sign: str) -> bool:
        """Step over a sign, if it is next."""
        length = len(self.rest) - len(self.rest.lstrip())
        if not self.rest.lstrip().startswith(sign):
            return False
        self._at += length + len(sign)
        return True

    def value(self, *, inside: bool) -> Value:
        choices = [self._choice()]
        while self._takes("??"):
            choices.append(self._choice())
        filters = []
        while self._takes("|"):
            match = _FILTER.match(self.rest.lstrip())
            if not match:
                raise FormError(f"a filter is missing here: '{self.rest}'")
            self._at += len(self.rest) - len(self.rest.lstrip()) + match.end()
            filters.append(Filter(match[1], self._until(inside=inside) if match[2] else ""))
        tests = parse_condition(self._until(inside=inside, operators=())) if self._takes("if ") else ()
        return Value(tuple(choices), tuple(filters), tests)

    def _choice(self) -> Tree:
        if self._takes("("):
            value = self.value(inside=True)
            if not self._takes(")"):
                raise FormError(f"a bracket is not closed: '{self._written}'")
            return value
        if self._takes("'"):
            words, quote, _ = self.rest.partition("'")
            if not quote:
                raise FormError(f"a quotation mark is not closed: '{self._written}'")
            self._at += len(words) + 1
            return _words(words)
        match = _PATH.match(self.rest)
        written = match[0].strip() if match else ""
        if not match or not written:
            raise FormError(f"a name is missing here: '{self.rest or self._written}'")
        self._at += match.end()
        return _name(written) if written[0] == "$" else parse_path(written)

    def _until(self, *, inside: bool, operators: tuple[str, ...] = OPERATORS) -> str:
        """Return the text up to the next operator, or to the bracket that closes the value that it is in."""
        start, depth, quoted = self._at, 0, False
        while self._at < len(self._written):
            mark = self._written[self._at]
            if mark == "'":
                quoted = not quoted
            elif not quoted and self._written.startswith(operators, self._at):
                break
            elif mark in "()" and not quoted and self._written[self._at - 1] != "\\":
                depth += 1 if mark == "(" else -1
                if depth < 0 and inside:
                    break
            self._at += 1
        return self._written[start : self._at].strip()


def _name(written: str) -> Name:
    if written[1:] not in NAMES:
        raise FormError(f"'{written}' is not known; there are: {', '.join(f'${name}' for name in NAMES)}")
    return Name(written[1:])


def _words(text: str) -> Words:
    parts = re.split(r"\{([^{}]+)\}", text)
    return Words(
        tuple(
            part if not at % 2 else _name(part) if part[0] == "$" else parse_path(part)
            for at, part in enumerate(parts)
        )
    )
