"""Recompute a release from its data files: statistics, card, metadata, agreement, soft labels.

Texts, settings and the target population (needed for intervals) are not in it: lengths and intervals are accepted as they
are. With a package, settings and intervals are compared, too.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build import __version__
from covmis_build.corpus import covmis_shape, people_labels, release_facts
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.publish import BUNDLE, HUGGING_FACE, STATISTICS, hub_parts, rendered
from covmis_build.corpus.release import LeftOut, rules_of
from covmis_build.corpus.resources import (
    ANNOTATIONS,
    MISINFORMATION,
    PARTS,
    SOFT_LABELS,
    SPLITS,
    STANCE,
    WEIGHTS,
)
from covmis_build.corpus.statistics import SHARES, statistics
from covmis_build.errors import CovmisError, counted
from covmis_build.options import by_people
from covmis_build.places import FACTS
from covmis_build.records import independent
from covmis_build.storage import restored

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts

CLOSE = 1e-9


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


def check_by_recount(folder: Path, corpus: pd.DataFrame) -> list[Check]:
    """Check everything that can be recomputed from the release itself."""
    try:
        facts = release_facts.from_json((folder / FACTS).read_bytes())
    except (OSError, ValueError):
        return []  # a separate check reports this, and repeated items
    if corpus["item_id"].duplicated().any():
        return []
    try:
        divided = read_beside(folder / f"{SPLITS}.csv")
        if divided is not None and divided["item_id"].duplicated().any():
            return [Check(ONE_PART, passed=False, detail="an item stands twice")]
        return [
            _hub_copy(folder, corpus, divided),
            *_splits(facts, corpus, divided),
            *_other_shapes(folder, corpus),
            *_weights(folder, corpus),
            *_rules(corpus),
            _facts_of_rows(facts, corpus),
            *_statistics(folder, facts, corpus, divided),
            *_people(folder, facts, corpus),
        ]
    except (OSError, ValueError, KeyError) as error:
        return [Check("the files can be read", passed=False, detail=f"{type(error).__name__}: {error}")]


def read_beside(path: Path) -> pd.DataFrame | None:
    """Read a CSV file of a release as text; None if missing."""
    import pandas as pd

    if not path.is_file():
        return None
    rows = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return pd.DataFrame(rows.map(restored))


def _hub_copy(folder: Path, corpus: pd.DataFrame, divided: pd.DataFrame | None) -> Check:
    what = "the Hugging Face copy holds the same rows"
    wrong, rows = [], 0
    for name, part in hub_parts(corpus, divided).items():
        file = folder / HUGGING_FACE / f"{name}.parquet"
        try:
            copy = read_corpus(file)
        except CovmisError as error:
            return Check(what, passed=False, detail=str(error))
        rows += len(copy)
        wrong += [] if copy.equals(part) and _columns(file) == _columns(folder / "corpus.parquet") else [name]
    return Check(what, not wrong, ", ".join(wrong) or counted(rows, "rows"))


def _columns(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(file).names)


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


def _other_shapes(folder: Path, corpus: pd.DataFrame) -> list[Check]:
    """Check the corpus in COVMis-Stance's format, and its claims."""
    stance, claims = (read_beside(folder / f"{name}.csv") for name in (STANCE, MISINFORMATION))
    checks = []
    if stance is not None:
        again = covmis_shape.stance(corpus).astype(str)
        checks.append(
            Check(f"{STANCE}.csv holds the same rows", stance.equals(again), counted(len(stance), "rows"))
        )
    if claims is not None:
        mine = corpus.drop_duplicates("claim_id").sort_values("claim_id")[["claim_id", "claim"]]
        same = claims[["mid", "mis"]].to_numpy().tolist() == mine.to_numpy().tolist()
        detail = counted(len(claims), "rows") + (
            "" if (folder / BUNDLE).is_file() else "; queries cannot be compared without a bundle"
        )
        checks.append(Check(f"{MISINFORMATION}.csv has the corpus' claims", same, detail))
    return checks


def _weights(folder: Path, corpus: pd.DataFrame) -> list[Check]:
    """Check replicate weights: each replicate omits one claim and multiplies the others by G/(G - 1)."""
    import numpy as np

    weights = read_beside(folder / f"{WEIGHTS}.csv")
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


def _statistics(
    folder: Path, facts: ReleaseFacts, corpus: pd.DataFrame, divided: pd.DataFrame | None
) -> list[Check]:
    """Recompute statistics, and rebuild every page and metadata file from them."""
    import pandas as pd

    try:
        told = json.loads((folder / STATISTICS).read_bytes())
        shares = pd.DataFrame(told["shares"], columns=SHARES).fillna({"why": ""})
        numbers = statistics(corpus, facts.labels.values, shares=shares)
        lengths = pd.DataFrame(told["lengths"], columns=None if told["lengths"] else numbers.lengths.columns)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [Check(f"{STATISTICS} can be read", passed=False, detail=str(error))]
    numbers = replace(numbers, lengths=lengths)
    again = json.loads(json.dumps({"title": facts.title, **numbers.to_dict()}))
    differ = [name for name in again if not _same(again[name], told.get(name))]
    differ += [f"the share of {label}" for label in _other_shares(shares, corpus)]
    checks = [Check("statistics are those of the rows", not differ, ", ".join(differ))]
    what = "card, methods, statistics and metadata are those of the facts and the rows"
    if facts.version != __version__:
        return [*checks, Check(what, passed=True, detail=f"not compared: made by covmis {facts.version}")]
    pages = rendered(folder, facts, numbers, divided) | {FACTS: release_facts.to_json(facts)}
    theirs = {name: (folder / name).read_text("utf-8") for name in pages if (folder / name).is_file()}
    wrong = [name for name, text in pages.items() if theirs.get(name) != text]
    return [*checks, Check(what, not wrong, ", ".join(wrong) or counted(len(pages), "files"))]


def _other_shares(shares: pd.DataFrame, corpus: pd.DataFrame) -> list[str]:
    """Return labels whose estimated share differs from the weights' or (with audited labels) the unweighted one."""
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
    return list(dict.fromkeys(wrong))


def _same(first: Any, second: Any) -> bool:
    """True if equal, numbers to nine digits."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_same(first[name], second[name]) for name in first)
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(first == second)


def _people(folder: Path, facts: ReleaseFacts, corpus: pd.DataFrame) -> list[Check]:
    """Check individual labels against the corpus, the soft labels and kappa."""
    import pandas as pd

    labels = own = read_beside(folder / f"{ANNOTATIONS}.csv")
    if labels is None or own is None:
        return []
    copies = [pd.read_parquet(place / f"{ANNOTATIONS}.parquet") for place in (folder, folder / HUGGING_FACE)]
    if [name for name in people_labels.SCHEMA.names if name not in labels]:
        return [Check("annotations.csv has its columns", passed=False)]
    gold = corpus.set_index("item_id")
    wrong = labels.loc[
        (labels["gold"] != labels["item_id"].map(gold["label"]))
        | (labels["how"] != labels["item_id"].map(gold["how"])),
        "item_id",
    ]
    labels = people_labels.in_corpus_labels(own, facts.label_sets)
    people = by_people(labels)
    contradicted = _contradicted(people, gold)
    soft = pd.read_csv(folder / f"{SOFT_LABELS}.csv", encoding="utf-8-sig")
    counted = people_labels.soft_labels(labels, corpus, [name[6:] for name in soft.columns[3:]])
    same = json.loads(soft.to_json(orient="values")), json.loads(counted.to_json(orient="values"))
    return [
        Check(
            "annotations are the same in their formats",
            all(own.equals(copy.astype(str)) for copy in copies),
        ),
        Check("annotations name the corpus' labels", wrong.empty, ", ".join(wrong.head(5))),
        Check(
            "gold labels follow from the annotators' labels", not contradicted, ", ".join(contradicted[:5])
        ),
        Check("soft labels are the shares of what people said", _same(*same)),
        *_kappa(facts, by_people(own)),
    ]


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
