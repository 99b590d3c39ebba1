"""`covmis estimate --model "favor ~ platform + month"`: regress a label on known properties of posts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from covmis_build import storage
from covmis_build.errors import InputError, nearest
from covmis_build.report.result import Result
from covmis_build.stats.intervals import Over, between
from covmis_build.stats.over_posts import NOTHING_KNOWN, Design, Expected, made_design
from covmis_build.stats.regression import FAMILIES, LOGISTIC, Drawn, regress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from covmis_build.estimation.checks import Checked
    from covmis_build.report.summary import Summary

    Floats = NDArray[np.float64]

COLUMNS = ["term", "coefficient", "standard_error", "degrees", "low", "high", "p", "why"]
FORMATS = (".csv", ".tex", ".json")
CONSTANT = "(constant)"
MOST_MISSED = 0.2
"""The largest share of all posts that a sample may miss, in one of twenty, for errors over posts."""
KEYS = ("item_id", "post_id", "claim_id")


class Sampled(NamedTuple):
    """How labelled posts were drawn, and automatic labels among them checked, for a regression's errors over posts."""

    rows: NDArray[np.intp]
    """The row of each labelled post."""
    design: Design
    expected: Expected = NOTHING_KNOWN
    phase: Checked | None = None
    people: Floats | None = None
    """The probability that people label a post, once it is drawn."""
    y: Floats | None = None
    """1 if people gave it the label."""
    rule: Floats | None = None
    """1 if an audited rule did."""

    def drawn(self, sizes: Floats, outcome: Floats, predicted: Floats | None) -> Drawn:
        """Return what the errors of the coefficients need. `outcome` are the values of the rows."""
        # with predictions the number of posts is known, whatever was drawn: nothing is calibrated
        design = self.design if predicted is None else replace(self.design, strata=None)
        chance = design.chance * (1.0 if self.people is None else self.people)
        counts = np.ones(len(chance)) if self.phase is None else self.phase.counts
        shares = design.weights * sizes / np.sum(design.weights * sizes)
        seen = float(np.sum((1 - design.chance) * shares**2))
        # large groups that the draw missed vary as much as those that it met
        more = max(1.0, self.expected.looseness / seen) if seen > 0 else 1.0

        def variance(pulls: Floats, expected: Floats) -> float:
            if self.phase is None or self.y is None or self.rule is None:
                return more * design.variance(pulls * (outcome - expected) / design.weights)
            z = (self.phase.linear(self.y, self.rule, pulls) - pulls * expected) / design.weights
            later = float(np.sum(self.phase.later(self.y, self.rule, pulls) ** 2))
            return more * design.variance(z) + later + self.phase.doubt(self.y, np.abs(pulls))

        why = ""
        if seen == 0 and self.expected.looseness > 0:
            why = "only posts that were certain to be sampled are labelled"
        elif self.expected.missed > MOST_MISSED:
            why = f"a sample may have missed {self.expected.missed:.0%} of the posts, in large groups of near-duplicates"
        return Drawn(
            self.rows,
            design.probabilities,
            np.sqrt(np.maximum(1 - chance, 0.0)) * counts,
            variance,
            predicted,
            why,
        )


class Formula(NamedTuple):
    """A label, and the covariates that explain it."""

    label: str
    terms: tuple[str, ...]

    @classmethod
    def read(cls, text: str, labels: Sequence[str], known: Sequence[str]) -> Formula:
        """The formula of this text.

        >>> Formula.read("favor ~ platform + month", ["favor"], ["platform", "month"])
        Formula(label='favor', terms=('platform', 'month'))
        """
        label, tilde, right = (part.strip() for part in text.partition("~"))
        terms = tuple(term.strip() for term in right.split("+"))
        if not tilde or not label or not all(terms):
            raise InputError(f"'{text}' is no formula", remedy='Write it as "favor ~ platform + month"')
        if label not in labels:
            raise InputError(f"the label '{label}' is not in the scheme", remedy=nearest(label, labels))
        for term in terms:
            if term not in known:
                raise InputError(f"no covariate is called '{term}'", remedy=nearest(term, known))
        if len(set(terms)) < len(terms):
            raise InputError(f"'{text}' names a covariate twice")
        return cls(label, terms)

    def __str__(self) -> str:
        return f"{self.label} ~ {' + '.join(self.terms)}"


@dataclass(frozen=True, slots=True, repr=False)
class Regression(Result):
    """The result of `regress`. `.table` has one row per coefficient (COLUMNS)."""

    formula: str
    family: str
    table: pd.DataFrame
    over: str
    n: int
    pool: int
    claims: int
    assisted: bool
    references: dict[str, str]
    """Reference category of each categorical covariate."""
    level: float = 0.95
    why: str = ""
    """Why no coefficient has an interval, if none has; the table has the reason of each."""
    population: str = ""
    """Whose posts these are: today's, or those of the draws."""
    statement: str = ""
    """A sentence that says how many posts these are."""
    warnings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Files to which it was written."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coefficient."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """As `covmis estimate --model … --json` prints it."""
        names = (
            "formula", "family", "over", "n", "pool", "claims", "assisted", "references", "level", "why", "population",
            "statement", "warnings",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {"coefficients": self.table}

    @property
    def sentence(self) -> str:
        """Describe the regression for a paper."""
        helped = (
            f", with predictions for all {self.pool:,} posts of the pool (design-based supervised learning)"
            if self.assisted
            else ", weighted by 1/probability"
        )
        compared = "; ".join(f"{name}: against {level}" for name, level in self.references.items())
        how = (
            "CR2 and Satterthwaite's degrees of freedom"
            if self.over == Over.CLAIMS
            else "the design of the draw"
        )
        return (
            f"{self.family.capitalize()} regression {self.formula} over {self.n:,} labelled posts of {self.claims:,} "
            f"claims{helped}; {self.level:.0%} intervals {self.over} by {how}, with Student's t"
            + (f" ({compared})." if compared else ".")
            + (f" No standard errors and intervals: {self.why}." if self.why else "".join(self._without))
        )

    @property
    def _without(self) -> list[str]:
        """Return which coefficients have no interval, and why: a sentence for each reason."""
        missing = self.table[self.table["why"] != ""]
        return [
            f" No standard error and interval of {', '.join(rows['term'])}: {why}."
            for why, rows in missing.groupby("why", sort=False)
        ]

    @property
    def summary(self) -> Summary:
        """Return the coefficients and the sentence."""
        table = self.table.drop(columns="why").rename(columns=lambda name: name.replace("_", " "))
        return [
            table,
            "",
            *filter(None, [self.statement]),
            self.sentence,
            *(f"Wrote {file}." for file in self.files),
        ]

    def latex(self) -> str:
        """Return one row per coefficient in LaTeX (booktabs)."""
        rows = [
            f"{_escaped(row['term'])} & {row['coefficient']:.3f} & "
            f"{'--' if np.isnan(row['standard_error']) else format(row['standard_error'], '.3f')} & "
            f"{_degrees(row['degrees'])} & "
            f"{between(row['low'], row['high']) or '--'} & {'--' if np.isnan(row['p']) else _p(row['p'])} \\\\"
            for row in self.table.to_dict("records")
        ]
        head = f"Term & Coefficient & SE & df & {self.level * 100:.0f}\\% interval & $p$ \\\\"
        return "\n".join(
            [
                *(f"% {line}" for line in (self.statement, self.sentence, *self.warnings) if line),
                "\\begin{tabular}{lrrrrr}",
                "\\toprule",
                head,
                "\\midrule",
                *rows,
                "\\bottomrule",
                "\\end{tabular}",
                "",
            ]
        )

    def write(self, path: Path) -> None:
        """Write one file in the format of its extension: .csv, .tex or .json."""
        if path.suffix == ".csv":
            rows = self.table.itertuples(index=False, name=None)
            storage.write_bytes(path, storage.csv_bytes(list(self.table.columns), rows))
        else:
            storage.write_text(path, self.latex() if path.suffix == ".tex" else self.to_json() + "\n")


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def _degrees(degrees: float) -> str:
    return f"{degrees:.1f}" if np.isfinite(degrees) else "--"


def _p(p: float) -> str:
    return "$<$0.001" if p < 0.001 else f"{p:.3f}"


def regression(  # noqa: PLR0913 - a regression and what is known of its sample, by name
    formula: Formula,
    outcome: Floats,
    rows: pd.DataFrame,
    *,
    labelled: NDArray[np.bool_],
    chances: Floats,
    sizes: Floats | None = None,
    predicted: Floats | None = None,
    sampled: Sampled | None = None,
    family: str = LOGISTIC,
    over: str = "claims",
    level: float = 0.95,
) -> Regression:
    """Regress the label on covariates, which are columns of `rows` (with `claim_id`), one row per post.

    `outcome` is 1 if gold is the label, and `chances` are the posts' probabilities, both for `labelled` rows. With `predicted`
    probabilities of the label, `rows` are the whole population; otherwise unlabelled rows are omitted. Errors over posts are
    those of the draw that `sampled` describes; without it posts were drawn one by one.
    """
    if family not in FAMILIES:
        raise InputError(f"family = {family!r}", remedy=nearest(family, FAMILIES))
    if over not in {"claims", "posts"}:
        raise InputError(f"over = {over!r}", remedy=nearest(over, ("claims", "posts")))
    outcome, chances, labelled = np.asarray(outcome), np.asarray(chances), np.asarray(labelled)
    weights = np.ones(len(rows)) if sizes is None else np.asarray(sizes)
    n, own = int(labelled.sum()), weights[labelled]
    if sampled is None:
        rows_of = np.flatnonzero(labelled) if predicted is not None else np.arange(n)
        sampled = Sampled(rows_of, made_design(chances[labelled]))
    if predicted is None:
        rows, weights, y = rows[labelled], own / chances[labelled], outcome[labelled]
    else:
        y = predicted + np.where(labelled, (np.where(labelled, outcome, 0.0) - predicted) / chances, 0.0)
    x, terms, references = _columns(rows, formula.terms)
    claims = np.unique(rows["claim_id"].astype(str), return_inverse=True)[1]
    labels = y if predicted is None else outcome
    drawn = None
    if over == "posts":
        sizes = weights[sampled.rows] / (1.0 if predicted is not None else sampled.design.weights)
        drawn = sampled.drawn(sizes, labels[sampled.rows], predicted)
    coefficients = regress(
        x,
        y,
        weights,
        family=family,
        n=n,
        claims=claims if over == "claims" else None,
        drawn=drawn,
        level=level,
    )
    table = pd.DataFrame(
        [
            (
                term, each.value, np.nan if each.why else each.standard_error, each.degrees, each.low, each.high, each.p(),
                each.why,
            )
            for term, each in zip(terms, coefficients, strict=True)
        ],
        columns=COLUMNS,
    )  # fmt: skip
    reasons = set(table["why"])
    return Regression(
        str(formula),
        family,
        table,
        str(coefficients[0].interval),
        n,
        len(rows),
        int(claims.max()) + 1,
        predicted is not None,
        references,
        level,
        reasons.pop() if len(reasons) == 1 else "",
    )


def _columns(rows: pd.DataFrame, terms: Sequence[str]) -> tuple[Floats, list[str], dict[str, str]]:
    """Return the matrix of covariates: numbers unchanged, categories as dummies against the most frequent one."""
    columns, names, references = [np.ones(len(rows))], [CONSTANT], {}
    for term in terms:
        values = rows[term]
        if values.isna().any():
            raise InputError(f"the covariate '{term}' is unknown for {int(values.isna().sum()):,} posts")
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            columns.append(values.to_numpy(dtype=float))
            names.append(term)
            continue
        counts = values.astype(str).value_counts()
        reference, *others = sorted(counts.index, key=lambda name: (-counts[name], name))
        references[term] = reference
        for name in sorted(others):
            columns.append((values.astype(str) == name).to_numpy(dtype=float))
            names.append(f"{term}: {name}")
    return np.stack(columns, axis=1), names, references


def with_covariates(rows: pd.DataFrame, covariates: pd.DataFrame | None) -> pd.DataFrame:
    """Add columns of a table of covariates to the rows, by its id: item_id, post_id or claim_id."""
    if covariates is None:
        return rows
    key = next((name for name in KEYS if name in covariates.columns), "")
    if not key:
        raise InputError("the covariates have no column item_id, post_id or claim_id")
    table = covariates.assign(**{key: covariates[key].astype(str)}).set_index(key)
    if table.index.duplicated().any():
        raise InputError(f"the covariates have {table.index[table.index.duplicated()][0]} twice")
    own = [str(name) for name in table.columns if name not in rows.columns]
    return rows.assign(**{name: table[name].reindex(rows[key]).to_numpy() for name in own})
