"""The commands that are operations: what each is called, and where it is written.

The command line is made from this table, and so are the lines of a session's script in the browser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build.operations import REQUIRED, About, Operation, Parameter, operation

if TYPE_CHECKING:
    from collections.abc import Container, Mapping


@dataclass(frozen=True)
class Choice:
    """Another operation, which the command does when one of its options is given: `covmis status --dropped STEP`."""

    home: str
    by: str
    """The parameter that chooses it."""
    about: About | None = None
    """What this parameter does, if it is none of the operation's own."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the operation, none of them required; the help says of all but the first what they go with."""
        own = [
            replace(at, default=None) if at.default is REQUIRED else at
            for at in operation(self.home).parameters
        ]
        if self.about:
            chooser = Parameter(self.by, self.about, bool, default=False)
        else:
            chooser = next(at for at in own if at.name == self.by)
        return (chooser, *(_with(chooser, at) for at in own if at.name != self.by))


def _with(chooser: Parameter, at: Parameter) -> Parameter:
    """A parameter whose help says which option it goes with."""
    text = f"With {chooser.written}: {at.about.help[:1].lower()}{at.about.help[1:]}"
    return replace(at, about=replace(at.about, help=text))


@dataclass(frozen=True)
class Verb:
    """A command: its operation, others that an option chooses, and whether it works during an unfinished purge."""

    home: str
    choices: tuple[Choice, ...] = ()
    half_purged: bool = False

    @property
    def operation(self) -> Operation:
        """What it does where no option chooses another operation."""
        return operation(self.home)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters of all its operations, each as the first of them describes it."""
        known = {at.name: at for at in self.operation.parameters}
        for choice in self.choices:
            for at in choice.parameters:
                known.setdefault(at.name, at)
        return known

    def choice(self, given: Container[str]) -> Choice | None:
        """What these arguments choose."""
        return next((choice for choice in self.choices if choice.by in given), None)

    def chosen(self, given: Container[str]) -> Operation:
        """The operation that these arguments ask for."""
        choice = self.choice(given)
        return operation(choice.home) if choice else self.operation


_STUDY, _ROUND, _RECALL = "study.study:Study.", "study.round:Round.", "study.recall:Recall."
VERBS = {
    "run": Verb(f"{_STUDY}run"),
    "status": Verb(
        f"{_STUDY}status",
        (Choice(f"{_STUDY}beside_published", "files"), Choice(f"{_STUDY}dropped_posts", "step")),
        half_purged=True,
    ),
    "explain": Verb(f"{_STUDY}explain"),
    "purge": Verb(f"{_STUDY}purge", half_purged=True),
    "check": Verb(f"{_STUDY}check_files"),
    "doctor": Verb("study.doctor:doctor"),
    "claims import": Verb(
        f"{_STUDY}import_claims",
        (Choice(f"{_STUDY}look_at_claims", "look", About("Only preview the list; write nothing.")),),
    ),
    "claims lint": Verb(f"{_STUDY}lint_claims"),
    "claims select": Verb(f"{_STUDY}select_claims"),
    "claims add": Verb(f"{_STUDY}add_claims"),
    "claims edit": Verb(f"{_STUDY}edit_claim"),
    "claims remove": Verb(f"{_STUDY}remove_claims"),
    "posts look": Verb(f"{_STUDY}look"),
    "posts add": Verb(
        f"{_STUDY}add_posts",
        (
            Choice(
                f"{_STUDY}import_posts",
                "convert",
                About("Convert it to covmis's own format; refused while `covmis posts look` has questions."),
            ),
        ),
    ),
    "posts remove": Verb(f"{_STUDY}remove_posts"),
    "queries show": Verb(f"{_STUDY}show_queries"),
    "queries try": Verb(
        f"{_STUDY}try_queries",
        (
            Choice(
                f"{_STUDY}tune_keywords",
                "words",
                About("Instead: what each word of the query adds or keeps out."),
            ),
        ),
    ),
    "queries set": Verb(f"{_STUDY}set_keywords"),
    "queries suggest": Verb(f"{_STUDY}suggest_queries"),
    "sample": Verb(
        f"{_STUDY}show_sample",
        (
            Choice(
                f"{_STUDY}plan_sample",
                "plan",
                About("Also: hours and interval widths of smaller and bigger samples."),
            ),
        ),
    ),
    "guideline check": Verb(f"{_STUDY}check_guideline"),
    "round open": Verb(f"{_STUDY}open_round"),
    "round push": Verb(f"{_ROUND}push"),
    "round pull": Verb(f"{_ROUND}pull"),
    "round import": Verb(f"{_ROUND}import_labels"),
    "round status": Verb(f"{_ROUND}status"),
    "round report": Verb(f"{_ROUND}report"),
    "round adjudicate": Verb(
        f"{_ROUND}adjudicate",
        (
            Choice(f"{_ROUND}decide", "item"),
            Choice(f"{_ROUND}cases", "list", About("Only list the disagreements.")),
        ),
    ),
    "round seal": Verb(f"{_ROUND}seal"),
    "round reopen": Verb(f"{_ROUND}reopen"),
    "round relabel": Verb(f"{_STUDY}relabel"),
    "round discard": Verb(f"{_STUDY}discard_round"),
    "round links": Verb(f"{_STUDY}links"),
    "round merge": Verb(f"{_STUDY}merge"),
    "round verify": Verb(f"{_STUDY}verify_rounds"),
    "agreement": Verb("annotation.report_files:agreement_of_file"),
    "estimate": Verb(f"{_STUDY}estimate", (Choice(f"{_STUDY}regress", "formula"),)),
    "recall plan": Verb(f"{_RECALL}plan"),
    "recall draw": Verb(f"{_RECALL}draw"),
    "recall report": Verb(f"{_RECALL}report"),
    "release": Verb(
        f"{_STUDY}release",
        (
            Choice(
                f"{_STUDY}check_release",
                "check",
                About("Instead: compare what was released with the study; exit code 1 if they differ."),
            ),
        ),
    ),
    "verify": Verb("study.verify:verify"),
    "hydrate": Verb(f"{_STUDY}hydrate"),
    "export": Verb("workbench.export:export", (Choice("workbench.export:export_figures", "format"),)),
    "model ask": Verb("study.ask_model:ask_model"),
    "model admit": Verb(f"{_STUDY}admit"),
}


def words(command: str, given: Mapping[str, Any], *, number: str = "") -> list[str]:
    """A command with these arguments, as the words that are typed after `covmis`; `number` is the round's."""
    of_round = ["--round", number] if number else []
    return [*command.split(), *VERBS[command].chosen(given).words(given, of_round)]


def python(command: str, given: Mapping[str, Any], *, number: str = "") -> str:
    """The same as a line of Python."""
    asked = VERBS[command].chosen(given)
    of = {"": "covmis", "Round": f"study.round({number!r})", "Recall": "study.recall()"}.get(
        asked.owner, "study"
    )
    return asked.python(given, of=of)
