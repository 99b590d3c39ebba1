"""`covmis estimate`: what share of the posts favours, from the labelled sample and its probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say, warn
from covmis_build.cli.estimates_page import check_formats, write_estimates
from covmis_build.errors import InputError, nearest
from covmis_build.options import STRATA

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.sampling.shares import Estimates
    from covmis_build.stats.horvitz_thompson import Design
    from covmis_build.study import Study

SCOPES = ("claim", "kind", *STRATA)


def estimate(
    corpus: Annotated[
        Path | None, typer.Argument(metavar="[CORPUS]", help="A released corpus (default: the study's).")
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="claim,kind",
            help="Also per claim, kind, platform, year, month or day; several with commas.",
        ),
    ] = "kind",
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The level of the intervals.")] = 0.95,
    predictions: Annotated[
        str, typer.Option(metavar="FILE[:COLUMN]", help="A system's predictions: estimate its measures.")
    ] = "",
    measure: Annotated[
        str, typer.Option(metavar="A,B", help="The measures to estimate.")
    ] = "accuracy,macro_f1",
    out: Annotated[
        list[Path] | None,
        typer.Option("--out", metavar="FILE", help="Write .html, .csv or .json; repeatable."),
    ] = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of each label among the posts found: distinct messages, and posts with their copies.

    Horvitz-Thompson totals and Hájek shares with the weights 1/(p_claim·p_sample) and intervals of the design, the
    audit of automatic labels put in, and the unweighted share beside them. Needs the release and, for exact
    two-phase variances and the audit, the study that made it. With --predictions: measures of a system over the
    same posts, with linearised intervals.

    Example: covmis estimate --by claim,kind --out estimates.html
    """
    scopes = [one.strip() for one in by.split(",") if one.strip()]
    for one in scopes:
        if one not in SCOPES:
            raise InputError(f"cannot estimate by '{one}'", remedy=nearest(one, SCOPES))
    check_formats(out or ())
    home = _study(study, corpus)
    frame = _corpus(home, corpus)
    result: dict[str, Any]
    if predictions:
        result = {"measures": _measures(home, frame, predictions, measure, level), "level": level}
        if not as_json:
            _print_measures(result["measures"])
    else:
        found = _estimates(home, frame, scopes, level)
        result = {
            "estimates": found.shares, "audit": found.audit, "sentences": list(found.sentences), "level": level,
        }  # fmt: skip
        if not as_json:
            _print(found)
    for path in out or ():
        write_estimates(path, result, frame, home)
        if not as_json:
            say(f"Wrote {path}.")
    if as_json:
        emit_json(result)


def _study(folder: Path | None, corpus: Path | None) -> Study | None:
    """The study at hand; a corpus of somebody else's needs none."""
    from covmis_build.study import open_study

    if folder is not None or corpus is None:
        return open_study(folder)
    try:
        home = open_study(None)
    except InputError:
        return None
    return home if corpus.resolve().is_relative_to(home.folder) else None


def _corpus(home: Study | None, path: Path | None) -> pd.DataFrame:
    """The corpus, with design, automatic label and combined probability where the study's rounds know them."""
    from covmis_build.corpus import read_corpus

    if path is None and home is not None:
        path = home.release_folder / "corpus.parquet"
    assert path is not None
    frame = read_corpus(path)
    if home is None:
        return frame
    from covmis_build.annotation import record
    from covmis_build.annotation.rounds import frozen_items
    from covmis_build.governing import divided
    from covmis_build.sampling import combined_probabilities

    frozen = frozen_items(home.rounds)
    frozen = frozen[~frozen["pilot"].astype(bool)]
    if not set(frame["item_id"]) <= set(frozen["item_id"]):
        return frame
    known = frozen.drop_duplicates("item_id").set_index("item_id").reindex(frame["item_id"])
    together = combined_probabilities(frozen, divided(record.all_rounds(home.rounds)))
    return frame.assign(
        design=known["design"].to_numpy(dtype=object),
        automatic_label=known["automatic_label"].to_numpy(dtype=object),
        p_sample=[together[item] for item in frame["item_id"]],
    )


def _values(home: Study | None, frame: pd.DataFrame) -> list[str]:
    """The label scheme: the study's; for a corpus on its own, the paper's if it fits, else the labels it has."""
    from covmis_build.options import Labels

    usual = (Labels() if home is None else home.labels).values  # noqa: PD011 - a setting of ours
    present = sorted(set(frame["label"].dropna().astype(str)))
    if home is not None or set(present) <= set(usual):
        return list(usual)
    for one in present:
        for other in {*present, *usual}:
            if one != other and one.casefold() == other.casefold():
                raise InputError(
                    f"the label '{one}' of the corpus is '{other}' in another case", remedy="Write one"
                )
    return present


def _settings(home: Study | None) -> tuple[Any, dict[str, str], dict[str, dict[str, int]]]:
    """How was drawn: the options of the rounds, the automatic rule, and the posts there were, by claim and kind."""
    from covmis_build import storage
    from covmis_build.annotation import record
    from covmis_build.governing import as_governed
    from covmis_build.options import Labels, Sampling
    from covmis_build.sampling import counts_of
    from covmis_build.stages import strata_of

    if home is None:
        return Sampling(), Labels().automatic, {}
    home, differences = as_governed(home, record.all_rounds(home.rounds))
    for one in differences:
        if one.setting.startswith(("[sampling]", "[labels] automatic")):
            warn(f"{one}; the estimates are for the settings that the rounds were drawn with")
    path = home.table("items")
    if not path.is_file():
        return home.sampling, home.labels.automatic, {}
    items = storage.read_table(path, "items")
    counts = counts_of(items, strata_of(home, items))
    return home.sampling, home.labels.automatic, counts


def _estimates(home: Study | None, frame: pd.DataFrame, by: list[str], level: float) -> Estimates:
    from covmis_build.sampling import estimates

    options, automatic, counts = _settings(home)
    return estimates(
        frame, _values(home, frame), options, automatic=automatic, counts=counts, by=by, level=level
    )


def _measures(
    home: Study | None, frame: pd.DataFrame, predictions: str, wanted: str, level: float
) -> list[dict[str, Any]]:
    """A system's measures over the population, each beside its unweighted value."""
    import numpy as np

    from covmis_build.evaluation.setting import setting
    from covmis_build.sampling.shares import check_corpus, design_of
    from covmis_build.stats.linearised import cells, estimate_from, gradients, weighted_confusion

    options, _, counts = _settings(home)
    labels = _values(home, frame)
    scheme = home.labels if home is not None else None
    chosen = setting(
        labels,
        names=[one.strip() for one in wanted.split(",") if one.strip()],
        order=scheme.order if scheme else None,
        poles=scheme.poles if scheme else None,
    )
    for one in chosen.measures:
        if "order" in one.needs and not chosen.order:
            raise InputError(
                f"the measure {one.name} needs an order",
                remedy="Set [labels] order, or choose another measure",
            )
    check_corpus(frame, labels)
    gold = frame["label"].astype(str).tolist()
    system = _predicted(predictions, frame, labels)
    design: Design = design_of(frame, options, counts)
    where, n = cells(labels, gold, system), len(gold)
    sums = np.bincount(where, design.weights, minlength=len(labels) ** 2)
    weighted = np.asarray(sums, dtype=np.float64).reshape(len(labels), -1)
    plain, _ = weighted_confusion(gold, system, np.ones(n), labels)
    naive, slopes = chosen.values(plain), gradients(chosen.values, weighted, n)
    rows = []
    for one in chosen.measures:
        found = estimate_from(*slopes[one.name], where, design, bounds=one.range, level=level)
        rows.append(
            {
                "measure": one.name, "value": found.value, "standard_error": found.standard_error, "low": found.low,
                "high": found.high, "design_effect": found.design_effect, "n": found.n,
                "unweighted": float(naive[one.name]),
            }
        )  # fmt: skip
    return rows


def _predicted(where: str, frame: pd.DataFrame, labels: list[str]) -> list[str]:
    """The system's label for every item of the corpus, in its order."""
    from covmis_build.evaluation.reading import Labelled, alike, common_id, read_labels

    name, _, column = where.partition(":")
    gold = Labelled(Path("the corpus"), frame, "item_id", "label")
    read = alike(gold, read_labels(Path(name), label_column=column))
    ids = common_id(gold, read)
    if not ids:
        raise InputError("has no column item_id", file=Path(name), remedy="Give each prediction its item_id")
    read.check_labels(labels)
    given = read.labels(ids)
    missing = [one for one in frame[ids] if not given.get(one)]
    if missing:
        raise InputError(
            f"has no prediction for {len(missing)} items, the first is {missing[0]}",
            file=Path(name),
            remedy="Complete it",
        )
    return [str(given[one]) for one in frame[ids]]


def _print(found: Estimates) -> None:
    shown = found.shares
    columns = [
        "estimand",
        "scope",
        "name",
        "label",
        "share",
        "low",
        "high",
        "unweighted",
        "design_effect",
        "n",
        "total",
    ]
    grid(shown[columns].itertuples(index=False), [name.replace("_", " ") for name in columns])
    say("", *found.sentences)


def _print_measures(rows: list[dict[str, Any]]) -> None:
    grid([list(row.values()) for row in rows], [name.replace("_", " ") for name in rows[0]])
    say("", "Weighted by 1/(p_claim·p_sample): over all distinct messages found; intervals linearised.")
