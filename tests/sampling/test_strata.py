"""`[sampling] strata_by`, from study.toml over the draw and a top-up to the estimates."""

import json
import shutil
from collections import Counter

import pandas as pd
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.building.run import run
from covmis_build.cli import app
from covmis_build.corpus.convert import read_corpus
from covmis_build.errors import InputError
from covmis_build.estimation.shares import design_of
from covmis_build.sampling.inclusion import inclusion_probabilities
from covmis_build.sampling.ledger import over_draws
from covmis_build.study.round_settings import settings_of_tables, strata_of_rounds, with_all_draws
from covmis_build.study.study import open_study
from tests.corpus.studies import _round
from tests.small_study import small_study


def covmis(*words):
    done = CliRunner().invoke(app, [str(one) for one in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def with_settings(folder, **settings):
    path = folder / "study.toml"
    lines = path.read_text("utf-8").splitlines()
    for name, value in settings.items():
        (at,) = [at for at, line in enumerate(lines) if line.startswith(f"{name} =")]
        lines[at] = f"{name} = {json.dumps(value)}"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return open_study(folder)


def open_answer_and_seal(study):
    """A round as the command line opens it: with the settings that drew it."""
    _round(study)
    one = record.all_rounds(study.places.rounds)[-1]
    record.write_about(
        record.RoundFolder(
            one.folder, replace(one.about, settings=settings_of_tables(study.places, study.settings))
        )
    )


def opened(study):
    return {item for one in record.all_rounds(study.places.rounds) for item in one.items()["item_id"]}


def strata(study):
    """What the setting means, said once more without the package: kind and month of every item."""
    items = storage.read_table(study.places.table("items"), "items")
    posts = storage.read_table(study.places.table("posts"), "posts")
    items = items.merge(posts[["post_id", "created_at"]], on="post_id")
    return items.assign(stratum=items["kind"] + " in " + items["created_at"].str[:7])


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory):
    """A study divided by month, whose claims have more posts than they are asked for."""
    folder = tmp_path_factory.mktemp("divided")
    small_study(folder, 1500)
    study = with_settings(folder, strata_by=["month"], per_claim=8, per_kind=1, automatic={}, certain=False)
    run(study.places, study.settings, workers=1)
    return folder


@pytest.fixture
def study(cleaned, tmp_path):
    return open_study(shutil.copytree(cleaned, tmp_path / "study"))


def test_the_run_draws_by_kind_and_month(study):
    items = strata(study)
    drawn = storage.read_table(study.places.table("sample"), "sample").set_index("item_id")
    found = 0
    for _, rows in items.groupby("claim_id"):
        wanted = inclusion_probabilities(Counter(rows["stratum"]), 1, 8)
        for row in rows.itertuples():
            if row.item_id in drawn.index:
                assert drawn.loc[row.item_id, "p_sample"] == pytest.approx(wanted[row.stratum])
                found += 1
    assert found == len(drawn) > 20
    assert drawn["p_sample"].nunique() >= 4
    assert items["stratum"].nunique() > items["kind"].nunique()


def test_the_setting_makes_only_the_sample_stale(study):
    changed = with_settings(study.places.folder, strata_by=[])
    made = {one.stage: one.made for one in run(changed.places, changed.settings, workers=1)}
    assert made == {
        "read": False,
        "claims": False,
        "queries": False,
        "retrieve": False,
        "clean": False,
        "sample": True,
    }


def test_the_plan_shows_strata_and_where_quotas_win(study):
    made = json.loads(
        covmis("sample", "--plan", "--targets", "8,40", "--study", study.places.folder, "--json")
    )
    assert all(" / 20" in row["stratum"] for row in made["strata"])
    drawn = storage.read_table(study.places.table("sample"), "sample")
    assert made["drawn"] == sum(row["drawn"] for row in made["strata"]) == len(drawn)
    expected = sum(row["expected"] for row in made["strata"])
    assert made["plans"][0]["items"] == pytest.approx(expected)
    greedy = with_settings(study.places.folder, per_kind=2)
    words = covmis("sample", "--study", greedy.places.folder)
    assert "claims the quotas alone ask for more than per_claim = 8" in words


def test_quotas_take_precedence_over_the_target(study):
    """Also without further strata: two posts of each query type, although three were asked for."""
    study = with_settings(study.places.folder, strata_by=[], per_kind=2, per_claim=3, design="two_phase")
    made = json.loads(covmis("sample", "--plan", "--targets", "8", "--study", study.places.folder, "--json"))
    expected = sum(row["expected"] for row in made["strata"])
    assert all(row["drawn"] == min(row["posts"], 2) for row in made["strata"] if row["posts"] > 3)
    assert [plan["per_kind"] for plan in made["plans"]] == [2, 2]
    assert made["plans"][0]["items"] == pytest.approx(expected)


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_release_and_estimates_follow(study, design):
    study = with_settings(study.places.folder, design=design)
    run(study.places, study.settings, workers=1)
    open_answer_and_seal(study)
    covmis("release", "--study", study.places.folder)
    corpus = read_corpus(study.places.release / "corpus.parquet")
    made = json.loads(covmis("estimate", "--study", study.places.folder, "--by", "month,kind", "--json"))
    rows = pd.DataFrame(made["estimates"])
    mine = rows[(rows["estimand"] == "unique_posts") & (rows["label"] == "favor")]
    months = mine[mine["scope"] == "month"].set_index("name")
    assert set(months.index) == set(corpus["created_at"].str[:7])
    of = corpus[corpus["created_at"].str[:7] == months.index[0]]
    favor = of.loc[of["label"] == "favor", "weight"].sum()
    assert months["share"].iloc[0] == pytest.approx(favor / of["weight"].sum())
    population = mine[mine["scope"] == "pool"]["population"].item()
    assert months["population"].sum() == pytest.approx(population)
    assert months.loc[months["low"].isna(), "why"].str.contains("no interval is known").all()
    months = months[months["band_low"].notna()]
    assert (months["band_low"] <= months["low"]).all()
    assert (months["band_high"] >= months["high"]).all()
    drawn = months["high"] > months["low"]  # where every post was taken, nothing is uncertain
    assert drawn.sum() > 1
    # nearly all posts are labelled, so that what is possible ends bands and intervals alike
    assert (months["band_high"] - months["band_low"] >= months["high"] - months["low"])[drawn].all()
    assert "for each query type and month" in made["sentences"][1]
    card = (study.places.release / "card.md").read_text("utf-8")
    assert "with a quota of 1 per query type and month" in card


def test_two_phase_variances_are_exact_with_strata(study):
    study = with_settings(study.places.folder, design="two_phase")
    run(study.places, study.settings, workers=1)
    drawn = storage.read_table(study.places.table("sample"), "sample")
    corpus = drawn.merge(strata(study)[["item_id", "created_at", "stratum"]], on="item_id")
    corpus = corpus.assign(p_claim=1.0)
    counts: dict[str, dict[str, int]] = {}
    for row in strata(study).itertuples():
        of = counts.setdefault(row.claim_id, {})
        name = f"{row.kind} / {row.created_at[:7]}"
        of[name] = of.get(name, 0) + 1
    blocks = design_of(corpus, study.settings.sampling, counts).blocks
    assert len(blocks) == corpus["claim_id"].nunique()
    assert all(pairs is not None for _, pairs in blocks)
    plain = with_settings(study.places.folder, strata_by=[])
    assert any(pairs is None for _, pairs in design_of(corpus, plain.settings.sampling, counts).blocks)


def test_draws_with_different_strata_combine(study):
    """A first round by month, a top-up by nothing but the kind: each item has the greater of its two chances."""
    open_answer_and_seal(study)
    first = record.all_rounds(study.places.rounds)[0].items().set_index("item_id")["p_sample"]
    study = with_settings(study.places.folder, strata_by=[], per_claim=16)
    run(study.places, study.settings, workers=1)
    later = {}
    for claim, rows in storage.read_table(study.places.table("items"), "items").groupby("claim_id"):
        chances = inclusion_probabilities(Counter(rows["kind"]), 1, 16)
        later |= {(claim, kind): p for kind, p in chances.items()}
    while not set(storage.read_table(study.places.table("sample"), "sample")["item_id"]) <= opened(study):
        open_answer_and_seal(study)
    assert strata_of_rounds(record.all_rounds(study.places.rounds)) == {"001": ("month",)}
    frozen = with_all_draws(study.places.rounds, record.all_rounds(study.places.rounds))
    again = set(frozen.loc[frozen["draw"].astype(str) == "2", "claim_id"])
    old = frozen[frozen["item_id"].isin(first.index) & frozen["claim_id"].isin(again)]
    assert len(old) > 5
    topped = set(
        zip(*frozen.loc[frozen["draw"].astype(str) == "2", ["claim_id", "kind"]].to_numpy().T, strict=True)
    )
    for row in old.itertuples():
        now = later[row.claim_id, row.kind] if (row.claim_id, row.kind) in topped else 0.0
        assert row.p_sample == pytest.approx(max(first[row.item_id], now))
    assert (old["p_sample"].to_numpy() > first[old["item_id"]].to_numpy() + 1e-9).any()


def test_later_draws_count_by_the_strata_of_their_round():
    """By hand: two months drawn together, then by month; only the first month's chance rose."""
    row = {
        "claim_id": "1", "kind": "keywords", "design": "poisson", "automatic_label": "", "audited": False,
    }  # fmt: skip
    frozen = pd.DataFrame(
        [
            {**row, "item_id": f"1|x:{at}", "post_id": f"x:{at}", "round": number, "draw": draw,
             "p_sample": p, "created_at": month}
            for at, (number, draw, p, month) in enumerate(
                [("001", "1", 0.2, "2020-01-01"), ("001", "1", 0.2, "2020-02-01"), ("002", "2", 0.5, "2020-01-09")]
            )
        ]
    )  # fmt: skip
    assert over_draws(frozen, tables.empty("draws")) == {"1|x:0": 0.5, "1|x:1": 0.5, "1|x:2": 0.5}
    assert over_draws(frozen, tables.empty("draws"), {"002": ("month",)}) == {
        "1|x:0": 0.5,
        "1|x:1": 0.2,
        "1|x:2": 0.5,
    }
    assert over_draws(frozen, tables.empty("draws"), {"001": ("month",)}) == {
        "1|x:0": 0.5,
        "1|x:1": 0.5,
        "1|x:2": 0.5,
    }


def test_a_window_that_does_not_exist_is_named(study):
    with pytest.raises(InputError, match=r"each of \[sampling\] strata_by must be .* Did you mean"):
        with_settings(study.places.folder, strata_by=["months"])
