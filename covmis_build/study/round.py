"""A round of a study and its operations. `round_folder` reads and writes its files."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import SHEETS, Channel, Problem, Pulled, labels_and_keys
from covmis_build.annotation.languages import language_of
from covmis_build.errors import InputError, counted
from covmis_build.operations import About
from covmis_build.options import ADJUDICATOR, is_machine
from covmis_build.report.result import Result
from covmis_build.study import rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.adjudication import Settlement
    from covmis_build.annotation.agreement import Agreement
    from covmis_build.annotation.channels.offline import Taken
    from covmis_build.annotation.decide import Disagreement, Disagreements
    from covmis_build.annotation.importing import ImportedLabels
    from covmis_build.annotation.languages import Language
    from covmis_build.annotation.next_decision import NextDecision
    from covmis_build.annotation.progress import Progress
    from covmis_build.annotation.push import Sent
    from covmis_build.annotation.report import Report
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.annotation.seal import Seal
    from covmis_build.annotation.training import TrainingReport
    from covmis_build.study.discard_round import Discarded
    from covmis_build.study.of_study import OfStudy
    from covmis_build.tables import Frame

Adjudicator = Annotated[str, About("The adjudicator's code.")]
Discuss = Annotated[bool, About("Send disagreements directly to the adjudicator.", flag="--no-discussion")]


@dataclass(frozen=True, repr=False)
class Reopened(Result):
    """Some posts of a sealed round that are open again."""

    round: str
    reopened: list[str]
    reason: str

    @property
    def summary(self) -> list[str]:
        """Return how many they are, and how the round is closed again."""
        count = counted(len(self.reopened), "posts")
        return [f"Round {self.round}: {count} open again. `covmis round seal` closes it again."]


class NoWork(InputError):
    """There is nothing that this person can answer in this round, or not any more. Annotators read `message` in their language."""

    def __init__(self, message: str, remedy: str = "", **values: str) -> None:
        super().__init__(message.format(**values), remedy=remedy)
        self.message, self.values = message, values


@dataclass(frozen=True, repr=False)
class Round(Result):
    """An opened round."""

    study: OfStudy
    place: Path
    done_before: bool = False
    """Whether an earlier call had opened it already, so that this one changed nothing."""

    @property
    def folder(self) -> RoundFolder:
        """Its folder, as its files are now."""
        return record.RoundFolder.at(self.place, self.study.settings.labels.aliases)

    def is_opened(self) -> bool:
        """True if the round is there: its items are the last that is written when it is opened."""
        return (self.place / "items.parquet").exists()

    def __repr__(self) -> str:
        return f"<{self.sentence.rstrip('.')}>"

    @property
    def number(self) -> str:
        """The round's number, three digits."""
        return self.place.name

    @property
    def seal_hash(self) -> str:
        """The hash of its seal; empty if it is not sealed."""
        return str((self.folder.seal() or {}).get("seal", "")) if self.sealed else ""

    @property
    def pilot(self) -> bool:
        """True for a practice round, which is excluded from gold and kappa."""
        return self.folder.pilot

    @property
    def sealed(self) -> bool:
        """True if the round is sealed; a sealed round accepts no labels."""
        return self.folder.sealed

    @property
    def items(self) -> pd.DataFrame:
        """The frozen items."""
        return self.folder.items()

    @property
    def labels(self) -> pd.DataFrame:
        """All labels in the order of recording."""
        return self.folder.labels()

    @property
    def decisions(self) -> pd.DataFrame:
        """The gold labels: sealed, or derived from the labels so far."""
        from covmis_build.annotation.gold import decide_round

        known = self.sealed or self.folder.has_key  # a training round uses its key
        return self.folder.decisions() if known else decide_round(self.folder)

    @property
    def annotators(self) -> list[str]:
        """All annotators of this round: current ones, and those at opening time."""
        return list(
            dict.fromkeys([*rounds.roster(self.study.settings, self.folder), *self.folder.about.annotators])
        )

    def work(self) -> dict[str, list[str]]:
        """For each annotator the assigned items, in individual order."""
        return rounds.work(self.study.settings, self.folder)

    def push(
        self,
        channel: Annotated[
            str, About("Default: [annotation] channel.", metavar="csv|xlsx|html|label-studio")
        ] = "",
        *,
        page_size: Annotated[
            int, About("With html: posts per page (0: one page per annotator).", at_least=0)
        ] = 0,
    ) -> Sent:
        """Write sheets or pages, or fill Label Studio projects.

        Safe to repeat: adds what is missing and changes nothing else.

        Example: covmis round push --channel html
        """
        from covmis_build.annotation import push
        from covmis_build.annotation.machines import predictions_path
        from covmis_build.study import label_studio
        from covmis_build.study.admit import check_admitted

        self._refuse_checks()
        with self.study.locked_rounds("covmis round push"):
            record.refuse_sealed(self.folder)
            check_admitted(self.study)
            way = self._channel(channel)
            if page_size and way != Channel.HTML:
                raise InputError(
                    f"page_size (--page-size) is for offline pages, not {way}",
                    remedy="Use channel = html (--channel html)",
                )
            with (
                label_studio.connected(self.study) if way == Channel.LABEL_STUDIO else nullcontext() as server
            ):
                kept = self.folder.folder / "guideline.md"
                before = kept.read_text("utf-8") if kept.exists() else None
                folder, guideline = self._send()
                renewed = [kept] if before not in {None, guideline} else []
                work = rounds.sent(self.study.settings, folder)
                files = {
                    code: self.study.places.relative(predictions_path(folder, code))
                    for code, items in work.items()
                    if is_machine(code) and items
                }
                people = {code: items for code, items in work.items() if items and not is_machine(code)}
                sent = push.Sent(folder.number, way, labels_and_keys(folder.scheme), work, machines=files)
                if server:
                    filled = label_studio.push_round(self.study, server, folder, people, guideline)
                    return replace(sent, projects=tuple(filled))
                if way in SHEETS:
                    written = push.push_sheets(folder, people, way, self._language)
                else:
                    title = self.study.settings.title
                    written = push.push_pages(
                        folder,
                        people,
                        t=self._language,
                        title=title,
                        guideline=guideline,
                        page_size=page_size,
                    )
                return replace(sent, written=tuple(map(self.study.places.relative, [*renewed, *written])))

    def _send(self) -> tuple[RoundFolder, str]:
        """Note that the round goes out now: to today's number of people a post, with today's guideline, which is returned."""
        from covmis_build.annotation.guideline import read_guideline
        from covmis_build.annotation.relevance import GUIDELINE

        folder, guideline, now = self.folder, GUIDELINE, storage.moment()
        if not folder.asks_relevance:
            guideline = read_guideline(self.study.places.guideline)
            folder = record.raise_per_item(folder, self.study.settings.annotation.per_item)
        if folder.checks:
            record.note_sent(folder.checks, guideline, now=now)
        return record.note_sent(folder, guideline, now=now), guideline

    def pull(
        self,
        files: Annotated[
            Iterable[Path | str] | Path | str,
            About("Returned files outside the sheets folder.", metavar="FILE", argument=True),
        ] = (),
        *,
        as_it_stands: Annotated[
            bool,
            About("Import FILE despite doubts: another's sheet, shifted or sorted labels, a broken check."),
        ] = False,
    ) -> Pulled:
        """Import the labels that annotators returned.

        Safe to repeat while people work. Exit code 1 if an answer cannot be used.

        Example: covmis round pull
        """
        from covmis_build.annotation.machines import predictions_path, pull_machine
        from covmis_build.annotation.pull import pull_files
        from covmis_build.study import label_studio
        from covmis_build.study.admit import check_admitted
        from covmis_build.tables import Frame

        self._refuse_checks()
        if isinstance(files, Frame):
            raise InputError("pull takes returned files", remedy="A frame: import_labels(frame, yes=True)")
        named = [Path(path) for path in ([files] if isinstance(files, Path | str) else files)]
        if self.sealed and not named and label_studio.used_by(self.folder):
            return self._compared()
        with self.study.locked_rounds("covmis round pull"):
            now, sent = storage.moment(), rounds.sent(self.study.settings, self.folder)
            machines = {
                predictions_path(self.folder, code): code for code in self.annotators if is_machine(code)
            }
            stems = {path.name: path for path in machines}
            read = [path for path in named or machines if path.name in stems and path.exists()]
            if read:
                check_admitted(self.study)
            people = [code for code in self.annotators if not is_machine(code)]
            sheets = [path for path in named if path.name not in stems]
            pulled = Pulled(self.number)
            if sheets or not named or as_it_stands:
                pulled = pull_files(
                    self.folder, people, sheets, now=now, besides=stems, sent=sent, as_it_stands=as_it_stands
                )
            for path in read:
                code = machines[stems[path.name]]
                pulled.add(pull_machine(self.folder, code, set(sent.get(code, ())), path, now=now))
            if label_studio.used_by(self.folder) and not named:
                pulled.add(label_studio.pull_round(self.study, self.folder, sent))
            record.note_reported_problems(self.folder, pulled)
        return pulled

    def look_at_answers(self, file: Path | str) -> Pulled:
        """Say what `pull(file)` would record. Nothing is written."""
        from covmis_build.annotation.pull import pull_files

        self._refuse_checks()
        people = [code for code in self.annotators if not is_machine(code)]
        sent = rounds.sent(self.study.settings, self.folder)
        return pull_files(self.folder, people, [Path(file)], now=storage.moment(), sent=sent, preview=True)

    def import_labels(
        self,
        labels: Annotated[
            Path | str | pd.DataFrame | Frame,
            About(
                "An export of Label Studio, doccano, Prodigy, Argilla, Labelbox, Potato or INCEpTION, or a table of labels.",
                metavar="FILE",
                argument=True,
            ),
        ],
        *,
        people: Annotated[
            Mapping[str, str] | None, About("Who is which annotator (-: leave out).", metavar="NAME=CODE")
        ] = None,
        question: Annotated[str, About("The question, if the export has several.")] = "",
        yes: Annotated[
            bool, About("Record the labels. Without it, only show what would be recorded.")
        ] = False,
    ) -> ImportedLabels:
        """Import labels that annotators gave in another tool.

        Posts are matched by the id of item or post, or by their exact text. Exit code 1 if a label cannot be used.

        Example: covmis round import project-1.json --people 1=a1 --people 2=a2 --yes
        """
        from covmis_build.annotation.importing import import_labels

        self._refuse_checks()
        self._refuse_training()
        coders = [code for code in self.annotators if not is_machine(code)]
        with self.study.locked_rounds("covmis round import"):
            return import_labels(
                self.folder,
                labels,
                coders,
                people=people or {},
                question=question,
                now=storage.moment(),
                yes=yes,
            )

    def send_by_links(self) -> Round:
        """Note that people get this round by their links (`covmis open --team`), with the guideline as it is now.

        Safe to repeat. Writes no sheets.
        """
        from covmis_build.study.admit import check_admitted

        self._refuse_checks()
        with self.study.locked_rounds("covmis open --team"):
            record.refuse_sealed(self.folder)
            check_admitted(self.study)
            self._send()
        return self

    def label_page(self, annotator: str, *, save: str, back: str = "", by_link: bool = False) -> str:
        """Return an annotator's page as it is served, with the answers so far. New answers go to `save`.

        Requires that the round was sent: `push(channel="html")` or `send_by_links()`.
        """
        from covmis_build.annotation.channels.offline import given_answers, offline_page

        record.refuse_sealed(self.folder)
        answers = given_answers(self._answers_file(annotator), annotator, self.folder.answers())
        return offline_page(
            self.folder.asked(),
            self._open_to(annotator),
            annotator,
            self.folder.scheme,
            self.number,
            t=self._language,
            title=self.study.settings.title,
            guideline=self.folder.guideline_sent(),
            save=save,
            back=back,
            by_link=by_link,
            given=answers,
        )

    def take_answers(self, annotator: str, answers: Sequence[Any]) -> Taken:
        """Save answers of a served page in sheets/CODE-NNN.json, like an export of the page, and pull that file.

        What was answered is on disk and in the record when this returns. Answers that do not fit are refused one by one.
        """
        from covmis_build.annotation.channels.offline import (
            Taken,
            counting_instead,
            given_answers,
            keep_answers,
            why_not,
        )
        from covmis_build.annotation.frozen_items import by_item
        from covmis_build.annotation.pull import pull_files

        with self.study.locked_rounds("covmis round pull"):
            folder = self.folder
            record.refuse_sealed(folder)
            path, frozen = self._answers_file(annotator), by_item(folder.asked())
            items = {item: frozen[item] for item in self._open_to(annotator)}
            fits = partial(why_not, items=items, number=self.number, scheme=folder.scheme, t=self._language)
            refused = keep_answers(path, annotator, self.number, answers, fits)
            if path.exists():
                pull_files(folder, [annotator], [path], now=storage.moment())
            given = given_answers(path, annotator, self.folder.answers())
            taken = [row for row in answers if row["id"] not in refused]
            return Taken(counting_instead(given, taken), refused)

    def open_items(self) -> dict[str, list[str]]:
        """Return the items that each person may answer now, in their order: of a reopened round, the reopened ones."""
        folder = self.folder
        record.refuse_sealed(folder)
        work, again = rounds.sent(self.study.settings, folder), folder.reopened
        return {
            code: [item for item in items if not again or item in again]
            for code, items in work.items()
            if not is_machine(code)
        }

    @property
    def _language(self) -> Language:
        return language_of(self.study.settings.annotation.language, self.study.folder)

    def _answers_file(self, annotator: str) -> Path:
        return self.folder.sheets / f"{annotator}-{self.number}.json"

    def _open_to(self, annotator: str) -> list[str]:
        work = self.open_items()
        if not work.get(annotator):
            raise NoWork(
                "round {number} has no posts for '{annotator}', or not any more",
                remedy=f"Annotators: {', '.join(code for code, items in work.items() if items)}",
                number=self.number,
                annotator=annotator,
            )
        return work[annotator]

    def _compared(self) -> Pulled:
        """Compare a sealed round's labels in Label Studio with the sealed ones. Nothing is imported."""
        from covmis_build.study import label_studio

        (compared,) = label_studio.compare_rounds(self.study, [self.folder])
        remedy = "It is sealed and accepts no labels. To reopen posts, use `covmis round reopen`"
        problems = [Problem("sealed", compared.sentence, remedy)] if compared.differ else []
        return Pulled(self.number, answers=compared.labels, problems=problems)

    def status(self) -> Progress:
        """Show each annotator's progress and the next step.

        Example: covmis round status
        """
        return rounds.progress(self.study, self.folder)

    def report(self) -> Report | TrainingReport:
        """Compute agreement (HTML, JSON, CSV, LaTeX).

        Writes report.* to the round's folder, and summary.* for all rounds except pilots to annotation/rounds/.

        Example: covmis round report
        """
        with self.study.locked_rounds("covmis round report"):
            if self.folder.has_key:
                from covmis_build.annotation.training import write_report

                return write_report(self.folder, study=self.study.settings.title)
            if self.folder.asks_relevance:
                raise InputError(
                    f"{self.number} is a recall round: it asks whether posts take up their claim, and has no stance",
                    remedy="`covmis recall report` says what it tells",
                )
            return self._report()

    def _report(self) -> Report:
        from covmis_build.annotation.report_files import write_reports

        settings = self.study.settings
        return write_reports(
            self.study.places.rounds,
            self.folder,
            settings.labels.changes,
            study=settings.title,
            per_item=settings.annotation.per_item,
            target=settings.annotation.target,
            orders=rounds.sent(settings, self.folder),
        )

    def next_decision(self) -> NextDecision:
        """Return what `report` puts first: go on or stop, whom to talk to, which rule to rewrite, and the tables for it."""
        from covmis_build.annotation.report import verdict
        from covmis_build.annotation.report_files import findings_of_rounds, next_of

        settings = self.study.settings
        every, target = record.all_rounds(self.study.places.rounds), settings.annotation.target
        over_all = (
            findings_of_rounds(every, settings.labels.changes, settings.annotation.per_item, brief=True)
            if target
            else None
        )
        stop = verdict(over_all.agreement, target) if over_all else ""
        return next_of(self.folder, stop, rounds.sent(settings, self.folder))

    def adjudicate(
        self,
        *,
        adjudicator: Adjudicator = ADJUDICATOR,
        discuss: Discuss = True,
        channel: Annotated[
            str, About("Default: where the round was labelled.", metavar="csv|xlsx|label-studio")
        ] = "",
    ) -> Settlement:
        """Resolve disagreements by discussion, then adjudication.

        Writes sheets/discussion.csv (or .xlsx) and, for posts that stay `undecided`, sheets/adjudication.csv. Run it again to
        import the completed sheets. Overwrites nothing.

        With an ITEM and a --label, records that decision without a sheet: what the annotators agreed on; after `undecided`,
        or with --no-discussion, the adjudicator's label. Deciding again replaces it.

        Example: covmis round adjudicate "c1|x:125" --label favor --reason "the irony was missed"
        """
        from covmis_build.annotation import adjudication
        from covmis_build.study import label_studio

        self._refuse_training()
        with self.study.locked_rounds("covmis round adjudicate"):
            self._check_adjudicator(adjudicator)
            pulled = adjudication.read_decision_sheets(self.folder, adjudicator, now=storage.moment())
            way = self._channel(channel, pages=not channel)
            if not channel and not (way == Channel.LABEL_STUDIO and label_studio.used_by(self.folder)):
                # a round on pages or sheets sends its disagreements as sheets of the kind that its annotators have
                way = Channel.XLSX if any(self.folder.sheets.glob("*.xlsx")) else Channel.CSV
            if way == Channel.LABEL_STUDIO and not self.sealed:
                pulled.add(
                    label_studio.adjudicate_round(
                        self.study,
                        self.folder,
                        rounds.sent(self.study.settings, self.folder),
                        adjudicator,
                        discuss=discuss,
                    )
                )
            elif not self.sealed:
                adjudication.write_decision_sheets(
                    self.folder, seed=self.study.settings.seed, discuss=discuss, channel=way
                )
            return adjudication.settlement(self.folder, pulled, discuss=discuss)

    def cases(self) -> Disagreements:
        """Return the posts with different labels, without names, undecided ones first."""
        from covmis_build.annotation.decide import disagreements_of

        self._refuse_training()
        return disagreements_of(self.folder, seed=self.study.settings.seed)

    def decide(
        self,
        item: Annotated[
            str, About("Decide this disagreement now, as claim|post.", metavar="ITEM", argument=True)
        ],
        label: Annotated[str, About("The label, or `undecided`: the adjudicator decides.")],
        reason: Annotated[str, About("The reason.")] = "",
        *,
        sub_label: Annotated[str, About("The sub-label.")] = "",
        error_class: Annotated[
            str, About("Why the labels differ.", metavar="slip|guideline|context|ambiguous|other")
        ] = "",
        adjudicator: Adjudicator = ADJUDICATOR,
        discuss: Discuss = True,
        instead_of: str | None = None,
    ) -> Disagreement:
        """Decide one disagreement: the agreed label of the discussion, or the adjudicator's label.

        `undecided` passes it on to the adjudicator, who decides from then on; with `discuss=False` the adjudicator decides at
        once. A second decision replaces the first. `instead_of` is the outcome that you saw: the decision is refused if it changed.
        """
        from covmis_build.annotation.decide import decide

        written = {"label": label, "reason": reason, "sub_label": sub_label, "error_class": error_class}
        with self.study.locked_rounds("covmis round adjudicate"):
            case = self.cases().of(item)
            if instead_of is not None and case.outcome != instead_of:
                raise InputError(
                    f"{item} has changed since: {case.outcome}", remedy="Look at it, and decide again"
                )
            self._check_adjudicator(adjudicator)
            decide(self.folder, case, written, adjudicator=adjudicator, discuss=discuss, now=storage.moment())
            return self.cases().of(item)

    def agreement(self) -> Agreement:
        """Return the current agreement of this round; `report` writes it."""
        from covmis_build.annotation.report import agreement_of

        return agreement_of(self.items, self.labels, self.folder.scheme)

    def seal(
        self,
        *,
        anchor: Annotated[
            str, About("Have this time-stamping authority stamp the seal (RFC 3161).", metavar="URL")
        ] = "",
    ) -> Seal:
        """Close a finished round and record its hashes.

        Fails if a post has no final label. Safe to repeat; --anchor also stamps a seal that is there.

        Example: covmis round seal
        """
        from covmis_build import anchors
        from covmis_build.anchors import OF_SEAL
        from covmis_build.annotation.gold import undecided_items, write_decisions
        from covmis_build.annotation.seal import seal_round

        self._refuse_training()
        with self.study.locked_rounds("covmis round seal"):
            if not self.sealed and not self.folder.asks_relevance:
                self._report()
            decisions = write_decisions(self.folder)
            rounds = record.rounds_of_kind(self.study.places.rounds, self.folder.kind)
            seal = seal_round(rounds, self.folder, undecided=undecided_items(self.items, decisions))
            if self.folder.kind == record.RoundKind.RELABEL:
                self._report()  # these labels count from now on
            if anchor:
                anchors.stamp(self.folder.folder / OF_SEAL, seal.seal, anchor)
            return seal

    def reopen(
        self,
        items: Annotated[Iterable[str], About("Items, as claim|post.", metavar="ITEM...", argument=True)],
        reason: Annotated[str, About("The reason; it is part of the new seal.")],
    ) -> Reopened:
        """Reopen some items of a sealed round.

        The old seal stays valid. Other posts of the round accept no labels.

        Example: covmis round reopen "c1|x:125" --reason "both read the wrong claim" --round 1
        """
        from covmis_build.annotation.seal import reopen

        with self.study.locked_rounds("covmis round reopen"):
            folder = reopen(self.folder, list(items), reason, now=storage.moment())
        return Reopened(self.number, sorted(folder.reopened), reason)

    def discard(self, *, archive: bool = False) -> Discarded:
        """Take this round back, if none was opened after it: `Study.discard_round`."""
        from covmis_build.study.discard_round import discard_round

        return discard_round(self.study, self.number, archive=archive)

    def _check_adjudicator(self, code: str) -> None:
        from covmis_build.settings import CODE

        if not CODE.fullmatch(code) or code in self.annotators:
            raise InputError(
                f"'{code}' cannot be the adjudicator", remedy="Use a code that no annotator of the round has"
            )

    def _refuse_training(self) -> None:
        if self.folder.has_key:
            raise InputError(
                f"{self.number} is a {self.folder.kind.name.lower()} round: its labels count for nothing",
                remedy="`covmis round report --round " + self.number + "` says how often people are right",
            )

    def _refuse_checks(self) -> None:
        if self.folder.kind == record.RoundKind.CHECKS:
            own = self.number.removeprefix(record.RoundKind.CHECKS)
            raise InputError(
                f"{self.number} goes with round {own}", remedy=f"Name that round: {own} (--round {own})"
            )

    def _channel(self, channel: str, *, pages: bool = True) -> Channel:
        """Return the requested channel, or the study's; without `pages`, the offline page is refused."""
        way = channel or self.study.settings.annotation.channel
        ways = sorted({*SHEETS, Channel.LABEL_STUDIO, *([Channel.HTML] if pages else [])})
        if way not in ways:
            raise InputError(f"channel cannot be '{way}'", remedy=f"Allowed: {', '.join(ways)}")
        return Channel(way)

    def _repr_html_(self) -> str:
        progress = self.status()
        return f"<p><b>{progress.sentence}</b></p>{progress.to_frame().to_html(index=False, na_rep='')}"

    @property
    def sentence(self) -> str:
        """Return what was frozen as text."""
        about = self._about()
        kind = f" ({self.folder.kind.name.lower()})" if self.folder.kind else " (pilot)" if self.pilot else ""
        told = f"Round {self.number}{kind}: {counted(about['claims'], 'claims')}, {counted(about['items'], 'posts')}, "
        told += f"{about['for_people']} of them for annotators."
        if about["automatic"]:
            told += f" {about['automatic']} have an automatic label"
            told += (
                f" ({about['audited']} of them also for annotators, as an audit)."
                if about["audited"]
                else "."
            )
        if about["checks"]:
            told += f" Hidden among them for all annotators: {counted(about['checks'], 'posts')} with a known label."
        if about["repeats"]:
            told += f" For {', '.join(about['repeats'])}: posts that they have labelled before."
        return told

    @property
    def summary(self) -> list[str]:
        """Return what was frozen, and the next step."""
        more = "; more --labels draw more" if self.folder.asks_relevance else ""
        before = f"Done already: round {self.number}. Nothing was changed{more}."
        return [*([before] if self.done_before else []), *self._frozen()]

    def _frozen(self) -> list[str]:
        which = f" --round {self.number}" if self.folder.kind else ""
        if self.folder.asks_relevance:
            pushed = f"Next: `covmis round push{which}`, then pull. Push again after that: each yes goes to a second person."
            settled = f"`covmis round adjudicate{which}` resolves the rest."
            return [self.sentence, f"{pushed} {settled}"]
        to_label_studio = self.study.settings.annotation.channel == "label-studio"
        channels = (
            " (Label Studio; `--channel xlsx` or `csv`: sheets, `html`: offline pages)" * to_label_studio
        )
        registered = self.folder.about.predictions or {}
        return [
            self.sentence,
            *(
                f"Registered {name} ({sha256[:12]}): keep the file as it is."
                for name, sha256 in registered.items()
            ),
            f"Frozen in {self._about()['folder']}/. Next: `covmis round push{which}`{channels}.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round open --json` prints it."""
        return self._about() | ({"done_before": True} if self.done_before else {})

    def _about(self) -> dict[str, Any]:
        from covmis_build.annotation.checks import repeats_in
        from covmis_build.annotation.frozen_items import for_people

        frozen, hidden = self.items, self.folder.checks
        people, automatic = len(for_people(frozen)), frozen[frozen["automatic_label"] != ""]
        return {
            "round": self.number,
            "pilot": self.pilot,
            "claims": frozen["claim_id"].nunique(),
            "items": len(frozen),
            "for_people": people,
            "automatic": len(automatic),
            "audited": int(automatic["audited"].sum()),
            "checks": len(hidden.decisions()) if hidden else 0,
            "repeats": {who: len(items) for who, items in repeats_in(hidden).items()} if hidden else {},
            "predictions": self.folder.about.predictions or {},
            "folder": self.study.places.relative(self.folder.folder),
        }
