"""Explain the history of a claim, post or item in sentences, from the tables alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.round_folder import RoundFolder
from covmis_build.archive.store import POSTS
from covmis_build.building.flow import WORDS, ask
from covmis_build.building.store import files_here
from covmis_build.errors import InputError
from covmis_build.options import ADJUDICATOR, RANKED
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from covmis_build.places import Places


@dataclass(frozen=True, slots=True, repr=False)
class Story(Result):
    """The history of a claim, a post or an item."""

    id: str
    lines: tuple[str, ...]

    @property
    def summary(self) -> list[str]:
        """Return its sentences, in the order of the steps."""
        return list(self.lines)

    def to_dict(self) -> dict[str, Any]:
        """What `covmis explain --json` prints."""
        return {"id": self.id, "sentences": list(self.lines)}


def explain(places: Places, wanted: str) -> Story:
    """Return sentences about a claim id, a post id, or an item id (`claim|post`). An unknown id is an error."""
    if not places.table("dropped").exists():
        raise InputError("nothing has been built yet", remedy="Run `covmis run` first")
    claim_id, _, post_id = wanted.partition("|")
    claims = storage.read_table(places.table("claims"), "claims")
    if post_id:
        sentences = list(_pair_story(places, claim_id, post_id))
    elif wanted in set(claims["claim_id"]):
        sentences = list(_claim_story(places, claims[claims["claim_id"] == wanted].iloc[0]))
    else:
        sentences = [line for post in _named(places, wanted) for line in _post_story(places, post)]
    if not sentences:
        raise InputError(
            f"no claim, post or item is called '{wanted}'",
            remedy="Ids look like 12, x:1255000000000000000, or 12|x:1255",
        )
    return Story(wanted, tuple(sentences))


def _named(places: Places, wanted: str) -> list[str]:
    """Return the post of this id; for a bare number or name, the posts of all platforms that have it."""
    if ":" in wanted:
        return [wanted]
    known = {name: [places.table(name)] for name in ("posts", "dropped")} | {"store": files_here(places)}
    known = {name: paths for name, paths in known.items() if paths}
    union = " UNION ".join(f"SELECT post_id FROM {name}" for name in known)
    posts = ask(
        f"SELECT post_id FROM ({union}) WHERE ends_with(post_id, ?) ORDER BY 1", f":{wanted}", **known
    )
    return [post for (post,) in posts]


def _claim_story(places: Places, claim: Any) -> Iterator[str]:
    claim_id = claim["claim_id"]
    yield f"Claim {claim_id}: {claim['text']}"
    if not claim["selected"]:
        yield "It is not selected in queries/claims.csv, so nothing was looked for."
    queries = storage.read_table(places.table("queries"), "queries")
    counts = dict(
        ask(
            "SELECT query_id, count(DISTINCT post_id) FROM hits WHERE claim_id = ? GROUP BY query_id",
            claim_id,
            hits=places.table("hits"),
        )
    )
    for query in queries[queries["claim_id"] == claim_id].itertuples():
        yield f"Its {_plain(query.kind)} query {query.query_id}, {query.expression}, found {_posts(counts.get(query.query_id, 0))}."
    dropped = ask(
        "SELECT step, reason, unit, count(*) FROM dropped WHERE claim_id = ? GROUP BY ALL ORDER BY ALL",
        claim_id,
        dropped=places.table("dropped"),
    )
    order = list(WORDS)
    for step, reason, unit, count in sorted(
        dropped, key=lambda row: order.index(row[0]) if row[0] in order else -1
    ):
        if unit == "claim":
            yield f"The claim itself was dropped at {_plain(step)}: {reason}."
        else:
            yield f"{_posts(count).capitalize()} dropped at {_plain(step)}: {reason}."
    drawn = ask("SELECT count(*) FROM sample WHERE claim_id = ?", claim_id, sample=places.table("sample"))[0][
        0
    ]
    yield f"{_posts(drawn).capitalize()} in the sample."
    for path in sorted(places.rounds.glob("*/items.parquet")):
        count = ask("SELECT count(*) FROM items WHERE claim_id = ?", claim_id, items=path)[0][0]
        if count:
            yield f"Round {path.parent.name} contains {count} of its items."


def _post_story(places: Places, post_id: str) -> Iterator[str]:
    posts = ask(
        "SELECT platform, created_at, language, text FROM posts WHERE post_id = ?",
        post_id,
        posts=places.table("posts"),
    )
    elsewhere = [] if posts else _read(places, post_id)
    for platform, created_at, language, text in posts or elsewhere:
        yield f"Post {post_id} on {platform}, {created_at or 'time unknown'}, language {language or 'not stated by the platform'}: {text}"
    pairs = ask(
        "SELECT claim_id FROM hits WHERE post_id = ? UNION SELECT claim_id FROM dropped WHERE post_id = ? ORDER BY 1",
        post_id,
        post_id,
        hits=places.table("hits"),
        dropped=places.table("dropped"),
    )
    where = ask(
        "SELECT DISTINCT file FROM provenance WHERE post_id = ? ORDER BY file",
        post_id,
        provenance=places.table("provenance"),
    )
    if where:
        yield f"It is in {', '.join(file for (file,) in where)}."
    if elsewhere and not pairs:
        yield "It is in the archive, but no query finds it."
    for (claim_id,) in pairs:
        yield from _pair_story(places, claim_id, post_id)


def _read(places: Places, post_id: str) -> list[tuple[Any, ...]]:
    """Return the counting copy of an archive post that no query matches."""
    parts = files_here(places)
    if not parts:
        return []
    return ask(
        f"SELECT platform, created_at, language, text FROM ({POSTS}) WHERE post_id = ?",
        post_id,
        store=parts,
        older=places.table("older_copies"),
    )


def _pair_story(places: Places, claim_id: str, post_id: str) -> Iterator[str]:
    pair, about = (claim_id, post_id), f"For claim {claim_id}" if claim_id else "In the archive"
    match = "WHERE claim_id = ? AND post_id = ?"
    hits = ask(
        f"SELECT query_id, kind, verified, matched FROM hits {match} ORDER BY query_id",
        *pair,
        hits=places.table("hits"),
    )
    for query_id, kind, verified, matched in hits:
        if kind == RANKED:
            yield f"{about}, no query found it, but it is among the nearest posts."
            continue
        words = f" ({', '.join(matched)})" if matched else ""
        checked = {
            "yes": "and its text here matches the query",
            "no": "but its text here does not match the query",
        }.get(verified, "as the claim list gave it")
        yield f"{about}, the {_plain(kind)} query {query_id} found it{words}, {checked}."
    fates = ask(
        f"SELECT step, reason, kept_instead, similarity FROM dropped {match} ORDER BY step",
        *pair,
        dropped=places.table("dropped"),
    )
    for step, reason, kept, similarity in fates:
        instead = f"; {kept} was kept instead" if kept else ""
        alike = f" (similarity {similarity:.4f})" if kept and similarity is not None else ""
        yield f"{about} it was dropped at {_plain(step)}: {reason}{instead}{alike}."
    drawn = ask(
        f"SELECT kind, p_sample, automatic_label FROM sample {match}", *pair, sample=places.table("sample")
    )
    for kind, p_sample, automatic in drawn:
        label = f", labelled {automatic} automatically" if automatic else ""
        yield f"{about} it was drawn from the {_plain(kind)} posts with probability {p_sample:.4f}{label}."
    yield from _round_story(places, f"{claim_id}|{post_id}", about)


def _round_story(places: Places, item_id: str, about: str) -> Iterator[str]:
    """Return the round that froze an item, and the labels given there."""
    for path in sorted(places.rounds.glob("*/items.parquet")):
        if not ask("SELECT 1 FROM items WHERE item_id = ?", item_id, items=path):
            continue
        yield f"{about} it is an item of round {path.parent.name}."
        rows = [
            row
            for row in RoundFolder.at(path.parent).label_rows()
            if row.item_id == item_id and row.status == "given"
        ]
        for row in sorted(rows, key=lambda row: (row.given_at, row.annotator)):
            who = "" if row.annotator == ADJUDICATOR else f" {row.annotator}"
            yield SAID.get(row.phase, "{annotator} labelled it {label}.").format(
                annotator=row.annotator, who=who, label=row.label
            )


SAID = {
    "discussion": "After discussion the annotators agreed on {label}.",
    "adjudication": "The adjudicator{who} decided {label}.",
}


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _posts(count: int) -> str:
    return "no posts" if count == 0 else f"{count:,} post{'s' if count != 1 else ''}"
