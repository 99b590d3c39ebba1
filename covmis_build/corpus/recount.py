"""Recompute what a release says of itself: parts, weights, rules, agreement, and all files that follow from others.

Texts and the target population are not in it: lengths of texts, and without a package the population, are accepted as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.corpus import people_labels, release_facts
from covmis_build.corpus.again import CLOSE, content_of, differing
from covmis_build.corpus.publish import BUNDLE
from covmis_build.corpus.release import LeftOut, rules_of
from covmis_build.corpus.resources import DIVIDED, MISINFORMATION, PARTS
from covmis_build.errors import CovmisError, counted
from covmis_build.options import by_people
from covmis_build.records import independent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts


@dataclass(frozen=True, slots=True)
class Check:
    """A question and its answer. `detail` gives the problem, or how much was checked."""

    what: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        told = f": {self.detail}" if self.detail else ""
        return f"{'ok    ' if self.passed else 'FAILED'}  {self.what}{told}"


ONE_PART = "every item is in one part"
WRITTEN_AGAIN = "every byte of every file is what covmis writes of the release's tables and facts"
TOLD_AGAIN = "the files hold the same rows and numbers"


def shown(names: Sequence[str], most: int = 5) -> str:
    """Name the first of these."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def check_by_recount(
    folder: Path, facts: ReleaseFacts, corpus: pd.DataFrame, *, exactly: bool
) -> list[Check]:
    """Check everything that can be recomputed from the release itself; `exactly`: this version wrote it."""
    if corpus["item_id"].duplicated().any():
        return []  # a check of the rows reports this
    try:
        divided = DIVIDED.read(folder)
        if divided is not None and divided["item_id"].duplicated().any():
            return [Check(ONE_PART, passed=False, detail="an item stands twice")]
        content = content_of(folder, facts, corpus)
        differ = differing(folder, facts, content, exactly=exactly)
        return [
            Check(WRITTEN_AGAIN if exactly else TOLD_AGAIN, not differ, shown(differ)),
            *_splits(facts, corpus, divided),
            *_claims(folder, content.claims, corpus),
            *_weights(content.weights, corpus),
            *_rules(corpus),
            _facts_of_rows(facts, corpus),
            _shares(content.numbers.shares, corpus),
            *_people(facts, corpus, content.people),
        ]
    except (CovmisError, OSError, ValueError, KeyError) as error:
        return [Check("the files can be read", passed=False, detail=str(error))]


def _splits(facts: ReleaseFacts, corpus: pd.DataFrame, divided: pd.DataFrame | None) -> list[Check]:
    """Check that every item is in one part, and that no group (or claim, if required) is in two."""
    if divided is None:
        return [] if facts.parts is None else [Check("the parts are there", passed=False)]
    same = divided["item_id"].tolist() == corpus["item_id"].tolist() and set(divided["part"]) <= set(PARTS)
    torn = []
    if facts.parts is not None and facts.parts.scheme != "chronological":
        owners = {"group": divided["group"]}
        if facts.parts.together.startswith("The posts of a claim"):
            owners["claim"] = corpus["claim_id"]
        for name, owner in owners.items():
            pairs = set(zip(owner, divided["part"], strict=False))
            torn += [name] if len(pairs) > owner.nunique() else []
    return [
        Check(ONE_PART, same, counted(len(divided), "rows")),
        Check("no part tears what belongs together", not torn, ", ".join(torn)),
    ]


def _claims(folder: Path, claims: pd.DataFrame | None, corpus: pd.DataFrame) -> list[Check]:
    """Check the claims of the corpus in COVMis-Stance's format."""
    if claims is None:
        return []
    mine = corpus.drop_duplicates("claim_id").sort_values("claim_id")[["claim_id", "claim"]]
    same = claims[["mid", "mis"]].to_numpy().tolist() == mine.to_numpy().tolist()
    detail = counted(len(claims), "rows") + (
        "" if (folder / BUNDLE).is_file() else "; queries cannot be compared without a bundle"
    )
    return [Check(f"{MISINFORMATION}.csv has the corpus' claims", same, detail)]


def _weights(weights: pd.DataFrame | None, corpus: pd.DataFrame) -> list[Check]:
    """Check replicate weights: each replicate omits one claim and multiplies the others by G/(G - 1)."""
    import numpy as np

    if weights is None:
        return []
    names = list(dict.fromkeys(corpus["claim_id"]))
    wanted = corpus["weight"].to_numpy(float)[:, None] * len(names) / (len(names) - 1)
    wanted = np.where(
        corpus["claim_id"].to_numpy(object)[:, None] == np.array(names, object)[None], 0.0, wanted
    )
    told = weights.filter(regex=r"^weight_\d+$")
    same = (
        weights["item_id"].tolist() == corpus["item_id"].tolist()
        and weights["claim_id"].tolist() == corpus["claim_id"].tolist()
        and told.shape == wanted.shape
        and np.allclose(told.to_numpy(float), wanted, rtol=CLOSE, atol=0)
        and np.allclose(weights["weight"].to_numpy(float), corpus["weight"], rtol=CLOSE, atol=0)
    )
    return [Check("replicate weights leave out a claim each", bool(same), f"{told.shape[1]} replicates")]


def _rules(corpus: pd.DataFrame) -> list[Check]:
    """Check automatic labels: items that a rule labelled have one, and without an audit it is the label."""
    rule = corpus["automatic_label"]
    if rule.isna().all():  # before 0.3
        return []
    wrong = rule != rules_of(corpus)
    wrong |= corpus["how"].isin(["automatic", "audited"]) & (rule == "")
    wrong |= ~corpus["p_audit"].between(0, 1) | ((rule == "") & (corpus["p_audit"] != 1))
    detail = ", ".join(corpus.loc[wrong, "item_id"].head(5))
    return [Check("automatic labels are those of the labels' sources", not wrong.any(), detail)]


def _facts_of_rows(facts: ReleaseFacts, corpus: pd.DataFrame) -> Check:
    """Check facts.json against the rows: platforms, days, audited labels."""
    audited = corpus[corpus["how"] == "audited"]
    rule = audited["automatic_label"].fillna(audited["kind"].map(facts.labels.automatic))
    audit = len(audited), int((audited["label"] != rule).sum())
    wrong = {
        "made ids": facts.made_ids not in {None, release_facts.count_made_ids(corpus)},
        "platforms": facts.platforms != release_facts.platform_counts(corpus),
        "period": tuple(facts.period) != release_facts.period(corpus),
        "audit": (facts.audit.audited, facts.audit.changed) != audit,
        "rows": sum(round_.items for round_ in facts.rounds if not round_.pilot)
        != len(corpus) + sum(count for why, count in facts.left_out.items() if why != LeftOut.PILOT)
        if facts.rounds
        else False,
    }
    return Check(
        "facts.json fits the rows", not any(wrong.values()), ", ".join(n for n, bad in wrong.items() if bad)
    )


def _shares(shares: pd.DataFrame, corpus: pd.DataFrame) -> Check:
    """Check estimated shares against the weights or (with audited labels) without them."""
    import numpy as np

    wrong = []
    corrected = bool((corpus["how"] == "audited").any())
    unique = corpus["weight"].to_numpy(float)
    of_posts = corpus["weight_of_posts"].fillna(corpus["weight"] * corpus["group_size"]).to_numpy(float)
    weights = {False: unique, True: of_posts}
    for row in shares.to_dict("records"):
        here = (corpus["label"] == row["label"]).to_numpy(float)
        weighted = float(np.average(here, weights=weights[row["estimand"] == "posts"]))
        inside = weights[False] > 0
        same = math.isclose(here[inside].mean(), row["unweighted"], abs_tol=CLOSE)
        wrong += (
            []
            if same and (corrected or math.isclose(weighted, row["share"], abs_tol=CLOSE))
            else [str(row["label"])]
        )
    return Check("the shares are those of the rows", not wrong, ", ".join(dict.fromkeys(wrong)))


def _people(facts: ReleaseFacts, corpus: pd.DataFrame, own: pd.DataFrame | None) -> list[Check]:
    """Check individual labels, in their rounds' words, against the corpus and kappa."""
    if own is None:
        return []
    people = by_people(people_labels.in_corpus_labels(own, facts.label_sets))
    contradicted = _contradicted(people, corpus.set_index("item_id"))
    what = "gold labels follow from the annotators' labels"
    return [Check(what, not contradicted, shown(contradicted)), *_kappa(facts, by_people(own))]


def _contradicted(labels: pd.DataFrame, gold: pd.DataFrame) -> list[str]:
    """Return items whose corpus label contradicts `how`."""
    known = labels[(labels["status"] == "given") & labels["item_id"].isin(gold.index)]
    answers: dict[str, dict[str, list[str]]] = {}
    for item, phase, label in zip(known["item_id"], known["phase"], known["label"], strict=True):
        answers.setdefault(item, {}).setdefault(phase, []).append(label)
    label_of, how_of = gold["label"].to_dict(), gold["how"].to_dict()
    return [item for item, said in answers.items() if not _follows(label_of[item], how_of[item], said)]


def _follows(label: str, how: str, said: dict[str, list[str]]) -> bool:
    """True if this label follows from `how`; `said` has the labels of each phase.

    >>> _follows("favor", "majority", {"independent": ["favor", "favor", "against"]})
    True
    >>> _follows("favor", "majority", {"independent": ["favor", "against"]}), _follows("favor", "automatic", {})
    (False, True)
    """
    alone = said.get("independent", [])
    fits = {
        "agreed": set(alone) == {label},
        "single": alone == [label],
        "majority": 2 * alone.count(label) > len(alone),
        "discussed": label in said.get("discussion", []),
        "adjudicated": label in said.get("adjudication", []),
        "audited": any(label in labels for labels in said.values()),
        "automatic": not said,
    }
    return fits.get(how, False)


def _kappa(facts: ReleaseFacts, labels: pd.DataFrame) -> list[Check]:
    """Check kappa of independent labels, over all rounds and for each."""
    counted = [round_ for round_ in facts.rounds if not round_.pilot]
    missing = sum(count for why, count in facts.left_out.items() if why != LeftOut.PILOT)
    what = "kappa is that of what people said"
    if missing or not all(round_.seal for round_ in counted):
        why = f"{missing} items are missing" if missing else "a round is not sealed"
        return [Check(what, passed=True, detail=f"not counted: {why}")]
    alone = independent(labels[labels["how"] != "audited"])
    names = facts.labels.values  # noqa: PD011 - a setting
    told = [("all rounds", facts.kappa, people_labels.in_corpus_labels(alone, facts.label_sets), names)]
    told += [
        (
            round_.name,
            round_.kappa,
            alone[alone["round"] == round_.name],
            tuple(facts.label_sets.get(round_.name, names)),
        )
        for round_ in counted
        if round_.name not in facts.relabelled
    ]
    wrong = []
    for name, kappa, rows, classes in told:
        value = _headline(rows, classes) if kappa else None
        if kappa and (value is None or not math.isclose(kappa.value, value, rel_tol=CLOSE, abs_tol=CLOSE)):
            wrong.append(f"{name}: {kappa.value:.4f}, not {'undefined' if value is None else f'{value:.4f}'}")
    return [Check(what, not wrong, "; ".join(wrong))]


def _headline(rows: pd.DataFrame, names: tuple[str, ...]) -> float | None:
    """Return the headline coefficient of these labels; None if undefined."""
    from covmis_build.stats.agreement import headline

    codes = (
        rows.assign(code=rows["label"].map({name: at for at, name in enumerate(names)}))
        .pivot_table(index="item_id", columns="annotator", values="code", aggfunc="first")
        .fillna(-1)
        .to_numpy(int)
    )
    return headline(codes, len(names)).value
