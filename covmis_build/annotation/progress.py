"""Progress of a round: labelled items, pace and remaining work per annotator."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import adjudication
from covmis_build.annotation.answers import Phase, Status, answered, present, usable_among
from covmis_build.annotation.channels.label_studio.projects import known_projects
from covmis_build.annotation.gold import decisions_of, undecided_items
from covmis_build.annotation.round_folder import RoundKind, kind_of
from covmis_build.errors import counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.conflicts import Conflict
    from covmis_build.annotation.round_folder import RoundFolder


@dataclass(frozen=True, slots=True)
class Worker:
    """One annotator's part of a round."""

    annotator: str
    items: int
    given: int
    skipped: int
    left: int
    invalid: int
    """Number of items left with an answer to correct: unusable, or given to another text than the frozen one."""
    median_seconds: float | None
    minutes_left: float | None
    drafts: int = 0
    """Answers begun in Label Studio but not submitted, at the last pull."""
    missing: bool = False
    """True if the last pull found no such user in Label Studio."""
    without_task: int = 0
    """Items left that had no task in Label Studio at the last pull: it was deleted, or never sent."""


@dataclass(frozen=True, slots=True, repr=False)
class Progress(Result):
    """State of a round and its next step."""

    round: str
    pilot: bool
    sealed: bool
    items: int
    workers: tuple[Worker, ...]
    disagreements: int
    undecided: int
    next: str
    single: int = 0
    """Disagreements with only one label, because the other annotators skipped the post."""
    to_decide: int = 0
    """Disagreements without a final label; other posts without one still need labels."""
    conflicts: tuple[str, ...] = ()
    """Items that two leads decided differently, as sentences."""

    @property
    def sentence(self) -> str:
        """Return the round's state in a few words."""
        kind = " (training)" if self._training else " (pilot)" if self.pilot else ""
        return f"Round {self.round}{kind}, {counted(self.items, 'posts')}{', sealed' if self.sealed else ''}"

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """Return the state as text and table."""
        people = self.to_frame()
        usual = [
            name
            for name in ("invalid", "drafts", "missing", "without_task")
            if name in people and not people[name].any()
        ]
        people = people.drop(columns=usual)
        people = people.rename(
            columns={name: str(name).replace("_", " ") for name in people}
            | {"invalid": "of these to correct"}
        )
        differ, lacking = self.disagreements - self.single, self.undecided - self.to_decide
        waiting = f"{self.to_decide:,} of them to decide" if self.to_decide else "all decided"
        counts = f"{counted(differ, 'disagreements')}, {waiting}." if differ else "No disagreements."
        counts += f" {counted(lacking, 'posts')} still without enough answers." if lacking else ""
        counts += adjudication.one_label_in_words(self.single)
        told = [] if self._training else [counts, *(f"{conflict}." for conflict in self.conflicts)]
        return [self.sentence, people, *told, f"Next: {self.next}"]

    @property
    def _training(self) -> bool:
        return kind_of(self.round) == RoundKind.TRAINING

    def to_frame(self) -> pd.DataFrame:
        """Return one row per annotator."""
        import pandas as pd

        return pd.DataFrame([asdict(worker) for worker in self.workers])

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round status --json` prints it."""
        return {
            "round": self.round,
            "pilot": self.pilot,
            "sealed": self.sealed,
            "annotators": [asdict(worker) for worker in self.workers],
            "disagreements": self.disagreements,
            "undecided": self.undecided,
            "conflicts": list(self.conflicts),
            "next": self.next,
        }


def progress_of(round_: RoundFolder, work: Mapping[str, Sequence[str]]) -> Progress:
    """Return the state of this round."""
    people, frozen = workers(round_, work), round_.items()
    if round_.has_key:
        done = not any(worker.left for worker in people)
        advice = (
            f"`covmis round report --round {round_.number}`"
            if done
            else f"{_whom_to_wait_for(people)}, then `covmis round pull`"
        )
        return Progress(round_.number, True, False, len(frozen), tuple(people), 0, 0, advice)
    differ = adjudication.disagreements(frozen, round_.labels(), round_.per_item)
    decisions = decisions_of(round_)
    undecided = undecided_items(frozen, decisions)
    alone = adjudication.with_one_label(answered(frozen, round_.labels())) & set(differ)
    conflicts = round_.conflicts()
    advice = (
        _advice_on_conflicts(conflicts)
        if conflicts and not round_.sealed
        else _advice_on_relevance(round_, people, differ, undecided)
        if round_.asks_relevance
        else _advice(round_, people, differ, undecided)
    )
    if round_.kind == RoundKind.RELABEL:  # commands mean the last main round, unless they name another
        advice = re.sub(r"`covmis round (\w+)", rf"`covmis round \1 --round {round_.number}", advice)
    return Progress(
        round_.number,
        round_.pilot,
        round_.sealed,
        len(frozen),
        tuple(people),
        len(differ),
        len(undecided),
        advice,
        len(alone),
        len(set(differ) & set(undecided)),
        tuple(map(str, conflicts)),
    )


def workers(round_: RoundFolder, work: Mapping[str, Sequence[str]]) -> list[Worker]:
    """For each annotator: items assigned, answered, skipped, left and to correct; pace and time left."""
    frozen, current = round_.asked(), present(round_.answers())
    current = current[current["phase"] == Phase.INDEPENDENT]
    good = usable_among(current, frozen)
    projects = {project.who: project for project in known_projects(round_).values()}
    people = []
    for code in dict.fromkeys([*work, *sorted(set(current["annotator"]))]):
        mine, theirs = good[good["annotator"] == code], current[current["annotator"] == code]
        counts = mine["status"].value_counts().to_dict()
        done = set(mine.loc[mine["status"].isin([Status.GIVEN, Status.SKIPPED]), "item_id"])
        again = int((theirs["status"] != Status.WITHDRAWN).sum()) - len(done)
        seconds = mine["seconds"].dropna().astype(float)
        left = len(set(work.get(code, [])) - done)
        pace = float(seconds.median()) if len(seconds) else None
        project = projects.get(code)
        people.append(
            Worker(
                code,
                len(set(work.get(code, [])) | done),
                int(counts.get(Status.GIVEN, 0)),
                int(counts.get(Status.SKIPPED, 0)),
                left,
                again,
                pace,
                None if pace is None else left * pace / 60,
                project.drafts if project else 0,
                bool(project and project.missing),
                min(left, project.without_task) if project else 0,
            )
        )
    return people


def _whom_to_wait_for(people: Sequence[Worker]) -> str:
    """Describe each annotator's open work and obstacles in one sentence."""
    missing = [worker.annotator for worker in people if worker.missing]
    if missing:
        return f"`covmis round push` ({', '.join(missing)}: user missing on Label Studio)"
    unseen = [
        f"{worker.annotator} ({counted(worker.without_task, 'posts')})"
        for worker in people
        if worker.without_task
    ]
    if unseen:
        return f"`covmis round push`, because posts are not on Label Studio: {_first(unseen)}"
    drafts = [f"{worker.annotator} ({worker.drafts})" for worker in people if worker.drafts]
    open_ = [worker for worker in people if worker.left]
    again = [
        f"{worker.annotator} to correct {counted(worker.invalid, 'answers')}"
        for worker in open_
        if worker.invalid
    ]
    awaited = [
        f"{worker.annotator} ({counted(worker.left - worker.invalid, 'posts')})"
        for worker in open_
        if worker.left > worker.invalid
    ]
    steps = [f"ask for drafts to be submitted: {', '.join(drafts)}"] if drafts else []
    steps += [f"ask {_first(again)} (`covmis export board` shows which)"] if again else []
    steps += [f"wait for {_first(awaited)}"] if awaited else []
    return "; ".join(steps)


def _first(people: Sequence[str]) -> str:
    more = f" and {len(people) - MANY} others" if len(people) > MANY else ""
    return ", ".join(people[:MANY]) + more


MANY = 6
"""Maximum number of names in a sentence."""


def _advice_on_conflicts(conflicts: Sequence[Conflict]) -> str:
    named = ", ".join(conflict.item_id for conflict in conflicts[:3]) + ", …" * (len(conflicts) > 3)
    return f"decide what two people decided differently ({named}): `covmis round adjudicate ITEM --round {conflicts[0].round} --label …`"


def _advice_on_relevance(
    round_: RoundFolder, people: Sequence[Worker], disagreements: Sequence[str], undecided: Sequence[str]
) -> str:
    here = f"--round {round_.number}"
    if not round_.sealed and any(worker.left for worker in people):
        return f"`covmis round push {here}` (again after each pull: each yes goes to a second person), `covmis round pull {here}`"
    if set(disagreements) & set(undecided):
        return f"`covmis round adjudicate {here}`, then `covmis recall report`"
    if undecided or round_.sealed:
        return "`covmis recall report`"
    return f"`covmis recall report`, then `covmis round seal {here}`"


def _advice(
    round_: RoundFolder, people: Sequence[Worker], disagreements: Sequence[str], undecided: Sequence[str]
) -> str:
    if round_.sealed:
        return "`covmis status` shows the next step of the study"
    if not round_.pushed_at and not any(worker.given or worker.skipped for worker in people) and undecided:
        channels = "`--channel csv` makes sheets, `--channel html` offline pages"
        return f"`covmis round push` ({channels}), then `covmis round pull` when the annotators have labelled"
    if any(worker.left for worker in people):
        return f"{_whom_to_wait_for(people)}, then `covmis round pull`"
    report = "" if (round_.folder / "report.json").exists() else "`covmis round report`, "
    if open_ := set(undecided) & set(disagreements):
        third = open_.intersection(adjudication.undecided(round_.items(), round_.labels(), round_.per_item))
        talk = len(open_) - len(third)
        discuss, decide = (
            f"discuss {counted(talk, 'disagreements')}",
            f"let the adjudicator decide {counted(len(third), 'posts')}",
        )
        steps = [(discuss, adjudication.DISCUSSION_SHEET)] * bool(talk)
        steps += [(decide, adjudication.ADJUDICATION_SHEET)] * bool(third)
        known = [
            [path.name for path in adjudication.decision_files(round_.sheets, name)] for _, name in steps
        ]
        before = "" if any(known) else f"{report}`covmis round adjudicate`, "
        said = [
            f"{step} ({', '.join(of)})" if of else step for (step, _), of in zip(steps, known, strict=True)
        ]
        return f"{before}{' and '.join(said)}, then `covmis round adjudicate`{' again' * (not any(known))}"
    if undecided:
        return f"look at {counted(len(undecided), 'posts')} without a final label: `covmis export board` lists the answers to correct"
    return f"{report}then `covmis round seal`" if report else "`covmis round seal`"
