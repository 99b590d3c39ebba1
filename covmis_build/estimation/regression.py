"""`covmis estimate --model "favor ~ platform + month"`: regress a label on known properties of posts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from covmis_build import storage
from covmis_build.errors import InputError, nearest
from covmis_build.report.result import Result
from covmis_build.stats.intervals import between
from covmis_build.stats.regression import FAMILIES, LOGISTIC, regress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from covmis_build.report.summary import Summary

    Floats = NDArray[np.float64]

COLUMNS = ["term", "coefficient", "standard_error", "low", "high", "p"]
FORMATS = (".csv", ".tex", ".json")
CONSTANT = "(constant)"
KEYS = ("item_id", "post_id", "claim_id")


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
        return (
            f"{self.family.capitalize()} regression {self.formula} over {self.n:,} labelled posts of {self.claims:,} "
            f"claims{helped}; {self.level:.0%} intervals {self.over} from a sandwich estimator, with Student's t"
            + (f" ({compared})." if compared else ".")
            + (f" No standard errors and intervals: {self.why}." if self.why else "")
        )

    @property
    def summary(self) -> Summary:
        """Return the coefficients and the sentence."""
        table = self.table.rename(columns=lambda name: name.replace("_", " "))
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
            f"{between(row['low'], row['high']) or '--'} & {'--' if np.isnan(row['p']) else _p(row['p'])} \\\\"
            for row in self.table.to_dict("records")
        ]
        head = f"Term & Coefficient & SE & {self.level * 100:.0f}\\% interval & $p$ \\\\"
        return "\n".join(
            [
                *(f"% {line}" for line in (self.statement, self.sentence, *self.warnings) if line),
                "\\begin{tabular}{lrrrr}",
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
    family: str = LOGISTIC,
    over: str = "claims",
    level: float = 0.95,
) -> Regression:
    """Regress the label on covariates, which are columns of `rows` (with `claim_id`), one row per post.

    `outcome` is 1 if gold is the label, and `chances` are the posts' probabilities, both for `labelled` rows. With `predicted`
    probabilities of the label, `rows` are the whole population; otherwise unlabelled rows are omitted.
    """
    if family not in FAMILIES:
        raise InputError(f"family = {family!r}", remedy=nearest(family, FAMILIES))
    if over not in {"claims", "posts"}:
        raise InputError(f"over = {over!r}", remedy=nearest(over, ("claims", "posts")))
    outcome, chances, labelled = np.asarray(outcome), np.asarray(chances), np.asarray(labelled)
    weights = np.ones(len(rows)) if sizes is None else np.asarray(sizes)
    n = int(labelled.sum())
    if predicted is None:
        rows, weights, y = rows[labelled], weights[labelled] / chances[labelled], outcome[labelled]
    else:
        y = predicted + np.where(labelled, (np.where(labelled, outcome, 0.0) - predicted) / chances, 0.0)
    x, terms, references = _columns(rows, formula.terms)
    claims = np.unique(rows["claim_id"].astype(str), return_inverse=True)[1]
    fit = regress(
        x,
        y,
        weights,
        family=family,
        n=n,
        chances=chances[labelled],
        claims=claims if over == "claims" else None,
        level=level,
    )
    table = pd.DataFrame(
        [
            (term, each.value, np.nan if each.why else each.standard_error, each.low, each.high, each.p())
            for term, each in zip(terms, fit.coefficients, strict=True)
        ],
        columns=COLUMNS,
    )
    first = fit.coefficients[0]
    return Regression(
        str(formula),
        family,
        table,
        str(first.interval),
        n,
        len(rows),
        int(claims.max()) + 1,
        predicted is not None,
        references,
        level,
        first.why,
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
