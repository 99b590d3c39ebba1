"""What the next decision's sentences say of planted people, rules and claims: `python benchmarks/next_decision.py [ROUNDS] [looks] [rules] [people]`.

Detection and false alarms by round, beside the pair table's lowest kappa; then looks at a target after each batch.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from covmis_build.annotation.next_decision import next_decision
from covmis_build.records import Label
from covmis_build.stats.repeated_looks import wider_at_every_look
from tests.annotation.worlds import KINDS, LABELS, decided_round, labelled_round, orders_of

SIZES = ((2, 240), (3, 120), (5, 300), (20, 300))


def ahead(given, decided=()):
    labels = pd.DataFrame([row._asdict() for row in decided], columns=Label._fields)
    return next_decision(given, labels, tuple(LABELS), orders=orders_of(given))


def lowest(given) -> tuple[str, float]:
    """The person whose labels have the lowest kappa with the others' of the same posts, and that kappa."""
    both = given.merge(given, on="item", suffixes=("", "_of_others"))
    both = both[both["annotator"] != both["annotator_of_others"]]
    kappas = {}
    for who, part in both.groupby("annotator"):
        same = (part["label"] == part["label_of_others"]).mean()
        chance = (
            part["label"].value_counts(normalize=True) * part["label_of_others"].value_counts(normalize=True)
        ).sum()
        kappas[str(who)] = float((same - chance) / (1 - chance))
    return min(kappas.items(), key=lambda pair: pair[1])


def people(rounds: int) -> None:
    print(
        "people x posts  kind       stands out  named  somebody else  lowest kappa below .5: planted / else"
    )
    for count, posts in SIZES:
        for kind in KINDS:
            planted = kind not in {"honest", "uneven"}
            tally = np.zeros(5)
            for seed in range(rounds):
                given = labelled_round(
                    np.random.default_rng([count, posts, KINDS.index(kind), seed]), count, posts, kind
                )
                shown = ahead(given)
                out = [person.annotator for person in shown.people if person.stands_out]
                who, kappa = lowest(given)
                guilty = planted and who == "a2"
                named = any(sentence.startswith("Talk to a2:") for sentence in shown.sentences)
                wrong = [name for name in out if not (planted and name == "a2")]
                tally += [
                    planted and "a2" in out,
                    planted and named,
                    bool(wrong),
                    kappa < 0.5 and guilty,
                    kappa < 0.5 and not guilty,
                ]
            shares = " ".join(f"{share:9.1%}" for share in tally / rounds)
            print(f"{count:6} x {posts:4}  {kind:9} {shares}", flush=True)


def rules(rounds: int) -> None:
    print("people x posts  planted    talk right / wrong   rule right / wrong")
    for count, posts in ((2, 120), (2, 240), (3, 240)):
        for kind in ("nothing", "person", "rule"):
            tally = np.zeros(4)
            for seed in range(rounds):
                given, decided = decided_round(
                    np.random.default_rng([count, posts, len(kind), seed]), count, posts, kind
                )
                told = ahead(given, decided).sentences
                talk = [sentence for sentence in told if sentence.startswith("Talk")]
                rule = [sentence for sentence in told if sentence.startswith("Rewrite")]
                right = [
                    sentence.startswith("Talk to a1 about neither") and kind == "person" for sentence in talk
                ]
                mended = ["against / neither" in sentence and kind == "rule" for sentence in rule]
                tally += [
                    any(right),
                    bool(talk) and not any(right),
                    any(mended),
                    bool(rule) and not any(mended),
                ]
            talk_right, talk_wrong, rule_right, rule_wrong = tally / rounds
            print(
                f"{count:6} x {posts:4}  {kind:8} {talk_right:8.0%} / {talk_wrong:5.1%} {rule_right:12.0%} / {rule_wrong:5.1%}",
                flush=True,
            )


def looks(studies: int) -> None:
    """Kappa of two people over twenty batches of 60 posts; the target is its true value."""
    rng, wrong = np.random.default_rng(0), np.zeros(2)
    truth = 0.7  # agree on 85 of 100 posts with two labels of the same frequency
    for _ in range(studies):
        first = rng.integers(0, 2, 1200)
        second = np.where(rng.random(1200) < 0.15, 1 - first, first)
        stops = np.zeros(2, dtype=bool)
        for posts in range(60, 1201, 60):
            same, a, b = (first[:posts] == second[:posts]).mean(), first[:posts].mean(), second[:posts].mean()
            chance = a * b + (1 - a) * (1 - b)
            kappa, error = (same - chance) / (1 - chance), np.sqrt(same * (1 - same) / posts) / (1 - chance)
            away = abs(kappa - truth) / error
            stops |= [away > 1.96, away > 1.96 * wider_at_every_look(posts)]
        wrong += stops
    print(
        "studies at the target that are told it is reached or missed: fixed {:.1%}, at every look {:.1%}".format(
            *wrong / studies
        )
    )


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    asked = sys.argv[2:] or ["looks", "rules", "people"]
    if "looks" in asked:
        looks(10 * rounds)
    if "rules" in asked:
        rules(rounds)
    if "people" in asked:
        people(rounds)
