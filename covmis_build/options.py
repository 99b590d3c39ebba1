"""The settings of a study, table by table: what `study.toml` may say, its defaults, and what is allowed.

Stages take one of these each. `settings.py` reads and checks the file; the rules beside each field are the ones that
it names in its errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("title", "news_url", "fact_check_url", "keywords")
"""The four kinds of query, in the order in which they are printed everywhere."""

RANKED = "ranked"
"""A fifth kind of hit: no query finds the post, but it is among the nearest of its claim."""

BY = ("bm25", "bm25+model")
"""What `[retrieval] ranked` may rank by."""

WITHOUT = ("urls", "mentions", "hashtags", "rt", "symbols")
"""What `[cleaning] words` may leave out before it counts; `text/words.py` says what each is."""

STRATA = ("platform", "year", "month", "day")
"""What `[sampling] strata_by` may divide each kind of query by."""


def setting(
    default: Any = None,
    *,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    values: tuple[str, ...] = (),
    each: tuple[str, ...] = (),
) -> Any:
    """A field with its default and its allowed range, kept as metadata for `settings.py`."""
    rules = {"at_least": at_least, "below": below, "at_most": at_most, "values": values, "each": each}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=rules)
    return field(default=default, metadata=rules)


def size_of(text: str) -> int:
    """Bytes, as settings write them.

    >>> size_of("64 MB"), size_of("1.5 kB")
    (67108864, 1536)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMG]?)B", text.strip())
    if not match:
        raise InputError(f"[retrieval] longest_line is '{text}'", remedy='Write a size such as "64 MB"')
    return int(float(match[1]) * {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2]])


@dataclass(frozen=True, slots=True)
class Labels:
    """[labels]: the one home of the label scheme; no module names a class."""

    values: tuple[str, ...] = ("favor", "against", "neither")
    order: tuple[str, ...] = ()
    poles: tuple[str, ...] = ("favor", "against")
    keys: tuple[str, ...] = ("1", "2", "3")
    sub_labels: dict[str, tuple[str, ...]] = setting({})
    automatic: dict[str, str] = setting({"fact_check_url": "against"})


@dataclass(frozen=True, slots=True)
class Columns:
    """[[retrieval.columns]]: how to read files that covmis does not recognise, or recognises wrongly.

    Of names of columns `id` and `text` may have several. No `id` leaves it to be recognised; an empty one makes ids of
    text, time, author and address.
    """

    files: str = "*"
    format: str = ""
    platform: str = ""
    id: str | list[str] | None = None
    text: str | list[str] = ""
    created_at: str = ""
    date_format: str = ""
    timezone: str = ""
    time_from_id: bool = False
    language: str = ""
    author: str = ""
    urls: str = ""
    urls_separator: str = ""
    repost: dict[str, str] = setting({})
    claim: str = ""
    escapes: Literal["", "none", "x", "html"] = setting("", values=("", "none", "x", "html"))


@dataclass(frozen=True, slots=True)
class Nearest:
    """`[retrieval] ranked`: of each claim's `depth` nearest posts that no query finds, `expected` are drawn.

    Chances fall with the rank, as steeply as no weight gets above `weights_up_to`.
    """

    by: Literal["bm25", "bm25+model"] = setting("bm25", values=BY)
    depth: int = setting(50, at_least=1, at_most=1000)
    expected: float = setting(5.0, at_least=0.1)
    weights_up_to: float = setting(100.0, at_least=1)
    model: str = ""

    @property
    def ranked_by(self) -> str:
        """What ranks, in words."""
        return f"BM25 and the sentence model {self.model}" if self.model else "BM25"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """[retrieval]: which posts are looked at, and which hits must match locally."""

    archive: tuple[str, ...] = ("data/archive",)
    since: str = ""
    until: str = ""
    reposts: Literal["drop", "keep"] = setting("drop", values=("drop", "keep"))
    require_match: tuple[str, ...] = setting(("keywords", "news_url", "fact_check_url"), each=KINDS)
    unreadable: float = setting(0.01, at_least=0, at_most=1)
    longest_line: str = "64 MB"
    unpacked_ratio: int = setting(1000, at_least=1)
    ranked: dict[str, Any] = setting({})
    columns: tuple[Columns, ...] = ()

    @property
    def nearest(self) -> Nearest | None:
        """`ranked` as options; nothing where it is empty."""
        return Nearest(**self.ranked) if self.ranked else None

    @property
    def span(self) -> tuple[str, str]:
        """The first moment of `since` and the first after `until`, as tables write times; empty where there is no limit."""
        return _moment(self.since, "since"), _moment(self.until, "until")


def _moment(text: str, name: str) -> str:
    """A day or time of the settings as tables write times; a day is meant whole: the last one is inside."""
    if not text:
        return ""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"[retrieval] {name} is '{text}'", remedy="Write a date such as 2020-04-30"
        ) from None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if name == "until":
        when += timedelta(days=1) if len(text) == len("2020-04-30") else timedelta(seconds=1)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


LEFT_OUT = ("urls", "mentions", "retweet_mark", "entities")
"""What may be left out of texts before they are compared."""


@dataclass(frozen=True, slots=True)
class Cleaning:
    """[cleaning]: the paper's five steps (section 3.1)."""

    languages: tuple[str, ...] = ("en",)
    language_source: Literal["platform", "detector"] = setting("platform", values=("platform", "detector"))
    detector: str = setting("langdetect", values=("langdetect", "py3langid", "pycld2"))
    undetermined: Literal["drop", "keep"] = setting("drop", values=("drop", "keep"))
    minimum_words: int = setting(10, at_least=0)
    words: dict[str, dict[str, Any]] = setting({})
    similarity: float = setting(0.8, at_least=0, below=1)
    grouping: Literal["components", "greedy"] = setting("components", values=("components", "greedy"))
    scope: Literal["study", "claim"] = setting("study", values=("study", "claim"))
    similar_without: tuple[str, ...] = setting((), each=LEFT_OUT)
    against: tuple[str, ...] = ()
    one_claim_per_post: bool = True
    minimum_posts: int = setting(24, at_least=0)


@dataclass(frozen=True, slots=True)
class Sampling:
    """[sampling]: appendix A.3 of the paper."""

    per_claim: int = setting(24, at_least=1)
    per_kind: int = setting(6, at_least=0)
    design: Literal["poisson", "two_phase"] = setting("poisson", values=("poisson", "two_phase"))
    strata_by: tuple[str, ...] = setting((), each=STRATA)


MACHINE = "model:"
"""How the code of an annotator begins that is a machine: `model:NAME`, admitted by `covmis model admit`."""


def is_machine(code: str) -> bool:
    """Whether this annotator is no person."""
    return code.startswith(MACHINE)


def by_people(labels: pd.DataFrame, annotator: str = "annotator") -> pd.DataFrame:
    """The labels that no machine gave."""
    return labels[~labels[annotator].astype(str).str.startswith(MACHINE).astype(bool)]


def file_stem(code: str) -> str:
    """How the files of an annotator are called.

    >>> file_stem("a1"), file_stem("model:qwen")
    ('a1', 'model-qwen')
    """
    return code.replace(":", "-")


@dataclass(frozen=True, slots=True)
class Annotation:
    """[annotation]: who labels what, and what they see."""

    # After every 12 items: agreement, discussion, a better guideline (3.1).
    claims_per_round: int = setting(12, at_least=1)
    annotators: tuple[str, ...] = ("a1", "a2")
    per_item: int = setting(2, at_least=1)
    show: tuple[str, ...] = setting(
        ("card", "quoted", "date"), each=("card", "quoted", "date", "parent", "media")
    )
    audit: float = setting(0.05, at_least=0, at_most=1)
    channel: Literal["label-studio", "csv", "xlsx", "html"] = setting(
        "label-studio", values=("label-studio", "csv", "xlsx", "html")
    )
    label_studio_url: str = ""
    order_of_items: Literal["claim", "mixed"] = setting("claim", values=("claim", "mixed"))
    target: dict[str, Any] = setting({})
    checks: float = setting(0.0, at_least=0, at_most=0.5)
    repeats: float = setting(0.0, at_least=0, at_most=0.5)
    workload: dict[str, float] = setting({})

    @property
    def people(self) -> tuple[str, ...]:
        """The annotators who are people."""
        return tuple(code for code in self.annotators if not is_machine(code))

    @property
    def machines(self) -> tuple[str, ...]:
        """The annotators that are machines."""
        return tuple(code for code in self.annotators if is_machine(code))


@dataclass(frozen=True, slots=True)
class Release:
    """[release]: what the published corpus contains."""

    text: bool = False
    mask_mentions: bool = True
    licence: str = ""
    simulated: bool = False
    individual_labels: bool = True
    splits: dict[str, Any] = setting({})
    authors: tuple[dict[str, str], ...] = ()
    contact: str = ""
    version: str = ""
    doi: str = ""
    url: str = ""
    funding: str = ""
    data_statement: str = ""
