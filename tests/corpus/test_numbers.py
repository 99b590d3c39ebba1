"""Every number of methods.md and of the card is one of the study: of its tables, its estimates, its settings."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pandas as pd
import pytest

from covmis_build import open_study
from tests.corpus.studies import annotated_study, covmis

SHAPES = {
    "two annotators, automatic labels": {"settings": {"audit = 0.05": "audit = 0.4"}},
    "keywords alone": {"kinds": ("keywords",), "posts": 3000},
    "no automatic labels": {"settings": {'automatic = { fact_check_url = "against" }': "automatic = {}"}},
    "single labels": {"settings": {"per_item = 2": "per_item = 1"}},
}
NUMBER = re.compile(r"(?<![\w.-])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w-])")
CITED = re.compile(r"Hou et al\. \(2022\)|Horvitz and Thompson, 1952|Friedman,? 2018|Gebru et al\.,? 2021")


@pytest.fixture(scope="module", params=SHAPES)
def released(request, tmp_path_factory):
    study = annotated_study(tmp_path_factory.mktemp("odd") / "study", **SHAPES[request.param])
    covmis("release", "--study", study.places.folder)
    return request.param, open_study(study.places.folder)


def numbers_of(text: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(CITED.sub("", text))]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def test_methods_state_the_study_s_numbers_in_order(released) -> None:
    shape, study = released
    text = (study.places.release / "methods.md").read_text("utf-8").split("## References")[0]
    settings, rounds = study.settings, study.rounds
    corpus = pd.read_csv(study.places.release / "corpus.csv", dtype={"post_id": str})
    steps = [step for step in study.status().flow if step.pairs is not None]
    cleaned = steps[-2]
    items = pd.concat(round_.items for round_ in rounds)
    seen = items[(items["automatic_label"] == "") | items["audited"].astype(bool)]
    wanted: list[object] = [
        steps[0].pairs,
        steps[0].claims,
        settings.cleaning.minimum_words,
        0.8,
        settings.cleaning.minimum_posts,
    ]
    wanted += [cleaned.pairs, cleaned.claims, settings.sampling.per_claim, settings.sampling.per_kind]
    people, each = (1, 1) if shape == "single labels" else (2, 2)
    wanted += [people, *([len(seen)] if len(seen) < len(items) else []), len(items), 2, 3, each]
    report = json.loads((study.places.rounds / "summary.json").read_text("utf-8"))
    kappa = report["kappa"]
    assert (kappa["value"] is None) == (shape == "single labels")
    if kappa["value"] is not None:
        wanted += [f"{kappa[name]:.2f}" for name in ("value", "low_by_claims", "high_by_claims")]
        wanted += [95, len(seen) - int(items["audited"].sum())]
    estimates = study.estimate()
    if len(seen) < len(items):
        wanted.append(len(items) - len(seen))
        for row in estimates.audit.to_dict("records"):
            wanted += [row["items"], row["audited"], row["errors"], percent(row["rate"])]
            wanted += [] if pd.isna(row["low"]) else [95, percent(row["low"]), percent(row["high"])]
    wanted += [len(corpus), corpus["claim_id"].nunique()]
    for label in ("favor", "against", "neither"):
        count = int((corpus["label"] == label).sum())
        wanted += [count, percent(count / len(corpus))]
    shares = estimates.to_frame()
    shares = shares[(shares["scope"] == "pool") & (shares["estimand"] == "messages")]
    for row in shares.to_dict("records"):
        wanted += [
            percent(row["share"]),
            *([] if pd.isna(row["low"]) else [percent(row["low"]), percent(row["high"])]),
        ]
    wanted += [95, len(corpus)]
    assert numbers_of(text) == list(map(str, wanted))


def test_methods_say_what_was_done(released) -> None:
    shape, study = released
    text = (study.places.release / "methods.md").read_text("utf-8")
    card = (study.places.release / "card.md").read_text("utf-8")
    alone = shape == "single labels"
    assert ("with queries made from keywords." in text) == (shape == "keywords alone")
    assert ("titles" in card.split("## Sampling")[0]) == (shape != "keywords alone")
    rules = shape not in {"keywords alone", "no automatic labels"}
    assert ("automatic labels: against for links to fact-checks" in text) == rules
    for page in (text, card):
        assert ("An adjudicator decided disagreements" in page) != alone
        assert "were discussed" not in page, "no label is of a discussion"
        assert ("independently of each other" in page or "given independently" in page) != alone
    assert ("Each post has one label, so agreement cannot be computed." in card) == alone


def test_every_number_of_the_card_is_known(released) -> None:
    _, study = released
    folder = study.places.release
    card = (folder / "card.md").read_text("utf-8")
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    known: set[str] = {"95", "1"}  # intervals' level, and what numbers a list
    sources = [
        json.loads((folder / "statistics.json").read_text("utf-8")), study.estimate().to_dict(),
        asdict(study.settings), [round_.report().to_dict() for round_ in study.rounds],
        json.loads((study.places.rounds / "summary.json").read_text("utf-8")),
        [asdict(step) for step in study.status().flow], facts["rounds"], facts["platforms"],
    ]  # fmt: skip
    known |= {round_.number for round_ in study.rounds}
    corpus = pd.read_csv(folder / "corpus.csv", dtype=str)
    sources.append(float((corpus["how"] == "automatic").mean()))
    for value in numbers_in(sources):
        known |= {f"{value:.{digits}f}" for digits in range(5)} | {
            f"{100 * value:.{digits}f}" for digits in (0, 1)
        }
        known |= {f"{value:.3g}", f"{value:.4g}"}
    told = re.sub(r"```.*?```|`[^`]*`|https?://\S+|\d{4}-\d\d(-\d\d)?", "", card, flags=re.DOTALL)
    assert [number for number in numbers_of(told) if number not in known] == []


def numbers_in(value) -> list[float]:
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [] if pd.isna(value) else [value]
    if isinstance(value, str):
        return [float(found.replace(",", "")) for found in NUMBER.findall(value)]
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("list")
    parts = value.values() if isinstance(value, dict) else value
    return [number for part in parts for number in numbers_in(part)]
