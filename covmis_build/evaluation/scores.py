"""The table one would print: systems by measures, with intervals, over runs, groups, and design weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.evaluation.design import weighted_values
from covmis_build.evaluation.joining import Extra, Judged, Missing, grouping, in_any_order, judged
from covmis_build.evaluation.setting import Setting, setting
from covmis_build.stats.bootstrap import percentile_interval, replicate_cells
from covmis_build.stats.confusion import Counts, cell_codes, confusion_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.measure import Policy

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


def score(  # noqa: PLR0913 - every option is named, and most calls need three
    gold: Any,
    systems: Mapping[str, Any],
    *,
    labels: Sequence[str],
    measures: Sequence[str] | None = None,
    probabilities: Any = None,
    clusters: Any = None,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: Policy = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    by: Mapping[str, Any] | None = None,
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Score systems against gold: one row per system, measure and group.

    `gold` and each system's predictions are lists, or dicts or Series with ids, which are then joined; a system may
    be a list of runs (seeds): its value is their mean and `sd` their standard deviation. `clusters` names each
    item's claim: intervals then resample claims, not items. `probabilities` adds design-weighted values
    (`weighted`: the pool that was sampled; `balanced`: every cluster counts the same) beside the unweighted ones.
    `by` adds groups of items, such as `{"kind": kinds}`. `low` and `high` are a paired bootstrap's percentile
    interval. Without `measures`, all whose needs are met are computed; an ordinal measure asked for by name without
    `order` takes the order of the labels.

    >>> table = score(["a", "b", "b"], {"always a": ["a", "a", "a"]}, labels=["a", "b"], measures=["accuracy"])
    >>> table[["system", "measure", "items", "value"]].to_dict("records")
    [{'system': 'always a', 'measure': 'accuracy', 'items': 3, 'value': 0.3333333333333333}]
    """
    import pandas as pd

    of = judged(gold, systems, labels, missing, extra)
    chosen = setting(
        of.labels,
        names=measures,
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    owners = None if clusters is None else grouping(clusters, of, "clusters")[0]
    chances = None if probabilities is None else _probabilities(probabilities, of)
    groups: list[tuple[str, str, NDArray[np.bool_]]] = [("", "", np.ones(len(of.gold), dtype=bool))]
    for name, values in (by or {}).items():
        codes, known = grouping(values, of, name)
        groups += [(name, str(one), codes == code) for code, one in enumerate(known)]
    rows = []
    for name, group, inside in groups:
        rows += _rows(of, chosen, name, group, inside, owners, chances, replicates, level, seed)
    return pd.DataFrame(rows)


def _probabilities(values: Any, of: Judged) -> Array:
    codes, known = grouping(values, of, "probabilities")
    try:
        chances = np.array([float(one) for one in known])[codes]
    except ValueError:
        wrong = next(one for one in known if not _number(one))
        raise InputError(
            f"'{wrong}' is not an inclusion probability", remedy="Name a column of numbers above 0, at most 1"
        ) from None
    if not ((chances > 0) & (chances <= 1)).all():
        raise InputError("an inclusion probability is not in (0, 1]", remedy="Give p_sample of every item")
    return chances


def _number(word: Any) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _rows(  # noqa: PLR0913, PLR0917
    of: Judged,
    chosen: Setting,
    name: str,
    group: str,
    inside: NDArray[np.bool_],
    owners: Codes | None,
    chances: Array | None,
    replicates: int,
    level: float,
    seed: int,
) -> list[dict[str, Any]]:
    gold = of.gold[inside]
    inner = None if owners is None else np.unique(owners[inside], return_inverse=True)[1]
    values, spread = values_and_replicates(of, chosen, inside, inner, replicates, seed)
    rows: list[dict[str, Any]] = []
    start = 0
    for system, runs in of.runs.items():
        here = slice(start, start + len(runs))
        start += len(runs)
        weighted = (
            {}
            if chances is None
            else weighted_values(
                [(gold, run[inside]) for run in runs],
                chances[inside],
                inner,
                chosen,
                unanswered=of.unanswered,
                level=level,
            )
        )
        for measure in chosen.measures:
            each = values[measure.name][here]
            row = {
                "system": system,
                "measure": measure.name,
                "group_by": name,
                "group": group,
                "items": int(inside.sum()),
                "value": _mean(each),
                "low": np.nan,
                "high": np.nan,
                "runs": len(runs),
                "sd": float(np.std(each, ddof=1)) if len(each) > 1 else np.nan,
            }
            if spread is not None:
                low, high = percentile_interval(spread[measure.name][:, here].mean(axis=1), level)
                row |= {"low": float(low), "high": float(high)}
            rows.append(row | weighted.get(measure.name, {}))
    return rows


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan


def values_and_replicates(
    of: Judged,
    chosen: Setting,
    inside: NDArray[np.bool_],
    owners: Codes | None,
    replicates: int,
    seed: int,
) -> tuple[dict[str, Array], dict[str, Array] | None]:
    """Every measure of every run (runs of all systems in a row), and of every replicate: (replicates, runs)."""
    classes = len(of.labels)
    columns = classes + of.unanswered
    cells = np.stack(
        [
            cell_codes(of.gold[inside], run[inside], classes, unanswered=of.unanswered)
            for runs in of.runs.values()
            for run in runs
        ],
        axis=1,
    )
    width = classes * columns
    observed = np.stack([np.bincount(one, minlength=width) for one in cells.T]).astype(np.float64)
    values = chosen.values(observed.reshape(-1, classes, columns))
    units = len(cells) if owners is None else int(owners.max()) + 1
    if replicates < 1 or units < 2:
        return values, None
    drawn = replicate_cells(in_any_order(cells, owners), width, replicates, seed, owners)
    return values, chosen.values(drawn.reshape(*drawn.shape[:2], classes, columns))


def confusions(
    gold: Any,
    systems: Mapping[str, Any],
    *,
    labels: Sequence[str],
    missing: Missing = "refuse",
    extra: Extra = "refuse",
) -> dict[str, Array]:
    """Each system's confusion matrix, gold in rows, its runs added up.

    >>> confusions(["a", "b"], {"s": ["a", "a"]}, labels=["a", "b"])["s"].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    of = judged(gold, systems, labels, missing, extra)
    return {
        name: np.sum(
            [confusion_matrix(of.gold, run, len(of.labels), unanswered=of.unanswered) for run in runs], axis=0
        )
        for name, runs in of.runs.items()
    }


def class_scores(
    gold: Any,
    systems: Mapping[str, Any],
    *,
    labels: Sequence[str],
    missing: Missing = "refuse",
    extra: Extra = "refuse",
) -> pd.DataFrame:
    """Precision, recall and F1 of every class, one row per system and label, means over its runs.

    >>> class_scores(["a", "b"], {"s": ["a", "a"]}, labels=["a", "b"])["recall"].tolist()
    [1.0, 0.0]
    """
    import pandas as pd

    of = judged(gold, systems, labels, missing, extra)
    rows = []
    for name, runs in of.runs.items():
        stack = np.stack(
            [confusion_matrix(of.gold, run, len(of.labels), unanswered=of.unanswered) for run in runs]
        )
        counts = Counts(stack)
        for code, label in enumerate(of.labels):
            rows.append(
                {
                    "system": name,
                    "label": label,
                    "gold": float(counts.gold[code].mean()),
                    "predicted": float(counts.predicted[code].mean()),
                    "right": float(counts.right[code].mean()),
                    "precision": float(counts.precision[code].mean()),
                    "recall": float(counts.recall[code].mean()),
                    "f1": float(counts.f1[code].mean()),
                }
            )
    return pd.DataFrame(rows)
