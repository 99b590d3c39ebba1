"""Compile a form to plain Python functions: one of a JSON document, one of a table's row for each header.

Decoding is typed by what the form uses, so that nothing else of a line is decoded. Names and texts of the form come into the
code as constants only (`repr`, or a key in `space`), never as code.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.archive.dates import Form as TimeKind
from covmis_build.archive.dates import TimeForm, format_is_known, iso, zone_is_known
from covmis_build.archive.formats.access import (
    EMPTY,
    IDS,
    Cells,
    Code,
    Objects,
    Place,
    Used,
    attribute,
    decoder_of,
)
from covmis_build.archive.formats.decoding import Posts
from covmis_build.archive.formats.filters import CALLED, FILTERS, TIMES
from covmis_build.archive.formats.grammar import (
    EACH,
    FormError,
    Name,
    Path,
    Step,
    Test,
    Tree,
    Value,
    Words,
    named,
    parse_condition,
    parse_path,
    parse_value,
    pattern,
)
from covmis_build.archive.ids import NAMED, PLATFORM
from covmis_build.archive.post import Post
from covmis_build.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from covmis_build.options import PostCase, PostForm

PREFIXES = {platform: prefix for prefix, platform in NAMED.items()}
RELATIONS = ("reply_to", "quote_of", "repost_of", "conversation")
TEXT, TIME, COUNT = ("str",), ("int", "float", "str"), ("int", "float", "str")
COMPARED = ("int", "float", "str", "bool")
JSON_WORDS = ("true", "false")
UNKNOWN_POST = "?"
"""A post that another one refers to without its id."""


@dataclass(frozen=True, slots=True)
class _Fields:
    """The values of a form, or of one of its cases with those of the form that it leaves as they are."""

    condition: tuple[Test, ...]
    skip: str
    instead: tuple[Path, ...]
    values: dict[str, list[Value]]
    cards: dict[str, Value]
    media: dict[str, Value]


KINDS = {
    "id": IDS, "native": IDS, "time": TIME, "counts": COUNT, "reply_to": IDS, "quote_of": IDS, "repost_of": IDS, "conversation": IDS,
}  # fmt: skip
VALUES = (
    "id", "native", "text", "time", "language", "links", *RELATIONS, "parent_text", "quoted_text", "counts", "gone",
)  # fmt: skip


def _listed(value: Any) -> list[str]:
    """Return the values that are stated: one, several, or none."""
    return [each for each in ([value] if isinstance(value, str) else value) if each]


def _place_of_posts(written: str) -> Path:
    path = parse_path(written)
    if path.ups or any(step.place not in {None, EACH} for step in path.steps):
        raise FormError("a place of posts is like `a[]` or `a.b`")
    return path


def _fields(form: PostForm, case: PostCase | None) -> _Fields:
    """Parse the values of a form, or of one of its cases. The error names the key."""

    def stated(name: str) -> Any:
        return getattr(case, name, None) or getattr(form, name)

    def parsed(name: str, written: str) -> Value:
        with named(f"{name}: "):
            return parse_value(written)

    values = {name: [parsed(name, written) for written in _listed(stated(name))] for name in VALUES}
    cards, media = (
        {part: parsed(name, written) for part, written in stated(name).items()} for name in ("cards", "media")
    )
    if wrong := cards.keys() - {"each", "url", "title", "description", "need"}:
        raise FormError(f"cards: no part is called '{min(wrong)}': each, url, title, description, need")
    with named("if: "):
        condition = parse_condition(case.if_) if case else ()
    with named("instead: "):
        instead = tuple(_place_of_posts(path) for path in _listed(case.instead)) if case else ()
    return _Fields(
        condition,
        case.skip if case else "",
        instead,
        {name: listed for name, listed in values.items() if listed},
        cards,
        media,
    )


class Compiler:
    """A form's parsed values. Makes its functions."""

    def __init__(self, form: PostForm) -> None:
        self._form = form
        self.fields = [_fields(form, None)]
        for number, case in reversed([*enumerate(form.case, 1)]):
            with named(f"case {number}, "):
                self.fields.insert(0, _fields(form, case))
        self._platform = (
            parse_value(form.platform) if form.platform and not PLATFORM.fullmatch(form.platform) else None
        )
        self._prefix = "" if self._platform else PREFIXES.get(form.platform, form.platform)
        if "id" not in self.fields[-1].values:
            raise FormError(
                'id: it is missing, like id = "id"; without ids: id = "\'{author} {time} {text}\' | hash"'
            )
        self._space: dict[str, Any] = {}

    # -- values

    def _note(self, access: Objects | Cells, tree: Tree, kinds: Sequence[str]) -> None:
        """Note what a value uses, and as which types."""
        if isinstance(tree, Path):
            access.note(tree, kinds)
        elif isinstance(tree, Words):
            for part in tree.parts:
                if isinstance(part, Path):
                    access.note(part, IDS)
        elif isinstance(tree, Value):
            first = tree.filters[0].name if tree.filters else ""
            taken = ("Any",) if first in FILTERS and FILTERS[first].takes == "any" else kinds
            for choice in tree.choices:
                self._note(access, choice, taken)
            self._note_tests(access, tree.tests)

    def _note_tests(self, access: Objects | Cells, tests: Iterable[Test]) -> None:
        for test in tests:
            if isinstance(test.subject, Path):
                kinds = {"=": COMPARED, "~": TEXT, "is list": ("Any",)}.get(test.sign, ())
                access.note(test.subject, kinds)

    def _value(self, access: Objects | Cells, tree: Tree) -> Code:
        """Return code for a value."""
        if isinstance(tree, Path):
            return access.get(tree)
        if isinstance(tree, Name):
            names = {"text": "text", "id": "native", "own": "own", "platform": "platform"}
            return Code(names[tree.name], "id" if tree.name == "own" else "text")
        if isinstance(tree, Words):
            return self._words(access, tree)
        code = self._choices([self._value(access, choice) for choice in tree.choices])
        for each in tree.filters:
            code = self._filter(code, each.name, each.argument)
        if tree.tests:
            empty = "[]" if code.kind == "list" else "''"
            kind = "text" if code.kind == "maybe" else code.kind
            code = Code(
                f"({code.text if code.kind == 'maybe' else code.code} if {self._tests(access, tree.tests)} else {empty})",
                kind,
            )
        return code

    def _words(self, access: Objects | Cells, tree: Words) -> Code:
        if len(tree.parts) == 1:
            return Code(repr(tree.parts[0]), "id" if tree.parts[0] == UNKNOWN_POST else "text")
        parts = [
            repr(part) if isinstance(part, str) else self._value(access, part).text for part in tree.parts
        ]
        return Code(f"_together({', '.join(parts)})", "text")

    @staticmethod
    def _choices(codes: list[Code]) -> Code:
        codes = [code for code in codes if not code.is_empty] or [EMPTY]
        if len(codes) == 1:
            return codes[0]
        kinds = {code.kind for code in codes}
        if "list" in kinds and kinds != {"list"}:
            raise FormError("a list and a text are joined by ??")
        if "id" in kinds and kinds != {"id"}:
            raise FormError(
                "a whole post id ($own, as_id, at_uri, '?') and a bare one are joined by ??: give both `| as_id`"
            )
        last = codes[-1].kind
        kind = (
            "text"
            if last == "text" and kinds <= {"text", "maybe"}
            else next(kind for kind in ("list", "id", "any", "scalar", "maybe", "text") if kind in kinds)
        )
        return Code(f"({' or '.join(code.code for code in codes)})", kind)

    def _filter(self, code: Code, name: str, argument: str) -> Code:
        if all(part in TIMES for part in name.split(",")) or name == "date":
            return self._time(code, name.split(","), argument)
        if name not in FILTERS:
            known = [*FILTERS, *TIMES, "date"]
            raise FormError(f"no filter is called '{name}'. {nearest(name, known)}")
        does = FILTERS[name]
        if code.is_empty:
            return (
                Code("[]", "list")
                if does.gives == "list"
                else Code("''", does.gives)
                if does.gives != "any"
                else EMPTY
            )
        if does.takes == "text" and code.kind == "list":
            inner = self._filter(Code("x", "maybe"), name, argument)
            elements = (
                f"y for x in {code.code} for y in {inner.code}"
                if inner.kind == "list"
                else f"{inner.code} for x in {code.code}"
            )
            return Code(f"[{elements}]", "list")
        if does.of_one and code.kind != "list":
            return Code(
                does.of_one.format(v=code.text, **self._arguments(does.of_one, name, argument)), does.gives
            )
        taken = code.text if does.takes == "text" else code.listed if does.takes == "list" else code.code
        return Code(does.code.format(v=taken, **self._arguments(does.code, name, argument)), does.gives)

    def _arguments(self, template: str, name: str, argument: str) -> dict[str, str]:
        """Return the code of a filter's arguments."""
        first, _, second = (part for part in _ARGUMENTS.fullmatch(argument).groups())  # type: ignore[union-attr]
        arguments = {"a": repr(_unquoted(first)), "b": repr(_unquoted(second or ""))}
        if "{a}" in template and "{b}" not in template:
            arguments["a"] = repr(_unquoted(argument))
        if "{p}" in template:
            arguments["p"] = self._constant(pattern(argument))
        if "{names}" in template:
            arguments["names"] = ", ".join(repr(key.strip()) for key in argument.split(","))
        if "{m}" in template:
            if argument not in self._form.maps:
                raise FormError(f"no map is called '{argument}': add maps.{argument} = {{ … }}")
            table = self._form.maps[argument]
            matched = (
                tuple((pattern(written), meaning) for written, meaning in table.items())
                if name == "match"
                else table
            )
            arguments["m"] = self._constant(matched)
        return arguments

    def _constant(self, value: Any) -> str:
        name = next((name for name, known in self._space.items() if known is value), f"C{len(self._space)}")
        self._space[name] = value
        return name

    def _time(self, code: Code, kinds: list[str], argument: str) -> Code:
        zone = self._form.timezone
        if not zone_is_known(zone):
            raise FormError(f'the zone \'{zone}\' is unknown, like timezone = "Europe/Berlin" or "+09:00"')
        if kinds == ["date"] and not format_is_known(argument):
            raise FormError(f"'{argument}' is no form of a date, like date:%d.%m.%Y")
        forms = [
            TimeForm(TimeKind.GIVEN, argument, zone) if kind == "date" else TimeForm(TIMES[kind], "", zone)
            for kind in kinds
        ]
        reads = [self._constant(form.read) for form in forms]
        first, *others = reads
        if not others:
            return Code(f"{first}({code.called_once})", "text")
        return Code(f"({first}(m := {code.text}) or {' or '.join(f'{read}(m)' for read in others)})", "text")

    def _tests(self, access: Objects | Cells, tests: Iterable[Test]) -> str:
        """Return code for a condition."""
        parts = []
        for test in tests:
            code = Code("platform", "text") if isinstance(test.subject, Name) else access.get(test.subject)
            if isinstance(test.subject, Name):
                code = self._value(access, test.subject)
            if test.sign == "=":
                value = (
                    code.code
                    if all(word and word[0].isalpha() and word not in JSON_WORDS for word in test.words)
                    else code.text
                )
                test_code = f"{value} in {test.words!r}"
            elif test.sign == "~":
                test_code = f"{self._constant(pattern(test.wanted))}.search({code.text})"
            elif test.sign == "exists":
                test_code = (
                    str(not code.is_empty) if isinstance(access, Cells) else f"{code.code} is not None"
                )
            elif test.sign == "is list":
                test_code = f"type({code.code}) is list"
            else:
                test_code = code.code
            parts.append(f"not ({test_code})" if test.negated else test_code)
        return " and ".join(parts)

    # -- a post

    def _post(self, access: Objects | Cells, arguments: str) -> list[str]:
        """Return the lines of the function that makes a post of an object or a row, or says why it is none."""
        lines = []
        if self._platform:
            lines += [
                f"    platform = {self._value(access, self._platform).text}",
                "    if not platform: raise ValueError('whose post is this? no address names a platform (platform = …)')",
            ]
        elif self._form.platform:
            lines.append(f"    platform = {self._form.platform!r}")
        for number, fields in enumerate(self.fields):
            indent = "    "
            with named(f"case {number + 1}, " if fields.condition else ""):
                if fields.condition:
                    with named("if: "):
                        lines.append(f"    if {self._tests(access, fields.condition)}:")
                    indent *= 2
                if fields.skip or fields.instead:
                    lines.append(f"{indent}return {number if fields.instead else repr(fields.skip)}")
                    continue
                lines += [indent + line for line in self._body(access, fields)]
        ahead = (
            [f"    {name} = {code}" for code, name in access.before.items()]
            if isinstance(access, Objects)
            else []
        )
        return [f"def post({arguments}):", *ahead, *lines]

    def _note_post(self, access: Objects) -> None:
        if self._platform:
            with named("platform: "):
                self._note(access, self._platform, TEXT)
        for number, fields in enumerate(self.fields, 1):
            with named(f"case {number}, " if fields.condition else ""):
                self._note_fields(access, fields)

    def _note_fields(self, access: Objects, fields: _Fields) -> None:
        with named("if: "):
            self._note_tests(access, fields.condition)
        for name, listed in fields.values.items():
            with named(f"{name}: "):
                for value in listed:
                    self._note(access, value, KINDS.get(name, TEXT))
        with named("media: "):
            for value in fields.media.values():
                self._note(access, value, TEXT)
        with named("cards: "):
            if "each" not in fields.cards:
                for value in fields.cards.values():
                    self._note(access, value, TEXT)
            else:
                self._note(access, _whole_list(fields.cards["each"]), ("Any",))

    def _body(self, access: Objects | Cells, fields: _Fields) -> list[str]:
        def value_of(name: str) -> Code:
            return next(iter(self._values(access, fields, name)), EMPTY)

        with named("id: "):
            lines = self._ids(fields, value_of("id"), value_of("native"))
        with named("text: "):
            texts = [code.text for code in self._values(access, fields, "text") if not code.is_empty]
        joined = ", ".join(texts) or "''"
        lines.append(f"text = _paragraphs({joined})" if len(texts) > 1 else f"text = {joined}")
        if "gone" in fields.values:
            with named("gone: "):
                lines += [f"gone = {value_of('gone').text}", "if gone: text = ''"]
        given: dict[str, tuple[str, Callable[[], str]]] = {
            "language": ("language", lambda: value_of("language").text),
            "links": ("urls", lambda: self._links(access, fields)),
            "cards": ("cards", lambda: self._cards(access, fields)),
            "media": ("media", lambda: self._media(access, fields)),
            **{name: (name, lambda name=name: self._related(value_of(name))) for name in RELATIONS},  # type: ignore[misc]
            "parent_text": ("parent_text", lambda: value_of("parent_text").text),
            "quoted_text": ("quoted_text", lambda: value_of("quoted_text").text),
            "counts": ("metrics", lambda: self._counts(access, fields)),
            "time": ("created_at", lambda: self._moment(access, fields)),
        }
        codes = {"availability": "gone or 'available'" if "gone" in fields.values else "''"}
        for key, (column, make) in given.items():
            with named(f"{key}: "):
                codes[column] = make()
        platform = "platform" if self._form.platform and not self._platform else "_platform_of(own)"
        moment = codes.pop("created_at")
        more = "".join(f", {column}={code}" for column, code in codes.items() if code not in {"''", "[]"})
        return [*lines, f"return Post(own, native, {platform}, text, {moment}{more})"]

    def _values(self, access: Objects | Cells, fields: _Fields, name: str) -> list[Code]:
        """Return the code of each value that is stated for a key."""
        return [self._value(access, value) for value in fields.values.get(name, ())]

    def _ids(self, fields: _Fields, code: Code, native: Code) -> list[str]:
        """Return the lines that set the whole id and the platform's own."""
        if code.kind == "id":
            shown = native.text if not native.is_empty else "own.partition(':')[2]"
            return [f"own = _whole_id({code.code})", f"native = {shown}"]
        filters = fields.values["id"][0].filters
        checked = (
            bool(filters) and filters[-1].name in {"digits", "need"} and not fields.values["id"][0].tests
        )
        lines = [f"native = {code.called_once if checked else f'_need({code.text})'}"]
        if self._platform:
            lines.append("own = _id_on(native, platform)")
        elif self._prefix:
            lines.append(f"own = f'{self._prefix}:{{native}}'")
        else:
            raise FormError('platform is missing, like platform = "forum"')
        return lines + ([] if native.is_empty else [f"native = {native.text}"])

    def _moment(self, access: Objects | Cells, fields: _Fields) -> str:
        if "time" not in fields.values:
            return "''"
        value = fields.values["time"][0]
        filters = value.filters
        code = self._value(access, value)
        if any(name in TIMES or name == "date" for part in filters for name in part.name.split(",")):
            return code.text
        if self._form.timezone:
            return self._time(code, ["iso"], "").code
        return f"{self._constant(iso)}({code.called_once})"

    def _related(self, code: Code) -> str:
        """Return code for the whole id of another post."""
        if code.kind == "id" or code.is_empty:
            return code.text
        if not self._prefix:
            return f"_related({code.text}, own.partition(':')[0])"
        value = code.code if code.kind in {"scalar", "maybe"} else code.text
        return f"f'{self._prefix}:{{t}}' if (t := {value}) else ''"

    def _links(self, access: Objects | Cells, fields: _Fields) -> str:
        codes = [code for code in self._values(access, fields, "links") if not code.is_empty]
        if len(codes) == 1 and codes[0].code.startswith("_in_text("):
            return codes[0].code
        parts = [f"*{code.code}" if code.kind == "list" else code.text for code in codes]
        return f"_unique({', '.join(parts)})" if parts else "[]"

    def _cards(self, access: Objects | Cells, fields: _Fields) -> str:
        cards = fields.cards
        inner: Objects | Cells = access
        if "each" in cards:
            inner = Objects(Place("d", None), [], inside=True)
        codes = {name: self._value(inner, value).text for name, value in cards.items() if name != "each"}
        url, title, description = (codes.get(name, "''") for name in ("url", "title", "description"))
        wanted = codes.get("need", title)
        if wanted == "''":
            return "[]"
        if "each" not in cards:
            return f"[({url}, {title}, {description})] if {wanted} else []"
        return f"[({url}, {title}, {description}) for d in {self._value(access, _whole_list(cards['each'])).listed} if {wanted}]"

    def _media(self, access: Objects | Cells, fields: _Fields) -> str:
        codes = [(kind, self._value(access, value)) for kind, value in fields.media.items()]
        parts = [f"({kind!r}, {code.text})" for kind, code in codes if not code.is_empty]
        if len(codes) == 1 and parts:
            return f"[({codes[0][0]!r}, t)] if (t := {codes[0][1].text}) else []"
        return f"_filled({', '.join(parts)})" if parts else "[]"

    def _counts(self, access: Objects | Cells, fields: _Fields) -> str:
        codes = self._values(access, fields, "counts")
        if not codes:
            return "''"
        parts = [
            "None"
            if code.is_empty
            else f"_number({code.code})"
            if code.kind == "text"
            else f"(n if (n := {code.code}) is None or type(n) is int else _number(n))"
            for code in codes
        ]
        return f"({', '.join([*parts, *['None'] * 4][:4])})"

    # -- functions

    def _function(self, name: str, lines: list[str]) -> Callable[..., Any]:
        space = {**CALLED, **self._space, "Post": Post, "Posts": Posts, "Counter": Counter}
        source = "\n".join(lines)
        exec(compile(source, f"<form {self._form.name}>", "exec"), space)  # noqa: S102 - lines of this module with constants
        function: Callable[..., Any] = space[name]
        function.__doc__ = source
        return function

    def of_rows(self, header: Sequence[str]) -> Callable[[Sequence[str]], Post | str]:
        """Return the function of a row's cells, for tables with this header: a post, or why it is none."""
        return self._function("post", self._post(Cells(header), "c"))

    def id_column(self, header: Sequence[str]) -> str:
        """Return the first column of the ids in this header; empty if they are made of something else."""
        return next(
            (path.column for path in _paths(self.fields[-1].values["id"][0]) if path.column in header), ""
        )

    def of_lines(self) -> tuple[Any, Callable[[Any], list[Post]]]:
        """Return the decoder of a document or line, and the function that gives its posts."""
        names = itertools.count()
        root, post = Used(names), Used(names)
        with named("posts: "):
            places = [
                () if path == "." else _place_of_posts(path).steps for path in _listed(self._form.posts)
            ]
        root = post if () in places else root
        with named("within: "):
            within = [_place_of_posts(path).steps for path in _listed(self._form.within)]
        inside = [*within, *(path.steps for fields in self.fields for path in fields.instead)]
        around: list[list[Used]] = [[post], [post]] if inside else [[], []]
        for steps in places:
            if steps:
                root.link(steps, post)
            holders = [
                root.below(steps[: at + 1]) for at, step in enumerate(steps[:-1]) if step.place is not None
            ]
            above = [*reversed(holders), root] if steps else []
            around[0] += above[:1]
            around[1] += above[1:2] + (above[:1] if inside else [])
        for steps in inside:
            post.link(steps, post)
        access = Objects(Place("row", [post]), [Place("up1", around[0]), Place("up2", around[1])])
        self._note_post(access)
        with named("posts: "):
            for steps in places:
                root.check(steps)
        with named("within: "):
            for steps in inside:
                post.check(steps)
        arguments = "row, up1, up2" if access.leaves else "row"
        lines = self._post(access, arguments) + self._reader(places, within, arguments)
        return decoder_of(root), self._function("read", lines)

    def _reader(
        self, places: Sequence[Sequence[Step]], within: Sequence[Sequence[Step]], arguments: str
    ) -> list[str]:
        """Return the lines of the function that finds the posts of a document: at the first place that is there."""
        branches = bool(within) or any(fields.skip or fields.instead for fields in self.fields)
        result = "Posts(posts, skipped) if skipped else posts" if branches else "posts"
        lines = self._adder(within, arguments) if branches else []
        lines += [
            "def read(row):",
            "    posts = []",
            "    skipped = Counter()" if branches else "    add = posts.append",
        ]
        visit = (
            "add({0}, posts, skipped)" if branches else f"add(post({'{0}' if arguments != 'row' else '{1}'}))"
        )
        for steps in places:
            if not steps:
                lines += _visits(steps, visit, ("row",))
                break
            lines.append(f"    if row.{attribute(steps[0].key)} is not None:")
            lines += [*_visits(steps, visit, ("row",), indent=2), f"        return {result}"]
        return [*lines, f"    return {result}"]

    def _adder(self, within: Sequence[Sequence[Step]], arguments: str) -> list[str]:
        """Return the lines of the function that adds a post, or those instead of it, and those in it."""
        lines = [
            "def add(row, up1, up2, posts, skipped):",
            f"    made = post({arguments})",
            "    kind = type(made)",
        ]
        visit = "add({0}, posts, skipped)"
        for number, fields in enumerate(self.fields):
            if fields.instead:
                lines.append(f"    if kind is int and made == {number}:")
                for path in fields.instead:
                    lines += [f"    {line}" for line in _visits(path.steps, visit, ("row", "up1"))]
                lines.append("        return")
        lines += ["    if kind is str: skipped[made] += 1", "    else: posts.append(made)"]
        for steps in within:
            lines += _visits(steps, visit, ("row", "up1"))
        return lines


def _visits(steps: Sequence[Step], visit: str, around: tuple[str, ...], indent: int = 1) -> list[str]:
    """Return the lines that visit each object at a path, with the two objects around it."""
    front, variable = "    " * indent, around[0]
    if not steps:
        return [f"{front}{visit.format(f'{variable}, None, None', variable)}"]
    code = variable
    for at, (key, place) in enumerate(steps):
        code = f"{code}.{attribute(key)}" if code == variable else f"({code}) and ({code}).{attribute(key)}"
        if place == EACH or at == len(steps) - 1:
            break
    rest, inner = steps[at + 1 :], f"r{indent}"
    lines = [f"{front}{inner} = {code}", f"{front}if {inner} is not None:"]
    above = f"{variable}, {around[1] if len(around) > 1 else None}"
    if place == EACH:
        lines.append(f"{front}    for {inner} in {inner}:")
        if rest:
            return lines + _visits(rest, visit, (inner, *around), indent + 2)
        return [*lines, f"{front}        {visit.format(f'{inner}, {above}', inner)}"]
    return [*lines, f"{front}    {visit.format(f'{inner}, {above}', inner)}"]


def _whole_list(value: Value) -> Value:
    """Return a list of objects as one value of plain JSON: `embeds` for `embeds[]`."""
    (path,) = value.choices if len(value.choices) == 1 else (None,)
    if not isinstance(path, Path) or not path.steps or path.steps[-1].place != EACH:
        return value
    steps = (*path.steps[:-1], Step(path.steps[-1].key))
    return Value((Path(path.ups, steps, path.column),), value.filters, value.tests)


def _paths(tree: Tree) -> list[Path]:
    """Return the paths in a value."""
    if isinstance(tree, Path):
        return [tree]
    parts = tree.choices if isinstance(tree, Value) else tree.parts if isinstance(tree, Words) else ()
    return [path for part in parts if not isinstance(part, str) for path in _paths(part)]


_ARGUMENTS = re.compile(r"('[^']*'|[^:]*)(:('[^']*'|.*))?", re.DOTALL)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
