"""Figures recomputed from the files that the papers' authors released, in the folder `COVMIS_DATA_HOME`."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.split import splits
from covmis_build.stats.confusion import confusion_matrix

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

RELATED = ("agree", "disagree", "discuss", "unrelated")
URL_KINDS = ("news_url", "fact_check_url")
MU_FILES = {
    "tw15": "tw15.csv",
    "tw16": "tw16.csv",
    "pheme": "pheme_2603.csv",
    "weibo": "weibo2776_924_964.csv",
}
CUTS = {
    ("tw15", "chronological"): (519, 594),
    ("pheme", "chronological"): (4061, 4641),
    ("tw16", "stratified"): (144, 165),
}
"""Cut points of the released splits, where they are not floor(0.7 n) and floor(0.8 n)."""


@lru_cache(maxsize=8)
def _rows(path: Path) -> list[dict[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def covmis_count(home: Path, kind: str, label: str) -> float:
    """Posts of a kind (the two URL kinds merged) and label; empty: any."""
    kinds = {"": (), "url": URL_KINDS}.get(kind, (kind,))
    rows = _rows(home / "covmis" / "covmis_stance.csv")
    return float(sum((not kinds or row["source"] in kinds) and label in {"", row["label"]} for row in rows))


def covmis_per_claim(home: Path, statistic: str) -> float:
    """Mean, standard deviation, least and most posts per misinformation item."""
    sizes = list(Counter(row["mid"] for row in _rows(home / "covmis" / "covmis_stance.csv")).values())
    statistics: dict[str, Any] = {
        "mean": np.mean(sizes),
        "sd": np.std(sizes, ddof=1),
        "min": min(sizes),
        "max": max(sizes),
    }
    return float(statistics[statistic])


def covmis_automatic(home: Path) -> float:
    """Posts labelled automatically."""
    return float(sum(row["auto"] == "True" for row in _rows(home / "covmis" / "covmis_stance.csv")))


def covmis_claims(home: Path) -> float:
    """Misinformation items."""
    return float(len(_rows(home / "covmis" / "misinformation.csv")))


def covidlies_count(home: Path, version: str, label: str) -> float:
    """Posts with a label in a version of COVIDLies."""
    return float(
        sum(row["label"] == label for row in _rows(home / "covidlies" / f"covid_lies_v{version}.csv"))
    )


def rumoureval_2017(home: Path, label: str) -> float:
    """Posts with a label in RumourEval 2017: train, dev and test together."""
    files = ("2017_train_subtaskA.json", "2017_dev_subtaskA.json", "2017_test_gold_subtaska.json")
    return float(
        sum(
            Counter(json.loads((home / "rumoureval" / name).read_text("utf-8")).values())[label]
            for name in files
        )
    )


def fnc_gold(home: Path, label: str) -> float:
    """Test items of FNC-1 with a label."""
    return float(sum(row["gold"] == label for row in _rows(_fnc(home))))


def fnc_points(home: Path, system: str) -> float:
    """The official score of a system in points: its share of the maximum, times the maximum."""
    codes = {label: code for code, label in enumerate(RELATED)}
    gold, said = (np.array([codes[row[name]] for row in _rows(_fnc(home))]) for name in ("gold", system))
    matrix = confusion_matrix(gold, said, 4)
    attainable = matrix[:3].sum() + 0.25 * matrix[3].sum()
    return float(measures["fnc"](matrix) * attainable)


def _fnc(home: Path) -> Path:
    return home / "fnc1" / "fnc1_test_predictions.csv.gz"


@lru_cache(maxsize=8)
def mu_parts(home: Path, data: str, scheme: str) -> tuple[pd.DataFrame, pd.Series[str]]:
    """The released posts of a benchmark, and their parts at the released cut points."""
    import pandas as pd

    table = pd.read_csv(home / "mu_temporality" / MU_FILES[data], dtype=str, keep_default_na=False)
    table = table[table["text"] != ""].rename(columns={"labels": "label"}).reset_index(drop=True)
    parts = splits(
        table,
        scheme="chronological" if scheme == "chronological" else "stratified_chronological",
        cuts=CUTS.get((data, scheme)),
    )
    return table, parts  # type: ignore[return-value]


def mu_part(home: Path, data: str, scheme: str, label: str, part: str) -> float:
    """Posts of a label in a part. In the Weibo file, 1 is a non-rumour; Table 3 prints it so swapped."""
    table, parts = mu_parts(home, data, scheme)
    wanted = "1" if label == "rumor" else "0"
    return float(((table["label"] == wanted) & (parts == part)).sum())


@lru_cache(maxsize=2)
def _linear_scores(home: Path) -> tuple[float, float, float]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    table, parts = mu_parts(home, "pheme", "chronological")
    train, test = (parts == "train").to_numpy(), (parts == "test").to_numpy()
    words = CountVectorizer(min_df=2)
    known = words.fit_transform(table["text"][train])
    model = LogisticRegression(C=1, max_iter=2000).fit(known, table["label"][train])
    said = model.predict(words.transform(table["text"][test]))
    gold = table["label"][test].to_numpy()
    matrix = confusion_matrix(gold.astype(np.int64), said.astype(np.int64), 2)
    names = ("macro_precision", "macro_recall", "macro_f1")
    return tuple(100 * float(measures[name](matrix)) for name in names)  # type: ignore[return-value]


def mu_linear(home: Path, what: str) -> float:
    """Logistic regression on word counts (in at least 2 posts, C = 1) on PHEME in time, in percent."""
    return _linear_scores(home)[("P", "R", "F1").index(what)]


FROM_FILES: dict[str, Callable[..., Any]] = {
    "covmis_count": covmis_count,
    "covmis_per_claim": covmis_per_claim,
    "covmis_automatic": covmis_automatic,
    "covmis_claims": covmis_claims,
    "covidlies_count": covidlies_count,
    "rumoureval_2017": rumoureval_2017,
    "fnc_gold": fnc_gold,
    "fnc_points": fnc_points,
    "mu_part": mu_part,
    "mu_linear": mu_linear,
}
