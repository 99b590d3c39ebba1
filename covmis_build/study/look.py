"""Preview a file of posts: its detected format and content. Nothing is imported."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.addresses import place
from covmis_build.archive import columns, streams
from covmis_build.archive.dates import iso
from covmis_build.archive.formats import nested
from covmis_build.archive.intake import in_words
from covmis_build.archive.reader import ReadingOptions, file_of, open_job, read
from covmis_build.archive.whose import IN_SETTINGS
from covmis_build.children import in_child
from covmis_build.cleaning.language import fits, languages
from covmis_build.errors import BrokenIds, InputError, MissingExtra, counted
from covmis_build.options import Cleaning, Columns
from covmis_build.queries.units import languages_of_function_words
from covmis_build.report.result import Result
from covmis_build.study.add_posts import as_parquet
from covmis_build.text.language import language_code, unknown_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from covmis_build.archive.post import Post
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.tables import Frame

ROWS = 10_000
"""Number of rows in the preview; the format of each column is detected from all of them."""
SHOWN, PRINTED = 20, 3
"""Posts that the preview has, with the rows that they come from, and those of them that a terminal shows."""
LONGEST, MOST_CELLS = 400, 60
"""Characters of a cell, or of a line, in the preview, and cells of a row."""
MEMORY = 4 << 30
"""Maximum address space of a preview, in bytes: threads of libraries reserve much that they never use."""
IN_LANGUAGE = 100
"""Number of texts whose language is checked."""


@dataclass(frozen=True, slots=True)
class SeenPost:
    """A post as it will be imported."""

    post_id: str
    created_at: str
    language: str
    text: str
    urls: list[str]
    reply_to: str
    quote_of: str
    repost_of: str
    row: int
    """The row, or the byte at which the line begins: see `SeenFile.rows_as_they_are`."""


@dataclass(frozen=True, slots=True)
class RowAsItIs:
    """A row as it stands in the file: what each column holds, long texts cut; a line of JSON as one cell without a name."""

    row: int
    cells: dict[str, str]

    @property
    def in_words(self) -> str:
        """Return it as one line, empty cells left out."""
        parts = (f"{name}: {cell}" if name else cell for name, cell in self.cells.items() if cell.strip())
        return " ".join(" | ".join(parts).split())


@dataclass(slots=True)
class Problem:
    """A reason why rows cannot be parsed, with its frequency in the preview and the first example."""

    reason: str
    count: int
    row: int
    example: str

    @property
    def in_words(self) -> tuple[str, str]:
        """Return the reason with place and example."""
        return in_words(self.reason, self.row, self.example)


@dataclass(slots=True)
class SeenFile:
    """Preview of one file of posts. `settings` is a table to paste into study.toml."""

    file: str
    form: str = ""
    by: str = ""
    rows: int = 0
    columns: dict[str, list[str]] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)
    posts: list[SeenPost] = field(default_factory=list)
    rows_as_they_are: list[RowAsItIs] = field(default_factory=list)
    """The rows of these posts; where a question waits, the first ones."""
    first: str = ""
    last: str = ""
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    reposts: int = 0
    without_text: int = 0
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    settings: str = ""
    from_settings: bool = False
    """True if study.toml defines how the file is parsed."""
    refused: bool = False
    """True if nothing of the file can be read, whatever the settings say."""

    @property
    def asks(self) -> list[str]:
        """The questions without the settings that answer them, for a form that writes these."""
        return [question.partition(IN_SETTINGS)[0] for question in self.questions]

    @property
    def lines(self) -> list[str]:
        """Return the detected format and content, line by line."""
        first = "the first " * (self.rows == ROWS)
        waits = bool(self.questions) and not self.rows
        seen = (
            "not read before the question is answered"
            if waits
            else f"{first}{counted(self.rows, 'rows')} looked at"
        )
        lines = [f"{self.file}   {self.form or 'no known form'} (detected from {self.by})   {seen}"]
        lines += [f"  {what} <- {', '.join(names)}" for what, names in self.columns.items()]
        if self.left_over:
            lines.append(
                f"  not used: {', '.join(' '.join(name.split()) or '(no name)' for name in self.left_over)}"[
                    :300
                ]
            )
        rows = {row.row: row.in_words for row in self.rows_as_they_are}
        if waits:
            lines += [f"  row {row:,}: {words}"[:200] for row, words in [*rows.items()][:PRINTED]]
        for post in self.posts[:PRINTED]:
            more = [
                f"{name} {'an unknown post' if value == '?' else value}"
                for name, value in (
                    ("reply to", post.reply_to),
                    ("quotes", post.quote_of),
                    ("repost of", post.repost_of),
                )
                if value
            ]
            lines += [
                "",
                f"  {post.post_id}  {post.created_at or 'no time'}  {post.language}  {' '.join(more)}".rstrip(),
            ]
            lines.append(f"    {' '.join(post.text.split())[:200]}")
            lines += [f"    {address}" for address in post.urls]
            if post.row in rows:
                lines.append(f"    from: {rows.pop(post.row)}"[:200])
        if not waits:
            times = f"{self.first} to {self.last}" if self.first else "none that can be read"
            of = " of these rows" * bool(first)
            reposts = f'{self.reposts:,} (left out unless `[retrieval] reposts = "keep"`)'
            lines += [
                "",
                f"  times{of}: {times}",
                f"  reposts{of}: {reposts if self.reposts else 'none recognised'}",
                *([f"  posts without text{of}: {self.without_text:,}"] if self.without_text else []),
            ]
        for problem in self.problems:
            lines.append(f"  {problem.count:>7,} {'   '.join(problem.in_words)}"[:240].rstrip())
        lines += [f"  {count:>7,} {reason}: skipped" for reason, count in self.skipped.items()]
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  question: {question}" for question in self.questions]
        if self.settings and (waits or not self.from_settings):
            put = (
                "Put this into study.toml, and answer the question in it"
                if waits
                else "If that is not right, put this into study.toml and change it"
            )
            lines += ["", f"{put}:", "", self.settings]
        return lines


@dataclass(frozen=True, slots=True, repr=False)
class Look(Result):
    """File preview: the detected format and content. An archive (zip, tar) has one entry per file."""

    files: list[SeenFile]

    @property
    def questions(self) -> list[str]:
        """Return the questions to answer before the file can be imported."""
        return [f"{seen.file}: {question}" for seen in self.files for question in seen.questions]

    @property
    def exit_code(self) -> int:
        """2 if a file cannot be read, 1 if there are questions."""
        refused = any(seen.refused for seen in self.files)
        return InputError.exit_code if refused else int(bool(self.questions))

    @property
    def summary(self) -> Summary:
        """Return the preview of each file."""
        return [line for seen in self.files for line in (*seen.lines, "")]


def look(path: Path | str | Frame, study: OfStudy | None = None) -> Look:
    """Preview a file or a data frame. Nothing is imported."""
    if not isinstance(path, str | Path):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "frame.parquet")
            file.write_bytes(as_parquet(path, "the frame"))
            return look(file, study)
    path = place(path)
    if not path.is_file():
        raise InputError("is no file", file=path, remedy="Name a file of posts")
    try:
        return in_child(_looked_at, path, how_of(study), study, memory=MEMORY)
    except InputError as error:
        raise error.at(path) from None


def _looked_at(path: Path, how: ReadingOptions, study: OfStudy | None) -> Look:
    seen: dict[str, SeenFile] = {}
    for job in streams.jobs([(path, name_in(path, study))], how.own_forms):
        if file_of(job) not in seen:
            seen[file_of(job)] = _look(job, how, path, study)
    return Look(list(seen.values()))


def how_of(study: OfStudy | None) -> ReadingOptions:
    """Return the study's options for parsing posts. Its claims are known after the first run."""
    if study is None:
        return ReadingOptions()
    table = study.places.table("claims")
    claims = study.claims["claim_id"] if table.exists() else ()
    return ReadingOptions.of(study.settings.retrieval, claims)


def name_in(path: Path, study: OfStudy | None) -> str:
    """Return the file's name, relative to the study's archive if it is there."""
    for archive in study.places.archives if study else ():
        if path.resolve().is_relative_to(archive.resolve()):
            return path.resolve().relative_to(archive.resolve().parent).as_posix()
    return path.name


def _look(job: streams.Job, how: ReadingOptions, path: Path, study: OfStudy | None) -> SeenFile:
    seen = SeenFile(file_of(job))
    if job.kind == streams.TABLE:
        try:
            understood = open_job(job, how).understood
        except InputError as error:
            seen.form, seen.by, seen.questions = "table", "its first bytes", [str(error)]
            if not isinstance(error, BrokenIds):
                _see_without_header(seen, job, how)
            seen.refused = not seen.settings
            return seen
        seen.form, seen.by = understood.form, understood.by
        seen.columns, seen.left_over = understood.taken, understood.left_over
        seen.notes, seen.questions = list(understood.notes), list(understood.questions)
        if understood.form != "table":
            seen.columns, seen.left_over = {"all": ["as this tool names them"]}, []
        else:
            seen.settings = columns.to_paste(understood, _files(job))
            seen.from_settings = how.rule(job.name) is not None
        if seen.questions:
            seen.rows_as_they_are = _rows_as_they_are(job, how)
            return seen
    else:
        seen.by = "its lines"
    _see_rows(seen, job, how, path, study)
    return seen


def _see_without_header(seen: SeenFile, job: streams.Job, how: ReadingOptions) -> None:
    """Try to parse a table without header, and return its columns and settings if that succeeds."""
    without = replace(how.rule(job.name) or Columns(), files="*", header=False)
    with suppress(InputError):
        understood = open_job(job, how._replace(rules=(without,))).understood
        seen.left_over, seen.settings = understood.header, columns.to_paste(understood, _files(job))


def _files(job: streams.Job) -> str:
    """Return the file name as a rule's `files` pattern."""
    return job.name.partition("/")[2] or job.name


def _see_rows(
    seen: SeenFile, job: streams.Job, how: ReadingOptions, path: Path, study: OfStudy | None
) -> None:
    problems: dict[str, Problem] = {}
    times: list[str] = []
    texts: list[tuple[str, str]] = []
    forms: Counter[str] = Counter()
    rows = (line for line in read(job, how=how) if line.posts or not line.note)
    for line in islice(rows, ROWS):
        seen.rows += 1
        forms[line.form] += bool(line.posts)
        for reason, count in line.skipped.items():
            seen.skipped[reason] = seen.skipped.get(reason, 0) + count
        said = line.problem or line.note
        if said:
            about, what = line.problem or line.posts[0].post_id, said.partition(": ")[0].partition(". ")[0]
            problem = problems.setdefault(what, Problem(what, 0, line.place, about))
            problem.count += 1
        times += [time for post in line.posts if (time := iso(post.created_at))]
        seen.reposts += sum(bool(post.repost_of) for post in line.posts)
        seen.without_text += sum(not post.text.strip() for post in line.posts)
        written = [(post.text, post.language) for post in line.posts if post.text.strip()]
        texts += written[: IN_LANGUAGE - len(texts)]
        seen.posts += [_shown(post, line.place) for post in line.posts[: SHOWN - len(seen.posts)]]
    seen.form = seen.form or ", ".join(form for form, count in forms.most_common() if count and form)
    seen.rows_as_they_are = _rows_as_they_are(job, how, [post.row for post in seen.posts])
    seen.first, seen.last = min(times, default=""), max(times, default="")
    seen.notes += [*_in_other_languages(texts, study), *_in_unknown_languages(texts, study)]
    seen.problems = sorted(problems.values(), key=lambda problem: -problem.count)
    if seen.rows and not sum(forms.values()) and not seen.skipped:
        said = "".join(f": {nested.for_file(problem.example, str(path))}" for problem in seen.problems[:1])
        seen.questions.append(f"nothing in it could be read{said}")
        seen.refused = True


def _rows_as_they_are(job: streams.Job, how: ReadingOptions, wanted: Sequence[int] = ()) -> list[RowAsItIs]:
    """Return the wanted rows, or else the first ones."""
    rows = (row for row in _all_rows(job, how) if not wanted or row.row in wanted)
    return [*islice(rows, len(set(wanted)) or SHOWN)]


def _all_rows(job: streams.Job, how: ReadingOptions) -> Iterator[RowAsItIs]:
    if job.kind != streams.TABLE:
        for _, row, content, _ in streams.lines(job, how.limits, how.own_forms):
            yield RowAsItIs(row, {"": content[: 4 * LONGEST].decode("utf-8", "replace")[:LONGEST]})
        return
    table = open_job(job, how).table
    names = [name if name.strip() else f"column {at}" for at, name in enumerate(table.header, 1)]
    for row, cells, problem in table.rows():
        if not problem:
            shown = zip(names[:MOST_CELLS], cells, strict=False)
            yield RowAsItIs(row, {name: cell[:LONGEST] for name, cell in shown})


def _in_unknown_languages(texts: Sequence[tuple[str, str]], study: OfStudy | None) -> list[str]:
    """Return notes on the study's languages that its detector does not know, if it is needed for these texts."""
    if study is None:
        return []
    cleaning = study.settings.cleaning
    needed = cleaning.language_source == "detector" or not all(tag for _, tag in texts)
    return unknown_to(cleaning.detector, cleaning.languages) if texts and needed else []


def _in_other_languages(texts: Sequence[tuple[str, str]], study: OfStudy | None) -> list[str]:
    """Return a note if cleaning would drop most of these texts (each with its platform's tag) for their language.

    The language detector takes half a second to load. It runs only if neither tags nor function words show that the texts
    would be kept.
    """
    cleaning = study.settings.cleaning if study else Cleaning()
    by_tag, kept = cleaning.language_source == "platform", set(cleaning.languages)
    stay = sum(
        fits(language_code(tag), cleaning)
        if tag and by_tag
        else not kept.isdisjoint(languages_of_function_words(text))
        for text, tag in texts
    )
    if not texts or not cleaning.languages or stay * 2 > len(texts):
        return []
    try:
        found = languages([text for text, _ in texts], [tag for _, tag in texts], cleaning)
    except MissingExtra:  # cleaning reports it
        return []
    others = Counter(language for language in found if language and not fits(language, cleaning))
    if others.total() * 2 <= len(texts):
        return []
    named = ", ".join(language for language, count in others.most_common() if count * 10 >= len(texts))
    whose = "this study keeps" if study else "a new study keeps"
    note = f"{others.total()} of {counted(len(texts), 'texts')} look like {named or 'many languages'}"
    return [f"{note}; {whose} {', '.join(cleaning.languages)}: set `[cleaning] languages`"]


def _shown(post: Post, row: int) -> SeenPost:
    return SeenPost(
        post.post_id,
        iso(post.created_at),
        post.language,
        post.text,
        post.urls,
        post.reply_to,
        post.quote_of,
        post.repost_of,
        row,
    )
