"""What `covmis collect ids` does: each platform's part of a list of ids, one after the other."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.cli.console import detail, emit_json, grid, progress, say, warn
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.retrieval.sources.ids import Hydrated, IdList
    from covmis_build.study import Study


@dataclass(frozen=True, slots=True)
class Wanted:
    """The command's options; no file means the last list."""

    file: Path | None
    study: Path | None
    budget: str
    prices: Path | None
    as_json: bool
    again: bool


def estimate(wanted: Wanted) -> None:
    """Say what looking up the list would cost at most; nothing is asked."""
    from covmis_build.retrieval.prices import read_prices

    _, listed, _ = _list(wanted)
    price = read_prices("x", wanted.prices)
    on_x = len(listed.of("x"))
    cost = price.cost(posts=on_x)
    if wanted.as_json:
        counts = {"ids": len(listed.post_ids), "on_x": on_x, "dollars": cost, "prices_date": price.date}
        emit_json(counts | {"estimate_dollars": 0.0})
        return
    say(
        f"ids: {len(listed.post_ids):,}, of which {on_x:,} on X",
        f"cost: at most ${cost:,.2f} at the prices of {price.date}; posts that are gone are not billed",
        "spent on this estimate: nothing",
    )


def look_up(wanted: Wanted) -> None:
    """Look up every id of the list that is not looked up yet, and write down the outcomes."""
    from covmis_build.purge import read_list
    from covmis_build.retrieval.prices import read_budget, read_prices
    from covmis_build.retrieval.sources.ids import write_outcomes

    study, listed, day = _list(wanted)
    on_x = len(listed.of("x"))
    if on_x and not wanted.budget:
        cost = read_prices("x", wanted.prices).cost(posts=on_x)
        raise InputError(
            f"looking up {on_x:,} posts on X costs up to ${cost:,.2f}",
            remedy=f"Say how much you allow: --budget {cost:.2f}",
        )
    budget, forget = read_budget(wanted.budget), read_list(study.purge_csv)
    notes = study.folder / "data" / "collect"
    done: list[Hydrated] = []
    outcomes: dict[str, tuple[str, str]] = {}
    with storage.locked(notes / ".lock", "covmis collect ids"):
        storage.write_text(notes / "ids.json", json.dumps({"ids": listed.post_ids, "again": day}) + "\n")
        for prefix, part in _parts(wanted, study, listed, budget, forget, day):
            done.append(part)
            found = {f"{prefix}{native}": state for native, state in part.outcomes.items()}
            outcomes.update({one: found[one] for one in listed.post_ids if one in found})
            write_outcomes(notes / "outcomes.csv", outcomes)
    _report(wanted, listed, done, outcomes)


def _list(wanted: Wanted) -> tuple[Study, IdList, str]:
    """The study, the list without what is to be forgotten, and the day that makes it another list."""
    from covmis_build.purge import read_list
    from covmis_build.retrieval.sources.ids import IdList, read_ids
    from covmis_build.study import open_study

    study = open_study(wanted.study)
    day = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d") if wanted.again else ""
    if wanted.file is not None:
        listed = read_ids(wanted.file)
    else:
        path = study.folder / "data" / "collect" / "ids.json"
        if not path.exists():
            raise InputError("there is no list to go on with", remedy="Name a file: covmis collect ids FILE")
        last = json.loads(path.read_text("utf-8"))
        listed, day = IdList(tuple(last["ids"]), ()), last["again"]
    if listed.suspicious:
        shown = ", ".join(listed.suspicious[:5])
        warn(f"{len(listed.suspicious)} ids end in zeros, as if a spreadsheet had rounded them: {shown}")
    forget = read_list(study.purge_csv)
    kept = tuple(one for one in listed.post_ids if one not in forget.posts)
    if len(kept) < len(listed.post_ids):
        warn(f"{len(listed.post_ids) - len(kept):,} ids stand in queries/purge.csv and are left out")
    return study, IdList(kept, listed.suspicious), day


def _parts(wanted: Wanted, study: Study, listed: IdList, budget: Any, forget: Any, day: str) -> Any:
    """Each platform's part with its outcomes."""
    from covmis_build.cli.collect import archive_of
    from covmis_build.retrieval.crawl import Crawl
    from covmis_build.retrieval.prices import Budget, Spent, read_prices
    from covmis_build.retrieval.sources.ids import hydrate, lookups

    spent = Spent()
    for part in lookups(listed):
        name = part.platform.name
        price = read_prices(name, wanted.prices if name == "x" else None)
        allowed = Budget(None, budget.posts, budget.requests) if price.free else budget
        how = Crawl(
            part.look(part.ids), part.platform, price, allowed,
            notice=detail if wanted.as_json else say, keep=forget.without, renew=part.renew,
            spent=spent,
        )  # fmt: skip
        with progress() as report:
            yield part.prefix, hydrate(part, archive_of(study) / name, how, report, again=day)


def _report(
    wanted: Wanted, listed: IdList, done: list[Hydrated], outcomes: dict[str, tuple[str, str]]
) -> None:
    """Say how many ids have which outcome, what was spent, and what is left."""
    from covmis_build.retrieval.prices import Spent
    from covmis_build.retrieval.sources.ids import OUTCOMES

    counts = Counter(state for state, _ in outcomes.values())
    left = len(listed.post_ids) - len(outcomes)
    stopped = next((one.stopped for one in done if one.stopped), "")
    spent = done[-1].passes[-1].spent if done else Spent()
    if wanted.as_json:
        numbers = {
            "ids": len(listed.post_ids), "not_looked_up": left, "requests": spent.requests, "dollars": spent.dollars
        }  # fmt: skip
        emit_json(numbers | {"outcomes": {one: counts[one] for one in OUTCOMES}, "stopped": stopped})
    else:
        grid([(one, counts[one]) for one in OUTCOMES], ("outcome", "ids"))
        say(
            "",
            f"{spent.requests:,} requests, ${spent.dollars:,.2f} spent. Each id stands in data/collect/outcomes.csv.",
        )
        if left:
            say(
                f"{left:,} ids are not looked up yet{f': {stopped}' if stopped else ''}. Go on with --resume."
            )
    faults = {one.fault for part in done for one in part.passes} - {"", "budget"}
    if faults:
        raise ServiceError(stopped)
