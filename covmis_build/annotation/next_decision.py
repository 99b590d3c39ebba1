"""What a lead decides between two batches: go on or stop, whom to talk to, which rule to rewrite, which claims are hard.

A sentence for each, with its evidence, silent where it is missing; below them tables of people, rules and claims.
People are named only for straight lines, exchanged labels and random answers, or for labels that decisions overruled; over
all these tests a round of people who work alike has a false alarm in at most one of twenty rounds.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from covmis_build.annotation.answers import Phase, Status, is_unclear, labels_of, present
from covmis_build.annotation.label_matrix import in_natural_order
from covmis_build.errors import counted
from covmis_build.options import by_people
from covmis_build.stats.repeated_looks import shrunken_shares
from covmis_build.stats.unlike_people import DEALS, Answers, Unlike, interval_of_share, unlike_people

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from covmis_build.records import Label

OF_PEOPLE, OF_OVERRULED = 0.04, 0.01
"""How the false alarms of a round are divided: who differs from the others, and whose labels decisions overruled."""
FEWEST = 10
"""Posts that a person or a pair needs to be described."""
MOST = 20_000
"""Labels that are dealt out again; of more, posts are taken evenly."""
FEWEST_OVERRULED = 5
WORTH = 0.02
"""The share of posts that a rule has to cost, at least, before its rewriting is advised."""
OF_RULES = ("guideline", "ambiguous")
"""Error classes that a better rule would mend."""
RULE = re.compile(
    r"(?:\b(?:rules?|regel|regla|règle|regola|regra|no|nr|point|§|r)\b\.?|§|#)\s*(\d+(?:\.\d+)*)",
    re.IGNORECASE,
)
NUMBERED = re.compile(
    r"^\s*(?:#+\s*)?(?:\*\*)?(?:rule\s+|§\s*)?(\d+(?:\.\d+)*)[.):]?\s", re.IGNORECASE | re.MULTILINE
)


class ComparedPerson(Struct, frozen=True):
    """A person compared with the others who labelled the same posts."""

    annotator: str
    posts: int
    agreement: float
    low: float
    high: float
    by_chance: float
    profile: dict[str, float]
    longest_run: int
    halves: tuple[float, float] | None = None
    """Agreement in the first and the second half of the person's work."""
    seconds: float | None = None
    exchanged: tuple[str, str, float] | None = None
    """The two labels whose exchange agrees most with the others, and that agreement, if it is higher."""
    stands_out: str = ""


class RuleTally(Struct, frozen=True):
    """Posts on which people gave two different labels, by what the decisions say of the reason."""

    pair: str
    posts: int
    classes: dict[str, int]
    rules: dict[str, int]
    claims: dict[str, int]
    examples: list[str]


class HardClaim(Struct, frozen=True):
    """A claim's share of posts with different labels, shrunken towards all claims."""

    claim: str
    posts: int
    differing: int
    share: float
    low: float
    high: float
    unclear: int = 0
    """Of how many posts somebody said that the claim is unclear."""


class NextDecision(Struct, frozen=True):
    """The sentences and tables for the next decision."""

    sentences: list[str]
    people: list[ComparedPerson]
    rules: list[RuleTally]
    claims: list[HardClaim]
    sampled: bool = False
    """True if only some of the posts were used for people's differences."""

    @property
    def people_table(self) -> tuple[list[str], list[list[object]]]:
        """Return columns and rows of the table of people; columns that say nothing of anybody are left out."""
        rows = [
            {
                "Annotator": person.annotator,
                "Stands out": person.stands_out,
                "Posts": person.posts,
                "Agreement": f"{person.agreement:.2f}",
                "95% interval": f"{person.low:.2f} to {person.high:.2f}",
                "By chance": f"{person.by_chance:.2f}",
                **{label: f"{share:.0%}" for label, share in person.profile.items()},
                "Longest run": person.longest_run,
                "Halves": "" if person.halves is None else "{:.2f}, {:.2f}".format(*person.halves),
                "Exchanged": ""
                if person.exchanged is None
                else "{} and {}: {:.2f}".format(*person.exchanged),
                "Seconds per post": "" if person.seconds is None else f"{person.seconds:.0f}",
            }
            for person in self.people
        ]
        columns = [name for name in (rows[0] if rows else ()) if any(row[name] != "" for row in rows)]
        return columns, [[row[name] for name in columns] for row in rows]


def next_decision(
    given: pd.DataFrame,
    labels: pd.DataFrame,
    classes: Sequence[str],
    *,
    stop: str = "",
    orders: Mapping[str, Sequence[str]] | None = None,
    guideline: str = "",
) -> NextDecision:
    """Compute it from independent labels of people (`given`), all labels with decisions, and the sentence about the target."""
    rows = given[given.groupby("item")["annotator"].transform("nunique") > 1]
    if rows.empty:
        return NextDecision([*filter(None, [stop, _explain(_unclear(labels))])], [], [], [])
    decided = {row.item_id: row for row in labels_of(present(labels)) if _decides(row)}
    named = _Named(rows, classes, orders or {})
    people = named.people()
    rules = _rules(rows, decided, guideline)
    talk = named.sentence() or _overruled(rows, decided)
    posts = rows["item"].nunique()
    unclear = _unclear(labels)
    sentences = [stop, talk, _rewrite(rules, posts), _explain(unclear)]
    return NextDecision([*filter(None, sentences)], people, rules, _claims(rows, unclear), named.sampled)


def _decides(row: Label) -> bool:
    return row.phase in {Phase.DISCUSSION, Phase.ADJUDICATION} and row.status in {
        Status.GIVEN,
        Status.SKIPPED,
    }


class _Named:
    """The people of a round as a table, and who of them differs."""

    def __init__(
        self, rows: pd.DataFrame, classes: Sequence[str], orders: Mapping[str, Sequence[str]]
    ) -> None:
        self.classes = list(classes)
        self.names = in_natural_order(rows["annotator"].unique())
        self.rows = rows.assign(place=_places(rows, orders))
        self.sampled = len(rows) > MOST
        items = rows["item"].unique()
        if self.sampled:
            items = items[np.linspace(0, len(items) - 1, round(len(items) * MOST / len(rows))).astype(int)]
        self.unlike = {
            named.person: named for named in unlike_people(self._answers(set(items)), share=OF_PEOPLE)
        }

    def _answers(self, items: set[str]) -> Answers:
        rows = self.rows[self.rows["item"].isin(items)]
        most = int(rows.groupby("item").size().max())
        at = {item: number for number, item in enumerate(dict.fromkeys(rows["item"]))}
        shape = (len(at), most)
        who, said, place = (np.full(shape, -1), np.zeros(shape, dtype=int), np.zeros(shape, dtype=int))
        seconds = np.full(shape, np.nan)
        slot = rows.groupby("item").cumcount().to_numpy()
        line = rows["item"].map(at).to_numpy()
        who[line, slot] = [self.names.index(name) for name in rows["annotator"]]
        said[line, slot] = [self.classes.index(label) for label in rows["label"]]
        place[line, slot] = rows["place"]
        if "seconds" in rows.columns:
            seconds[line, slot] = rows["seconds"]
        timed = not np.isnan(seconds[who >= 0]).any()
        return Answers(
            who, said, place, len(self.classes), np.where(who >= 0, seconds, 1.0) if timed else None
        )

    def people(self) -> list[ComparedPerson]:
        """Return everybody with enough posts, those who need attention first."""
        rows = [self._compared(at, name) for at, name in enumerate(self.names)]
        order = {person: number for number, person in enumerate(self.unlike)}
        place = {name: order.get(at, len(order)) for at, name in enumerate(self.names)}
        return sorted(filter(None, rows), key=lambda row: (place[row.annotator], row.agreement))

    def _compared(self, at: int, name: str) -> ComparedPerson | None:
        mine = self.rows[self.rows["annotator"] == name].sort_values("place")
        if len(mine) < FEWEST:
            return None
        others = self.rows[(self.rows["annotator"] != name) & self.rows["item"].isin(set(mine["item"]))]
        votes = others.pivot_table(index="item", columns="label", aggfunc="size", fill_value=0)
        votes = votes.reindex(columns=self.classes, fill_value=0).reindex(mine["item"])
        theirs = votes.to_numpy(dtype=float)
        share = theirs / theirs.sum(1, keepdims=True)
        own = np.array([self.classes.index(label) for label in mine["label"]])
        same = share[np.arange(len(own)), own]
        profile = np.bincount(own, minlength=len(self.classes)) / len(own)
        half = len(own) // 2
        low, high = interval_of_share(float(same.mean()), len(own))
        seconds = mine["seconds"].dropna().tolist() if "seconds" in mine.columns else list[float]()
        return ComparedPerson(
            annotator=name,
            posts=len(own),
            agreement=float(same.mean()),
            low=low,
            high=high,
            by_chance=float(profile @ theirs.sum(0) / theirs.sum()),
            profile={label: float(value) for label, value in zip(self.classes, profile, strict=True)},
            longest_run=max(len(list(run)) for _, run in itertools.groupby(own)),
            halves=(float(same[:half].mean()), float(same[half:].mean())) if half >= FEWEST else None,
            seconds=float(np.median(seconds)) if len(seconds) else None,
            exchanged=self._exchanged(own, share, float(same.mean())),
            stands_out=self._in_words(self.unlike[at]) if at in self.unlike else "",
        )

    def _exchanged(self, own: np.ndarray, share: np.ndarray, same: float) -> tuple[str, str, float] | None:
        best = None
        for a, b in itertools.combinations(range(len(self.classes)), 2):
            swapped = np.where(own == a, b, np.where(own == b, a, own))
            value = float(share[np.arange(len(own)), swapped].mean())
            if value > max(same, best[2] if best else 0.0):
                best = (self.classes[a], self.classes[b], value)
        return best

    def _in_words(self, named: Unlike) -> str:
        labels = [self.classes[label] for label in named.labels]
        return {
            "straight": "long runs of one label",
            "swaps": f"agrees more if {' and '.join(labels)} are exchanged",
            "uses": f"uses {' '.join(labels)} otherwise than the others",
            "agrees": "agrees less than the others",
            "random": "agrees no more than chance would",
            "quick": "is quicker than the others",
        }[named.kind]

    def sentence(self) -> str:
        """Return whom to talk to first, if somebody drew a straight line, exchanged labels or answered at random."""
        for at, named in self.unlike.items():
            row = self._compared(at, self.names[at])
            if row is None or named.kind not in {"straight", "swaps", "random"}:
                continue
            evidence = f"agreement with the others {row.agreement:.0%} ({row.low:.0%} to {row.high:.0%}) on {counted(row.posts, 'posts')}"
            if named.kind == "straight":
                return (
                    f"Talk to {row.annotator}: {row.longest_run} times in a row the same label, {evidence}."
                )
            if named.kind == "random":
                return f"Talk to {row.annotator}: {evidence}, and by chance it would be {row.by_chance:.0%}."
            first, second = (self.classes[label] for label in named.labels)
            return (
                f"Talk to {row.annotator}: did they exchange {first} and {second}? With these exchanged they agree {row.exchanged[2]:.0%}; {evidence}."
                if row.exchanged
                else ""
            )
        return ""


def _places(rows: pd.DataFrame, orders: Mapping[str, Sequence[str]]) -> list[int]:
    """Return each answer's rank in its person's work: by the order in which the posts were given out."""
    rank = {(who, item): at for who, items in orders.items() for at, item in enumerate(items)}
    return [
        rank.get((str(who), item), len(rank) + at)
        for at, (who, item) in enumerate(zip(rows["annotator"], rows["item"], strict=True))
    ]


def _rules(rows: pd.DataFrame, decided: Mapping[str, Label], guideline: str) -> list[RuleTally]:
    """Tally the posts with different labels by pair, error class, and the numbered rules that reasons name."""
    numbers = set(NUMBERED.findall(guideline))
    pairs: dict[str, list[tuple[str, str]]] = {}
    for item, part in rows.groupby("item", sort=True):
        given = sorted(set(part["label"]))
        if len(given) > 1:
            pairs.setdefault(" / ".join(given), []).append((str(item), str(part["claim"].iloc[0])))
    tallies = []
    for pair, items in pairs.items():
        rows_of = [decided[item] for item, _ in items if item in decided]
        rules = [
            number
            for row in rows_of
            for number in dict.fromkeys(RULE.findall(row.reason))
            if number in numbers
        ]
        tellable = [item for item, _ in items if item in decided and decided[item].error_class in OF_RULES]
        tallies.append(
            RuleTally(
                pair,
                len(items),
                _count(row.error_class or "(none)" for row in rows_of),
                _count(rules),
                _count(claim for _, claim in items),
                (tellable or [item for item, _ in items])[:2],
            )
        )
    return sorted(tallies, key=lambda tally: (-tally.posts, tally.pair))


def _count(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))


def _rewrite(rules: Sequence[RuleTally], posts: int) -> str:
    """Return which rule costs most posts, if it certainly costs more than `WORTH` of all."""
    lost = {tally.pair: sum(tally.classes.get(name, 0) for name in OF_RULES) for tally in rules}
    tally = max(rules, key=lambda tally: lost[tally.pair], default=None)
    if tally is None or not posts or interval_of_share(lost[tally.pair] / posts, posts)[0] < WORTH:
        return ""
    rule = f" (rule {next(iter(tally.rules))})" if tally.rules else ""
    return f"Rewrite the rule for {tally.pair}{rule}: {lost[tally.pair]} of {counted(posts, 'posts')} needed a decision for want of it, as {', '.join(tally.examples)}."


def _overruled(rows: pd.DataFrame, decided: Mapping[str, Label]) -> str:
    """Return whose labels decisions overruled more often than dealing each post's labels out again among its people explains."""
    final = {item: row.label for item, row in decided.items() if row.label}
    rows_decided = rows[rows["item"].isin(final)].sort_values(["item", "annotator"])
    if rows_decided.empty:
        return ""
    names = in_natural_order(rows_decided["annotator"].unique())
    wrong = [
        (given, final[item]) for given, item in zip(rows_decided["label"], rows_decided["item"], strict=True)
    ]
    kinds = sorted({pair for pair in wrong if pair[0] != pair[1]})
    if not kinds:
        return ""
    code = np.array([kinds.index(pair) if pair in kinds else -1 for pair in wrong])
    item = np.unique(rows_decided["item"], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    deals = np.argsort(item + rng.random((DEALS + 1, len(item))), axis=1)
    deals[0] = np.arange(len(item))
    member = np.eye(len(names))[[names.index(name) for name in rows_decided["annotator"]]]
    counts = np.stack([(code == kind)[deals].astype(float) @ member for kind in range(len(kinds))], axis=2)
    z = (counts - counts[1:].mean(0)) / np.maximum(counts[1:].std(0), 0.5)
    often = np.where(counts[0] < FEWEST_OVERRULED, 0.0, z[0])
    who, kind = np.unravel_index(int(often.argmax()), often.shape)
    if often[who, kind] <= np.quantile(z[1:].max((1, 2)), 1 - OF_OVERRULED):
        return ""
    given, right = kinds[kind]
    mine = rows_decided[(rows_decided["annotator"] == names[who]) & (code == kind)]["item"]
    times, expected = int(counts[0, who, kind]), float(counts[1:, who, kind].mean())
    return f"Talk to {names[who]} about {given}: {times} times the decision was {right} ({expected:.1f} expected), as {', '.join(mine.head(2))}."


def _unclear(labels: pd.DataFrame) -> dict[str, list[Label]]:
    """Return for each claim the answers of people that it is unclear."""
    by_claim: dict[str, list[Label]] = {}
    for row in labels_of(by_people(present(labels))):
        if row.phase == Phase.INDEPENDENT and is_unclear(row):
            by_claim.setdefault(row.item_id.partition("|")[0], []).append(row)
    return by_claim


def _explain(unclear: Mapping[str, Sequence[Label]]) -> str:
    """Return which claim to explain: the one that two people or more call unclear at most posts."""
    people = {claim: {row.annotator for row in rows} for claim, rows in unclear.items()}
    posts = {claim: len({row.item_id for row in rows}) for claim, rows in unclear.items()}
    claim = max((one for one in people if len(people[one]) > 1), key=lambda one: posts[one], default="")
    who = ", ".join(in_natural_order(people[claim])) if claim else ""
    return (
        f"Explain claim {claim}: {who} said at {counted(posts[claim], 'posts')} that it is unclear."
        if claim
        else ""
    )


def _claims(rows: pd.DataFrame, unclear: Mapping[str, Sequence[Label]]) -> list[HardClaim]:
    """Rank claims by their shrunken share of posts with different labels."""
    differs = rows.groupby(["claim", "item"])["label"].nunique().gt(1).groupby(level=0).agg(["size", "sum"])
    shares = shrunken_shares(differs["size"].tolist(), differs["sum"].tolist())
    ranked = [
        HardClaim(
            str(claim),
            int(row["size"]),
            int(row["sum"]),
            *share,
            unclear=len({answer.item_id for answer in unclear.get(str(claim), ())}),
        )
        for (claim, row), share in zip(differs.iterrows(), shares, strict=True)
    ]
    return sorted(ranked, key=lambda claim: (-claim.share, claim.claim))
