"""`covmis collect`: fetch what the queries ask for from a platform, or look up a list of ids.

The only commands that use platforms or spend money. Everything that was fetched is on disk at once; a command that
was stopped in any way goes on with `--resume`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, detail, print_result, progress, say, tell, warn
from covmis_build.cli.options import with_options
from covmis_build.errors import InputError

app = Typer(help="Fetch posts from X, Bluesky or Mastodon.", no_args_is_help=True)

EstimateOption = Annotated[
    bool, Option("--estimate", help="Print what a search would find and cost; fetch no posts.")
]
BudgetOption = Annotated[
    str,
    Option(metavar="AMOUNT", help="Stop before this is passed: 25 (dollars), 10000posts, 500requests."),
]
PricesOption = Annotated[
    Path | None, Option(metavar="FILE", help="A price list of your own (default: the one of covmis).")
]


@dataclass(frozen=True)
class Searching:
    """The options of every platform's search."""

    estimate: EstimateOption = False
    budget: BudgetOption = ""
    resume: Annotated[bool, Option("--resume", help="Finish the last plan; plan nothing new.")] = False
    claim: Annotated[list[str] | None, Option(metavar="ID", help="Only this claim's queries.")] = None
    kind: Annotated[list[str] | None, Option(help="Only queries of this kind.")] = None
    study: StudyOption = None


@app.command("x")
@with_options(Searching)
def collect_x(
    options: Searching,
    recent: Annotated[bool, Option(help="Search the last seven days only, not the full archive.")] = False,
    expand: Annotated[
        list[str] | None, Option(help="Also fetch: referenced, authors (both billed), media.")
    ] = None,
    prices: PricesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search X for all queries (costs money).

    It needs a --budget.

    Put the token into X_BEARER_TOKEN or the keyring. `--estimate` asks X for counts, which X bills; its cost is printed
    first and counts for the budget.

    Example: covmis collect x --estimate --budget 5
    """
    _collect("x", options, as_json, recent=recent, expand=expand or (), prices=prices)


@app.command("bluesky")
@with_options(Searching)
def collect_bluesky(options: Searching, as_json: JsonOption = False) -> None:
    """Search Bluesky for all queries (free).

    Put the account into BLUESKY_HANDLE and BLUESKY_APP_PASSWORD, in the environment or the keyring.

    Example: covmis collect bluesky --budget 20000posts
    """
    _collect("bluesky", options, as_json)


@app.command("mastodon")
@with_options(Searching)
def collect_mastodon(
    options: Searching,
    server: Annotated[
        str, Option(envvar="MASTODON_SERVER", help="The server to ask, like https://mastodon.social.")
    ],
    as_json: JsonOption = False,
) -> None:
    """Search a Mastodon server for all queries (free).

    Put an app's token into MASTODON_ACCESS_TOKEN and its server into MASTODON_SERVER; the token is sent to that server
    only. In the keyring its name is MASTODON_ACCESS_TOKEN@https://SERVER.

    Example: covmis collect mastodon --server https://mastodon.social
    """
    _collect("mastodon", options, as_json, server=server)


@app.command("ids")
def collect_ids(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="One post id per line, or a CSV file with post_id.")
    ] = None,
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: Annotated[bool, Option("--resume", help="Resume the last list; needs no FILE.")] = False,
    again: Annotated[bool, Option("--again", help="Look up all ids again.")] = False,
    prices: PricesOption = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch posts by id and record which are unavailable.

    Ids may be of X, Bluesky and Mastodon.

    Outcomes (available, deleted, protected, suspended, unknown) are in data/collect/outcomes.csv.

    Example: covmis collect ids tweet-ids.txt --budget 15
    """
    from covmis_build.study.study import open_study

    if (file is None) != resume:
        raise InputError("name a file of ids, or use --resume", remedy="Like covmis collect ids ids.txt")
    options: dict[str, Any] = {"prices": prices, "warn": warn}
    if estimate:
        priced = open_study(study).price_of_ids(file, **options)
        print_result(priced, as_json=as_json)
        return
    with progress() as report:
        options |= {"budget": budget, "notice": detail if as_json else say, "progress": report}
        looked_up = open_study(study).collect_ids(file, again=again, **options)
    print_result(looked_up, as_json=as_json)
    looked_up.check()


def _collect(source: str, options: Searching, as_json: bool, **own: Any) -> None:
    """Search a platform, or say what that would cost."""
    from covmis_build.study.study import open_study

    study = open_study(options.study)
    own |= {
        "budget": options.budget, "resume": options.resume, "claims": options.claim or (),
        "kinds": options.kind or (), "notice": detail if as_json else say,
    }  # fmt: skip
    if options.estimate:
        with progress() as report:
            would = study.estimate_collecting(source, progress=report, **own)
        warn(*would.not_accepted, *([would.stopped] if would.stopped else []))
        tell({"platform": source, **would.to_dict()}, would.sentences, as_json=as_json)
        would.check()
        return
    with progress() as report:
        collected = study.collect(source, progress=report, **own)
    print_result(collected, as_json=as_json)
    collected.check()
