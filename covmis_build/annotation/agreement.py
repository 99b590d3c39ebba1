"""Agreement between annotators: the usual coefficients with confidence intervals, and the reason if one is undefined.

`low` and `high` are the interval over items. `low_by_claims` and `high_by_claims` are the interval over claims, which
generalises to other claims. The headline is Cohen's kappa for two annotators. For three or more it is Fleiss' kappa, with
Cohen's kappa for each pair.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from covmis_build.annotation.drift import Drift, TimePerItem, drift, time_per_item
from covmis_build.annotation.group_agreement import (
    ClaimAgreement,
    GroupAgreement,
    Homogeneity,
    KindAgreement,
    RoundAgreement,
    by_group,
    by_round,
    homogeneity,
    too_small,
)
from covmis_build.annotation.label_matrix import in_scheme, label_matrix, long_rows
from covmis_build.errors import counted
from covmis_build.report.result import Result
from covmis_build.stats import coefficients as c
from covmis_build.stats.agreement import (
    Figure,
    coefficient,
    coincidences_of,
    fleiss,
    headline,
    number,
    pairs_of,
    shares_of,
)
from covmis_build.stats.chi_square import ChiSquare, bowker, stuart_maxwell
from covmis_build.stats.intervals import UNIT, between

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.label_matrix import LabelMatrix
    from covmis_build.stats.coefficients import Array, Chance


class PairKappa(Struct, frozen=True):
    """Cohen's kappa of two annotators, with standard error and interval over items."""

    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None


class PairAgreement(Struct, frozen=True):
    """Agreement of two annotators. `table` has one row per label of the first and one column per label of the second."""

    first: str
    second: str
    items: int
    raw_agreement: float | None
    kappa: PairKappa
    kappa_max: float | None
    table: list[list[int]]
    bowker: ChiSquare | None
    stuart_maxwell: ChiSquare | None


class ClassAgreement(Struct, frozen=True):
    """Agreement on one label. Both indices are computed from tables of two annotators."""

    label: str
    given: int
    positive_agreement: float | None
    kappa: float | None
    prevalence_index: float | None = None
    bias_index: float | None = None


class Agreement(Result, Struct, frozen=True, kw_only=True):
    """Agreement between annotators. `.kappa` is the headline: Cohen's kappa for two, Fleiss' kappa for more.

    `raw` is the share of agreeing pairs, not corrected for chance. What is not defined is None, and `notes` say in
    words what is missing and why.
    """

    labels: list[str]
    annotators: list[str]
    items: int
    items_with_two_labels: int
    answers: int
    claims: int | None
    kappa: Figure
    raw: Figure = field(name="raw_agreement")
    kappa_max: float | None
    weighted_kappa: dict[str, Figure] | None
    scott_pi: Figure | None
    fleiss_kappa: Figure
    conger_kappa: Figure | None
    alpha: dict[str, Figure]
    ac1: Figure
    ac2: dict[str, Figure] | None
    pabak: Figure
    classes: list[ClassAgreement]
    order: list[str] | None = None
    pairs: list[PairAgreement] = []
    rounds: list[RoundAgreement] = []
    homogeneity: Homogeneity | None = None
    drift: list[Drift] = []
    by_claim: list[GroupAgreement] = []
    by_kind: list[GroupAgreement] = []
    dawid_skene: SecondOpinion | None = None
    time: list[TimePerItem] = []
    notes: list[str] = []

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Return all coefficients in report order, the headline first."""
        ordered = [
            self.kappa,
            self.raw,
            *(self.weighted_kappa or {}).values(),
            self.scott_pi,
            self.fleiss_kappa if self.kappa.name != self.fleiss_kappa.name else None,
            self.conger_kappa,
            *self.alpha.values(),
            self.ac1,
            *(self.ac2 or {}).values(),
            self.pabak,
        ]
        return tuple(figure for figure in ordered if figure)

    @property
    def printed(self) -> list[tuple[str, float | None, str, str, str]]:
        """Return one row per coefficient for pages and papers: name, value, interval over items, over claims, note."""
        return [
            (
                each.name,
                each.value,
                between(each.low, each.high),
                between(each.low_by_claims, each.high_by_claims),
                each.words,
            )
            for each in self.figures
        ]

    @property
    def sentence(self) -> str:
        """Return the number of items, labels and annotators as a sentence."""
        return (
            f"{counted(self.items, 'items')}, {counted(len(self.annotators), 'annotators')}, "
            f"{counted(self.items_with_two_labels, 'items')} with two labels"
        )

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """Return the compared data, the coefficients as a table, and the notes."""
        names = {"name": "coefficient", "over": "interval over", "words": "in words"}
        return [
            str(self.kappa),
            self.sentence,
            self.to_frame().rename(columns=names),
            *(f"- {note}" for note in self.notes),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON. Undefined numbers are None; `notes` gives the reason."""
        numbers: dict[str, Any] = to_builtins(self)
        return numbers

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coefficient: name, value, low, high, over (unit of the interval), words."""
        import pandas as pd

        rows = []
        for figure in self.figures:
            interval = figure.interval
            ends = (interval.low, interval.high, interval.over) if interval else (None, None, "")
            rows.append((figure.name, figure.value, *ends, figure.words))
        return pd.DataFrame(rows, columns=["name", "value", "low", "high", "over", "words"])


def agreement(  # noqa: PLR0913 - a table, the names of its columns, and what is asked, by name
    frame: Any,
    *,
    item: str = "item",
    annotator: str | Sequence[str] = "annotator",
    label: str = "label",
    claim: str | None = None,
    round: str | None = None,  # noqa: A002 - the column's name in the tables
    labels: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    brief: bool = False,
) -> Agreement:
    """Measure the agreement between annotators.

    `frame` is long (one row per label) or wide (one row per item, one column per annotator). For a wide frame `annotator` lists
    the annotator columns (default: all but item, claim and round), and the index names the items if no column does. `claim` and
    `round` name columns (default: claim or claim_id, and round, if present; items may be item_id). `labels` declares the
    scheme (default: the labels that occur). `order` declares ordered labels, which adds weighted kappa and the ordinal and
    interval alphas. A row or cell without a label means that this annotator has not labelled the item. `brief` leaves out what
    the board does not show: kappa's standard error and maximum, pairs, rounds, drift.

    >>> import pandas as pd
    >>> wide = pd.DataFrame({"item": [1, 2, 3, 4], "x": list("aabb"), "y": list("abbb")})
    >>> compared = agreement(wide, labels=["a", "b"])
    >>> compared.kappa.name, round(compared.kappa.value, 3)
    ("Cohen's kappa", 0.5)
    """
    rows = long_rows(frame, item, annotator, label, claim, round)
    rows, classes = in_scheme(rows, labels, order)
    matrix = label_matrix(rows, classes)
    compared = coefficients(matrix, ordered=bool(order), brief=brief)
    if brief:
        return replace(compared, by_claim=by_group(rows, classes, "claim", ClaimAgreement))
    rounds = by_round(rows, classes)
    test, same_or_not = homogeneity(rounds)
    pairs = itertools.combinations(range(len(matrix.people)), 2)
    return replace(
        compared,
        order=list(order) if order else None,
        pairs=[_pair_agreement(matrix, *two) for two in pairs],
        rounds=rounds,
        homogeneity=test,
        drift=drift(rows, classes),
        by_claim=by_group(rows, classes, "claim", ClaimAgreement),
        by_kind=by_group(rows, classes, "kind", KindAgreement),
        dawid_skene=_second_opinion(matrix),
        time=time_per_item(rows),
        notes=[*compared.notes, *too_small(rounds), *same_or_not],
    )


def coefficients(matrix: LabelMatrix, *, ordered: bool, brief: bool = False) -> Agreement:
    """Compute all coefficients of these labels, with a note for each undefined one."""
    classes = max(len(matrix.classes), 2)
    counts = c.label_counts(matrix.codes, classes)
    double = int((counts.sum(1) > 1).sum())
    why = _why_undefined(matrix, counts, double)
    two = len(matrix.people) == 2
    tables = c.pair_tables(matrix.codes[:, 0], matrix.codes[:, 1], classes) if two else None
    sums = c.agreement_sums(counts)
    figure = partial(coefficient, codes=matrix.codes, classes=classes, claims=matrix.claims, why=why)
    shares, tables_of = partial(shares_of, classes=classes), partial(pairs_of, classes=classes)
    ac1_error = c.standard_error(sums, c.gwet_chance(sums.sum(0)), c.gwet_pulls(sums))
    weightings: tuple[c.Weights, ...] = ("linear", "quadratic") if ordered else ()
    scales: tuple[c.Distance, ...] = ("nominal", "ordinal", "interval") if ordered else ("nominal",)
    return Agreement(
        labels=matrix.classes,
        annotators=matrix.people,
        items=len(matrix.items),
        items_with_two_labels=double,
        answers=int(counts.sum()),
        claims=len(set(matrix.claims)) if matrix.claims else None,
        kappa=headline(matrix.codes, classes, matrix.claims, why=why, error=not brief),
        raw=replace(figure("Raw agreement", shares, _without_chance, bounds=UNIT), words=""),
        kappa_max=None if tables is None or brief else number(c.cohen_details(tables.sum(0)).maximum),
        weighted_kappa={
            name: figure(f"Weighted kappa, {name}", tables_of, partial(c.cohen_chance, weights=name))
            if tables is not None
            else figure(
                f"Conger's kappa, {name}",
                partial(c.conger_sums, classes=classes, weights=name),
                partial(c.conger_chance, classes=classes, weights=name),
                like=(
                    partial(shares_of, classes=classes, weights=name),
                    partial(c.fleiss_chance, weights=name),
                ),
            )
            for name in weightings
        }
        or None,
        scott_pi=figure("Scott's pi", tables_of, c.scott_chance) if tables is not None else None,
        fleiss_kappa=fleiss(matrix.codes, classes, matrix.claims, why=why),
        conger_kappa=None
        if two
        else figure(
            "Conger's kappa",
            partial(c.conger_sums, classes=classes),
            partial(c.conger_chance, classes=classes),
            like=(shares, c.fleiss_chance),
        ),
        alpha={
            name: figure(
                f"Krippendorff's alpha, {name}",
                partial(coincidences_of, classes=classes),
                partial(c.alpha_chance, distance=name),
            )
            for name in scales
        },
        ac1=figure("Gwet's AC1", shares, c.gwet_chance, se=ac1_error),
        ac2={
            name: figure(
                f"Gwet's AC2, {name}", partial(shares, weights=name), partial(c.gwet_chance, weights=name)
            )
            for name in weightings
        }
        or None,
        pabak=figure("PABAK", shares, c.brennan_prediger_chance),
        classes=_by_class(matrix.classes, counts, tables),
        notes=[why] if why else [],
    )


def _pair_agreement(matrix: LabelMatrix, first: int, second: int) -> PairAgreement:
    """Compare the labels of two annotators, given as columns."""
    classes = len(matrix.classes)
    codes = matrix.codes[:, [first, second]]
    codes = codes[(codes >= 0).all(1)]
    table = c.pair_tables(codes[:, 0], codes[:, 1], max(classes, 2)).sum(0)
    kappa = headline(codes, max(classes, 2))
    return PairAgreement(
        first=matrix.people[first],
        second=matrix.people[second],
        items=int(table.sum()),
        raw_agreement=number(c.observed(table)),
        kappa=PairKappa(kappa.value, kappa.error, kappa.low, kappa.high),
        kappa_max=number(c.cohen_details(table).maximum),
        table=table[:classes, :classes].astype(int).tolist(),
        bowker=bowker(table),
        stuart_maxwell=stuart_maxwell(table),
    )


def _by_class(labels: Sequence[str], counts: Array, tables: Array | None) -> list[ClassAgreement]:
    """Agreement per label, from the number of annotators per item and label. `tables` compare two annotators each."""
    import numpy as np

    pairs = c.coincidences(counts).sum(0)
    shared = counts[counts.sum(1) > 1]
    classes = []
    for at, label in enumerate(labels):
        positive = number(pairs[at, at] / pairs[at].sum()) if pairs[at].sum() else None
        told = (label, int(counts[:, at].sum()), positive)
        if tables is None:
            against_rest = np.stack([shared[:, at], shared.sum(1) - shared[:, at]], axis=1)
            kappa = c.fleiss_kappa(c.agreement_sums(against_rest).sum(0))
            classes.append(ClassAgreement(*told, number(kappa)))
        else:
            table = c.class_tables(tables.sum(0))[at]
            measures = (c.cohen_kappa, c.prevalence_index, c.bias_index)
            classes.append(ClassAgreement(*told, *(number(measure(table)) for measure in measures)))
    return classes


def _without_chance(sums: Array) -> Chance:
    """Return raw agreement, the share of agreeing pairs without chance correction."""
    import numpy as np

    agree: Array = sums[..., 1] / sums[..., 0].clip(min=1e-300)
    return c.Chance(agree, np.zeros_like(agree))


def _why_undefined(matrix: LabelMatrix, counts: Array, double: int) -> str:
    """Return the reason why chance-corrected agreement is undefined; empty if it is defined."""
    if not matrix.items:
        return "There are no labels yet."
    if len(matrix.people) < 2:
        return f"Only {matrix.people[0]} has labelled; agreement needs two annotators."
    if not double:
        return "No item has labels of two annotators, so agreement cannot be computed."
    used = [
        label for label, count in zip(matrix.classes, counts[counts.sum(1) > 1].sum(0), strict=False) if count
    ]
    if len(used) == 1:
        return (
            f"All annotators gave the label {used[0]} to every item with two labels: they agree on all items, "
            "and coefficients corrected for chance are undefined."
        )
    return ""


class EstimatedAccuracy(Struct, frozen=True):
    """The model's estimate of an annotator's accuracy."""

    annotator: str
    estimated_accuracy: float


class Doubt(Struct, frozen=True):
    """An item for which the model prefers another label than the majority."""

    item: str
    label: str
    probability: float


class SecondOpinion(Struct, frozen=True):
    """The model's estimates of annotators and items."""

    annotators: list[EstimatedAccuracy]
    against_most: list[Doubt]


def _second_opinion(matrix: LabelMatrix) -> SecondOpinion | None:
    """Fit the model to these labels. None with fewer than three annotators."""
    import numpy as np

    from covmis_build.stats.coefficients import label_counts
    from covmis_build.stats.dawid_skene import dawid_skene

    if len(matrix.people) < 3 or len(matrix.classes) < 2:
        return None
    counts = label_counts(matrix.codes, len(matrix.classes))
    fitted = dawid_skene(matrix.codes, len(matrix.classes))
    best = fitted.labels.argmax(1)
    most = counts.max(1)
    doubted = np.flatnonzero((counts.sum(1) > 2) & (counts[np.arange(len(best)), best] < most))
    return SecondOpinion(
        [
            EstimatedAccuracy(who, float(value))
            for who, value in zip(matrix.people, fitted.accuracy, strict=True)
        ],
        [
            Doubt(matrix.items[at], matrix.classes[best[at]], float(fitted.labels[at, best[at]]))
            for at in doubted
        ],
    )
