"""Distances between a system's probabilities and the labels of an item's people, and the wise answer under each.

`act` gives the answer with the least expected distance (the Bayes act) to the shares of so many people, if the shares of all people
are known: (points, C) to (points, C). Except for agreement, a distance is a sum over classes, so that only the binomial
distribution of each class (or of cumulated classes) matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST = 1e-12
"""Lower bound of probabilities in cross-entropy: an impossible event that happened costs 27.6, not infinity."""


@dataclass(frozen=True)
class People:
    """How many annotators gave each label to each item: (items, C)."""

    counts: Array

    @property
    def raters(self) -> Array:
        """Number of annotators of each item."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def shares(self) -> Array:
        """Share of each label among an item's annotators."""
        return np.asarray(self.counts / self.raters[:, None])


@dataclass(frozen=True, slots=True)
class SoftMeasure:
    """A distance (or agreement) of an item's annotators and a system; the score is the mean over items."""

    name: str
    title: str
    formula: Callable[[People, Array], Array] = field(repr=False)
    act: Callable[[Array, int], Array] = field(repr=False)
    """The answers with the best expected score, from true shares and the number of people."""
    term: Callable[[Array, Array, int], Array] = field(repr=False)
    """One class's part of the score, from the people's share, the system's, and the number of people."""
    top: Callable[[int], float] = field(repr=False)
    """Maximum, from the number of classes; infinite if there is none."""
    higher_is_better: bool = False
    ordered: bool = False
    comparable: bool = False
    """True if scores of items with different numbers of annotators are comparable."""
    least: float = 0.0

    def risk(self, shares: Array, answers: Array, raters: int) -> Array:
        """Return the expected score of these answers, from true shares and the number of people: (points,)."""
        if self.ordered:
            shares, answers = (np.cumsum(each, axis=1)[:, :-1].clip(0, 1) for each in (shares, answers))
        people = np.arange(raters + 1) / raters
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.term(people, answers[..., None], raters)
        return np.asarray((_chances(shares, raters) * terms).sum(axis=(1, 2)))


def manhattan(people: People, system: Array) -> Array:
    """Sum of the absolute differences of the shares, 0 to 2."""
    return np.asarray(np.abs(people.shares - system).sum(axis=1))


def wasserstein(people: People, system: Array) -> Array:
    """Sum of the absolute differences of cumulated shares: the number of steps that labels must be moved."""
    return np.asarray(np.abs(np.cumsum(people.shares - system, axis=1))[:, :-1].sum(axis=1))


def jensen_shannon(people: People, system: Array) -> Array:
    """The Jensen-Shannon divergence in bits; its square root is the distance."""
    middle = (people.shares + system) / 2
    return (_divergence(people.shares, middle) + _divergence(system, middle)) / 2


def _divergence(shares: Array, reference: Array) -> Array:
    held = shares > 0
    logs = np.log2(np.where(held, shares, 1.0) / np.where(held, reference, 1.0))
    return np.asarray((shares * logs).sum(axis=1))


def cross_entropy(people: People, system: Array) -> Array:
    """Mean surprise of an item's annotators under the system's probabilities, in nats."""
    clipped = np.maximum(system, LEAST)
    return np.asarray(-(people.shares * np.log(clipped / clipped.sum(axis=1, keepdims=True))).sum(axis=1))


def brier(people: People, system: Array) -> Array:
    """Squared distance of the shares."""
    return np.asarray(((people.shares - system) ** 2).sum(axis=1))


def brier_corrected(people: People, system: Array) -> Array:
    """Squared distance to the shares in the population of annotators; undefined for one annotator."""
    shares = people.shares
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = (shares * (1 - shares)).sum(axis=1) / (people.raters - 1)
        return np.where(people.raters > 1, brier(people, system) - noise, np.nan)


def agreement(people: People, system: Array) -> Array:
    """Share of an item's annotators who gave the system's most probable label."""
    return np.asarray(people.shares[np.arange(len(system)), system.argmax(axis=1)])


def _itself(shares: Array, _raters: int) -> Array:
    """Return the shares: the wise answer under proper scores."""
    return shares


def _chances(shares: Array, raters: int) -> Array:
    """Return the probability that 0, 1, … of so many people give a label: (points, C, people + 1)."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(raters + 1), raters, shares[..., None]))


def _medians(shares: Array, raters: int) -> Array:
    """Return medians that sum to 1: each person's share goes where it is most likely to be needed.

    Moving one share of 1 / people to a class lowers its expected distance by 2 P(more people say so) - 1.
    """
    needed = 1 - np.cumsum(_chances(shares, raters), axis=2)[:, :, :-1]  # P(count > 0), P(count > 1), …
    flat = needed.reshape(len(shares), -1)
    most = np.argsort(-flat, axis=1, kind="stable")[:, :raters]
    answers = np.zeros_like(shares)
    np.add.at(answers, (np.arange(len(shares))[:, None], most // raters), 1 / raters)
    return answers


def _cumulated_medians(shares: Array, raters: int) -> Array:
    """Return the shares whose cumulated sums are the medians of those of the people."""
    below = np.cumsum(shares, axis=1)[:, :-1].clip(0, 1)
    reached = np.cumsum(_chances(below, raters), axis=2) >= 0.5 - 1e-12
    medians = reached.argmax(axis=2) / raters
    return np.diff(medians, axis=1, prepend=0.0, append=1.0)


def _least_divergent(shares: Array, raters: int, steps: int = 200) -> Array:
    """Return the shares with the least expected Jensen-Shannon divergence: a fixed point of its stationary equation."""
    chances, people = _chances(shares, raters), np.arange(raters + 1) / raters
    answers = np.maximum(shares, LEAST)
    for _ in range(steps):
        logs = (chances * np.log(np.maximum((people + answers[..., None]) / 2, LEAST))).sum(axis=2)
        answers = np.exp(logs - logs.max(axis=1, keepdims=True))
        answers = answers / answers.sum(axis=1, keepdims=True)
    return answers


def _most_probable(shares: Array, _raters: int) -> Array:
    return np.asarray((np.arange(shares.shape[1]) == shares.argmax(axis=1)[:, None]).astype(float))


def _distance(people: Array, system: Array, _raters: int) -> Array:
    return np.asarray(np.abs(people - system))


def _half_divergences(people: Array, system: Array, _raters: int) -> Array:
    from scipy.special import rel_entr

    middle = (people + system) / 2
    return np.asarray((rel_entr(people, middle) + rel_entr(system, middle)) / (2 * np.log(2)))


def _surprise(people: Array, system: Array, _raters: int) -> Array:
    return np.asarray(-people * np.log(np.maximum(system, LEAST)))


def _square(people: Array, system: Array, _raters: int) -> Array:
    return np.asarray((people - system) ** 2)


def _square_without_noise(people: Array, system: Array, raters: int) -> Array:
    return np.asarray((people - system) ** 2 - people * (1 - people) / (raters - 1))


def _given(people: Array, system: Array, _raters: int) -> Array:
    return people * system


INFINITE = float("inf")
SOFT_MEASURES: Mapping[str, SoftMeasure] = {
    measure.name: measure
    for measure in (
        SoftMeasure("manhattan", "Manhattan distance", manhattan, _medians, _distance, lambda _classes: 2.0),
        SoftMeasure(
            "wasserstein",
            "Wasserstein distance",
            wasserstein,
            _cumulated_medians,
            _distance,
            lambda classes: classes - 1.0,
            ordered=True,
        ),
        SoftMeasure(
            "jensen_shannon",
            "Jensen-Shannon divergence",
            jensen_shannon,
            _least_divergent,
            _half_divergences,
            lambda _classes: 1.0,
        ),
        SoftMeasure(
            "cross_entropy",
            "Cross-entropy",
            cross_entropy,
            _itself,
            _surprise,
            lambda _classes: INFINITE,
            comparable=True,
        ),
        SoftMeasure("brier", "Brier score", brier, _itself, _square, lambda _classes: 2.0),
        SoftMeasure(
            "brier_corrected",
            "Brier score without people's noise",
            brier_corrected,
            _itself,
            _square_without_noise,
            lambda _classes: INFINITE,
            comparable=True,
            least=-INFINITE,
        ),
        SoftMeasure(
            "agreement",
            "Agreement with a person",
            agreement,
            _most_probable,
            _given,
            lambda _classes: 1.0,
            higher_is_better=True,
            comparable=True,
        ),
    )
}
"""All of them, in table order (Uma et al. 2021; LeWiDi 2023, 2025)."""
