"""The posts that a step dropped, some of them with their texts: what lies behind a row of the flow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.building.flow import WORDS, ask, flow
from covmis_build.building.losses import advice
from covmis_build.building.store import files_here
from covmis_build.errors import InputError, UnknownName, counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.settings import Settings


@dataclass(frozen=True, slots=True)
class DroppedPost:
    """A pair of a claim and a post that was not kept, and why; of a near-identical post also the one that was kept."""

    claim_id: str
    post_id: str
    reason: str
    created_at: str
    text: str
    kept_instead: str
    kept_text: str
    similarity: float | None

    @property
    def lines(self) -> list[str]:
        """The post in a terminal."""
        text = " ".join(self.text.split()) or "(its text is not kept)"
        lines = [f"{self.claim_id}  {self.post_id}  {self.reason}", f"    {text[:200]}"]
        if self.kept_instead:
            alike = "" if self.similarity is None else f" ({self.similarity:.2f} alike)"
            lines.append(f"    kept: {self.kept_instead}{alike}  {' '.join(self.kept_text.split())[:200]}")
        return lines


@dataclass(frozen=True, slots=True, repr=False)
class DroppedPosts(Result):
    """What a step dropped: how many pairs, how many of each claim, and some of them, always the same ones."""

    step: str
    total: int
    of_claims: dict[str, int]
    """Of each claim how many pairs the step dropped, whatever the reason and the claim that were asked for."""
    posts: list[DroppedPost]
    advice: str = ""
    """What another setting would keep, in a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis status --dropped --json` prints it."""
        return {
            "step": self.step, "total": self.total, "advice": self.advice, "posts": [asdict(post) for post in self.posts],
            "claims": [{"claim_id": claim, "dropped": count} for claim, count in self.of_claims.items()],
        }  # fmt: skip

    @property
    def summary(self) -> Summary:
        """The posts, and how many there are."""
        shown = "" if len(self.posts) == self.total else f", {len(self.posts)} of them above"
        lines = [line for post in self.posts for line in post.lines]
        advice = [f"{self.advice[:1].upper()}{self.advice[1:].rstrip('.')}."] if self.advice else []
        return [*lines, f"{counted(self.total, 'pairs')} of a claim and a post dropped{shown}.", *advice]


def dropped_posts(
    places: Places, settings: Settings, step: str, *, reason: str = "", claim: str = "", limit: int = 30
) -> DroppedPosts:
    """Some of the pairs that a step dropped, of one reason or claim or of all."""
    if step not in WORDS:
        raise UnknownName(f"no step is called '{step}'", remedy=f"Steps: {', '.join(WORDS)}")
    dropped, posts = places.table("dropped"), places.table("posts")
    if not dropped.exists():
        raise InputError("nothing has been built yet", remedy="Run `covmis run` first")
    where, values = "unit = 'pair' AND step = ?", [step]
    of_claims = dict(
        ask(f"SELECT claim_id, count(*) FROM dropped WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1", step,
            dropped=dropped)
    )  # fmt: skip
    for column, value in (("reason", reason), ("claim_id", claim)):
        if value:
            where, values = f"{where} AND {column} = ?", [*values, value]
    ((total,),) = ask(f"SELECT count(*) FROM dropped WHERE {where}", *values, dropped=dropped)
    chosen = f"""SELECT * FROM dropped WHERE {where} ORDER BY hash(claim_id || post_id), claim_id, post_id LIMIT {int(limit)}"""
    rows = ask(
        f"""SELECT d.claim_id, d.post_id, d.reason, coalesce(p.created_at, ''), coalesce(p.text, ''), d.kept_instead,
            coalesce(k.text, ''), CASE WHEN isnan(d.similarity) THEN NULL ELSE d.similarity END FROM ({chosen}) AS d
            LEFT JOIN posts AS p USING (post_id) LEFT JOIN posts AS k ON k.post_id = d.kept_instead""",
        *values, dropped=dropped, posts=posts,
    )  # fmt: skip
    kept = [DroppedPost(*row) for row in rows]
    keeps = "".join(advice(places, settings, each) for each in flow(places) if each.name == step)
    return DroppedPosts(step, int(total), of_claims, _with_texts(places, kept), keeps)


def _with_texts(places: Places, posts: list[DroppedPost]) -> list[DroppedPost]:
    """What `retrieve` dropped is in no table of posts: its text is in the store, where any copy of it will do."""
    missing = [post.post_id for post in posts if not post.text]
    parts = files_here(places) if missing else []
    if not parts:
        return posts
    marks = ", ".join("?" * len(missing))
    query = f"""SELECT post_id, arg_max(created_at, text), max(text) FROM store WHERE post_id IN ({marks}) GROUP BY 1"""
    known = {post_id: (created_at, text) for post_id, created_at, text in ask(query, *missing, store=parts)}
    return [
        DroppedPost(**(asdict(post) | dict(zip(("created_at", "text"), known[post.post_id], strict=True))))
        if post.post_id in known
        else post
        for post in posts
    ]
