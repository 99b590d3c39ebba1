"""Compare a release with its study: does data/release hold what `covmis release` would write now.

A release says itself what it was made from (facts.json: settings, rounds with their seals, hashes of tables; its rows).
Nothing else is kept for the comparison, so that releases of earlier versions are compared as well.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import round_folder
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.annotation.seal import verify_chain
from covmis_build.corpus.again import CLOSE
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.deposit import IDS_ONLY, ReleaseCheck, release_checks
from covmis_build.corpus.phrases import listed
from covmis_build.corpus.release import left_out
from covmis_build.corpus.release_facts import from_json
from covmis_build.errors import CovmisError, InputError, counted
from covmis_build.places import CHECKSUMS, FACTS
from covmis_build.report.result import Result
from covmis_build.study.recall_report import recall_sentences
from covmis_build.study.release_age import glance_at
from covmis_build.study.released import content, corpus_of, counted_facts
from covmis_build.study.round_settings import settings_of_rounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.corpus.release_facts import ReleaseFacts, RoundFacts
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

SEALED_KINDS = (RoundKind.STANCE, RoundKind.RECALL)


@dataclass(frozen=True, slots=True, repr=False)
class CheckedRelease(Result):
    """What a release differs in from its study, and what it lacks."""

    folder: str
    is_there: bool
    differences: Sequence[str]
    """What the study has that the files do not tell, a sentence each."""
    checks: Sequence[ReleaseCheck]
    """What a release needs: of a release, whether its files have it; before there is one, whether the study has."""
    contents: Sequence[str]
    """What `covmis release` would write now, a sentence each; nothing before a post has a final label."""

    @property
    def summary(self) -> Summary:
        """Return whether the release is that of the study now, and what it lacks."""
        lacking = [check.remedy for check in self.checks if not check.passed]
        if self.differences:
            told = [
                f"{self.folder} is not what the study is now:",
                *(f"  {each}" for each in self.differences),
                "`covmis release` writes it again.",
            ]
        elif not self.is_there:
            told = ["There is no release yet: `covmis release` writes it."]
        else:
            told = [f"{self.folder} is what the study is now."]
        if self.contents and self.exit_code:
            told += ["It would contain:", *(f"  {each}" for each in self.contents)]
        return [*told, *(["Before it is published:"] if lacking else []), *(f"  {each}" for each in lacking)]

    @property
    def exit_code(self) -> int:
        """1 if there is no release, or another one than the study would give now."""
        return int(not self.is_there or bool(self.differences))

    def to_dict(self) -> dict[str, Any]:
        """As `covmis release --check --json` prints it."""
        checks = [
            {"check": check.what, "passed": check.passed, "remedy": check.remedy} for check in self.checks
        ]
        return {
            "folder": self.folder,
            "is_there": self.is_there,
            "differences": list(self.differences),
            "checks": checks,
            "contents": list(self.contents),
        }


def check_release(study: OfStudy) -> CheckedRelease:
    """Compare data/release with the study, and tick what its files have."""
    folder = study.places.release
    is_there = (folder / CHECKSUMS).is_file()
    rounds = [round_folder.rounds_of_kind(study.places.rounds, kind) for kind in SEALED_KINDS]
    verified = [check for of_kind in rounds for check in verify_chain(of_kind)]
    broken = [check.round for check in verified if check.sealed and not check.stands]
    changed = (
        f"sealed rounds that changed: {', '.join(broken)}; `covmis round verify` says what" if broken else ""
    )
    differing = differences(study)
    checks = [
        ReleaseCheck(
            all(study.stages().values()), "tables are current", "tables are out of date: `covmis run`"
        ),
        ReleaseCheck(not broken, "no sealed round was changed", changed),
    ]
    facts = None
    with suppress(InputError):  # named among the differences
        facts = _facts(folder) if is_there else None
    checks += _ticks(study, facts)
    checks = [each._replace(remedy="") if each.passed else each for each in checks]
    contents = [] if broken else _contents(study)
    return CheckedRelease(study.places.relative(folder), is_there, differing, checks, contents)


def _contents(study: OfStudy) -> list[str]:
    """Say what a release of today would contain; nothing if it would be refused, which the differences name."""
    rounds, options = round_folder.all_rounds(study.places.rounds), study.settings.release
    try:
        now = corpus_of(study, rounds, options) if rounds else None
    except CovmisError:
        return []
    if now is None or now.corpus.empty:
        return []
    missing = left_out(now.gold, now.frozen, now.purged)
    labels = ", ".join(f"{label} {count:,}" for label, count in now.corpus["label"].value_counts().items())
    return [
        content(len(now.corpus), now.corpus["claim_id"].nunique(), text=options.text, left_out=missing),
        f"Final labels: {labels}.",
    ]


def differences(study: OfStudy) -> list[str]:
    """Return what the study has that the release does not tell; nothing without a release. Never an error."""
    folder = study.places.release
    glance = glance_at(study)
    if not (folder / CHECKSUMS).is_file() or glance.unreadable:
        return glance.differences
    try:
        facts = _facts(folder)
        rounds = round_folder.all_rounds(study.places.rounds)
        further = [
            *(_of_facts(study, facts, rounds) if facts else ()),
            *_of_rows(study, folder, facts, rounds),
        ]
    except CovmisError as error:
        further = [str(error).rstrip(".")]
    return [*glance.differences, *further]


def _facts(folder: Path) -> ReleaseFacts | None:
    """Return what the release tells of itself; None for one of 0.1, which has rows alone."""
    path = folder / FACTS
    if not path.exists():
        return None
    try:
        return from_json(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"cannot be read: {error}", file=path, remedy="Write it again with `covmis release`"
        ) from None


def _ticks(study: OfStudy, facts: ReleaseFacts | None) -> list[ReleaseCheck]:
    """Return the checklist of a release's files, or of the study before there are any that tell."""
    options = study.settings.release
    sealed = {
        round_.number: round_.sealed
        for round_ in round_folder.all_rounds(study.places.rounds)
        if not round_.pilot
    }
    now = release_checks(options, sealed)
    if facts is None:
        return now
    sealed_then = {round_.name: bool(round_.seal) for round_ in facts.rounds}
    then = release_checks(facts.release, {name: sealed_then.get(name, False) for name in sealed})
    told = "{} in the study since, not in the release: `covmis release` writes it again"
    return [
        was._replace(remedy=told.format(was.what))
        if is_now.passed and not was.passed and was.what != IDS_ONLY
        else was
        for was, is_now in zip(then, now, strict=True)
    ]


def _of_facts(study: OfStudy, facts: ReleaseFacts, rounds: Sequence[RoundFolder]) -> Iterator[str]:
    """Name what a glance does not show: settings of the rounds, reports, recall."""
    _, changes = settings_of_rounds(study.settings, rounds)
    known = {(each.setting, each.then, each.now) for each in facts.differences}
    settings = sorted(
        {setting for setting, _, _ in known ^ {(each.setting, each.then, each.now) for each in changes}}
    )
    if settings:
        yield f"{listed(settings, last='and')} changed since; the card tells both the present setting and that of the rounds"
    yield from _of_rounds(study, facts, rounds)


def _of_rounds(study: OfStudy, facts: ReleaseFacts, rounds: Sequence[RoundFolder]) -> Iterator[str]:
    counted_now = counted_facts(study.places, rounds)
    then = {round_.name: round_ for round_ in facts.rounds}
    for round_ in counted_now["rounds"]:
        if round_.name in then and (told := _of_round(then[round_.name], round_)):
            yield f"round {round_.name} {told} since"
    if (facts.kappa, facts.kappa_items) != (counted_now["kappa"], counted_now["kappa_items"]):
        yield "agreement over all rounds was computed again since"
    recall = round_folder.rounds_of_kind(study.places.rounds, RoundKind.RECALL)
    if recall or facts.recall:
        settings, _ = settings_of_rounds(study.settings, rounds)
        if list(facts.recall) != recall_sentences(recall, study.gold(), settings.labels, study.places):
            yield "the recall of the queries was estimated otherwise"


def _of_round(then: RoundFacts, now: RoundFacts) -> str:
    """Say what has happened to a round besides its seal."""
    if then.seal != now.seal:
        return ""  # a glance shows it
    if (then.items, then.claims, then.pilot) != (now.items, now.claims, now.pilot):
        return "was changed"
    if then.guideline != now.guideline:
        return "got another guideline"
    if (then.raw_agreement, then.kappa) != (now.raw_agreement, now.kappa):
        return "got another report"
    return ""


def _of_rows(
    study: OfStudy, folder: Path, facts: ReleaseFacts | None, rounds: Sequence[RoundFolder]
) -> Iterator[str]:
    """Compare the released rows with those that the rounds give now. Their weights follow from what is compared elsewhere."""
    released = read_corpus(folder / "corpus.parquet").set_index("item_id")
    options = facts.release if facts else study.settings.release
    now = corpus_of(study, rounds, options).corpus.set_index("item_id")
    both = released.index.intersection(now.index)
    counts: Mapping[str, int] = {
        "got a final label": len(now.index.difference(released.index)),
        "are no longer in the corpus": len(released.index.difference(now.index)),
        "have another final label, or got it otherwise": _differing(released, now, both, ["label", "how"]),
        "have another chance of having been drawn": _differing(released, now, both, ["p_sample"]),
    }
    for what, count in counts.items():
        if count:
            yield f"{counted(count, 'posts')} {what}"


def _differing(then: pd.DataFrame, now: pd.DataFrame, items: pd.Index[Any], columns: list[str]) -> int:
    """Count items whose values in these columns differ; chances as far as a CSV file keeps them."""
    was, today = then.loc[items, columns], now.loc[items, columns]
    if columns == ["p_sample"]:
        return int(((was["p_sample"] - today["p_sample"]).abs() > CLOSE).sum())
    return int((was.astype(str) != today.astype(str)).any(axis=1).sum())
