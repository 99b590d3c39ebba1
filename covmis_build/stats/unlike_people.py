"""Who differs from the others on the same posts, and how; silent if chance explains it.

Each statistic is compared with rounds in which the labels of a post are dealt out again among the people who labelled it.
That is exact if all work alike, and keeps each post's difficulty and each person's order. If there are more people than
labels per post, who labelled which post is dealt out, too (exact if posts are assigned at random). The limit is a point of
the largest standardised statistic of all people and tests, so that false alarms are counted by round. The person named is
left out, and the rest are compared again: otherwise one straight-liner makes the others look odd.

    straight   the longest run of one label in the person's order
    swaps      more labels agree if two labels are exchanged
    uses       a label is used more or less often than by the others
    agrees     the share of the others' labels that are the same is low; `random` if it is not above chance
    quick      time per post, if known

Of two people only `straight` and `quick` can name one; all else is a fact about the pair.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]

ALLOWED = 0.03
"""How much good people may differ (standard deviation of accuracy, and of a label's share) before anything is said."""
ALLOWED_LOG = 0.3
"""The same for logarithms of seconds and runs."""
DEALS = 400
KINDS = ("straight", "swaps", "uses", "agrees", "quick")
"""The most telling kind first: a person who swaps labels also agrees less."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """What differs about a person; `labels` are those exchanged, or used more or less often."""

    person: int
    kind: str
    z: float
    labels: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """Posts × answers: who gave each (-1: no one), the label, its rank in the person's order, and seconds if known."""

    who: Codes
    said: Codes
    place: Codes
    classes: int
    seconds: Floats | None = None

    def without(self, person: int) -> Answers:
        """Return the others' answers."""
        return Answers(
            np.where(self.who == person, -1, self.who), self.said, self.place, self.classes, self.seconds
        )


def unlike_people(answers: Answers, *, share: float = 0.05, seed: int = 0) -> list[Unlike]:
    """Name people, the most evident first; in at most this share of rounds of equal people anybody."""
    rng = np.random.default_rng(seed)
    named = list[Unlike]()
    while evident := _most_evident(answers, share, rng):
        named.append(evident)
        answers = answers.without(evident.person)
    return named


def _most_evident(answers: Answers, share: float, rng: np.random.Generator) -> Unlike | None:
    first = (answers.who < 0).argsort(1, kind="stable")  # absent answers last, where they stay
    who, said, place = (
        np.take_along_axis(table, first, 1) for table in (answers.who, answers.said, answers.place)
    )
    seconds = None if answers.seconds is None else np.take_along_axis(answers.seconds, first, 1)
    there = (who >= 0) & ((who >= 0).sum(1, keepdims=True) > 1)
    people = np.unique(who[there])
    if len(people) < 2:
        return None
    each = there.sum(1)[there.any(1)].mean()
    deals = _deals(there, rng)
    across = deals if len(people) <= each + 0.5 else _dealt_across(deals, there, rng)
    member = ((who[..., None] == people) & there[..., None]).reshape(-1, len(people)).astype(float)
    tests = _Tests(who, said, there, across, member, len(people) if across is not deals else each, rng)
    if len(people) > 2:
        tests.of_labels(answers.classes)
    if seconds is not None:
        tests.add(("quick",), -tests.means(np.log(seconds)), ALLOWED_LOG)
    tests.add(("straight",), _log_runs(who, said, place, deals, people, there), ALLOWED_LOG)
    tests.z["straight",][0, _runs_fit_the_others(who, said, place, people, there)] = 0.0
    limit = np.quantile(np.max([values[1:].max(1) for values in tests.z.values()], axis=0), 1 - share)
    top = np.max([values[0] for values in tests.z.values()], axis=0)
    at = int(top.argmax())
    if top[at] <= limit:
        return None
    over = {name: float(values[0, at]) for name, values in tests.z.items() if values[0, at] > limit}
    kind, *labels = min(over, key=lambda name: (KINDS.index(name[0]), -over[name]))
    if kind in {"agrees", "uses"} and tests.is_random(at):
        kind, labels = "random", []
    return Unlike(int(people[at]), kind, float(top[at]), tuple(labels))


def _deals(there: NDArray[np.bool_], rng: np.random.Generator) -> Codes:
    """Return places in the flattened table, as they are and dealt out again within each post."""
    slots = np.arange(there.shape[1])
    deals = np.where(there, rng.random((DEALS + 1, *there.shape)), 2.0 + slots).argsort(2)
    deals[0] = slots
    return deals + np.arange(len(there))[:, None] * len(slots)


def _dealt_across(deals: Codes, there: NDArray[np.bool_], rng: np.random.Generator) -> Codes:
    """Also deal out which people labelled which post."""
    across, full = deals.copy(), np.flatnonzero(there.all(1))
    for deal in range(1, len(deals)):
        across[deal, full] = deals[deal, rng.permutation(full)]
    return across


class _Tests:
    """The standardised statistics of all people, as they are (row 0) and dealt."""

    def __init__(
        self,
        who: Codes,
        said: Codes,
        there: NDArray[np.bool_],
        deals: Codes,
        member: Floats,
        each: float,
        rng: np.random.Generator,
    ) -> None:
        self.z: dict[tuple[str, *tuple[int, ...]], Floats] = {}
        self.said, self.there, self.deals, self.member, self.each, self.rng = (
            said,
            there,
            deals,
            member,
            each,
            rng,
        )
        self.count = member.sum(0)
        self.votes = np.zeros((len(who), 0))

    def means(self, values: Floats) -> Floats:
        """Return each person's mean of these values of the answers, for all deals."""
        means: Floats = values.ravel()[self.deals].reshape(len(self.deals), -1) @ self.member / self.count
        return means

    def add(self, name: tuple[str, *tuple[int, ...]], values: Floats, allowed: float) -> None:
        """Standardise by what the deals give; good people differ by `allowed`, too."""
        moves = values[1:].std(0) > 1e-9
        dealt = values[1:] + self.rng.normal(0, allowed, values[1:].shape)
        standard = (np.vstack([values[:1], dealt]) - dealt.mean(0)) / np.where(moves, dealt.std(0), 1)
        self.z[name] = np.where(moves, standard, 0.0)

    def of_labels(self, classes: int) -> None:
        """Add the tests that need a third person: agreement, use of labels, exchanged labels."""
        there, said = self.there, self.said
        self.votes = np.stack([((said == label) & there).sum(1) for label in range(classes)], axis=1).astype(
            float
        )
        rest = np.maximum(there.sum(1, keepdims=True) - 1, 1)
        same = (np.take_along_axis(self.votes, said, 1) - 1) / rest
        shift = ALLOWED * (1 - 2 / self.each)
        self.add(("agrees",), -self.means(same), shift)
        for label in range(classes):
            self.add(
                ("uses", label), self.means((said == label).astype(float)), ALLOWED * (1 - 1 / self.each)
            )
            self.z["uses", label] = np.abs(self.z["uses", label])
        for a, b in itertools.combinations(range(classes), 2):
            exchanged = np.where(said == a, self.votes[:, [b]], self.votes[:, [a]]) / rest - same
            gain = np.where((said == a) | (said == b), exchanged, 0.0)
            values = self.means(gain)
            self.add(("swaps", a, b), values, shift)
            self.z["swaps", a, b] *= values > 2 * np.sqrt((gain.ravel() ** 2 @ self.member) / self.count**2)

    def is_random(self, at: int) -> bool:
        """True if the person agrees with the others no more than their label profiles would by chance."""
        mine = self.member[:, at] > 0
        width = self.said.shape[1]
        profile = np.bincount(self.said.ravel()[mine], minlength=self.votes.shape[1]) / self.count[at]
        votes, own = np.repeat(self.votes, width, 0)[mine], self.said.ravel()[mine]
        theirs = votes.sum(0) - profile * self.count[at]
        same = (votes[np.arange(len(own)), own] - 1) / np.maximum(votes.sum(1) - 1, 1)
        return interval_of_share(same.mean(), len(own))[0] < float(profile @ theirs / theirs.sum())


def _log_runs(
    who: Codes, said: Codes, place: Codes, deals: Codes, people: Codes, there: NDArray[np.bool_]
) -> Floats:
    dealt = said.ravel()[deals].reshape(len(deals), -1)
    logs = np.zeros((len(deals), len(people)))
    for at, person in enumerate(people):
        cells = np.flatnonzero(((who == person) & there).ravel())
        own = dealt[:, cells[place.ravel()[cells].argsort()]]
        run = longest = np.ones(len(own))
        for k in range(1, own.shape[1]):
            run = np.where(own[:, k] == own[:, k - 1], run + 1, 1)
            longest = np.maximum(longest, run)
        logs[:, at] = np.log(longest)
    return logs


def _runs_fit_the_others(
    who: Codes, said: Codes, place: Codes, people: Codes, there: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """True for people who agree with the others within their longest run as outside it: the posts were like that."""
    same = ((said[:, :, None] == said[:, None, :]) & there[:, None, :]).sum(2) - 1.0
    same /= np.maximum(there.sum(1, keepdims=True) - 1, 1)
    fit = np.zeros(len(people), dtype=bool)
    for at, person in enumerate(people):
        cells = np.flatnonzero(((who == person) & there).ravel())
        cells = cells[place.ravel()[cells].argsort()]
        own, agreed = said.ravel()[cells], same.ravel()[cells]
        number = np.cumsum(np.r_[0, own[1:] != own[:-1]])
        inside = number == np.bincount(number).argmax()
        if not inside.all():
            error = np.sqrt(0.25 / inside.sum() + 0.25 / (~inside).sum())
            fit[at] = agreed[inside].mean() > agreed[~inside].mean() - 2 * error
    return fit


def interval_of_share(share: float, count: float) -> tuple[float, float]:
    """Return Jeffreys' 95% interval of a share.

    >>> [round(end, 2) for end in interval_of_share(0.8, 60)]
    [0.69, 0.89]
    """
    from scipy.special import betaincinv

    a, b = share * count + 0.5, (1 - share) * count + 0.5
    return float(betaincinv(a, b, 0.025)), float(betaincinv(a, b, 0.975))
