"""The alternative annotator test (Calderon, Reichart and Dror 2025): may a model replace an annotator? By items and claims.

Each person is left out in turn. On every item, person and model are compared with the other people. The model wins
against a person if the person's advantage is smaller than ε, and passes if it wins against at least half of them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.models.prompt import agreement_with_people, independent_labels
from covmis_build.report.result import Result
from covmis_build.stats.intervals import SIGNED, Estimate, Over, between
from covmis_build.stats.over_claims import claim_tables, over_claims

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

FEWEST_ITEMS = 30
"""Minimum number of items of a person in the test."""
FEWEST_CLAIMS = 10
"""Minimum number of claims for the test on claim sums to decide."""
FEWEST_OF_GAIN = 3
"""Minimum number of claims to compute the gain over the constant label by claims."""
Q = 0.05
"""False discovery rate of the correction for multiple tests."""
PASSES = 0.5
"""Minimum winning rate to pass."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One person against the model: items where only the model agrees better with the others, ties, only the person."""

    machine: int
    ties: int
    person: int

    @property
    def items(self) -> int:
        """Number of compared items."""
        return self.machine + self.ties + self.person

    @property
    def advantage(self) -> float:
        """Share of items on which the model agrees at least as well as the person."""
        return (self.machine + self.ties) / self.items

    def p(self, epsilon: float) -> float:
        """One-sided t-test of mean d < ε, where d is 1, 0 or -1; undefined without variation."""
        mean = (self.person - self.machine) / self.items
        squares = self.person + self.machine
        return _p(mean - epsilon, (squares - self.items * mean**2) / max(self.items - 1, 1), self.items)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a test over all people."""

    p_values: dict[str, float]
    won: tuple[str, ...]
    """People against whom the model wins, after Benjamini-Yekutieli correction."""

    @property
    def winning_rate(self) -> float:
        """Share of people against whom the model wins."""
        return len(self.won) / len(self.p_values)

    @property
    def passed(self) -> bool:
        """True if it wins against at least half of them."""
        return self.winning_rate >= PASSES


@dataclass(frozen=True, slots=True, repr=False)
class Admission(Result):
    """The result for one model: by items, by claims if known, and further statistics."""

    epsilon: float
    comparisons: dict[str, Comparison]
    by_items: Verdict
    by_claims: Verdict | None
    claims: int
    machine_error: float
    """Share of people's labels that the model contradicts."""
    people_error: float
    """Share of the other people's labels that people contradict."""
    pairs: pd.DataFrame
    """Agreement and kappa of the model with each person, and between people."""
    audit: tuple[int, int] | None = None
    """Of audited items: number with the same label by rule and model, and total number."""
    gain: Estimate | None = None
    """How much better the model agrees with people than the constant label does; each label class has equal weight."""
    constant: str = ""
    """The label that people gave most often."""
    left_out: tuple[str, ...] = ()
    alone: int = 0
    """Items labelled by only one person, which cannot be compared."""
    fewest_people: int = 0

    @property
    def exit_code(self) -> int:
        """1 if the model did not pass."""
        return 0 if self.passed else 1

    @property
    def leads(self) -> str:
        """The test that decides."""
        return "claims" if self.by_claims is not None and self.claims >= FEWEST_CLAIMS else "items"

    @property
    def passed(self) -> bool:
        """True if the model may replace a person: it passes the deciding test and beats a constant label."""
        verdict = self.by_claims if self.leads == "claims" else self.by_items
        return verdict is not None and verdict.passed and self.gains

    @property
    def gains(self) -> bool:
        """True if the interval of the gain over the constant label is above 0."""
        return self.gain is not None and self.gain.low > 0

    @property
    def undecided(self) -> bool:
        """True if it passes the test, but too few items with other labels show whether it beats the constant label."""
        verdict = self.by_claims if self.leads == "claims" else self.by_items
        return (
            verdict is not None
            and verdict.passed
            and not self.gains
            and not (self.gain and self.gain.high < 0)
        )

    @property
    def advantage(self) -> float:
        """Mean over people of the share of items on which the model agrees at least as well."""
        return float(np.mean([comparison.advantage for comparison in self.comparisons.values()]))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per person."""
        import pandas as pd

        rows = []
        for person, comparison in self.comparisons.items():
            row = {
                "annotator": person,
                "items": comparison.items,
                "machine_ahead": comparison.machine,
                "ties": comparison.ties,
                "person_ahead": comparison.person,
                "advantage": comparison.advantage,
                "p_items": self.by_items.p_values[person],
                "won_items": person in self.by_items.won,
            }
            if self.by_claims is not None:
                row |= {
                    "p_claims": self.by_claims.p_values[person],
                    "won_claims": person in self.by_claims.won,
                }
            rows.append(row)
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary."""
        return {
            "passed": self.passed,
            "undecided": self.undecided,
            "constant": self.constant,
            "gain": self.gain.to_dict() if self.gain else None,
            "epsilon": self.epsilon,
            "leads": self.leads,
            "advantage": self.advantage,
            "winning_rate_items": self.by_items.winning_rate,
            "winning_rate_claims": self.by_claims.winning_rate if self.by_claims else None,
            "claims": self.claims,
            "machine_error": self.machine_error,
            "people_error": self.people_error,
            "audit": {"same": self.audit[0], "items": self.audit[1]} if self.audit else None,
            "people": self.to_frame(),
            "pairs": self.pairs,
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """Return limitations of this test."""
        notes = []
        if self.fewest_people < 3:
            notes.append(
                "Some items have fewer than three people: each person is then compared with a single other, and the test "
                "cannot tell whether the machine or that other person is odd."
            )
        if self.leads == "items":
            notes.append(
                f"With fewer than {FEWEST_CLAIMS} claims the test by items decides; it is too sure where errors come claim "
                "by claim."
            )
        if self.left_out:
            notes.append(
                f"Left out, with fewer than {FEWEST_ITEMS} comparable items: {', '.join(self.left_out)}."
            )
        if self.alone:
            notes.append(f"Items with one person only, which say nothing here: {self.alone:,}.")
        if len(self.comparisons) < 3:
            notes.append(f"{len(self.comparisons)} people are few for a winning rate.")
        notes.append(
            "A pass is no licence to drop people: keep an audited share, and estimate with --assisted-by."
        )
        return notes

    @property
    def summary(self) -> list[str | pd.DataFrame]:
        """Return the result as text and tables."""
        by = {"items": self.by_items, "claims": self.by_claims}
        rates = [
            f"{verdict.winning_rate:.2f} by {name}" for name, verdict in by.items() if verdict is not None
        ]
        lines: list[str | pd.DataFrame] = [
            (
                f"{'Admitted' if self.passed else 'Undecided' if self.undecided else 'Not admitted'} at ε = {self.epsilon:g} (the test by {self.leads} decides): "
                f"winning rate {', '.join(rates)}; it passes from {PASSES:g} on. Advantage {self.advantage:.2f}."
            ),
            (
                f"The machine contradicts {self.machine_error:.1%} of the people's labels; people contradict "
                f"{self.people_error:.1%} of each other's."
            ),
            self._gain_in_words,
            self.to_frame(),
            self.pairs,
        ]
        if self.audit is not None:
            same, items = self.audit
            lines.append(f"Of {items:,} audited automatic labels the machine gives {same:,}.")
        return [*lines, *(f"- {note}" for note in self.notes)]

    @property
    def _gain_in_words(self) -> str:
        """Describe the gain over a constant label."""
        assert self.gain is not None
        told = between(self.gain.low, self.gain.high, "+.2f")
        more = f" ({told}, 95% interval {self.gain.interval})" if told else f" (no interval: {self.gain.why})"
        few = " Too few items of the other labels to decide." if self.undecided else ""
        return (
            f"Gain over always saying {self.constant}, each label counting the same: {self.gain.value:+.2f}{more}; it must "
            f"be above 0.{few}"
        )


def admit(
    labels: pd.DataFrame,
    predictions: Mapping[str, str],
    *,
    epsilon: float,
    claims: Mapping[str, str] | None = None,
    automatic: Mapping[str, str] | None = None,
    values: Sequence[str] = (),
) -> Admission:
    """Test whether a model may replace an annotator.

    `labels` has one row per label: `item_id`, `annotator`, `label` (from a study's table `labels` the independent ones are
    used, the last of each person). `predictions` are the model's labels by item, `claims` the items' claims, `automatic`
    the automatic labels of audited items. Choose `epsilon`, the cost of a person relative to the model, before you see results:
    .2 for experts, .15 for trained annotators, .1 for crowd workers (the authors' advice). At 288 items, .2 admits a model with
    twice the people's error 94 times of 100.

    >>> import pandas as pd
    >>> rows = [(f"i{at}", who, "favor" if at % 2 else "against") for at in range(40) for who in "abc"]
    >>> people = pd.DataFrame(rows, columns=["item_id", "annotator", "label"])
    >>> admit(people, {f"i{at}": "favor" for at in range(40)}, epsilon=0.1).passed
    False
    """
    if not 0 <= epsilon < 1:
        raise InputError(f"ε = {epsilon:g}", remedy="It is from 0 up to, not including, 1")
    own = independent_labels(labels)
    of_item: dict[str, dict[str, str]] = defaultdict(dict)
    for item, person, label in own[["item_id", "annotator", "label"]].itertuples(index=False, name=None):
        of_item[str(item)][str(person)] = str(label)
    differences = {
        item: _differences(given, predictions[item]) for item, given in of_item.items() if item in predictions
    }
    by_person: dict[str, dict[str, int]] = defaultdict(dict)
    for item, of_people in differences.items():
        for person, d in of_people.items():
            by_person[person][item] = d
    tested = {person: ds for person, ds in sorted(by_person.items()) if len(ds) >= FEWEST_ITEMS}
    if not tested:
        raise InputError(
            f"no person has {FEWEST_ITEMS} items that another person and the machine have also labelled",
            remedy="The test needs more labels by several people for the same items",
        )
    comparisons = {person: _compared(list(ds.values())) for person, ds in tested.items()}
    by_claims, count = None, 0
    if claims is not None:
        count = len({claims[item] for ds in tested.values() for item in ds})
        p_of_claims = {person: _p_of_claims(ds, claims, epsilon) for person, ds in tested.items()}
        by_claims = decide(p_of_claims) if count > 1 else None
    judged = [item for item, of_people in differences.items() if of_people]
    return Admission(
        epsilon=epsilon,
        comparisons=comparisons,
        by_items=decide({person: comparison.p(epsilon) for person, comparison in comparisons.items()}),
        by_claims=by_claims,
        claims=count,
        machine_error=_machine_error(of_item, predictions),
        people_error=_people_error(of_item, judged),
        pairs=agreement_with_people(
            _frame(predictions), labels, values or sorted({*own["label"], *predictions.values()})
        ),
        **_gain(of_item, predictions, claims),
        audit=_audit(automatic, predictions),
        left_out=tuple(sorted(set(by_person) - set(tested))),
        alone=sum(len(given) == 1 for item, given in of_item.items() if item in predictions),
        fewest_people=min((len(of_item[item]) for item in judged), default=0),
    )


def decide(p_values: Mapping[str, float], q: float = Q) -> Verdict:
    """Apply the Benjamini-Yekutieli correction; an undefined p is never a win."""
    from statsmodels.stats.multitest import multipletests

    tested = np.nan_to_num(np.fromiter(p_values.values(), dtype=float), nan=1.0)
    wins = multipletests(tested, q, method="fdr_by")[0] if len(tested) else ()
    best_first = sorted(zip(tested, p_values, wins, strict=True), key=lambda row: row[0])
    return Verdict(dict(p_values), tuple(person for _, person, won in best_first if won))


def _differences(given: Mapping[str, str], machine: str) -> dict[str, int]:
    """Return d of each person's comparable items: 1 if only the person agrees better, -1 if only the model."""
    differences = {}
    for person, label in given.items():
        others = [other for name, other in given.items() if name != person]
        if others:
            own, theirs = others.count(label), others.count(machine)
            differences[person] = int(own >= theirs) - int(theirs >= own)
    return differences


def _compared(differences: Sequence[int]) -> Comparison:
    return Comparison(differences.count(-1), differences.count(0), differences.count(1))


def _p_of_claims(differences: Mapping[str, int], claims: Mapping[str, str], epsilon: float) -> float:
    """Return the t-test on claim sums of d - ε, because items of one claim are not independent."""
    sums: dict[str, float] = defaultdict(float)
    for item, d in differences.items():
        sums[claims[item]] += d - epsilon
    values = np.array(list(sums.values()))
    return _p(float(values.mean()), float(values.var(ddof=1)), len(values)) if len(values) > 1 else math.nan


def _p(mean: float, variance: float, n: int) -> float:
    from scipy import stats

    return float(stats.t.cdf(mean / math.sqrt(variance / n), n - 1)) if variance > 0 and n > 1 else math.nan


def _machine_error(of_item: Mapping[str, Mapping[str, str]], predictions: Mapping[str, str]) -> float:
    wrong = [
        label != predictions[item]
        for item, given in of_item.items()
        if item in predictions
        for label in given.values()
    ]
    return float(np.mean(wrong)) if wrong else math.nan


def _people_error(of_item: Mapping[str, Mapping[str, str]], items: Sequence[str]) -> float:
    wrong = [
        label != other
        for item in items
        for person, label in of_item[item].items()
        for name, other in of_item[item].items()
        if name != person
    ]
    return float(np.mean(wrong)) if wrong else math.nan


def _gain(
    of_item: Mapping[str, Mapping[str, str]], predictions: Mapping[str, str], claims: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return the model's agreement with the majority minus that of a constant label, with equal weight per class."""
    counts = {item: Counter(given.values()) for item, given in of_item.items() if item in predictions}
    items = sorted(item for item, number in counts.items() if sum(number.values()) > 1)
    majority = [min(counts[item], key=lambda label: (-counts[item][label], label)) for item in items]
    labels = sorted(set(majority))
    constant = min(labels, key=lambda label: (-majority.count(label), label)) if labels else ""
    at = {label: number for number, label in enumerate(labels)}
    right = [int(predictions[item] == label) for item, label in zip(items, majority, strict=True)]
    cells = np.array(
        [[at[label] * 2 + hit] for label, hit in zip(majority, right, strict=True)], dtype=np.int64
    )
    control = np.array([label == constant for label in labels], dtype=float)
    owners = None if claims is None else np.unique([claims[item] for item in items], return_inverse=True)[1]
    over = Over.ITEMS if owners is None or len(set(owners.tolist())) < FEWEST_OF_GAIN else Over.CLAIMS
    tables, alike = claim_tables(cells, (len(labels), 2), owners if over == Over.CLAIMS else None)

    def gain(stack: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        known = stack.sum(-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {"": (np.where(known > 0, stack[..., 1] / known, np.nan) - control).mean(-1)}

    figure = over_claims(gain, {"": SIGNED}, tables, multiplicity=alike, over=over)[""]
    return {"gain": figure, "constant": constant}


def _audit(automatic: Mapping[str, str] | None, predictions: Mapping[str, str]) -> tuple[int, int] | None:
    known = {item: label for item, label in (automatic or {}).items() if item in predictions}
    return (sum(predictions[item] == label for item, label in known.items()), len(known)) if known else None


def _frame(predictions: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"item_id": list(predictions), "label": list(predictions.values())})
