"""`covmis collect`: fetch what the queries ask for from a platform, or look up a list of ids.

The only commands that use platforms or spend money. Everything that was fetched is on disk at once; a command that
was stopped in any way goes on with `--resume`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from covmis_build.cli.command import Commands
from covmis_build.cli.console import detail, say, warn
from covmis_build.engine import Progress, silent
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.study.study import Study

app = Commands(help="Fetch posts from X, Bluesky, Mastodon or Telegram.", no_args_is_help=True)

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
    claim: Annotated[
        list[str] | None, Option(metavar="ID", help="Only this claim's queries; repeatable.")
    ] = None
    kind: Annotated[list[str] | None, Option(help="Only queries of this kind.")] = None


@app.command("x")
def collect_x(
    study: Study,
    options: Searching,
    progress: Progress,
    recent: Annotated[bool, Option(help="Search the last seven days only, not the full archive.")] = False,
    expand: Annotated[
        list[str] | None, Option(help="Also fetch: referenced, authors (both billed), media.")
    ] = None,
    prices: PricesOption = None,
    as_json: bool = False,
) -> Result:
    """Search X for all queries (costs money).

    It needs a --budget.

    Put the token into X_BEARER_TOKEN or the keyring. `--estimate` asks X for counts, which X bills; its cost is printed
    first and counts for the budget.

    Example: covmis collect x --estimate --budget 5
    """
    how: dict[str, Any] = {"recent": recent, "expand": expand or (), "prices": prices}
    return _search(study, "x", options, progress, as_json, **how)


@app.command("bluesky")
def collect_bluesky(study: Study, options: Searching, progress: Progress, as_json: bool = False) -> Result:
    """Search Bluesky for all queries (free).

    Put the account into BLUESKY_HANDLE and BLUESKY_APP_PASSWORD, in the environment or the keyring.

    Example: covmis collect bluesky --budget 20000posts
    """
    return _search(study, "bluesky", options, progress, as_json)


@app.command("mastodon")
def collect_mastodon(
    study: Study,
    options: Searching,
    progress: Progress,
    server: Annotated[
        str, Option(envvar="MASTODON_SERVER", help="The server to ask, like https://mastodon.social.")
    ],
    as_json: bool = False,
) -> Result:
    """Search a Mastodon server for all queries (free).

    Put an app's token into MASTODON_ACCESS_TOKEN and its server into MASTODON_SERVER; the token is sent to that server
    only. In the keyring its name is MASTODON_ACCESS_TOKEN@https://SERVER.

    Example: covmis collect mastodon --server https://mastodon.social
    """
    return _search(study, "mastodon", options, progress, as_json, server=server)


@app.command("snscrape")
def collect_snscrape(
    study: Study,
    module: Annotated[str, Argument(help="telegram-channel, mastodon-profile or mastodon-toot.")],
    query: Annotated[str, Argument(help="The channel, @user@server, or the post's address.")],
    progress: Progress,
    budget: BudgetOption = "",
    resume: Annotated[
        bool, Option("--resume", help="Finish what was interrupted; add no newer posts.")
    ] = False,
    as_json: bool = False,
) -> Result:
    """Fetch a public channel or account (no login).

    The same command again adds newer posts. What needs a login (X, Facebook, Instagram, Reddit) is refused.

    Example: covmis collect snscrape telegram-channel durov --budget 500posts
    """
    notice = detail if as_json else say
    return study.collect_account(
        module, query, budget=budget, resume=resume, notice=notice, progress=progress
    )


@app.command("ids")
def collect_ids(
    study: Study,
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="One post id per line, or a CSV file with post_id.")
    ] = None,
    estimate: EstimateOption = False,
    budget: BudgetOption = "",
    resume: Annotated[bool, Option("--resume", help="Resume the last list; needs no FILE.")] = False,
    again: Annotated[bool, Option("--again", help="Look up all ids again.")] = False,
    prices: PricesOption = None,
    progress: Progress = silent,
    as_json: bool = False,
) -> Result:
    """Fetch posts by id and record which are unavailable.

    Ids may be of X, Bluesky and Mastodon.

    Outcomes (available, deleted, protected, suspended, unknown) are in data/collect/outcomes.csv.

    Example: covmis collect ids tweet-ids.txt --budget 15
    """
    if (file is None) != resume:
        raise InputError("name a file of ids, or use --resume", remedy="Like covmis collect ids ids.txt")
    options: dict[str, Any] = {"prices": prices, "warn": warn}
    if estimate:
        return study.price_of_ids(file, **options)
    options |= {"budget": budget, "notice": detail if as_json else say, "progress": progress}
    return study.collect_ids(file, again=again, **options)


def _search(
    study: Study, source: str, options: Searching, progress: Progress, as_json: bool, **own: Any
) -> Result:
    """Search a platform, or say what that would cost."""
    own |= {
        "budget": options.budget,
        "resume": options.resume,
        "claims": options.claim or (),
        "kinds": options.kind or (),
        "notice": detail if as_json else say,
        "progress": progress,
    }
    return study.estimate_collecting(source, **own) if options.estimate else study.collect(source, **own)
