"""The settings of a study by table: names, types, limits, defaults and a description of each, only here.

Each stage gets one of these records. `settings.py` reads and checks study.toml with them; `covmis new`'s file,
study.schema.json and docs/reference/settings.md are generated from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from msgspec import Meta

from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["title", "news_url", "fact_check_url", "keywords"]
KINDS: tuple[str, ...] = get_args(Kind)
"""The four query types, in the order of all output."""

RANKED = "ranked"
"""A fifth type of hit: a post that no query matches, but that is among its claim's most similar posts."""

ADJUDICATOR = "adjudicator"
"""Default code of the person who decides disagreements that a discussion leaves open."""

TARGETS = (12, 24, 36, 48, 96)
"""Targets per claim that a plan of the sample compares."""

Part = Literal["urls", "mentions", "hashtags", "rt", "symbols"]
"""What `[cleaning] words` may leave out before counting; see `text/words.py`."""

Unit = Literal["platform", "year", "month", "day"]
STRATA: tuple[str, ...] = get_args(Unit)
"""What `[sampling] strata_by` may divide each query type by."""

AuditUnit = Literal["claim", "kind", "platform", "year", "month", "day"]
"""Parts whose automatic labels `[annotation] audit_per_part` has checked."""

DesignName = Literal["poisson", "two_phase"]
DESIGN_NAMES: tuple[str, ...] = get_args(DesignName)
"""Sampling designs: each post with its own probability, or a fixed number per claim."""

WordRule = Literal["unicode", "scikit-learn"]
"""Words of near-duplicates (`text/bags.py`): with the signs that are part of them, as for queries, or cut at these."""
SimilarWithout = Literal["urls", "mentions", "retweet_mark", "entities"]
Language = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
        title='the code of a language, like "en", "pt-BR" or "zh"',
    ),
]
Url = Annotated[
    str, Meta(pattern=r"^$|^https?://[^\s/]+.*$", title="a URL that starts with http:// or https://")
]


LANGUAGES = {
    "en": "English",
    "es": "español",
    "pt": "português",
    "de": "Deutsch",
    "fr": "français",
    "it": "italiano",
    "ar": "العربية",
}
"""Languages of what annotators see, each with its own name."""
AnnotatorLanguage = Annotated[
    str,
    Meta(
        pattern=rf"^({'|'.join(LANGUAGES)}|.+\.toml)$",
        title=f"{', '.join(LANGUAGES)}, or the path of a .toml file",
    ),
]


def says(text: str, **limits: float) -> Any:
    """Declare a setting's description and its limits: ge, gt, le, lt."""
    return Meta(description=text, **limits)  # type: ignore[call-overload]


def kept(values: dict[str, Any]) -> dict[str, Any]:
    """Convert settings stored in covmis's files: until 0.1 an empty table meant none of these."""
    return {
        name: None if name in {"ranked", "target", "splits"} and value == {} else value
        for name, value in values.items()
    }


def size_of(text: str) -> int:
    """Parse a size in bytes.

    >>> size_of("64 MB"), size_of("1.5 kB")
    (67108864, 1536)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMG]?)B", text.strip())
    if not match:
        raise InputError(f"[retrieval] longest_line is '{text}'", remedy='Write a size such as "64 MB"')
    return int(float(match[1]) * {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}[match[2]])


@dataclass(frozen=True, slots=True)
class LabelChange:
    """[[labels.changes]]: what became of a label when [labels] changed between two rounds. New labels need no line.

    In study.toml the label's key is `from`, which Python keeps for itself.
    """

    after_round: Annotated[int, says("the last round that had the label", ge=1)]
    from_: Annotated[str, says("the label, as that round had it")]
    to: Annotated[tuple[str, ...], says("what it became; one label: renamed, several: split, []: left out")]


@dataclass(frozen=True, slots=True)
class Labels:
    """[labels]: the labels that annotators choose from."""

    values: Annotated[tuple[str, ...], says("the labels, in the order in which they are printed")] = (
        "favor",
        "against",
        "neither",
    )
    order: Annotated[
        tuple[str, ...],
        says('the labels by rank, e.g. ["favor", "neither", "against"]: turns on ordinal measures'),
    ] = ()
    poles: Annotated[
        tuple[str, ...], says("the two opposite labels, which F_avg averages; empty for none")
    ] = ("favor", "against")
    keys: Annotated[tuple[str, ...], says("the keyboard key of each label, in the order of values")] = (
        "1",
        "2",
        "3",
    )
    sub_labels: Annotated[
        dict[str, tuple[str, ...]],
        says('finer labels, e.g. { neither = ["unrelated", "questions"] }; gold labels do not use them'),
    ] = field(default_factory=dict)
    automatic: Annotated[
        dict[str, str], says("query types whose posts get this label without annotation; {} for none")
    ] = field(default_factory=lambda: {"fact_check_url": "against"})
    aliases: Annotated[
        dict[str, tuple[str, ...]],
        says(
            'what people and models write for a label, e.g. { favor = ["für", "a favor"] }; case, punctuation and "favour" need none'
        ),
    ] = field(default_factory=dict)
    changes: Annotated[
        tuple[LabelChange, ...],
        says(
            "tables [[labels.changes]]: what became of labels of earlier rounds; `covmis round open` asks for them"
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """[[retrieval.columns]]: how to read files that covmis does not recognise, or recognises wrongly.

    Of names of columns `id`, `text` and `created_at` may have several. No `id` leaves it to be recognised; an empty one
    makes ids of text, time, author and address.
    """

    files: Annotated[
        str, says("a pattern of files below the archive's folders; the first matching table is used")
    ] = "*"
    format: Annotated[str, says('"csv", or the name of a tool; empty: detected')] = ""
    separator: Annotated[str, says('the sign between cells, like ";" or "\\t"; empty: detected')] = ""
    header: Annotated[
        bool | Annotated[int, Meta(ge=1)],
        says(
            'false: the file has no header, and columns are named by number, like id = "3"; a number: the header\'s line'
        ),
    ] = True
    encoding: Annotated[str, says('like "cp1251" or "gb18030"; empty: detected')] = ""
    lines: Annotated[bool, says('true: each line is a text; with id = "row" and a platform')] = False
    platform: Annotated[str, says("prefix for ids without one")] = ""
    id: Annotated[
        str | list[str] | None,
        says(
            'the column of ids, or several (joined by "/"); without ids "row" (number the rows) or "" (made from text, time, author and URL)'
        ),
    ] = None
    text: Annotated[str | list[str], says("the column of texts, or several (joined by a blank line)")] = ""
    created_at: Annotated[
        str | list[str], says('the column of times, or those of date and time of day: ["date", "hour"]')
    ] = ""
    date_format: Annotated[
        str, says('like "%d.%m.%Y %H:%M"; or "iso", "epoch_s", "epoch_ms"; empty: detected, or asked')
    ] = ""
    timezone: Annotated[str, says('the zone of times without one, like "Europe/Berlin" or "+09:00"')] = ""
    time_from_id: Annotated[bool, says("compute times from ids, on platforms whose ids contain them")] = False
    language: Annotated[str, says("the column of languages")] = ""
    author: Annotated[str, says("the column of authors")] = ""
    urls: Annotated[str, says("the column of URLs")] = ""
    urls_separator: Annotated[str, says("what separates several URLs in one cell")] = ""
    repost: Annotated[
        dict[str, str], says('how to recognise reposts, e.g. { column = "kind", is = "share" }')
    ] = field(default_factory=dict)
    claim: Annotated[str, says("the column of claim ids, if the file has them")] = ""
    escapes: Annotated[
        Literal["", "none", "x", "html"],
        says(
            'the escapes in texts that become characters: "x" (&amp; &lt; &gt;), "html" (all); "none": they stay'
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class PostCase:
    """[[retrieval.forms.case]]: what some objects of a form have instead. Empty keys stay as the form says."""

    if_: Annotated[str, says('when it holds, like "kind = video & !text"')]
    skip: Annotated[str, says("it is no post: why, in words; they are counted")] = ""
    instead: Annotated[str | list[str], says("the places of posts in it, which are read instead of it")] = ""
    id: Annotated[str, says("as for the form")] = ""
    native: Annotated[str, says("as for the form")] = ""
    text: Annotated[str | list[str], says("as for the form")] = ""
    time: Annotated[str, says("as for the form")] = ""
    language: Annotated[str, says("as for the form")] = ""
    links: Annotated[str | list[str], says("as for the form")] = ""
    cards: Annotated[dict[str, str], says("as for the form")] = field(default_factory=dict)
    media: Annotated[dict[str, str], says("as for the form")] = field(default_factory=dict)
    counts: Annotated[str | list[str], says("as for the form")] = ""
    reply_to: Annotated[str, says("as for the form")] = ""
    quote_of: Annotated[str, says("as for the form")] = ""
    repost_of: Annotated[str, says("as for the form")] = ""
    conversation: Annotated[str, says("as for the form")] = ""
    parent_text: Annotated[str, says("as for the form")] = ""
    quoted_text: Annotated[str, says("as for the form")] = ""
    gone: Annotated[str, says("as for the form")] = ""


@dataclass(frozen=True, slots=True)
class PostForm:
    """[[retrieval.forms]]: a tool's export, described. covmis's own are [[form]] in files of `archive/forms/`.

    It is recognised by the columns of a table (`header`), the keys of its first post (`keys`), or by what its first line
    or document says (`where`).
    """

    name: Annotated[str, says("the form's name, in tables and messages")]
    platform: Annotated[
        str, says("the platform's name, the prefix of ids; or a value; empty: the ids say it (`| as_id`)")
    ] = ""
    header: Annotated[
        list[str | list[str]], says("columns by which a table is recognised; several lists: any of them")
    ] = field(default_factory=list)
    keys: Annotated[
        list[str | list[str]], says("keys by which a post is recognised; several lists: any of them")
    ] = field(default_factory=list)
    where: Annotated[
        str | list[str], says("conditions by which a line or document is recognised; several: any of them")
    ] = ""
    posts: Annotated[
        str | list[str],
        says('the places of posts in a document, like "data.messages[]"; several: the first that is there'),
    ] = "."
    within: Annotated[str | list[str], says("the places of posts in each post, like its replies")] = ""
    id: Annotated[str, says("the post's own id")] = ""
    native: Annotated[str, says("the platform's own id, if `id` gives a whole one")] = ""
    text: Annotated[str | list[str], says("the text; several: paragraphs")] = ""
    time: Annotated[str, says('the time, like "created" or "ts | seconds"')] = ""
    timezone: Annotated[str, says('the zone of times without one, like "Europe/Berlin"')] = ""
    language: Annotated[str, says("the language that the platform names")] = ""
    links: Annotated[str | list[str], says("the URLs that a post has, full ones")] = ""
    cards: Annotated[
        dict[str, str], says("the previews of linked pages: url, title, description; each: their list")
    ] = field(default_factory=dict)
    media: Annotated[dict[str, str], says('texts of media by kind, like { speech = "transcript" }')] = field(
        default_factory=dict
    )
    counts: Annotated[list[str], says("the numbers of replies, reposts, likes and quotes, in this order")] = (
        field(default_factory=list)
    )
    reply_to: Annotated[str, says("the id of the post that it answers")] = ""
    quote_of: Annotated[str, says("the id of the post that it quotes")] = ""
    repost_of: Annotated[str, says("the id of the post that it repeats")] = ""
    conversation: Annotated[str, says("the id of the post that began the conversation")] = ""
    parent_text: Annotated[str, says("the text of the post that it answers")] = ""
    quoted_text: Annotated[str, says("the text of the post that it quotes")] = ""
    gone: Annotated[str, says('"deleted" or "removed", if the text is gone')] = ""
    maps: Annotated[dict[str, dict[str, str]], says("tables for `| map:NAME` and `| match:NAME`")] = field(
        default_factory=dict
    )
    case: Annotated[tuple[PostCase, ...], says("what some objects have instead")] = ()


@dataclass(frozen=True, slots=True)
class Nearest:
    """`[retrieval] ranked`: sample `expected` of each claim's `depth` most similar posts that no query matches.

    Probabilities decrease with the rank, as steeply as possible with weights up to `weights_up_to`.
    """

    by: Literal["bm25", "bm25+model"] = "bm25"
    depth: Annotated[int, Meta(ge=1, le=1000)] = 50
    expected: Annotated[float, Meta(ge=0.1)] = 5.0
    weights_up_to: Annotated[float, Meta(ge=1)] = 100.0
    model: str = ""

    @property
    def ranked_by(self) -> str:
        """The basis of the ranking, as text."""
        return f"BM25 and the sentence model {self.model}" if self.model else "BM25"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """[retrieval]: which posts are searched, and which hits must match locally."""

    archive: Annotated[
        tuple[str, ...],
        says("folders and files with posts, from the study's folder, or in a store: s3://bucket/posts"),
    ] = ("data/archive",)
    since: Annotated[str, says('first day, e.g. "2020-01-31"; empty: no limit')] = ""
    until: Annotated[str, says("last day, included; empty: no limit")] = ""
    reposts: Annotated[
        Literal["drop", "keep"], says('"drop" or "keep"; repost_count has their number either way')
    ] = "drop"
    require_match: Annotated[
        tuple[Kind, ...], says("matches of these types count only if covmis, too, matches post and query")
    ] = ("keywords", "news_url", "fact_check_url")
    unreadable: Annotated[
        float,
        says(
            "largest share of unreadable lines in a file of 100 lines or more; above it `covmis run` ends with exit code 1",
            ge=0,
            le=1,
        ),
    ] = 0.01
    longest_line: Annotated[str, says("longer lines are counted but skipped")] = "64 MB"
    unpacked_ratio: Annotated[int, says("largest allowed ratio of decompressed to compressed size", ge=1)] = (
        1000
    )
    ranked: Annotated[
        Nearest | None,
        says(
            'similar posts that no query finds, e.g. { by = "bm25", depth = 50, expected = 5 }; see docs/guides/recall.md'
        ),
    ] = None
    columns: Annotated[
        tuple[Columns, ...],
        says(
            "tables [[retrieval.columns]] for files that are not recognised: `covmis posts look FILE` prints them"
        ),
    ] = ()
    forms: Annotated[
        tuple[PostForm, ...],
        says("tables [[retrieval.forms]] that describe other tools' exports: see docs/guides/forms.md"),
    ] = ()

    @property
    def span(self) -> tuple[str, str]:
        """The first moment of `since` and the first after `until`, in the tables' time format; empty without a limit."""
        return _moment(self.since, "since"), _moment(self.until, "until")


def _moment(text: str, name: str) -> str:
    """Convert a day or time in the settings to the tables' format; a day includes its end."""
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


@dataclass(frozen=True, slots=True)
class Words:
    """`[cleaning] words`: the minimum length of a text in one language."""

    minimum: Annotated[int, Meta(ge=0)] | None = None
    unit: Literal["words", "characters"] | None = None
    without: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Cleaning:
    """[cleaning]: the paper's five steps (section 3.1)."""

    languages: Annotated[tuple[Language, ...], says("codes of the languages to keep; empty keeps all")] = (
        "en",
    )
    language_source: Annotated[
        Literal["platform", "detector"],
        says(
            '"platform": the platform\'s tag, or the detector where there is none; "detector": for all posts'
        ),
    ] = "platform"
    detector: Annotated[
        Literal["langdetect", "py3langid", "pycld2"],
        says('"langdetect"; or "py3langid", "pycld2" (extra: language)'),
    ] = "langdetect"
    undetermined: Annotated[
        Literal["drop", "keep"], says('posts whose language is unknown: "drop" or "keep"')
    ] = "drop"
    minimum_words: Annotated[
        int, says("posts with fewer words are dropped (English words; other languages: as much text)", ge=0)
    ] = 10
    words: Annotated[
        dict[Language, Words],
        says(
            'rules for single languages, e.g. { ja = { minimum = 25, unit = "characters" }, en = { without = ["urls"] } }'
        ),
    ] = field(default_factory=dict)
    similarity: Annotated[
        float, says("TF-IDF cosine similarity above which two posts are near-duplicates", ge=0, lt=1)
    ] = 0.8
    grouping: Annotated[
        Literal["components", "greedy"],
        says(
            '"components": also joins posts connected through others; "greedy": only near-duplicates of the kept post'
        ),
    ] = "components"
    scope: Annotated[
        Literal["study", "claim"], says('compare the posts of the whole "study", or of each "claim"')
    ] = "study"
    similar_without: Annotated[
        tuple[SimilarWithout, ...],
        says('ignored when texts are compared: "urls", "mentions", "retweet_mark", "entities"'),
    ] = ()
    similar_words: Annotated[
        WordRule,
        says(
            'words of compared texts: "unicode": whole words of every script; "scikit-learn": as in the paper, cut at vowel signs'
        ),
    ] = "scikit-learn"
    against: Annotated[
        tuple[str, ...], says("files of other posts, e.g. a test set: near-duplicates of these are dropped")
    ] = ()
    one_claim_per_post: Annotated[
        bool, says("a post that several claims' queries find stays with one claim, chosen at random")
    ] = True
    minimum_posts: Annotated[int, says("claims with fewer posts are dropped", ge=0)] = 24


@dataclass(frozen=True, slots=True)
class Sampling:
    """[sampling]: appendix A.3 of the paper."""

    per_claim: Annotated[int, says("expected number of posts per claim", ge=1)] = 24
    per_kind: Annotated[int, says("quota for each query type (fewer if there are fewer)", ge=0)] = 6
    design: Annotated[
        DesignName,
        says('"poisson": each post by its own probability (the paper); "two_phase": exactly per_claim posts'),
    ] = "poisson"
    strata_by: Annotated[
        tuple[Unit, ...],
        says('e.g. ["month"]: the quota is then per query type and month; also "platform", "year", "day"'),
    ] = ()
    certain: Annotated[
        bool,
        says(
            "the design poisson also takes the largest near-duplicate clusters, as far as shares of all posts need them"
        ),
    ] = True

    @property
    def quotas(self) -> int:
        """The posts of a claim that the quotas of all query types require; they take precedence over `per_claim`."""
        return self.per_kind * len(KINDS)


MACHINE = "model:"
"""Prefix of a model's annotator code: `model:NAME`, admitted by `covmis model admit`."""


def is_machine(code: str) -> bool:
    """True if this annotator is a model."""
    return code.startswith(MACHINE)


def by_people(labels: pd.DataFrame, annotator: str = "annotator") -> pd.DataFrame:
    """Return the labels given by people."""
    return labels[~labels[annotator].astype(str).str.startswith(MACHINE).astype(bool)]


def file_stem(code: str) -> str:
    """Return the name of an annotator's files, without extension.

    >>> file_stem("a1"), file_stem("model:qwen")
    ('a1', 'model-qwen')
    """
    return code.replace(":", "-")


@dataclass(frozen=True, slots=True)
class Target:
    """`[annotation] target`: the agreement to reach."""

    at_least: Annotated[float, Meta(gt=0, lt=1)]
    coefficient: Literal["kappa", "alpha", "ac1", "raw"] = "kappa"


@dataclass(frozen=True, slots=True)
class Annotation:
    """[annotation]: who labels what, and what they see."""

    # After every 12 items: agreement, discussion, a better guideline (3.1).
    claims_per_round: Annotated[
        int, says("claims of a round; each round has a report on agreement", ge=1)
    ] = 12
    annotators: Annotated[tuple[str, ...], says("codes, not names; model:NAME for an admitted model")] = (
        "a1",
        "a2",
    )
    per_item: Annotated[int, says("annotators for each item", ge=1)] = 2
    show: Annotated[
        tuple[Literal["card", "quoted", "date", "parent", "media", "fact_check"], ...],
        says('context that annotators see; also "parent", "media", "fact_check"'),
    ] = ("card", "quoted", "date")
    audit: Annotated[
        float, says("share of automatic labels that annotators check without knowing it", ge=0, le=1)
    ] = 0.05
    audit_per_part: Annotated[
        int,
        says(
            "expected number of such checks in each part of audit_by, if it has as many; 5 for intervals",
            ge=0,
        ),
    ] = 0
    audit_by: Annotated[
        tuple[AuditUnit, ...],
        says('parts that need checks: "claim"; also "month", "year", "day", "platform", "kind" (query type)'),
    ] = ("claim",)
    channel: Annotated[
        Literal["label-studio", "csv", "xlsx", "html"],
        says('"label-studio"; or "xlsx", "csv" (sheets), "html" (an offline page), which need no server'),
    ] = "label-studio"
    label_studio_url: Annotated[
        Url, says("a Label Studio server; empty: the local one of `covmis label-studio up`")
    ] = ""
    order_of_items: Annotated[
        Literal["claim", "mixed"],
        says('"claim": posts of one claim together; or "mixed". Each annotator has a different order'),
    ] = "claim"
    language: Annotated[
        AnnotatorLanguage,
        says('what annotators see is in "en", "es", "pt", "de", "fr", "it", "ar", or as in a .toml file'),
    ] = "en"
    target: Annotated[
        Target | None,
        says(
            'the agreement that you aim for, e.g. { coefficient = "kappa", at_least = 0.67 }; also alpha, ac1, raw'
        ),
    ] = None
    checks: Annotated[float, says("share of hidden posts with a known label, e.g. 0.05", ge=0, le=0.5)] = 0.0
    repeats: Annotated[
        float,
        says(
            "share of hidden posts that the same person labelled in an earlier round, e.g. 0.05", ge=0, le=0.5
        ),
    ] = 0.0
    workload: Annotated[
        dict[str, Annotated[float, Meta(gt=0)]], says("e.g. { a1 = 0.5 }: half as much work as the others")
    ] = field(default_factory=dict)

    @property
    def audits_times(self) -> bool:
        """Whether the checks of automatic labels are planned by time."""
        return self.audit_per_part > 0 and bool({"year", "month", "day"} & set(self.audit_by))

    @property
    def people(self) -> tuple[str, ...]:
        """The annotators who are people."""
        return tuple(code for code in self.annotators if not is_machine(code))

    @property
    def machines(self) -> tuple[str, ...]:
        """The annotators that are models."""
        return tuple(code for code in self.annotators if is_machine(code))


@dataclass(frozen=True, slots=True)
class Author:
    """An author of the corpus; the name is "Family, Given", or its last word is the family name."""

    name: Annotated[str, Meta(pattern=r"\S", title='a name, like "Curie, Marie"')]
    orcid: str = ""
    affiliation: str = ""

    @property
    def family(self) -> str:
        """The family name: before a comma, otherwise the last word, as in BibTeX."""
        before, comma, _ = self.name.partition(",")
        return before.strip() if comma else self.name.split()[-1]

    @property
    def given(self) -> str:
        """The other names; empty if there are none."""
        _, comma, after = self.name.partition(",")
        return after.strip() if comma else " ".join(self.name.split()[:-1])

    @property
    def inverted(self) -> str:
        """Family, Given."""
        return ", ".join(part for part in (self.family, self.given) if part)

    @property
    def plain(self) -> str:
        """Given Family."""
        return " ".join(part for part in (self.given, self.family) if part)


@dataclass(frozen=True, slots=True)
class Splits:
    """`[release] splits`: how to split the corpus into train, dev and test."""

    scheme: Literal["grouped", "chronological", "stratified"]
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2)
    by: Annotated[
        str,
        Meta(
            pattern="^(claim|_.*)$",
            title='"claim", or a column of your own in queries/claims.csv, such as "_event"',
        ),
    ] = "claim"
    similarity: Annotated[float, Meta(ge=0, lt=1)] | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """[release]: what the published corpus contains."""

    text: Annotated[bool, says("publish texts, not only ids: read your platform's terms first")] = False
    mask_mentions: Annotated[bool, says("replace @names by @user in published texts")] = True
    licence: Annotated[
        str, says('the licence of your labels: an SPDX id such as "CC-BY-4.0", or a file of the study')
    ] = ""
    simulated: Annotated[
        bool, says("whether the posts are made up; if so, card, methods and metadata say it")
    ] = False
    individual_labels: Annotated[
        bool, says("publish each annotator's labels, under new random codes; false: only shares")
    ] = True
    splits: Annotated[
        Splits | None,
        says(
            'parts of the corpus, e.g. { scheme = "grouped", fractions = [0.7, 0.1, 0.2] }; or chronological, stratified; see docs/guides/release.md'
        ),
    ] = None
    authors: Annotated[
        tuple[Author, ...],
        says('of the corpus, e.g. [{ name = "Curie, Marie", orcid = "…", affiliation = "…" }]'),
    ] = ()
    contact: Annotated[str, says("an e-mail address or page that will still exist in years")] = ""
    version: Annotated[str, says('of the corpus, e.g. "1.0.0"')] = ""
    doi: Annotated[
        str,
        Meta(pattern=r"^$|^10\.\d{4,9}/\S+$", title='a DOI, like "10.5281/zenodo.1234567"'),
        says('once it has one, e.g. "10.5281/zenodo.1234567"'),
    ] = ""
    url: Annotated[Url, says("where the corpus is published")] = ""
    funding: Annotated[str, says("who paid")] = ""
    data_statement: Annotated[
        str, says("a Markdown file of the study: annotators, recruitment, pay, ethics; the card includes it")
    ] = ""
