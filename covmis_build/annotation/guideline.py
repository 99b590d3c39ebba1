"""The guideline and its versions: what changed since a label was given, and which labels may need a second look."""

from __future__ import annotations

import difflib
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.answers import Status, present
from covmis_build.annotation.concerned import concerned
from covmis_build.annotation.round_folder import all_labels, earlier_guideline, guideline_version
from covmis_build.errors import CheckFailed, InputError, counted
from covmis_build.files.contents import bytes_of
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from markupsafe import Markup

    from covmis_build.annotation.concerned import Concerned
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Labels


def read_guideline(path: Path) -> str:
    """Read the guideline. A missing file is an error, because labels refer to it."""
    if not path.is_file():
        problem = "is a folder, not a file" if path.is_dir() else "is missing"
        raise InputError(problem, file=path, remedy="Write the labelling instructions there, in Markdown")
    try:
        return bytes_of(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy="Save it as UTF-8 text") from None


def as_html(text: str) -> Markup:
    """Convert the guideline from Markdown to HTML. HTML in it is shown as text; images are not loaded.

    >>> print(as_html("Label **favor**. <script>").strip())
    <p>Label <strong>favor</strong>. &lt;script&gt;</p>
    """
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    return Markup(reader.render(text))  # noqa: S704 - the reader escapes everything that is not Markdown


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """Labels given under an earlier version, the changes since, and the labels that may need a second look."""

    version: str
    rounds: list[str]
    labels: int
    diff: list[str]
    text_kept: bool
    names: list[str]
    look_again: list[str]
    items: list[str]

    @property
    def sentences(self) -> list[str]:
        """Return all of it as sentences."""
        lines = [
            "",
            f"Version {self.version}: {counted(self.labels, 'labels')}, rounds {', '.join(self.rounds)}",
        ]
        lines += [f"  {line}" for line in self.diff]
        if not self.text_kept:
            lines.append("  Its text is not available, so all its labels are listed.")
        if self.names:
            lines.append(f"  Changed lines name: {', '.join(self.names)}")
        return [
            *lines,
            f"  {counted(len(self.look_again), 'labels')} on {len(self.items)} posts may need another look.",
        ]


@dataclass(frozen=True, slots=True, repr=False)
class GuidelineCheck(Result):
    """The current version of the guideline, and earlier versions with labels."""

    version: str
    earlier: tuple[EarlierVersion, ...]
    undefined: tuple[str, ...] = ()
    """Labels of [labels] that the guideline does not define."""
    concerned: tuple[Concerned, ...] = ()
    """Labelled posts that a new or split label concerns."""
    strict: bool = False

    @property
    def look_again(self) -> int:
        """Return how many labels may need a second look."""
        return sum(len(version.look_again) for version in self.earlier)

    @property
    def summary(self) -> list[str]:
        """Return all of it as text."""
        told = [line for version in self.earlier for line in version.sentences]
        return [
            f"The guideline is at version {self.version}.",
            *([f"It does not define {', '.join(self.undefined)}."] if self.undefined else []),
            *(change.sentence for change in self.concerned),
            *(told or ["No label was given under an earlier version."]),
        ]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis guideline check --json` prints it."""
        fields = Result.to_dict(self)
        del fields["strict"]
        return fields | {"look_again": self.look_again}

    def check(self) -> None:
        """If it is strict, raise an error if a label is not defined, or if any label may need another look."""
        if self.strict and self.undefined:
            raise CheckFailed(f"the guideline does not define {', '.join(self.undefined)}")
        if self.strict and self.look_again:
            raise CheckFailed(f"{counted(self.look_again, 'labels')} may need another look")


def check(
    places: Path, rounds: Sequence[RoundFolder], text: str, scheme: Labels, *, strict: bool = False
) -> GuidelineCheck:
    """Compare the guideline with [labels], and with the versions under which the labels of these rounds were given.

    `places` is the folder of the rounds. A label may need a second look if a changed line names it. If changed lines name no label, all labels of that version may.
    """
    current = guideline_version(text)
    given = present(all_labels(places))
    given = given[given["status"] == Status.GIVEN]
    known = [scheme, *(round_.scheme for round_ in rounds)]
    names = dict.fromkeys(label for each in known for label in each.values)
    earlier = []
    for version, rows in given.groupby("guideline", sort=False):
        if version == current:
            continue
        before = earlier_guideline(places, str(version))
        changed = difference(before, text) if before is not None else []
        named = [label for label in names if mentioned(label, changed)]
        again = (
            rows[rows["label"].isin(named)] if named else (rows if changed or before is None else rows[:0])
        )
        earlier.append(
            EarlierVersion(
                version=str(version),
                rounds=sorted(rows["round"].unique().tolist()),
                labels=len(rows),
                diff=changed,
                text_kept=before is not None,
                names=named,
                look_again=again["label_id"].tolist(),
                items=sorted(again["item_id"].unique().tolist()),
            )
        )
    lacking = tuple(undefined(scheme.values, text))
    return GuidelineCheck(current, tuple(earlier), lacking, tuple(concerned(rounds, scheme)), strict)


def difference(before: str, after: str) -> list[str]:
    """Return the changed lines, marked - and +, without context. Blank lines and spaces are ignored."""
    old, new = ([line.strip() for line in text.splitlines() if line.strip()] for text in (before, after))
    return [
        line
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if line[:1] in {"-", "+"} and not line.startswith(("---", "+++"))
    ]


def mentioned(label: str, lines: Sequence[str]) -> bool:
    """True if one of the lines contains this label as a word."""
    pattern = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)", re.IGNORECASE)
    return any(pattern.search(line) for line in lines)


TO_WRITE = "…"
"""What stands in the guideline of a new study where its author says when to choose a label."""
_TO_WRITE = re.compile(rf"\s*\|[^|]*\|\s*{TO_WRITE}\s*\|\s*")
_DEFINING = re.compile(r"\s*(#{1,6}\s|[-*+]\s|\d+[.)]\s|\||>|:)")
"""The beginning of a line that can define a label anywhere in it: a heading, a list item, a row of a table, a quotation."""
_TERMS = re.compile(
    r"\*\*(.+?)\*\*|__(.+?)__|\*(.+?)\*|`(.+?)`|\"(.+?)\"|\u201c(.+?)\u201d|\u201e(.+?)\u201c|\u00ab(.+?)\u00bb",
    re.DOTALL,
)
"""Terms that a text sets off: bold, italic, as code, or in quotation marks."""
_WITHOUT_SPACES = re.compile("[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0eff]")
"""Scripts that do not separate words."""


def undefined(labels: Sequence[str], text: str) -> list[str]:
    r"""Return the labels that the guideline does not define.

    A label is defined if a heading, a list item, a row of a table or a term that is set off contains it, or if a line
    begins with it, or if a colon or an equals sign follows it. Capitals, hyphens and underscores make no difference. A row
    that is still to be filled, `| label | … |`, defines nothing.

    >>> undefined(["favor", "against", "asks"], "# Favor\n\n**against** is denial.\nWhoever asks is neither.")
    ['asks']
    >>> undefined(["a favor"], "| favor | supports it |"), undefined(["asks_it"], "Asks it: a question")
    (['a favor'], [])
    >>> undefined(["asks"], "| **asks** | … |")
    ['asks']
    """
    text = "\n".join(line for line in text.splitlines() if not _TO_WRITE.fullmatch(line))
    lines = text.splitlines()
    defining = [line for line in lines if _DEFINING.match(line)]
    defining += [
        heading for heading, line in itertools.pairwise(lines) if set(line.strip()) in ({"="}, {"-"})
    ]
    defining += ["".join(term) for term in _TERMS.findall(text)]
    defining, lines = list(map(_spaced, defining)), list(map(_spaced, lines))
    return [label for label in labels if not _is_defined(_spaced(label), defining, lines)]


def _spaced(text: str) -> str:
    return re.sub(r"[_-]+", " ", text)


def _is_defined(label: str, defining: Sequence[str], lines: Sequence[str]) -> bool:
    if _WITHOUT_SPACES.search(label):
        return any(label in line for line in defining) or any(
            line.strip().startswith(label) for line in lines
        )
    name = re.escape(label)
    own_line = re.compile(rf"\W*{name}(?!\w)|.*(?<!\w){name}\s*[:=]", re.IGNORECASE)
    return mentioned(label, defining) or any(own_line.match(line) for line in lines)


def check_defined(text: str, labels: Labels, file: Path) -> None:
    """Refuse a guideline that does not define every label of a round."""
    if lacking := undefined(labels.values, text):
        names = ", ".join(f"'{label}'" for label in lacking)
        raise InputError(
            f"does not define {names} of [labels]",
            file=file,
            remedy=f"Say for each when to choose it, in a row `| **{lacking[0]}** | … |` or below a heading `## {lacking[0]}`",
        )
