"""`covmis new`, `run`, `status`, `explain`: a study from the outside."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build import storage
from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, progress, say, warn
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from covmis_build.flow import Step
    from covmis_build.study import Study


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    title: Annotated[str, typer.Option(help="The study's title.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a folder for a new study, with settings, an example claim list and a README.

    Example: covmis new my-study --title "Vaccine rumours, 2026"
    """
    from importlib.resources import files

    from covmis_build.study import toml

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already and not empty", file=folder, remedy="Choose another name")
    template = files("covmis_build") / "template"
    with_title = {
        "study.toml": lambda text: text.replace('title = "…"', f"title = {toml(title or folder.name)}")
    }
    made = _walk(template)
    for path, text in made:
        storage.write_text(folder / path, with_title.get(path, str)(text))
    if as_json:
        emit_json({"folder": str(folder), "title": title or folder.name, "files": [path for path, _ in made]})
        return
    say(f"Made {folder}/. Next: read {folder}/README.md, then `cd {folder}` and `covmis status`.")


def _walk(place: Any, prefix: str = "") -> list[tuple[str, str]]:
    found = []
    for one in sorted(place.iterdir(), key=lambda entry: entry.name):
        if one.name == "__pycache__":
            continue
        if one.is_dir():
            found += _walk(one, f"{prefix}{one.name}/")
        else:
            found.append((prefix + one.name, one.read_text("utf-8")))
    return found


def run(
    stages: Annotated[
        list[str] | None, typer.Argument(metavar="[STAGE]...", help="Default: all stages.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Make them again even if nothing changed.")] = False,
    engine: Annotated[str, typer.Option(help="duckdb, or spark (an extra).")] = "duckdb",
    master: Annotated[str, typer.Option(help="Spark's master, like local[2] or spark://host:7077.")] = "",
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting for Spark.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes to use (0: one per processor).")] = 0,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the study up to date: claims, queries, retrieve, clean, sample; only what is stale.

    Example: covmis run
    """
    from covmis_build.run import run as bring_up_to_date
    from covmis_build.study import open_study

    opened = open_study(study)
    settings = dict(_pair(one) for one in conf or [])
    if master:
        settings["spark.master"] = master
    if settings and engine == "duckdb":
        raise InputError("--master and --conf are for Spark", remedy="Add --engine spark")
    with progress() as report:
        outcomes = bring_up_to_date(
            opened,
            stages or (),
            force=force,
            engine=engine,
            workers=workers,
            settings=settings,
            progress=report,
        )
    if as_json:
        emit_json(
            {
                "stages": [
                    {
                        "stage": one.stage,
                        "made": one.made,
                        "seconds": one.seconds,
                        "tables": _tables(one.rows),
                    }
                    for one in outcomes
                ]
            }
        )
        return
    rows = [
        (one.stage, "made" if one.made else "current", f"{one.seconds:.1f} s" if one.made else "",
         ", ".join(f"{count:,} {table}" for table, count in one.rows.items()))
        for one in outcomes
    ]  # fmt: skip
    grid(rows, ("stage", "state", "time", "tables"))
    unreadable = next((one.rows.get("unreadable", 0) for one in outcomes if one.stage == "retrieve"), 0)
    if unreadable:
        warn(
            f"{unreadable:,} lines of the archive could not be read; they are listed in data/build/unreadable.parquet"
        )
    for line in _missing_note(_missing_items(opened)):
        warn(line)
    posts = next((one.rows.get("posts") for one in outcomes if one.stage == "retrieve"), None)
    if posts == 0:
        folders = ", ".join(opened.relative(one) for one in opened.archives)
        warn(
            f"no post in {folders} matches a query; put posts there, or look at the queries with `covmis queries try`"
        )
    elif not stages:
        say("", "Next: `covmis status` shows the flow, `covmis round open` starts annotation.")


def _tables(rows: dict[str, int]) -> list[dict[str, Any]]:
    return [{"table": table, "rows": count} for table, count in rows.items()]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--conf {text}: write KEY=VALUE")
    return key, value


def status(
    html: Annotated[
        bool, typer.Option("--html", help="Also write the flow as a page: data/build/flow.html.")
    ] = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where the study stands: the stages, the flow from claims to labels, the rounds, and what to do next.

    Example: covmis status --html
    """
    from covmis_build.flow import flow
    from covmis_build.run import current
    from covmis_build.study import open_study

    opened = open_study(study)
    states = current(opened)
    steps = flow(opened)
    rounds = _rounds(opened)
    advice = _next(opened, states, rounds)
    missing = _missing_items(opened)
    chains = _chains(opened)
    notes = _notes(opened, missing)
    page = _flow_page(opened, steps, rounds, chains) if html else None
    if as_json:
        emit_json(
            {
                "title": opened.title,
                "stages": [{"stage": name, "current": state} for name, state in states.items()],
                "flow": [asdict(step) | {"reasons": _reasons(step)} for step in steps],
                "rounds": rounds,
                "chains": chains,
                "notes": notes,
                "missing_items": [{"item_id": item, "reason": reason} for item, reason in missing.items()],
                "next": advice,
                "page": page,
            }
        )
        return
    say(opened.title, "")
    grid([(name, "current" if state else "to be made") for name, state in states.items()], ("stage", "state"))
    if steps:
        say("")
        grid([_flow_row(step) for step in steps], ("step", "claims", "pairs", "dropped", "why"))
    if rounds:
        say("")
        grid([tuple(one.values()) for one in rounds], tuple(rounds[0]))
    for line in notes:
        say("", line)
    say("", f"Next: {advice}")
    if page:
        say(f"The flow as a page: {page}")


def _reasons(step: Step) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": count} for reason, count in step.reasons.items()]


def _flow_row(step: Step) -> tuple[Any, ...]:
    return (step.keeps, step.claims, step.pairs, step.dropped_pairs, _why(step.reasons, 3))


def _why(reasons: dict[str, int], most: int) -> str:
    """The most frequent reasons with their counts, and how many others there are."""
    ranked = sorted(reasons.items(), key=lambda one: -one[1])
    others = sum(count for _, count in ranked[most:])
    shown = [f"{reason}: {count:,}" for reason, count in ranked[:most]]
    return "; ".join([*shown, *([f"{len(ranked) - most} other reasons: {others:,}"] if others else [])])


def _rounds(study: Study) -> list[dict[str, Any]]:
    """One row a round: how many items, how many labels, sealed or not."""
    from covmis_build.flow import ask

    found = []
    for path in sorted(study.rounds.glob("*/items.parquet")):
        labels = path.with_name("labels.parquet")
        found.append(
            {
                "round": path.parent.name,
                "claims": ask("SELECT count(DISTINCT claim_id) FROM items", items=path)[0][0],
                "items": ask("SELECT count(*) FROM items", items=path)[0][0],
                "labels": ask("SELECT count(*) FROM labels", labels=labels)[0][0] if labels.exists() else 0,
                "sealed": "yes" if path.with_name("seal.json").exists() else "no",
            }
        )
    return found


def _next(study: Study, states: dict[str, bool], rounds: list[dict[str, Any]]) -> str:
    """The one thing to do now."""
    if not all(states.values()):
        stale = ", ".join(name for name, state in states.items() if not state)
        return f"`covmis run` (to be made: {stale})"
    unsealed = [one["round"] for one in rounds if one["sealed"] == "no"]
    if unsealed:
        return f"finish round {unsealed[0]}: `covmis round status` says how"
    sampled = set(storage.read_column(study.table("sample"), "claim_id"))
    for path in study.rounds.glob("*/items.parquet"):
        sampled -= set(storage.read_column(path, "claim_id"))
    if sampled:
        return f"`covmis round open` ({len(sampled)} claims have no round yet)"
    if not rounds:
        return "more posts or queries: no claim has enough for a sample; `covmis status` above says where they went"
    released = study.release_folder / "checksums.txt"
    sealed = [path.stat().st_mtime for path in study.rounds.glob("*/seal.json")]
    if released.exists() and released.stat().st_mtime >= max(sealed):
        return "publish data/release, and judge systems on it: `covmis evaluate score data/release/corpus.csv SYSTEM.csv`"
    return "`covmis release`"


def _notes(study: Study, missing: dict[str, str]) -> list[str]:
    """What deserves attention: queries not collected yet, frozen items that the present build would not contain."""
    return [*_uncollected(study), *_missing_note(missing)]


def _missing_items(study: Study) -> dict[str, str]:
    """Frozen items that the present build would not contain, with the reason; without rounds nothing is loaded."""
    if not any(study.rounds.glob("*/items.parquet")):
        return {}
    from covmis_build.annotation.rounds import frozen_items
    from covmis_build.flow import missing_from_build

    return missing_from_build(study, frozen_items(study.rounds))


def _missing_note(missing: dict[str, str]) -> list[str]:
    """One line on these items, by reason; none if there are none."""
    reasons: dict[str, list[str]] = {}
    for item, reason in missing.items():
        reasons.setdefault(reason, []).append(item)
    told = "; ".join(
        f"{reason} ({len(items):,}: {', '.join(items[:3])}{', …' if len(items) > 3 else ''})"
        for reason, items in sorted(reasons.items(), key=lambda one: (-len(one[1]), one[0]))
    )
    if not missing:
        return []
    count = f"{len(missing):,} frozen items stay"
    return [f"{count} in the study although the present settings and archive would not contain them: {told}."]


def _uncollected(study: Study) -> list[str]:
    """For each platform that posts were collected from, the queries that are new or changed since."""
    from covmis_build.cli.collect import archive_of
    from covmis_build.retrieval.plans import uncollected

    if not study.table("queries").exists():
        return []
    queries = storage.read_table(study.table("queries"), "queries")
    found = []
    for plan in sorted((study.folder / "data" / "collect").glob("*/plan.json")):
        platform = plan.parent.name
        missing = uncollected(archive_of(study) / platform, queries)
        if missing:
            found.append(
                f"{len(missing)} queries have not been collected to the end from {platform} since they were last "
                f"changed: `covmis collect {platform}`"
            )
    return found


def _chains(study: Study) -> list[dict[Any, Any]]:
    """The largest groups of near-identical posts, each with the two of it that are least alike."""
    path = study.table("chains")
    return storage.read_table(path, "chains").to_dict("records") if path.exists() else []


def _flow_page(
    study: Study, steps: list[Step], rounds: list[dict[str, Any]], chains: list[dict[Any, Any]]
) -> str:
    """Write data/build/flow.html; its path."""
    import pandas as pd

    from covmis_build.report import figures
    from covmis_build.report.page import Section, page, table_html

    if not steps:
        raise InputError("nothing has been built yet", remedy="Run `covmis run` first")
    names = {
        "step": "What is left",
        "claims": "Claims",
        "pairs": "Claim × post pairs",
        "dropped": "Dropped",
        "why": "Why",
    }
    frame = pd.DataFrame([_page_row(step) for step in steps], columns=list(names), dtype=object)
    counted = [(step.keeps, float(step.pairs)) for step in steps if step.pairs is not None]
    bars = figures.bars(
        counted, alt="Claim and post pairs left after each step", unit="pairs left after each step"
    )
    last = steps[-1]
    sections = [
        Section(
            "From the claim list to the sample",
            prose="A pair is a post that a query of a claim found. Whatever is not kept is dropped at one step, for "
            "one reason; data/build/dropped.parquet lists every pair, and `covmis explain ID` tells the story of one.",
            body=table_html(frame, names=names, headings=1),
            figures=[bars],
        )
    ]
    if chains:
        sections.append(
            Section(
                "The largest groups of near-identical posts, and their least similar two",
                prose="Groups join what is connected through others, too. Where the least similar two have little in "
                'common, look at them with `covmis explain`; `grouping = "greedy"` or a greater `similarity` parts them.',
                body=table_html(
                    pd.DataFrame(chains), names={name: name.replace("_", " ") for name in chains[0]}
                ),
            )
        )
    if rounds:
        sections.append(Section("Annotation", body=table_html(pd.DataFrame(rounds), headings=1)))
    tiles = [
        ("Claims in the list", f"{steps[0].claims:,}", ""),
        ("Claims in the sample", f"{last.claims:,}", ""),
        ("Pairs found", f"{steps[2].pairs or 0:,}", "claim × post"),
        ("Pairs drawn", f"{last.pairs or 0:,}", "the sample"),
    ]
    path = study.build / "flow.html"
    storage.write_text(path, page("Flow of the study", sections, study=study.title, tiles=tiles))
    return study.relative(path)


def _page_row(step: Step) -> tuple[Any, ...]:
    return (*_flow_row(step)[:-1], _why(step.reasons, 30))


def explain(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", help="A claim id, a post id, or an item id (claim|post).")
    ],
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell the whole story of a claim, a post or an item: found how, dropped why, drawn with what probability.

    Example: covmis explain x:1255000000000000000
    """
    from covmis_build.explain import explain as story
    from covmis_build.study import open_study

    sentences = story(open_study(study), wanted)
    if as_json:
        emit_json({"id": wanted, "sentences": sentences})
    else:
        say(*sentences)
