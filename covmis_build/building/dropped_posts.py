"""The posts that a step dropped, with some texts: details of a row of the flow."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.building.flow import WORDS, Step, ask, flow
from covmis_build.building.losses import advice
from covmis_build.building.store import files_here
from covmis_build.errors import InputError, UnknownName, counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from covmis_build.places import Places
    from covmis_build.report.summary import Summary
    from covmis_build.settings import Settings


@dataclass(frozen=True, slots=True)
class DroppedPost:
    """A dropped claim-post pair with the reason; for a near-duplicate also the kept post."""

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
        """Return the post as lines for the terminal."""
        text = " ".join(self.text.split()) or "(its text is not kept)"
        lines = [f"{self.claim_id}  {self.post_id}  {self.reason}", f"    {text[:200]}"]
        if self.kept_instead:
            alike = "" if self.similarity is None else f" ({self.similarity:.2f} alike)"
            lines.append(f"    kept: {self.kept_instead}{alike}  {' '.join(self.kept_text.split())[:200]}")
        return lines


@dataclass(frozen=True, slots=True, repr=False)
class DroppedPosts(Result):
    """The posts that a step dropped: total, per claim, and some of them (always the same ones)."""

    step: str
    total: int
    of_claims: dict[str, int]
    """Claim → number of pairs dropped by this step, regardless of the requested reason and claim."""
    posts: list[DroppedPost]
    advice: str = ""
    """What another setting would keep, as a sentence."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis status --dropped --json` prints it."""
        return {
            "step": self.step,
            "total": self.total,
            "advice": self.advice,
            "posts": [asdict(post) for post in self.posts],
            "claims": [{"claim_id": claim, "dropped": count} for claim, count in self.of_claims.items()],
        }

    @property
    def summary(self) -> Summary:
        """Return the posts, and their number."""
        shown = "" if len(self.posts) == self.total else f", {len(self.posts)} of them above"
        lines = [line for post in self.posts for line in post.lines]
        advice = [f"{self.advice[:1].upper()}{self.advice[1:].rstrip('.')}."] if self.advice else []
        return [*lines, f"{counted(self.total, 'pairs')} of a claim and a post dropped{shown}.", *advice]


def dropped_posts(
    places: Places,
    settings: Settings,
    step: str,
    *,
    reason: str = "",
    claim: str = "",
    limit: int = 20,
    steps: Sequence[Step] = (),
    short: str | None = None,
) -> DroppedPosts:
    """Return some of the pairs that a step dropped, of one reason or claim or of all.

    `steps` is the flow, and `short` the result of `short_posts`, if known.
    """
    named = {keeps: name for name, keeps in WORDS.items()}
    given, step = step, named.get(step, step.replace(" ", "_").replace("-", "_"))
    dropped = places.table("dropped")
    if not dropped.exists():
        raise InputError("nothing has been built yet", remedy="Run `covmis run` first")
    if step not in WORDS and not reason:  # perhaps a reason, as `status` lists them
        steps_of = ask(
            "SELECT DISTINCT step FROM dropped WHERE unit = 'pair' AND reason = ?", given, dropped=dropped
        )
        step, reason = (steps_of[0][0], given) if len(steps_of) == 1 else (step, reason)
    if step not in WORDS:
        listed = ", ".join(f"{name} ({keeps})" for name, keeps in WORDS.items())
        raise UnknownName(f"no step is called '{step}'", remedy=f"Steps: {listed}")
    ours, values = "unit = 'pair' AND step = ? AND (? = '' OR reason = ?)", (step, reason, reason)
    counts = ask(
        f"SELECT claim_id, count(*) FROM dropped WHERE {ours} GROUP BY 1 ORDER BY 2 DESC, 1",
        *values,
        dropped=dropped,
    )
    rows = ask(
        f"""SELECT claim_id, post_id, reason, kept_instead, CASE WHEN isnan(similarity) THEN NULL ELSE similarity END
            FROM dropped WHERE {ours} AND (? = '' OR claim_id = ?) ORDER BY hash(claim_id || post_id), claim_id, post_id
            LIMIT {int(limit)}""",
        *values,
        claim,
        claim,
        dropped=dropped,
    )
    known = texts_of(places, step, {post for row in rows for post in (row[1], row[3]) if post})
    nothing = ("", "")
    posts = [
        DroppedPost(
            claim_id, post, why, *known.get(post, nothing), kept, known.get(kept, nothing)[1], similarity
        )
        for claim_id, post, why, kept, similarity in rows
    ]
    keeps = "".join(
        advice(places, settings, each, short) for each in steps or flow(places) if each.name == step
    )
    of_claims = dict(counts)
    total = of_claims.get(claim, 0) if claim else sum(of_claims.values())
    return DroppedPosts(step, total, of_claims, posts, keeps)


def texts_of(places: Places, step: str, wanted: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return these posts' times and texts, as far as they are stored.

    Posts dropped by `retrieve` are in no table: their texts come from any copy in the store.
    """
    known: dict[str, tuple[str, str]] = {}
    for is_store in (True,) if step == "retrieve" else (False, True):
        missing = [post for post in sorted(wanted) if not known.get(post, ("", ""))[1]]
        files = [] if not missing else files_here(places) if is_store else [places.table("posts")]
        if files:
            marks = ", ".join("?" * len(missing))
            query = f"SELECT post_id, coalesce(arg_max(created_at, text), ''), coalesce(max(text), '') FROM texts WHERE post_id IN ({marks}) GROUP BY 1"
            known |= {
                post: (created_at, text) for post, created_at, text in ask(query, *missing, texts=files)
            }
    return known
