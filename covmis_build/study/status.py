"""State of a study: stages, flow from claims to labels, rounds, and the next step."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.answers import Phase
from covmis_build.annotation.answers import Status as AnswerStatus
from covmis_build.annotation.round_folder import RoundFolder, RoundKind, all_rounds, kind_of
from covmis_build.building.counts import counts
from covmis_build.building.dropped_posts import texts_of
from covmis_build.building.flow import Step, flow, missing_from_build
from covmis_build.building.losses import losses, short_posts
from covmis_build.building.purge import unfinished
from covmis_build.building.run import current
from covmis_build.errors import InputError, counted
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.places import Places
    from covmis_build.records import Label
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True)
class RoundRow:
    """Counts of one round."""

    round: str
    claims: int
    items: int
    labels: int
    sealed: bool


@dataclass(frozen=True)
class Chain:
    """A near-duplicate cluster, with its two least similar posts."""

    group: str
    size: int
    weakest: float
    weakest_a: str
    weakest_b: str


@dataclass(frozen=True, repr=False)
class Status(Result):
    """The output of `covmis status`."""

    title: str
    stages: dict[str, bool]
    """Stage → whether it is current."""
    flow: list[Step]
    rounds: list[RoundRow]
    chains: list[Chain]
    """The largest near-duplicate clusters."""
    missing_items: dict[str, str]
    """Frozen items missing in the current build → reason."""
    intake: list[str]
    """Warnings about files of the archive."""
    notes: list[str]
    next: str
    short_posts: str = ""
    """Languages in which the minimum length drops many posts, if any."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis status --json` prints it."""
        return {
            "title": self.title,
            "stages": [{"stage": name, "current": state} for name, state in self.stages.items()],
            "flow": [step.to_dict() for step in self.flow],
            "rounds": [asdict(row) | {"sealed": "yes" if row.sealed else "no"} for row in self.rounds],
            "chains": [asdict(chain) for chain in self.chains],
            "notes": self.notes,
            "missing_items": [{"item_id": item, "reason": why} for item, why in self.missing_items.items()],
            "next": self.next,
        }

    @property
    def summary(self) -> Summary:
        """Return stages, flow and rounds as tables, and the next step."""
        states = [(name, "current" if state else "to be made") for name, state in self.stages.items()]
        parts: list[str | Listing] = [self.title, "", Listing(("stage", "state"), states)]
        if self.flow:
            rows = [
                (step.keeps, step.claims, step.pairs, step.dropped_pairs, step.why(3)) for step in self.flow
            ]
            parts += ["", Listing(("step", "claims", "pairs", "dropped", "why"), rows)]
        if self.rounds:
            rounds = self.to_dict()["rounds"]
            parts += ["", Listing(tuple(rounds[0]), [tuple(row.values()) for row in rounds])]
        if self.intake:
            parts += ["", *self.intake]
        return [*parts, *(line for note in self.notes for line in ("", note)), "", f"Next: {self.next}"]


def status(study: OfStudy) -> Status:
    """Read the study's state. Nothing is built."""
    places = study.places
    stages = current(places, study.settings)
    rounds = _rounds(places)
    missing = missing_items(places)
    half_purged = unfinished(places)
    differing = study.differing_release()
    steps = flow(places)
    short = short_posts(places, study.settings.cleaning) if stages["clean"] else ""  # else of other settings
    return Status(
        title=study.settings.title,
        stages=stages,
        flow=steps,
        rounds=rounds,
        chains=_chains(places),
        missing_items=missing,
        intake=study.intake.told(),
        notes=[
            *([f"{half_purged}."] if half_purged else []),
            *_uncollected(places),
            *missing_note(missing),
            *_changed_meanings(study),
            *_older(differing),
            *([study.advice] if study.advice else []),
            *filter(None, [short]),
            *(f"{line[:1].upper()}{line[1:]}." for line in (small_claims(places) if stages["clean"] else ())),
        ],
        next="`covmis purge`"
        if half_purged and not half_purged.only_named
        else next_step(study, stages, rounds, steps, differing),
        short_posts=short,
    )


def _changed_meanings(study: OfStudy) -> list[str]:
    """Return a sentence on each claim that people judged by another text, and on labels that are gone since.

    Without rounds nothing is loaded.
    """
    places = study.places
    if not any(places.rounds.glob("*/items.parquet")):
        return []
    from covmis_build.annotation.label_sets import unknown_meaning
    from covmis_build.study.wordings import in_words, reworded

    rounds = all_rounds(places.rounds)
    told = in_words(reworded(places, rounds))
    try:
        told += unknown_meaning(rounds, study.settings.labels)
    except InputError as error:  # a wrong line in study.toml: `covmis status` still answers
        told.append(str(error))
    return [f"{each[:1].upper()}{each[1:]}." for each in told]


def _older(differing: Sequence[str]) -> list[str]:
    told = f"data/release is not what the study is now: {'; '.join(differing)}. `covmis release` writes it again."
    return [told] if differing else []


def chain_texts(study: OfStudy, chains: Sequence[Chain]) -> dict[str, str]:
    """Return the texts of each cluster's two least similar posts, by id, for manual checking."""
    wanted = {post for chain in chains for post in (chain.weakest_a, chain.weakest_b)}
    return {post: text for post, (_, text) in texts_of(study.places, "near_duplicates", wanted).items()}


def _rounds(places: Places) -> list[RoundRow]:
    """Return the stance rounds, then relabelling (numbers beginning with l) and recall rounds (beginning with r)."""
    beside = [RoundKind.RELABEL.folder(places.rounds), RoundKind.RECALL.folder(places.rounds)]
    rows = []
    for items in [path for home in (places.rounds, *beside) for path in sorted(home.glob("*/items.parquet"))]:
        claims = storage.read_column(items, "claim_id", storage.RESTORED)
        given = _count_independent(RoundFolder.at(items.parent).label_rows())
        sealed = items.with_name("seal.json").exists()
        rows.append(RoundRow(items.parent.name, len(set(claims)), len(claims), given, sealed))
    return rows


def _count_independent(labels: list[Label]) -> int:
    """Return the annotators' current independent labels, without superseded ones and decisions."""
    earlier = {row.supersedes for row in labels}
    return sum(
        row.phase == Phase.INDEPENDENT and row.status == AnswerStatus.GIVEN
        for row in labels
        if row.label_id not in earlier
    )


def after_run(study: OfStudy) -> str:
    """Return the next step when all stages are built."""
    return next_step(study, {}, _rounds(study.places), flow(study.places))


def after_seal(study: OfStudy) -> str:
    """Return the next step after sealing."""
    return next_step(study, current(study.places, study.settings), _rounds(study.places), [])


def next_step(
    study: OfStudy,
    stages: dict[str, bool],
    rounds: list[RoundRow],
    steps: list[Step],
    differing: Sequence[str] | None = None,
) -> str:
    """Return the next step; before the first round also where most posts were lost, and how to keep them.

    `differing`: what the release does not tell, if that is known already.
    """
    return _to_build(study, stages, rounds) or _to_annotate(study, rounds, steps, differing)


def _to_build(study: OfStudy, stages: dict[str, bool], rounds: list[RoundRow]) -> str:
    """Return the next step towards complete tables; empty if they are complete."""
    places = study.places
    if not rounds and not places.has_files:
        folders = ", ".join(places.relative(path) for path in places.archives)
        return f"put posts into {folders} and claims into queries/claims.csv"
    names = [name for name, is_current in stages.items() if not is_current]
    if not rounds and (names or not storage.read_column(places.table("sample"), "claim_id")):
        from covmis_build.study.claims import before_run

        if claims := before_run(study):
            return claims
    return f"`covmis run` (to be made: {', '.join(names)})" if names else ""


def _more_posts(study: OfStudy, lost: str) -> str:
    """Return the next step if no claim has enough posts for a sample."""
    if unread := next((file.file for file in study.intake.files if file.refused), ""):
        return f"`covmis posts look` says why {unread} cannot be read, and what to write into study.toml"
    return (
        f"more posts or queries, or other settings: no claim has enough posts for a sample. {lost}".rstrip()
    )


def _to_annotate(
    study: OfStudy, rounds: list[RoundRow], steps: list[Step], differing: Sequence[str] | None
) -> str:
    """Return the next step for sample, rounds and corpus."""
    places = study.places
    asking_recall = [row for row in rounds if kind_of(row.round) in {RoundKind.RECALL, RoundKind.RELABEL}]
    rounds = [row for row in rounds if row not in asking_recall]
    unsealed = [row.round for row in rounds if not row.sealed]
    if unsealed:
        return f"finish round {unsealed[0]}: `covmis round status` says how"
    sampled = claims_to_open(places)
    lost = "" if rounds else losses(places, study.settings, steps)
    if sampled:
        following = f"`covmis round open` ({counted(len(sampled), 'claims')} with sampled posts in no round)"
        following += ", or `covmis release`" if rounds else ""
        return f"{lost.rstrip('.')}. To go on with what is left: {following}" if lost else following
    unsealed = [row.round for row in asking_recall if not row.sealed]
    if unsealed:
        return f"finish round {unsealed[0]}: `covmis round status --round {unsealed[0]}` says how"
    if not rounds:
        return _more_posts(study, lost)
    return _to_publish(study, study.differing_release() if differing is None else differing)


def _to_publish(study: OfStudy, differing: Sequence[str]) -> str:
    if not any(study.places.release.glob("*")):
        return "`covmis release`"
    if differing:
        return "`covmis release` (what was released before is not what the study is now)"
    return "`covmis estimate`; publish data/release, and judge systems on it: `covmis evaluate score data/release/corpus.csv SYSTEM.csv`"


def missing_items(places: Places) -> dict[str, str]:
    """Return frozen items missing in the current build. Without rounds nothing is loaded."""
    if not any(places.rounds.glob("*/items.parquet")):
        return {}
    from covmis_build.annotation.frozen_items import frozen_columns

    return missing_from_build(places, frozen_columns(places.rounds))


def missing_note(missing: dict[str, str]) -> list[str]:
    """Return one line about these items, by reason; None without any."""
    if not missing:
        return []
    items_of: dict[str, list[str]] = {}
    for item, reason in missing.items():
        items_of.setdefault(reason, []).append(item)
    reasons = "; ".join(
        f"{reason} ({len(items):,}: {', '.join(items[:3])}{', …' if len(items) > 3 else ''})"
        for reason, items in sorted(items_of.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    )
    gone = f"{counted(len(missing), 'items')} of rounds are no longer among today's posts: {reasons}"
    return [f"{gone}. They keep their labels, and are in no share of today's posts."]


def claims_to_open(places: Places) -> set[str]:
    """Return the claims with sampled posts in no round."""
    path = places.table("sample")
    if not path.exists():
        return set()
    waiting = dict(
        zip(storage.read_column(path, "item_id"), storage.read_column(path, "claim_id"), strict=True)
    )
    for items in places.rounds.glob("*/items.parquet"):
        for item in storage.read_column(items, "item_id"):
            waiting.pop(item, None)
    return set(waiting.values())


def small_claims(places: Places) -> list[str]:
    """Return one line with the claims that have too few posts for a sample."""
    path = places.table("dropped")
    known = counts(path, "unit", "step", "claim_id", "reason") if path.exists() else {}
    rows = [
        (claim, reason) for unit, step, claim, reason in known if (unit, step) == ("claim", "minimum_posts")
    ]
    if not rows:
        return []
    named = ", ".join(claim for claim, _ in rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
    return [f"not sampled, since they have {rows[0][1]}: {counted(len(rows), 'claims')} ({named})"]


NAMED = 6
"""Maximum number of claims in a line."""


def _uncollected(places: Places) -> list[str]:
    """Return for each collected platform the queries that are new or changed since."""
    plans = sorted(places.notes.glob("*/plan.json"))
    if not plans or not places.table("queries").exists():
        return []
    from covmis_build.collecting.plans import uncollected

    queries = storage.read_table(places.table("queries"), "queries")
    notes = []
    for plan in plans:
        platform = plan.parent.name
        missing = uncollected(places.collected / platform, queries)
        if missing:
            notes.append(
                f"{counted(len(missing), 'queries')} not collected to the end from {platform} since the last "
                f"change: `covmis collect {platform}`"
            )
    return notes


def _chains(places: Places) -> list[Chain]:
    return [Chain(**row) for row in storage.read_rows(places.table("chains"), "chains")]
