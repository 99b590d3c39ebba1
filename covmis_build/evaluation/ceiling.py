"""Upper bounds given label noise: human performance, and the best possible score of a system.

Both depend on the number of annotators per item and must not be compared across numbers: with more annotators gold
contains less noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import UnknownName, nearest
from covmis_build.evaluation.label_files import as_label
from covmis_build.evaluation.significance import in_one_order
from covmis_build.evaluation.soft_labels import answers_of
from covmis_build.stats.coefficients import agreement_sums, fleiss_kappa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.evaluation.joining import JoinedLabels
    from covmis_build.evaluation.setting import Setting

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

DRAWS, LARGEST = (20, 400), 2_000_000
"""Minimum and maximum number of simulated golds; with many items fewer, for about this many items in total."""
HUMAN = {"person": "(a person)", "ceiling": "(ceiling)"}
"""Columns of a table of scores, and their names next to the systems."""


@dataclass(frozen=True)
class Ceiling:
    """How many annotators gave each label to each item of gold: (items, C), zeros if unknown."""

    counts: Array
    seed: int = 0

    @property
    def raters(self) -> Codes:
        """Number of annotators of each item."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    def values(
        self, chosen: Setting, shape: tuple[int, int], inside: NDArray[np.bool_]
    ) -> dict[str, dict[str, Any]]:
        """Human performance and upper bound in every measure, over items with at least two annotators.

        Human performance: each annotator against the majority of the item's other annotators; a tie counts half for each label.
        Upper bound: a system that knows each label's share among all possible annotators and predicts the most likely one,
        against the majority of the same number of random annotators. A tie is decided by one more annotator.
        """
        counts = self.counts[inside & (self.raters > 1)]
        if not len(counts):
            return {}
        counts = in_one_order(counts)
        a_person = chosen.values(_wide(_against_the_others(counts), shape)[None])
        drawn = chosen.values(_wide(self._drawn(counts), shape))
        raters = counts.sum(axis=1)
        return {
            measure.name: {
                "person": float(a_person[measure.name][0]),
                "ceiling": float(np.mean(drawn[measure.name])),
                "people_items": len(counts),
                "people": float(raters.mean()),
            }
            for measure in chosen.measures
        }

    def _drawn(self, counts: Array) -> Array:
        """Confusion matrices of the best system against simulated gold: (draws, C, C)."""
        rng = np.random.default_rng(self.seed)
        items, classes = counts.shape
        prior = _prior(counts)
        matrices = []
        for _ in range(int(np.clip(LARGEST // items, *DRAWS))):
            right = (
                rng.standard_gamma(counts + prior)
                if prior is not None
                else np.tile(counts.mean(axis=0), (items, 1))
            )
            right /= right.sum(axis=1, keepdims=True)
            again = rng.multinomial(counts.sum(axis=1).astype(np.int64), right)
            with np.errstate(divide="ignore"):
                one_more = np.log(right) + rng.gumbel(size=right.shape)
            tied = again == again.max(axis=1, keepdims=True)
            gold = np.where(tied, one_more, -np.inf).argmax(axis=1)
            cells = np.bincount(gold * classes + right.argmax(axis=1), minlength=classes**2)
            matrices.append(cells.reshape(classes, classes).astype(np.float64))
        return np.stack(matrices)


def ceiling_of(people: Any, joined: JoinedLabels, seed: int = 0) -> Ceiling:
    """Return these annotators' labels of gold's items. Their other items are ignored."""
    answers = answers_of(people)
    place = {
        str(item): at
        for at, item in enumerate(joined.ids if joined.ids is not None else range(len(joined.gold)))
    }
    code = {label: at for at, label in enumerate(joined.labels)}
    counts = np.zeros((len(joined.gold), len(joined.labels)))
    for item, said in zip(answers.table["id"], answers.table["label"], strict=True):
        label = as_label(said)
        if label not in code:
            raise UnknownName(
                f"people gave the unknown label '{label}'", remedy=nearest(label, joined.labels)
            )
        if (at := place.get(str(item))) is not None:
            counts[at, code[label]] += 1
    return Ceiling(counts, seed)


def _prior(counts: Array) -> Array | None:
    """Return how similar the items' label shares are, as pseudo-counts of a Dirichlet prior (method of moments).

    With shares m over all items and Fleiss' κ, there are (1 - κ)/κ pseudo-counts, distributed as m. There are none with
    perfect agreement, and infinitely many if agreement is that of chance.
    """
    shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    kappa = float(fleiss_kappa(agreement_sums(counts).sum(0)))
    if np.isnan(kappa):  # only one label
        kappa = 1.0
    return None if kappa <= 0 else (1 - kappa) / kappa * shares


def _against_the_others(counts: Array) -> Array:
    """Return one confusion matrix: annotators' labels in columns, the others' majority in rows; each item has weight 1."""
    classes = counts.shape[1]
    raters = counts.sum(axis=1, keepdims=True)
    matrix = np.zeros((classes, classes))
    for label in range(classes):
        others = counts - np.eye(classes)[label]
        most = others == others.max(axis=1, keepdims=True)
        matrix[:, label] = ((counts[:, [label]] / raters) * most / most.sum(axis=1, keepdims=True)).sum(
            axis=0
        )
    return matrix


def _wide(matrices: Array, shape: tuple[int, int]) -> Array:
    """Add a column if systems have missing predictions."""
    more = shape[1] - matrices.shape[-1]
    return np.pad(matrices, [(0, 0)] * (matrices.ndim - 1) + [(0, more)])
