"""The commands that are operations: what each is called, and the one place where it is written.

The command line is made from this table, and so are the lines of a session's script in the browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.operations import operation

if TYPE_CHECKING:
    from collections.abc import Mapping

_STUDY, _ROUND, _RECALL = "study.study:Study.", "study.round:Round.", "study.recall:Recall."
VERBS = {
    "run": f"{_STUDY}run",
    "status": f"{_STUDY}status",
    "explain": f"{_STUDY}explain",
    "purge": f"{_STUDY}purge",
    "doctor": "study.doctor:doctor",
    "claims import": f"{_STUDY}import_claims",
    "claims lint": f"{_STUDY}lint_claims",
    "claims select": f"{_STUDY}select_claims",
    "posts look": f"{_STUDY}look",
    "posts add": f"{_STUDY}add_posts",
    "queries show": f"{_STUDY}show_queries",
    "queries try": f"{_STUDY}try_queries",
    "queries set": f"{_STUDY}set_keywords",
    "queries suggest": f"{_STUDY}suggest_queries",
    "sample": f"{_STUDY}show_sample",
    "guideline check": f"{_STUDY}check_guideline",
    "round open": f"{_STUDY}open_round",
    "round push": f"{_ROUND}push",
    "round pull": f"{_ROUND}pull",
    "round status": f"{_ROUND}status",
    "round report": f"{_ROUND}report",
    "round adjudicate": f"{_ROUND}adjudicate",
    "round seal": f"{_ROUND}seal",
    "round reopen": f"{_ROUND}reopen",
    "round verify": f"{_STUDY}verify_rounds",
    "agreement": "annotation.report_files:agreement_of_file",
    "estimate": f"{_STUDY}estimate",
    "recall plan": f"{_RECALL}plan",
    "recall draw": f"{_RECALL}draw",
    "recall report": f"{_RECALL}report",
    "release": f"{_STUDY}release",
    "verify": "study.verify:verify",
    "hydrate": f"{_STUDY}hydrate",
    "export": "workbench.export:export",
    "model admit": f"{_STUDY}admit",
}


def words(command: str, given: Mapping[str, Any], *, number: str = "") -> list[str]:
    """A command with these arguments, as the words that are typed after `covmis`; `number` is the round's."""
    of_round = ["--round", number] if number else []
    return [*command.split(), *operation(VERBS[command]).words(given, of_round)]


def python(command: str, given: Mapping[str, Any], *, number: str = "") -> str:
    """The same as a line of Python."""
    return operation(VERBS[command]).python(given, of=f"study.round({number!r})" if number else "study")
