"""The rows of each table: columns, types and a description of each, only here.

Schemas (`tables.SCHEMAS`), frozen items, recall frames, the corpus, the content of seals, the columns on a dataset card
and docs/reference/tables.md are generated from these records. The tables of items are parts of one record, `Item`; `In`
names the tables that have a column.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, get_args

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

STRING, STRINGS, COUNT, REAL, FLAG = pa.string(), pa.list_(pa.string()), pa.int64(), pa.float64(), pa.bool_()
KINDS_OF_CELLS: dict[Any, pa.DataType] = {
    str: STRING,
    list[str]: STRINGS,
    int: COUNT,
    float: REAL,
    bool: FLAG,
}
CARD = pa.struct([("url", STRING), ("title", STRING), ("description", STRING)])
MEDIUM = pa.struct([("type", STRING), ("alt_text", STRING)])
METRICS = pa.struct([("replies", COUNT), ("reposts", COUNT), ("likes", COUNT), ("quotes", COUNT)])


class Estimand(StrEnum):
    """What is counted."""

    UNIQUE_POSTS = "unique_posts"
    POSTS = "posts"
    FRAME = "frame"
    """Posts of a recall round's frame that are about the claim, found by a query or not; each counts once for a claim."""

    @property
    def in_words(self) -> str:
        """As tables and sentences for people name it."""
        return {"unique_posts": "unique posts", "posts": "all posts", "frame": "relevant posts"}[self]

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        """Return what a release of 0.2 calls `messages`."""
        return cls.UNIQUE_POSTS if value == "messages" else None


@dataclass(frozen=True, slots=True)
class In:
    """The tables of items that have a column, apart from those that inherit it (see `Table.columns`)."""

    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Since:
    """The version that added a column, which is missing in older files and null there."""

    version: str


class Unsealed:
    """A column that a seal does not cover: a purge may empty it, or covered columns determine it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: pa.DataType
    about: str
    tables: tuple[str, ...] = ()
    since: str = ""
    sealed: bool = True

    @classmethod
    def of(cls, name: str, annotation: Any) -> "Column":
        """Return the column declared by an annotated field of a record."""
        plain, *marks = get_args(annotation)
        return cls(
            name,
            next((mark for mark in marks if isinstance(mark, pa.DataType)), None) or KINDS_OF_CELLS[plain],
            next(mark for mark in marks if isinstance(mark, str)),
            next((mark.tables for mark in marks if isinstance(mark, In)), ()),
            next((mark.version for mark in marks if isinstance(mark, Since)), ""),
            Unsealed not in marks,
        )


EVERY = In(("items", "sample", "frame", "population", "corpus"))
ItemId = Annotated[str, EVERY, "claim and post, joined by |"]
ClaimId = Annotated[str, EVERY, "the claim"]
PostId = Annotated[str, EVERY, "the post, with its platform's prefix"]
NativeId = Annotated[str, In(("frozen", "corpus")), Unsealed, "the post's id as its platform writes it"]
CreatedAt = Annotated[str, In(("frozen", "population", "corpus")), Unsealed, "when the post was made, UTC"]
Probability = Annotated[float, In(("sample", "frame", "corpus")), "probability that the post was sampled"]
DrawNumber = Annotated[
    str, In(("sample",)), "the draw of its claim that the item came with, from 1 on; a recall round's number"
]
Design = Annotated[str, In(("sample", "corpus")), "the sampling design: poisson or two_phase"]
Stance = Annotated[str, In(("corpus",)), "the stance of the post towards the claim"]
How = Annotated[str, In(("corpus",)), "the source of the label"]
Cards = Annotated[
    list[Any], pa.list_(CARD), In(("frozen",)), Unsealed, "previews of links: url, title, description"
]
Media = Annotated[
    list[Any], pa.list_(MEDIUM), In(("frozen",)), Unsealed, "pictures and films: type, alt_text"
]


class Item:
    """A claim × post pair, with everything that any table says of it."""

    item_id: ItemId
    round: Annotated[str, In(("frozen",)), "the round that the item was frozen in"]
    pilot: Annotated[bool, In(("frozen",)), "whether it is a practice round"]
    claim_id: ClaimId
    claim: Annotated[str, In(("frozen", "corpus")), Unsealed, "the claim's text"]
    post_id: PostId
    native_id: NativeId
    text: Annotated[str, In(("frozen", "corpus")), Unsealed, "the post's text"]
    created_at: CreatedAt
    show: Annotated[
        list[str],
        In(("frozen",)),
        Unsealed,
        "context shown with the text: card, quoted, parent, media, date, fact_check",
    ]
    cards: Cards
    quoted: Annotated[str, In(("frozen",)), Unsealed, "the text of the quoted post, if it is shown"]
    parent: Annotated[str, In(("frozen",)), Unsealed, "the text of the answered post, if it is shown"]
    media: Media
    fact_check: Annotated[
        str,
        In(("frozen",)),
        Unsealed,
        Since("0.2.0"),
        "the verdict and the titles of the claim's fact-check, if they are shown",
    ]
    found: Annotated[bool, In(("frame",)), "whether a query found the post"]
    kind: Annotated[
        str,
        In(("items", "sample", "population", "corpus")),
        "the query type that found the post; its stratum in the sample",
    ]
    label: Stance
    how: How
    kinds: Annotated[list[str], In(("items", "frame")), "all query types that found the post for this claim"]
    other_claims: Annotated[list[str], In(("items",)), "other claims whose queries found the post, too"]
    group: Annotated[str, In(("items",)), "the post's group of near-duplicates, named by a post of it"]
    group_size: Annotated[
        int,
        In(("items", "population", "corpus")),
        "number of posts with this text, near-duplicates included",
    ]
    group_items: Annotated[
        int,
        In(("items", "population")),
        Since("0.3.0"),
        "number of labelled items that represent the group: above 1 if groups joined since",
    ]
    copies: Annotated[
        list[str], In(("population",)), Since("0.3.0"), "posts of the claim that are near-identical to it"
    ]
    rank: Annotated[float, In(("frame",)), "the post's rank by similarity to the claim"]
    guess: Annotated[float, In(("frame",)), "score of the post's relevance to the claim (relative)"]
    p_claim: Annotated[
        float,
        In(("items", "population", "corpus")),
        "probability that a post found for several claims stayed with this one",
    ]
    p_sample: Probability
    weight: Annotated[
        float,
        In(("corpus",)),
        "the number of unique posts that this row represents (a post of two claims counts for both); 0 outside the population",
    ]
    weight_of_posts: Annotated[
        float,
        In(("corpus",)),
        Since("0.3.0"),
        "the number of posts that this row represents, near-duplicates included",
    ]
    in_population: Annotated[
        str,
        In(("corpus",)),
        Since("0.3.0"),
        "yes if the release's queries and settings find the post or a near-copy: shares are of these; otherwise no",
    ]
    draw: DrawNumber
    design: Design
    automatic_label: Annotated[
        str, In(("sample", "corpus")), "the automatic label; empty for items without one"
    ]
    audited: Annotated[
        bool, In(("sample",)), "whether annotators check the automatic label without knowing it"
    ]
    p_audit: Annotated[
        float,
        In(("sample", "corpus")),
        Since("0.2.0"),
        "probability that a sampled item's automatic label is checked",
    ]
    salt: Annotated[str, In(("frozen",)), Unsealed, "the secret in the hash `shown`; a purge deletes it"]
    shown: Annotated[str, In(("frozen",)), "salted hash of what the annotator saw"]


class Draw(NamedTuple):
    """An item's probability over all draws so far, its draw and its design."""

    item_id: ItemId
    p_sample: Probability
    draw: DrawNumber
    design: Design


class Chance(NamedTuple):
    """The probability that a draw gave the posts of a stratum, or one item with its own probability."""

    draw: Annotated[str, "the draw of its claim, from 1 on"]
    claim_id: ClaimId
    stratum: Annotated[str, "the query type, with the stratum of `[sampling] strata_by`"]
    item_id: Annotated[
        str, "an item with its own probability (ranked, or frozen before); empty for a stratum"
    ]
    rule: Annotated[str, "quota, fill, ranked or certain; `kept` for an item that was frozen before"]
    posts: Annotated[int, "number of posts with this probability"]
    probability: Annotated[float, "the probability; 0 for an item that this draw could not give"]
    round: Annotated[
        str,
        "the round that was opened with this draw, or the next one, if it added nothing; empty in data/build",
    ] = ""


class Label(NamedTuple):
    """A label in the record: one answer of an annotator."""

    label_id: Annotated[str, "a hash of the label's line in the record, without its comment"]
    item_id: ItemId
    round: Annotated[str, "the round"]
    phase: Annotated[str, "independent, discussion or adjudication"]
    annotator: Annotated[str, "the annotator's code; model:NAME of a model, `together` of a discussion"]
    label: Annotated[str, "the label; empty if none was given"]
    sub_label: Annotated[str, "a finer label, where the scheme has them"]
    status: Annotated[str, "given, skipped, invalid or withdrawn"]
    reason: Annotated[str, Unsealed, "why it was decided so, or why the answer cannot be used"]
    error_class: Annotated[str, "why annotators disagreed: slip, guideline, context, ambiguous or other"]
    comment: Annotated[str, Unsealed, "the annotator's comment"]
    seconds: Annotated[float, Unsealed, "seconds that the answer took, if known"]
    guideline: Annotated[str, "the version of the guideline that was in use"]
    shown: Annotated[str, "hash of what the annotator saw"]
    given_at: Annotated[str, "when it was given; if unknown, when it was pulled"]
    channel: Annotated[str, "the channel: label-studio, csv, xlsx, ods, html, import, model or covmis"]
    supersedes: Annotated[str, "the label_id of the same annotator's earlier label that it replaces"]

    @property
    def said(self) -> tuple[str, ...]:
        """The content of an answer, without its time and duration."""
        return (
            self.label,
            self.sub_label,
            self.status,
            self.reason,
            self.error_class,
            self.comment,
            self.shown,
        )


class Decision(NamedTuple):
    """An item's gold label."""

    item_id: ItemId
    label: Stance
    how: Annotated[str, "automatic, audited, agreed, discussed, majority, adjudicated or single"]
    round: Annotated[str, "the round that decided it"]


class Dropped(NamedTuple):
    """A claim, a pair or a post that was not kept, and why."""

    unit: Annotated[str, "claim, pair or post"]
    claim_id: Annotated[str, "the claim; empty for a post"]
    post_id: Annotated[str, "the post; empty for a claim"]
    step: Annotated[str, "the step that dropped it"]
    reason: Annotated[str, "why"]
    kept_instead: Annotated[str, "the item or post that was kept instead"] = ""
    similarity: Annotated[float | None, REAL, "how similar its text is to that of the post that was kept"] = (
        None
    )
    group: Annotated[str, "its group of near-duplicates"] = ""


class Claim:
    """A claim of the list."""

    claim_id: ClaimId
    text: Annotated[str, "the claim's text"]
    language: Annotated[str, "its language"]
    keywords: Annotated[list[str], "its keyword queries"]
    titles: Annotated[list[str], "titles of news that report it"]
    news_urls: Annotated[list[str], "URLs of news that report it"]
    fact_check_urls: Annotated[list[str], "URLs of fact-checks"]
    first_seen: Annotated[str, "when it was first seen"]
    selected: Annotated[bool, "whether queries are built for it"]
    edits: Annotated[list[str], "changes and their reasons"]


class Query:
    """A query."""

    query_id: Annotated[str, "claim, kind and number"]
    claim_id: ClaimId
    kind: Annotated[str, "title, news_url, fact_check_url or keywords"]
    text: Annotated[str, "as written in the claim list"]
    expression: Annotated[str, "the expression that is matched, in canonical form"]
    language: Annotated[str, "the language of its words"]


class PostRow:
    """A post."""

    post_id: PostId
    native_id: NativeId
    platform: Annotated[str, "the platform; the prefix of post_id"]
    text: Annotated[str, "the text; the longer one if there are two"]
    created_at: CreatedAt
    language: Annotated[str, "the language that the platform states"]
    urls: Annotated[list[str], "URLs of its links, expanded"]
    cards: Cards
    media: Media
    reply_to: Annotated[str, "the post that it answers; ? if there is one with unknown id"]
    parent_text: Annotated[str, "the text of that post"]
    quote_of: Annotated[str, "the post that it quotes, or ?"]
    quoted_text: Annotated[str, "the text of that post"]
    repost_of: Annotated[str, "the post that it repeats, or ?"]
    repost_count: Annotated[int, "reposts of it in the archive"]
    conversation: Annotated[str, "the thread that it belongs to"]
    metrics: Annotated[
        dict[str, int], METRICS, "replies, reposts, likes, quotes, as the platform counted them"
    ]
    retrieved_at: Annotated[str, "when this copy was fetched"]
    availability: Annotated[str, "available, or why the platform no longer shows it"]


class Hit:
    """A match of a query and a post."""

    claim_id: ClaimId
    post_id: PostId
    query_id: Annotated[str, "the query"]
    kind: Annotated[str, "the query type, or ranked"]
    verified: Annotated[str, "whether covmis itself matches post and query: yes, no or not_applicable"]
    matched: Annotated[list[str], "the words or URLs that matched"]


class Part:
    """A part of the store."""

    part: Annotated[str, "its file's name in data/build/archive/"]
    files: Annotated[list[str], "the archive's files that are in it"]
    posts: Annotated[int, "its rows"]
    bytes: Annotated[int, "its size"]
    sha256: Annotated[str, "its hash"]


class OlderCopy:
    """A stored row that is not used."""

    part: Annotated[str, "the part"]
    row: Annotated[int, "the row in it"]


class Unreadable:
    """A line that could not be read."""

    file: Annotated[str, "the file"]
    offset: Annotated[int, "where in it, in bytes"]
    problem: Annotated[str, "what is wrong"]


class Intake:
    """How often something occurred in a file of the archive."""

    file: Annotated[str, "the file"]
    format: Annotated[str, "the format that its lines or rows have"]
    outcome: Annotated[str, "lines, posts, reposts, skipped, noted, unreadable or refused"]
    reason: Annotated[str, "the reason, if any"]
    count: Annotated[int, "how often"]
    offset: Annotated[int, "offset of the first occurrence"]
    example: Annotated[str, "what was there"]


class Chain:
    """A large group of near-duplicates."""

    group: Annotated[str, "its name: a post of it"]
    size: Annotated[int, "its posts"]
    weakest: Annotated[float, "smallest similarity of a connecting pair of posts"]
    weakest_a: Annotated[str, "the one"]
    weakest_b: Annotated[str, "the other"]


class Candidate:
    """One of the posts that are nearest to a claim."""

    claim_id: ClaimId
    post_id: PostId
    rank: Annotated[int, "its place, from 1 on"]
    score: Annotated[float, "its score"]
    ranked_by: Annotated[str, "bm25, or bm25+model"]
    version: Annotated[str, "the model's version"]


class Provenance:
    """A place where a post was found."""

    post_id: PostId
    file: Annotated[str, "the file"]
    offset: Annotated[int, "where in it, in bytes"]
    format: Annotated[str, "the format"]
    retrieved_at: Annotated[str, "when this copy was fetched"]
    query: Annotated[str, "the search that found it, if the file names it"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its rows' record, its key, its source, and the meaning of a row."""

    name: str
    record: type
    key: tuple[str, ...]
    made_by: str
    row: str
    last: tuple[str, ...] = ()
    """Columns that follow the others."""
    later: tuple[str, ...] = ()
    """Columns that this table has since 0.3.0, and others before."""

    @property
    def columns(self) -> list[Column]:
        """Its columns, in order; those of tables of items are also frozen."""
        declared = [Column.of(name, kind) for name, kind in self.record.__annotations__.items()]
        if self.record is Item:
            holders = {self.name, "items", "sample"} if self.name == "frozen" else {self.name}
            declared = [column for column in declared if holders & set(column.tables)]
        declared = [
            replace(column, since="0.3.0") if column.name in self.later else column for column in declared
        ]
        return sorted(
            declared, key=lambda column: column.name in self.last and 1 + self.last.index(column.name)
        )

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; keys are never null."""
        return pa.schema(
            [pa.field(column.name, column.type, column.name not in self.key) for column in self.columns]
        )


PAIR = ("claim_id", "post_id")
TABLES = {
    table.name: table
    for table in (
        Table("claims", Claim, ("claim_id",), "claims", "a claim"),
        Table("queries", Query, ("query_id",), "queries", "a query"),
        Table("posts", PostRow, ("post_id",), "retrieve", "a post that a query found"),
        Table("hits", Hit, (*PAIR, "query_id"), "retrieve", "a query that found a post"),
        Table("items", Item, ("item_id",), "clean", "a claim–post pair that cleaning kept"),
        Table(
            "dropped",
            Dropped,
            ("unit", *PAIR, "step"),
            "sample",
            "a pair, claim or post that was not kept",
        ),
        Table("sample", Item, ("item_id",), "sample", "an item that was sampled"),
        Table(
            "draws",
            Chance,
            ("draw", "claim_id", "stratum", "item_id", "round"),
            "sample; rounds (draws.parquet)",
            "a probability in a draw, also if the draw added no item; with the rounds, every opened draw",
        ),
        Table(
            "frozen",
            Item,
            ("item_id", "round", *PAIR),
            "rounds (items.parquet)",
            "an item as a round froze it, complete without data/build",
        ),
        Table(
            "frame",
            Item,
            ("item_id",),
            "recall rounds",
            "a claim–post pair of a recall round's sampling frame",
        ),
        Table(
            "population",
            Item,
            ("item_id",),
            "rounds (population.parquet)",
            "a claim–post pair that the round's draws could choose",
        ),
        Table(
            "labels",
            Label,
            ("label_id",),
            "rounds (labels.parquet, from the lines)",
            "an answer of an annotator",
        ),
        Table(
            "gold",
            Decision,
            ("item_id",),
            "rounds (decisions.parquet, from the lines)",
            "an item's final label",
        ),
        Table(
            "corpus",
            Item,
            ("item_id",),
            "release",
            "an item of the released corpus; `text` only if texts are released",
            last=("design", "automatic_label", "p_audit", "group_size", "created_at"),
            later=("design", "automatic_label", "p_audit"),
        ),
        Table("parts", Part, ("part",), "read", "a part of the stored archive"),
        Table(
            "older_copies",
            OlderCopy,
            ("part", "row"),
            "read",
            "a row that is not used, because another copy of the post is",
        ),
        Table("unreadable", Unreadable, ("file",), "read", "a line that could not be read"),
        Table(
            "intake",
            Intake,
            ("file", "format", "outcome", "reason"),
            "read",
            "how often something occurred in a file of the archive",
        ),
        Table("chains", Chain, ("group",), "clean", "a large group of near-duplicates"),
        Table(
            "candidates",
            Candidate,
            PAIR,
            "retrieve",
            "one of the most similar posts of a claim (`[retrieval] ranked`)",
        ),
        Table("provenance", Provenance, ("post_id", "file"), "retrieve", "a place of a post in the archive"),
    )
}


def meanings(table: str) -> dict[str, str]:
    """Return the meaning of each column of a table."""
    return {column.name: column.about for column in TABLES[table].columns}


def needed(table: str) -> list[str]:
    """Return the columns that files of every version have."""
    return [column.name for column in TABLES[table].columns if not column.since]


def sealed(table: str) -> list[Column]:
    """Return the columns that a seal covers."""
    return [column for column in TABLES[table].columns if column.sealed]


def independent(labels: "pd.DataFrame") -> "pd.DataFrame":
    """Return labels given before any discussion, without skips and unusable answers."""
    return labels[(labels["phase"] == "independent") & (labels["status"] == "given")]
