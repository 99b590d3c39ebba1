"""Forms that are data: a tool's export described in TOML, in `archive/forms/` or in a study's settings."""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.compiling import Compiler
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.filters import as_text, at, each
from covmis_build.archive.formats.grammar import (
    EACH,
    FormError,
    Name,
    Test,
    named,
    parse_condition,
    parse_path,
)
from covmis_build.errors import InputError
from covmis_build.options import PostForm

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from covmis_build.archive.formats.grammar import Path as PathInPost
    from covmis_build.archive.post import Post

FOLDER = Path(__file__).parents[1] / "forms"
"""One file a tool; each has a table [[form]] for its tables, and one for its lines or documents."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
SETTINGS = "study.toml"
GRAMMAR = "docs/guides/forms.md shows what each key may say"


class Declared:
    """A form of posts, compiled when it is first used. `WHOLE`: a purge removes whole lines."""

    WHOLE = True

    def __init__(self, name: str, forms: Sequence[PostForm]) -> None:
        """`forms` are the shapes of one tool: of tables, and of documents."""
        self.NAME = name
        self._tables = [form for form in forms if form.header]
        self._documents = [form for form in forms if not form.header]
        for form in forms:
            _check(form)
        if len(self._documents) > 1:
            raise FormError("two tables for lines or documents: join them with [[case]]")
        self._rows: dict[tuple[str, ...], tuple[str, Callable[[Sequence[str]], Post | str]]] = {}

    @property
    def of_tables(self) -> bool:
        """True if it reads tables."""
        return bool(self._tables)

    @property
    def of_documents(self) -> bool:
        """True if it reads lines or documents."""
        return bool(self._documents)

    def recognises_line(self, row: dict[str, Any]) -> bool:
        """Recognise a decoded line or document."""
        return any(_is_of(form, row) for form in self._documents)

    def recognises_header(self, header: AbstractSet[str]) -> bool:
        """Recognise a table by its header."""
        return any(columns <= header for form in self._tables for columns in _sets(form.header))

    def read(self, line: bytes) -> list[Post]:
        """Return the posts of a line or document."""
        decoder, posts = self._reader
        return posts(decoded(decoder, line))

    @cached_property
    def _reader(self) -> tuple[Any, Callable[[Any], list[Post]]]:
        return Compiler(self._documents[0]).of_lines()

    def of_header(self, header: Sequence[str]) -> tuple[str, Callable[[Sequence[str]], Post | str]]:
        """Return the column of ids, and the function of a row's cells: its post, or why it is none."""
        key = tuple(header)
        if key not in self._rows:
            names = frozenset(header)
            fitting = [
                form for form in self._tables if any(columns <= names for columns in _sets(form.header))
            ]
            compiler = Compiler((fitting or self._tables)[0])
            self._rows[key] = compiler.id_column(key), compiler.of_rows(key)
        return self._rows[key]

    def compile(self) -> None:
        """Compile everything, so that every fault is seen. Raises FormError."""
        for form in self._tables:
            for columns in _sets(form.header):
                Compiler(form).of_rows(sorted(columns))
        for form in self._documents:
            with named("where: "):
                for condition in _conditions(form):
                    if any(isinstance(test.subject, Name) for test in parse_condition(condition)):
                        raise FormError("a line or document has no $ values")
            Compiler(form).of_lines()


def _check(form: PostForm) -> None:
    of_documents = form.keys or form.where
    if not form.header and not of_documents:
        raise FormError(
            "keys: how is it recognised? Name columns (header), keys of a post (keys), or a condition (where)"
        )
    if form.header and (
        of_documents or form.posts != "." or form.within or any(case.instead for case in form.case)
    ):
        raise FormError(
            "`header` is for tables, `keys`, `where`, `posts`, `within` and `instead` for JSON: make two forms of one name"
        )


def _sets(names: Sequence[Any]) -> list[frozenset[str]]:
    """Return one set of names, or several."""
    return (
        [frozenset(names)] if names and isinstance(names[0], str) else [frozenset(listed) for listed in names]
    )


def _is_of(form: PostForm, row: dict[str, Any]) -> bool:
    if any(_holds(parse_condition(condition), row) for condition in _conditions(form)):
        return True
    if not form.keys:
        return False
    post = next(_posts_at(form.posts, row), None)
    return type(post) is dict and any(keys <= post.keys() for keys in _sets(form.keys))


def _conditions(form: PostForm) -> list[str]:
    """Return the conditions by which a document is recognised."""
    return [
        condition for condition in ([form.where] if isinstance(form.where, str) else form.where) if condition
    ]


def _posts_at(places: str | list[str], row: dict[str, Any]) -> Iterator[Any]:
    """Yield the posts of a document, at the first place that is there."""
    for place in [places] if isinstance(places, str) else places:
        values = [row] if place == "." else _values(parse_path(place), row)
        if values:
            return iter(values)
    return iter(())


def _values(path: PathInPost, row: Any) -> list[Any]:
    values = [row]
    for key, place in path.steps:
        values = [at(value, key) for value in values]
        if place == EACH:
            values = [part for value in values for part in each(value)]
        elif place is not None:
            values = [at(value, place) for value in values]
    return [value for value in values if value is not None]


def _holds(tests: Iterable[Test], row: dict[str, Any]) -> bool:
    return all(_tested(test, row) != test.negated for test in tests)


def _tested(test: Test, row: dict[str, Any]) -> bool:
    if isinstance(test.subject, Name):  # refused when the form is compiled
        return False
    value = next(iter(_values(test.subject, row)), None)
    if test.sign == "is list":
        return type(value) is list
    if test.sign == "exists":
        return value is not None
    text = as_text(value) if not isinstance(value, dict | list) else ""
    if test.sign == "=":
        return text in test.words
    return bool(re.search(test.wanted, text)) if test.sign == "~" else bool(value)


@cache
def ours() -> dict[str, Declared]:
    """Return covmis's own forms by name, which is that of their file."""
    forms = {}
    for path in sorted(FOLDER.glob("*.toml")):
        listed = tomllib.loads(path.read_text("utf-8"))["form"]
        forms[path.stem] = Declared(path.stem, [_of_table({"name": path.stem} | table) for table in listed])
    return forms


def of_settings(forms: Iterable[PostForm], taken: Collection[str]) -> dict[str, Declared]:
    """Return a study's own forms, several of one name as the shapes of one tool. Raises InputError for one that cannot be used."""
    shapes: dict[str, list[PostForm]] = {}
    for form in forms:
        shapes.setdefault(form.name, []).append(form)
    return {name: _of_settings(name, listed, taken) for name, listed in shapes.items()}


def _of_settings(name: str, forms: Sequence[PostForm], taken: Collection[str]) -> Declared:
    problem = ""
    if name in taken:
        problem = "name: covmis has a form of this name"
    elif not NAME.fullmatch(name):
        problem = "name: letters, digits, - and _ only"
    else:
        try:
            declared = Declared(name, forms)
            declared.compile()
        except FormError as error:
            problem = str(error)
        else:
            return declared
    raise InputError(
        f"[[retrieval.forms]] '{name}', {problem}",
        file=SETTINGS,
        remedy="" if problem.endswith("?") else GRAMMAR,
    )


def _of_table(table: dict[str, Any]) -> PostForm:
    for case in table.get("case", ()):
        case["if_"] = case.pop("if")
    return msgspec.convert(table, PostForm)
