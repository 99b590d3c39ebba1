"""The rounds: people, pace, agreement so far, and the disagreements, decided in the page."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from covmis_build.errors import CovmisError
from covmis_build.study.discard_round import done_in, is_last
from covmis_build.study.keywords import marked_text
from covmis_build.study.open_round import guideline_html
from covmis_build.study.relabel import is_wanted
from covmis_build.study.status import claims_to_open
from covmis_build.study.verbs import VERBS
from covmis_build.workbench.answers import PEOPLE, returned
from covmis_build.workbench.bench import ROUNDS, Bench, back_to, bench_of, form_of
from covmis_build.workbench.shown import text_shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.annotation.agreement import Agreement
    from covmis_build.study.round import Round

MOST_CASES = 100
KINDS = (".csv", ".xlsx", ".html")


def rounds(request: Request) -> Response:
    """One round, the last one where the address names none."""
    bench, asked = bench_of(request), request.query_params
    study = bench.study
    numbers = [row.round for row in bench.status().rounds]
    wanted = request.path_params.get("number", "" if study.rounds else next(iter(numbers), ""))
    if not wanted and not numbers:
        ready = "round open" in bench.status().next
        return bench.page(
            request, "no_round.html", "round", "open", guideline=guideline_html(study), ready=ready
        )
    round_ = study.round(wanted)
    number, folder = round_.number, round_.folder
    cases = () if folder.has_key else bench.keep(f"cases {number}", ROUNDS, round_.cases).rows
    pair, state, third = asked.get("pair", ""), asked.get("state", ""), asked.get("by") == "adjudicator"
    channel, progress = study.settings.annotation.channel, bench.progress(round_)
    names = sorted(path.name for path in folder.sheets.glob("*"))
    people = tuple(f"{worker.annotator}{end}" for worker in progress.workers if worker.left for end in ".-")
    sent = [[n for n in names if n.startswith(people) and n.endswith(kind)] for kind in (channel, *KINDS)]
    fitting = [case for case in cases if pair in {"", case.pair} and state in {"", case.state}]
    return bench.page(
        request,
        "round.html",
        "round",
        "status",
        "--round",
        number,
        round=round_,
        numbers=numbers,
        cases=fitting[:MOST_CASES],
        marked=partial(_marked, bench),
        guideline=guideline_html(study) if cases and study.places.guideline.is_file() else "",
        fitting=len(fitting),
        all=len(cases),
        pairs=Counter(case.pair for case in cases).most_common(),
        states=Counter(case.state for case in cases),
        pair=pair,
        state=state,
        third=third,
        scheme=folder.scheme,
        progress=progress,
        to_send=next(filter(None, sent), []),
        decisions=[name for name in names if name.startswith(("discussion.", "adjudication."))],
        files=study.places.relative(folder.folder),
        agreement=agreement_of(bench, round_),
        ahead=_ahead(bench, round_),
        to_open=claims_to_open(study.places),
        last=is_last(study, folder),
        worked=bool(bench.keep(f"work {number}", ROUNDS, partial(done_in, folder))),
        relabel=bench.keep("relabel", (*ROUNDS, "study.toml"), partial(is_wanted, study)),
        returned=[] if folder.sealed else returned(bench, round_, asked),
        people=asked.get(PEOPLE, ""),
        as_it_stands=VERBS["round pull"].parameters["as_it_stands"],
        target=study.settings.annotation.target,
        channel=channel,
    )


def agreement_of(bench: Bench, round_: Round) -> Agreement | None:
    """Agreement so far; a decision does not change it, so it is kept until there are more independent labels."""
    independent = 0 if round_.folder.has_key else int((round_.labels["phase"] == "independent").sum())
    name = f"agreement {round_.number} {independent}"
    return bench.keep(name, (), round_.agreement) if independent else None


def _ahead(bench: Bench, round_: Round) -> object:
    """What to decide next. Labels and decisions of every round change it: the target is one of all rounds."""
    if round_.folder.has_key or round_.folder.asks_relevance or round_.labels.empty:
        return None
    return bench.keep(f"next {round_.number}", ROUNDS, round_.next_decision)


def _marked(bench: Bench, text: str, item: str) -> list[tuple[str, bool]]:
    """A post's text in pieces, those marked that its claim's keywords ask for; none if the list of claims cannot be read."""
    try:
        claims = [claim for claim in bench.claims if claim.claim_id == item.partition("|")[0]]
    except CovmisError:
        claims = []
    return marked_text(text, claims[0]) if claims else [(text, False)]


async def decide(request: Request) -> Response:
    """Decide a disagreement; for `x-part: case` the case as it then is."""
    bench, form, number = bench_of(request), await form_of(request), request.path_params["number"]
    item, label, reason = (form.get(name, "").strip() for name in ("item", "label", "reason"))
    third = form.get("by") == "adjudicator"
    given: dict[str, Any] = {
        "item": item,
        "label": label,
        "reason": reason,
        "sub_label": form.get("sub_label", ""),
        "discuss": not third,
    }
    round_ = bench.study.round(number)
    case = await bench.write(round_.decide, instead_of=text_shown(form), **given)
    words = bench.did(
        "round adjudicate",
        {name: value for name, value in given.items() if value != ""},
        number=round_.number,
    )
    if request.headers.get("x-part") == "case":
        return bench.page(
            request,
            "case.html",
            *words,
            alone=True,
            case=case,
            marked=partial(_marked, bench),
            round=round_,
            third=third,
            scheme=round_.folder.scheme,
        )
    return back_to(f"/rounds/{quote(round_.number, safe='')}")
