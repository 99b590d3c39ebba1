"""How far people agree: every coefficient that readers ask for, with intervals, and words where there is no number.

`low` and `high` are the interval over items; `low_by_claims` and `high_by_claims` that over claims, which is what a
statement about other claims needs. Both are Wilson's interval of agreement, mapped through the coefficient's own
formula. Two people: the headline is Cohen's kappa. Three or more: Fleiss' kappa, with Cohen's for every pair.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.drift import drift, time_per_item
from covmis_build.errors import InputError, counted, nearest
from covmis_build.stats.intervals import Interval, agreement_interval, kappa_interval
from covmis_build.stats.symmetry import bowker, stuart_maxwell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.stats.coefficients import Chance

    Array = NDArray[np.float64]
    ByChance = Callable[[Array], Chance]

LEVEL = 0.95
LANDIS_KOCH = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True, slots=True)
class Figure:
    """A coefficient of agreement: its value, its one interval, and in words why it has none."""

    name: str
    value: float | None
    interval: Interval | None
    words: str
    why: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Figure:
        """The figure of a record of `Agreement.to_dict`, or of report.json."""
        return cls(
            record["name"], record["value"], agreement_interval(record), record["words"], record["why"]
        )

    def __str__(self) -> str:
        if self.value is None:
            return self.why or f"{self.name} is not defined"
        told = ": ".join(str(part) for part in (self.interval, self.words) if part)
        return f"{self.name} {self.value:.2f}" + (f" ({told})" if self.interval else "")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree. `.kappa` is the headline: Cohen's for two people, Fleiss' for more.

    `numbers` are all figures as JSON has them; `notes` say in words what is missing and why.
    """

    numbers: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def kappa(self) -> Figure:
        """The headline."""
        return Figure.of(self.numbers["kappa"])

    @property
    def raw(self) -> Figure:
        """The share of agreeing pairs, not corrected for chance."""
        return Figure.of(self.numbers["raw_agreement"])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All coefficients, the headline first."""
        return tuple(Figure.of(record) for record in coefficient_rows(self.numbers))

    @property
    def sentence(self) -> str:
        """How much was compared."""
        numbers = self.numbers
        return (
            f"{counted(numbers['items'], 'items')}, {counted(len(numbers['annotators']), 'annotators')}, "
            f"{counted(numbers['items_with_two_labels'], 'items')} with two labels"
        )

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """What was compared, the coefficients as a table, and the notes."""
        names = {"name": "coefficient", "over": "interval over", "words": "in words"}
        return [self.sentence, self.to_frame().rename(columns=names), *(f"- {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: undefined numbers are None, and `notes` says why."""
        return {**self.numbers, "notes": list(self.notes)}

    def to_frame(self) -> pd.DataFrame:
        """A row a coefficient: name, value, low, high, over (what the interval is over), words."""
        return figures_frame(self.figures)

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<p><b>{escape(str(self.kappa))}</b></p>{self.to_frame().to_html(index=False, na_rep='')}<ul>{notes}</ul>"


def figures_frame(figures: Sequence[Figure]) -> pd.DataFrame:
    """Figures as a table, one a row."""
    import pandas as pd

    rows = [
        (
            figure.name, figure.value, figure.interval.low if figure.interval else None,
            figure.interval.high if figure.interval else None, figure.interval.over if figure.interval else "",
            figure.words,
        )
        for figure in figures
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["name", "value", "low", "high", "over", "words"])


@dataclass(frozen=True, slots=True)
class Judgements:
    """Labels as codes: a row an item, a column a person, -1 for no label."""

    codes: NDArray[np.int64]
    items: list[str]
    people: list[str]
    claims: list[str] | None
    classes: list[str]


def agreement(  # noqa: PLR0913 - each names a column or a choice of the reader's
    frame: Any,
    *,
    item: str = "item",
    annotator: str | Sequence[str] = "annotator",
    label: str = "label",
    claim: str | None = None,
    round: str | None = None,  # noqa: A002 - the column's name in the tables
    labels: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    seed: int = 0,  # noqa: ARG001 - as others' calls have it: nothing is drawn any more
) -> Agreement:
    """Compare people's labels.

    `frame` is long, a row a label, or wide, a row an item and a column a person: then `annotator` lists those columns
    (default: all but item, claim and round), and the index names the items if no column does. `claim` and `round` name
    columns (default: claim and round, where there are such columns). `labels` declares the scheme (default: the labels
    that occur); `order` declares them ordered, which adds weighted kappa and the ordinal and interval alphas. A row or
    cell without a label is an item that this person has not labelled.

    >>> import pandas as pd
    >>> wide = pd.DataFrame({"item": [1, 2, 3, 4], "x": list("aabb"), "y": list("abbb")})
    >>> compared = agreement(wide, labels=["a", "b"])
    >>> compared.kappa.name, round(compared.kappa.value, 3)
    ("Cohen's kappa", 0.5)
    """
    rows = _long(frame, item, annotator, label, claim, round)
    rows = _checked(rows, labels or order or ())
    classes = list(order or labels or ()) or sorted(rows["label"].unique())
    _check_scheme(classes, labels, order)
    judged = judgements(rows, classes)
    numbers, notes = coefficients(judged, ordered=bool(order))
    numbers["order"] = list(order) if order else None
    numbers["pairs"] = [pair(judged, *two) for two in itertools.combinations(range(len(judged.people)), 2)]
    numbers["rounds"], too_small = by_round(rows, classes)
    numbers["homogeneity"], same_or_not = homogeneity(numbers["rounds"])
    numbers["drift"] = drift(rows, classes)
    numbers["by_claim"] = by_group(rows, classes, "claim")
    numbers["by_kind"] = by_group(rows, classes, "kind")
    numbers["dawid_skene"] = second_opinion(judged)
    numbers["time"] = time_per_item(rows)
    return Agreement(numbers, (*notes, *too_small, *same_or_not))


def _long(
    frame: Any, item: str, annotator: str | Sequence[str], label: str, claim: str | None, round_: str | None
) -> pd.DataFrame:
    """The frame with the columns item, annotator, label, and claim and round where there are any."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        try:
            frame = pd.DataFrame(frame)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"this is no table: {error}", remedy="Give a DataFrame, or columns by name"
            ) from None
    for name in (claim, round_):
        if name is not None and name not in frame.columns:
            raise missing_column(name, frame)
    beside = {name: given or name for name, given in (("claim", claim), ("round", round_))}
    kept = [name for name in beside.values() if name in frame.columns]
    people = _columns_of_people(frame, item, annotator, label, kept)
    if people is not None:
        if item not in frame.columns:
            frame = frame.rename_axis(index=item).reset_index()
        frame = frame.melt(
            id_vars=[item, *kept],
            value_vars=people,
            var_name="annotator",
            value_name="label",
            ignore_index=False,
        )
        annotator, label = "annotator", "label"
    for name in (item, str(annotator), label):
        if name not in frame.columns:
            raise missing_column(name, frame)
    names = {item: "item", str(annotator): "annotator", label: "label"} | {
        given: name for name, given in beside.items()
    }
    in_the_way = [name for name in names.values() if name in frame.columns and name not in names]
    renamed: pd.DataFrame = frame.drop(columns=in_the_way).rename(columns=names)
    return renamed


def _columns_of_people(
    frame: pd.DataFrame, item: str, annotator: str | Sequence[str], label: str, kept: Sequence[str]
) -> list[str] | None:
    """The columns of a wide frame that hold people's labels; None if the frame is long."""
    if not isinstance(annotator, str):
        for name in annotator:
            if name not in frame.columns:
                raise missing_column(name, frame)
        return list(annotator)
    if item in frame.columns and annotator not in frame.columns and label not in frame.columns:
        people = [str(name) for name in frame.columns if name not in {item, *kept}]
        return people if len(people) > 1 else None
    return None


def missing_column(name: str, frame: pd.DataFrame) -> InputError:
    """The error about a column that is not there, with those that are."""
    return InputError(
        f"the column {name} is missing", remedy=f"Columns: {', '.join(map(str, frame.columns)) or 'none'}"
    )


def _checked(frame: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    rows = frame[~_blank(frame["label"])].copy()
    for name in ("item", "annotator"):
        if rows[name].isna().any():
            raise InputError(
                f"the column {name} has an empty cell", row=_row(rows.index[rows[name].isna()][0])
            )
    for name in ("item", "annotator", "label"):
        rows[name] = [_text(cell) for cell in rows[name]]
    unknown = sorted(set(rows["label"]) - set(labels)) if labels else []
    if unknown:
        row = rows.index[rows["label"] == unknown[0]][0]
        raise InputError(f"unknown label '{unknown[0]}'", row=_row(row), remedy=nearest(unknown[0], labels))
    twice = rows[rows.duplicated(["item", "annotator"])]
    if len(twice):
        second = twice.iloc[0]
        raise InputError(
            f"{second['annotator']} labels the item {second['item']} twice",
            row=_row(twice.index[0]),
            remedy="Keep one row for each item and annotator",
        )
    return rows.reset_index(drop=True)


def _text(cell: Any) -> str:
    """A cell as text, without blanks around it; whole numbers that a gap in the column made floats are whole again."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _blank(column: pd.Series) -> pd.Series:
    """Which cells are empty."""
    return column.isna() | (column.astype(str).str.strip() == "")


def _row(index: Any) -> int | str:
    """The row as a file counts it, under its header."""
    return int(index) + 2 if isinstance(index, int) or hasattr(index, "item") else str(index)


def _check_scheme(classes: Sequence[str], labels: Sequence[str] | None, order: Sequence[str] | None) -> None:
    if len(set(classes)) < len(classes):
        raise InputError("a label is declared twice")
    if order and labels and sorted(order) != sorted(labels):
        raise InputError("the order must name every label once", remedy=f"Labels: {', '.join(labels)}")


def judgements(rows: pd.DataFrame, classes: Sequence[str]) -> Judgements:
    """The rows as codes; the claim of an item is that of its first row."""
    import numpy as np

    items, people = sorted(rows["item"].unique()), sorted(rows["annotator"].unique())
    codes = np.full((len(items), len(people)), -1, dtype=np.int64)
    row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (items, people))
    code_of = {label: at for at, label in enumerate(classes)}
    for item, who, label in zip(rows["item"], rows["annotator"], rows["label"], strict=True):
        codes[row_of[item], column_of[who]] = code_of[label]
    claims = None
    # an empty cell is no claim: then nobody knows which items belong together
    if "claim" in rows.columns and len(rows) and not _blank(rows["claim"]).any():
        first = rows.drop_duplicates("item").set_index("item")["claim"]
        claims = [str(first[item]) for item in items]
    return Judgements(codes, items, people, claims, list(classes))


def coefficients(judged: Judgements, *, ordered: bool) -> tuple[dict[str, Any], list[str]]:
    """All coefficients of these judgements, and the words for those that are not defined."""
    from covmis_build.stats import coefficients as c

    classes = max(len(judged.classes), 2)
    counts = c.label_counts(judged.codes, classes)
    double = int((counts.sum(1) > 1).sum())
    why = _why_undefined(judged, counts, double)
    two = len(judged.people) == 2
    tables = c.pair_tables(judged.codes[:, 0], judged.codes[:, 1], classes) if two else None
    sums, pairs = c.agreement_sums(counts), c.coincidences(counts)

    def figure(name: str, sums_of_items: Array, chance: ByChance, **more: Any) -> dict[str, Any]:
        whole = chance(sums_of_items.sum(0))
        value = number(c.corrected(whole)) if double else None
        low, high, low_by_claims, high_by_claims = None, None, None, None
        if value is not None:
            low, high = over_items(whole, double)
            low_by_claims, high_by_claims = by_claims(judged, sums_of_items, chance)
        record = {"name": name, "value": value, "low": low, "high": high} | more
        return record | {
            "low_by_claims": low_by_claims, "high_by_claims": high_by_claims, "why": why if value is None else "",
            "words": words(low_by_claims, high_by_claims) or words(low, high),
        }  # fmt: skip

    # Where all items have as many labels, Gwet's generalisation is Fleiss' own.
    missing = len(set(counts.sum(1))) > 1
    fleiss = figure(
        "Fleiss' kappa, generalised (Gwet)" if missing else "Fleiss' kappa", sums, c.fleiss_chance
    )
    ac1_error = c.standard_error(sums, c.gwet_chance(sums.sum(0)), c.gwet_pulls(sums))
    numbers: dict[str, Any] = {
        "labels": judged.classes,
        "annotators": judged.people,
        "items": len(judged.items),
        "items_with_two_labels": double,
        "answers": int(counts.sum()),
        "claims": len(set(judged.claims)) if judged.claims else None,
        "kappa": figure(
            "Cohen's kappa", tables, c.cohen_chance, **cohen(tables.sum(0))
        ) if tables is not None else fleiss,
        "raw_agreement": figure("Raw agreement", sums, _without_chance) | {"words": ""},
        "kappa_max": number(c.kappa_max(tables.sum(0))) if tables is not None else None,
        "weighted_kappa": None,
        "scott_pi": figure("Scott's pi", tables, c.scott_chance) if tables is not None else None,
        "fleiss_kappa": fleiss,
        "conger_kappa": None if two else figure(
            "Conger's kappa", c.conger_sums(judged.codes, classes), partial(c.conger_chance, classes=classes)
        ),
        "alpha": {"nominal": figure("Krippendorff's alpha, nominal", pairs, c.alpha_chance)},
        "ac1": figure("Gwet's AC1", sums, c.gwet_chance, se=number(ac1_error)),
        "ac2": None,
        "pabak": figure("PABAK", sums, c.brennan_prediger_chance),
        "classes": per_class(judged, counts, tables),
    }  # fmt: skip
    if ordered:
        scales: tuple[c.Distance, ...] = ("ordinal", "interval")
        numbers["alpha"] |= {
            name: figure(f"Krippendorff's alpha, {name}", pairs, partial(c.alpha_chance, distance=name))
            for name in scales
        }
        weightings: tuple[c.Weights, ...] = ("linear", "quadratic")
        numbers["ac2"] = {
            name: figure(
                f"Gwet's AC2, {name}", c.agreement_sums(counts, name), partial(c.gwet_chance, weights=name)
            )
            for name in weightings
        }
        numbers["weighted_kappa"] = {
            name: figure(f"Weighted kappa, {name}", tables, partial(c.cohen_chance, weights=name))
            if tables is not None
            else figure(
                f"Conger's kappa, {name}", c.conger_sums(judged.codes, classes, name),
                partial(c.conger_chance, classes=classes, weights=name),
            )
            for name in weightings
        }  # fmt: skip
    return numbers, [why] if why else []


def _without_chance(sums: Array) -> Chance:
    """Raw agreement is a share: nothing is taken off for chance."""
    import numpy as np

    from covmis_build.stats.coefficients import Chance

    agree: Array = sums[..., 1] / sums[..., 0].clip(min=1e-300)
    return Chance(agree, np.zeros_like(agree))


def _why_undefined(judged: Judgements, counts: Array, double: int) -> str:
    """Why chance-corrected agreement has no number here; empty if it has one."""
    if not judged.items:
        return "There are no labels yet."
    if len(judged.people) < 2:
        return f"Only {judged.people[0]} has labelled; agreement needs two people."
    if not double:
        return "No item has labels of two people, so there is nothing to compare."
    used = [
        label for label, count in zip(judged.classes, counts[counts.sum(1) > 1].sum(0), strict=False) if count
    ]
    if len(used) == 1:
        return (
            f"Everybody gave the label {used[0]} to every item that two people labelled: they agree on all of them, "
            "and a correction for chance is not defined."
        )
    return ""


def cohen(table: Array) -> dict[str, Any]:
    """Cohen's kappa of a table, its asymptotic standard error by statsmodels, and its interval over items."""
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    from covmis_build.stats.coefficients import cohen_chance, cohen_kappa

    if number(cohen_kappa(table)) is None:
        return {"value": None, "se": None, "low": None, "high": None}
    with np.errstate(invalid="ignore", divide="ignore"):  # a variance of zero may come out below it
        result = cohens_kappa(table)
    variance = float(result.var_kappa)
    low, high = over_items(cohen_chance(table), float(table.sum()))
    return {
        "value": float(result.kappa), "se": math.sqrt(variance) if variance > 1e-15 else 0.0, "low": low, "high": high,
    }  # fmt: skip


def over_items(chance: Chance, items: float) -> tuple[float | None, float | None]:
    """The coefficient's interval over the items that two people labelled."""
    low, high, _ = kappa_interval(float(chance.observed), float(chance.expected), items, level=LEVEL)
    return number(low), number(high)


def by_claims(judged: Judgements, sums: Array, chance: ByChance) -> tuple[float | None, float | None]:
    """The coefficient's interval over claims; None if there are fewer than three, or two's worth."""
    import numpy as np

    from covmis_build.stats.coefficients import corrected

    names = sorted(set(judged.claims or ()))
    if len(names) < 3:
        return None, None
    place = {name: at for at, name in enumerate(names)}
    claims = [place[name] for name in judged.claims or ()]
    totals = np.zeros((len(names), *sums.shape[1:]))
    np.add.at(totals, claims, sums)
    sizes = np.bincount(claims, ((judged.codes >= 0).sum(1) > 1).astype(float), minlength=len(names))
    whole = totals.sum(0)
    left_out = corrected(chance(whole - totals))
    observed, expected = (float(part) for part in chance(whole))
    low, high, _ = kappa_interval(
        observed, expected, float(sizes.sum()), left_out=left_out, sizes=sizes, level=LEVEL
    )
    return number(low), number(high)


def per_class(judged: Judgements, counts: Array, tables: Array | None) -> list[dict[str, Any]]:
    """For each label: how often it was given, positive agreement, and its kappa against all other labels."""
    import numpy as np

    from covmis_build.stats import coefficients as c

    pairs = c.coincidences(counts).sum(0)
    shared = counts[counts.sum(1) > 1]
    classes = []
    for at, label in enumerate(judged.classes):
        against_rest = np.stack([shared[:, at], shared.sum(1) - shared[:, at]], axis=1)
        own = {"label": label, "given": int(counts[:, at].sum())}
        own["positive_agreement"] = number(pairs[at, at] / pairs[at].sum()) if pairs[at].sum() else None
        if tables is None:
            own["kappa"] = number(c.fleiss_kappa(c.agreement_sums(against_rest).sum(0)))
            own |= {"prevalence_index": None, "bias_index": None}
        else:
            table = c.class_tables(tables.sum(0))[at]
            own["kappa"] = number(c.cohen_kappa(table))
            own["prevalence_index"] = number(c.prevalence_index(table))
            own["bias_index"] = number(c.bias_index(table))
        classes.append(own)
    return classes


def pair(judged: Judgements, first: int, second: int) -> dict[str, Any]:
    """Two people's table, their kappa, and the tests of its symmetry and of equal use of the labels."""
    from covmis_build.stats import coefficients as c

    classes = max(len(judged.classes), 2)
    table = c.pair_tables(judged.codes[:, first], judged.codes[:, second], classes).sum(0)
    return {
        "first": judged.people[first],
        "second": judged.people[second],
        "items": int(table.sum()),
        "raw_agreement": number(c.observed(table)),
        "kappa": cohen(table),
        "kappa_max": number(c.kappa_max(table)),
        "table": table[: len(judged.classes), : len(judged.classes)].astype(int).tolist(),
        "bowker": bowker(table),
        "stuart_maxwell": stuart_maxwell(table),
    }


def by_round(rows: pd.DataFrame, classes: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Kappa of every round with its interval, and the warning that a round is too small to compare."""
    if "round" not in rows.columns:
        return [], []
    kappas = [
        {"round": str(name), **_kappa(part, classes)} for name, part in rows.groupby("round", sort=True)
    ]
    errors = [kappa["se"] for kappa in kappas if kappa["se"]]
    if len(kappas) < 2 or not errors:
        return kappas, []
    apart = 1.96 * math.sqrt(2) * sum(errors) / len(errors)
    told = (
        f"Kappas of two single rounds must lie about {apart:.2f} apart before chance is an unlikely explanation; "
        "one round of 144 labels cannot tell 0.61 from 0.67."
    )
    return kappas, [told]


def _kappa(rows: pd.DataFrame, classes: Sequence[str]) -> dict[str, Any]:
    """The headline kappa of some rows: Cohen's for two people, Fleiss' for more."""
    from covmis_build.stats import coefficients as c

    judged = judgements(rows, classes)
    size = max(len(classes), 2)
    counts = c.label_counts(judged.codes, size)
    kappa: dict[str, Any] = {
        "items": len(judged.items),
        "items_with_two_labels": int((counts.sum(1) > 1).sum()),
        "value": None,
        "low": None,
        "high": None,
        "se": None,
    }
    sums = c.agreement_sums(counts)
    kappa["raw_agreement"] = number(sums[:, 1].sum() / sums[:, 0].sum()) if sums[:, 0].sum() else None
    if len(judged.people) == 2:
        kappa |= cohen(c.pair_tables(judged.codes[:, 0], judged.codes[:, 1], size).sum(0))
    elif len(judged.people) > 2:
        kappa["value"] = number(c.fleiss_kappa(sums.sum(0)))
        if kappa["value"] is not None:
            kept = sums[sums[:, 2:].any(1)]
            kappa["se"] = number(c.standard_error(kept, c.fleiss_chance(kept.sum(0)), c.fleiss_pulls(kept)))
            kappa["low"], kappa["high"] = over_items(c.fleiss_chance(sums.sum(0)), float(sums[:, 0].sum()))
    return kappa | {"words": words(kappa["low"], kappa["high"])}


def homogeneity(rounds: Sequence[dict[str, Any]]) -> tuple[dict[str, Any] | None, list[str]]:
    """The test that all rounds have one kappa (Fleiss' chi-square over inverse variances), and its words."""
    from scipy.stats import chi2

    kappas = [kappa for kappa in rounds if kappa["value"] is not None and kappa["se"]]
    if len(kappas) < 2:
        return None, []
    weights = [1 / kappa["se"] ** 2 for kappa in kappas]
    mean = sum(w * kappa["value"] for w, kappa in zip(weights, kappas, strict=True)) / sum(weights)
    statistic = sum(w * (kappa["value"] - mean) ** 2 for w, kappa in zip(weights, kappas, strict=True))
    p = float(chi2.sf(statistic, len(kappas) - 1))
    test = {"statistic": statistic, "df": len(kappas) - 1, "p": p, "common_kappa": mean}
    told = "differ more than chance explains" if p < 0.05 else "do not differ more than chance explains"
    return test, [
        f"The kappas of {len(kappas)} rounds {told} (chi-square {statistic:.2f} on {len(kappas) - 1}, p = {p:.3f})."
    ]


def by_group(rows: pd.DataFrame, classes: Sequence[str], column: str) -> list[dict[str, Any]]:
    """Agreement within each claim, or each kind of query: items, raw agreement, kappa."""
    if column not in rows.columns:
        return []
    names = ("items_with_two_labels", "raw_agreement", "value", "low", "high")
    groups = []
    for name, part in rows.groupby(column, sort=True):
        numbers = _kappa(part, classes)
        groups.append({column: str(name), **{key: numbers[key] for key in names}})
    return groups


def second_opinion(judged: Judgements) -> dict[str, Any] | None:
    """Dawid and Skene's model, as a check where three or more people labelled.

    How often each is estimated to be right, and the items where the model is surer of another label than most people's.
    """
    import numpy as np

    from covmis_build.stats.coefficients import label_counts
    from covmis_build.stats.dawid_skene import dawid_skene

    if len(judged.people) < 3 or len(judged.classes) < 2:
        return None
    counts = label_counts(judged.codes, len(judged.classes))
    fitted = dawid_skene(judged.codes, len(judged.classes))
    best = fitted.labels.argmax(1)
    most = counts.max(1)
    doubted = [
        {
            "item": judged.items[at],
            "label": judged.classes[best[at]],
            "probability": float(fitted.labels[at, best[at]]),
        }
        for at in np.flatnonzero((counts.sum(1) > 2) & (counts[np.arange(len(best)), best] < most))
    ]
    accuracy = [
        {"annotator": who, "estimated_accuracy": float(value)}
        for who, value in zip(judged.people, fitted.accuracy, strict=True)
    ]
    return {"annotators": accuracy, "against_most": doubted}


def coefficient_rows(numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """The coefficients one below the other, in the order in which they are reported."""
    weighted = numbers["weighted_kappa"] or {}
    ordered = [
        numbers["kappa"], numbers["raw_agreement"], *weighted.values(), numbers["scott_pi"],
        numbers["fleiss_kappa"] if numbers["kappa"]["name"] != numbers["fleiss_kappa"]["name"] else None,
        numbers["conger_kappa"], *numbers["alpha"].values(), numbers["ac1"], *(numbers["ac2"] or {}).values(),
        numbers["pabak"],
    ]  # fmt: skip
    return [figure for figure in ordered if figure]


def number(value: Any) -> float | None:
    """A plain number, or None where there is none."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def landis_koch(value: float) -> str:
    """Landis and Koch's word for a kappa.

    >>> landis_koch(0.67), landis_koch(-0.1), landis_koch(0.81)
    ('substantial', 'poor', 'almost perfect')
    """
    return next((word for limit, word in LANDIS_KOCH if value <= limit), "almost perfect")


def words(low: float | None, high: float | None) -> str:
    """Landis and Koch's words for both ends of an interval, never for the value alone.

    >>> words(0.53, 0.74), words(0.65, 0.7)
    ('moderate to substantial', 'substantial')
    """
    if low is None or high is None:
        return ""
    both = dict.fromkeys([landis_koch(low), landis_koch(high)])
    return " to ".join(both)


def read_labels_file(path: Path) -> pd.DataFrame:
    """A CSV of labels (item, annotator, label, and maybe claim, round, kind, seconds, comment), for comparison."""
    import pandas as pd

    from covmis_build.annotation.channels.sheets import read_rows

    try:
        rows = read_rows(path, ("item", "annotator", "label"))
    except InputError as error:
        if "column" in error.problem:
            error.remedy = "It needs a row for each label, with the columns item, annotator and label"
        raise
    if not rows:
        raise InputError("has a header and no labels", file=path, remedy="Give a row for each label")
    numbers = [int(row.pop("row")) - 2 for row in rows]
    frame = pd.DataFrame(rows, index=numbers, dtype=object)
    if "seconds" in frame.columns:
        try:
            frame["seconds"] = pd.to_numeric(frame["seconds"].replace("", None))
        except (ValueError, TypeError):
            raise InputError("seconds must be numbers", file=path) from None
    return frame
