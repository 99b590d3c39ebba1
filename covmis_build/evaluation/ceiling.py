"""How well can gold be predicted at all, where people disagree? What a person scores, and what a system could at best.

Both belong to the number of people who labelled each item, and are never compared across numbers: gold by more people
has less chance in it.
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
"""So many draws of gold, fewer where there are many items: about as many items in all."""
HUMAN = {"person": "(a person)", "ceiling": "(ceiling)"}
"""The columns of a table of scores, and what they are called next to the systems."""


@dataclass(frozen=True)
class Ceiling:
    """How many people gave each label to each item of gold: (items, C), zeros where nobody is known."""

    counts: Array
    seed: int = 0

    @property
    def raters(self) -> Codes:
        """How many people labelled each item."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    def values(
        self, chosen: Setting, shape: tuple[int, int], inside: NDArray[np.bool_]
    ) -> dict[str, dict[str, Any]]:
        """Of every measure what a person scores and what is the best to hope for, over items that two people have labelled.

        A person: each against the label of most of the item's other people, half of it each where two are as many. The
        ceiling: a system that knows how many of all people would give each label, and says the likeliest, against the
        label of most of as many people drawn again, one more where two labels are as many.
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
                "person": float(a_person[measure.name][0]), "ceiling": float(np.mean(drawn[measure.name])),
                "people_items": len(counts), "people": float(raters.mean()),
            }
            for measure in chosen.measures
        }  # fmt: skip

    def _drawn(self, counts: Array) -> Array:
        """Confusion matrices of the system that knows, against gold drawn again: (draws, C, C)."""
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
    """What these people said of gold's items; items of theirs that gold lacks do not count."""
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
    """How alike the items' shares are, as people added to each item: Dirichlet's, by the moments of people's agreement.

    With shares m over all items and Fleiss' κ it has (1 - κ)/κ people in all, m of them for each label:
    none where all agree, without end where they agree as by chance (then there is nothing to know).
    """
    shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    kappa = float(fleiss_kappa(agreement_sums(counts).sum(0)))
    if np.isnan(kappa):  # one label alone
        kappa = 1.0
    return None if kappa <= 0 else (1 - kappa) / kappa * shares


def _against_the_others(counts: Array) -> Array:
    """One confusion matrix: each person's label in columns, that of most of the others in rows; an item counts once."""
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
    """With a column more where systems have left items out."""
    more = shape[1] - matrices.shape[-1]
    return np.pad(matrices, [(0, 0)] * (matrices.ndim - 1) + [(0, more)])
