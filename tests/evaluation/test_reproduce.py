"""Published figures: every one has a status, and the known errors of the papers are found, not tuned away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from covmis_build.errors import InputError
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.reproduction.reproduce import PAPERS, Reproduction, figures
from covmis_build.evaluation.reproduction.reproduce import reproduce as reproducing

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "paper_figures.json").read_text())


def reproduce(*given, **options):
    return reproducing(*given, **options).to_frame()


def status(table, where):
    return table[table["where"] == where]["status"].item()


@pytest.fixture
def printed(monkeypatch):
    """The figures that follow from what the papers print, without any released file."""
    monkeypatch.delenv("COVMIS_DATA_HOME", raising=False)
    return reproduce()


def test_there_are_enough_and_all_have_a_reason(printed) -> None:
    assert len(printed) >= 300
    assert set(printed["status"]) == {"match", "mismatch", "not_computable"}
    assert (printed[printed["status"] != "match"]["reason"] != "").all()
    assert printed[printed["status"] == "not_computable"]["computed"].isna().all()
    assert (printed["status"] != "not_computable").sum() >= 300
    assert set(printed["paper"]) == set(PAPERS)


def test_classes_say_what_a_match_is_worth(printed) -> None:
    """75 figures come from data; the rest follows from, agrees with, or was made of what the papers print."""
    assert printed["class"].value_counts().to_dict() == {
        "": 10,
        "recomputed": 75,
        "consistent": 325,
        "possible": 132,
        "circular": 81,
    }
    assert (printed.loc[printed["class"] == "recomputed", "status"] == "not_computable").all()
    assert printed["derived"].sum() == 37
    page = Reproduction(printed)
    assert page.classes()["figures"].sum() == len(printed) - 10
    assert set(page.to_dict()["classes"][0]) == {
        "class",
        "meaning",
        "figures",
        "match",
        "mismatch",
        "not_computable",
    }
    assert any(line.startswith("possible mismatch") for line in page.sentences())
    assert any(": derived " in line for line in page.sentences(everything=True))


def test_places_are_named_once() -> None:
    places = [(paper, figure.where) for paper, figure in figures()]
    assert len(places) == len(set(places))


def test_the_baselines_of_scarton_follow(printed) -> None:
    of = printed[
        (printed["paper"] == "scarton2020") & printed["where"].str.contains(r"Table [23], (?:all|Turing)")
    ]
    assert len(of) == 42
    assert (of["status"] == "match").all()


@pytest.mark.parametrize(("who", "exact"), [("MamaEdha", 0.24592810939979862), ("UPV", 0.2894003885823183)])
def test_other_class_weights_of_scarton_follow(printed, who, exact) -> None:
    """The reference has the value, not the weights: of all in thousandths with the sum 1, only these give it."""
    where = f"With the class weights of {who}, Turing, wF2"
    assert status(printed, where) == "match"
    (figure,) = [one for paper, one in figures() if one.where == where]
    given = figure.given
    assert sum(given["weights"]) == pytest.approx(1, abs=1e-12)
    assert measures["wf2"](given["matrix"], given["weights"]) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(
    "where",
    [
        "Table 2, tau of MAE^mu and Accuracy",
        "Table 4, tau over all systems",
        "Table 5, tau over all systems",
        "Table 6, MAE^M, mean",
        "Table 6, MAE^mu, mean",
        "Table 6, calF1, mean",
        "Table 4, Weibo, BERT+, Strat: F1 at most (P + R)/2",
        "Text, rumours in PHEME",
        "Table 6, T16 random, %",
        "Table 13, majority, Title, accuracy",
        "Table 4, Keywords, %",
        "Text, area of the AUC polygon as its vertices are listed, at recall 0.8 and false positives 0.1, where the formula gives 0.85",
    ],
)
def test_known_errors_are_found(printed, where) -> None:
    assert status(printed, where) == "mismatch"


def test_the_computed_values_are_the_independent_ones(printed) -> None:
    """Slow exact arithmetic found these values and verdicts."""
    by_place = {(row["paper"], row["where"]): row for row in printed.to_dict("records")}
    assert len(VECTORS) >= 230
    for vector in VECTORS:
        row = by_place[vector["paper"], vector["where"]]
        assert (row["status"] == "match") == vector["match"], vector["where"]
        assert row["computed"] == pytest.approx(vector["computed"], abs=vector["within"]), vector["where"]


def test_one_paper_or_one_table() -> None:
    assert set(reproduce("mu2023")["paper"]) == {"mu2023"}
    assert reproduce("mu2023 Table 6")["where"].str.startswith("Table 6,").all()
    twelve, one = reproduce("Table 12"), reproduce("Table 1")
    assert twelve["where"].str.startswith("Table 12,").all()
    assert one["where"].str.startswith("Table 1,").all()
    with pytest.raises(InputError, match="nothing is known of 'Table 99'"):
        reproduce("Table 99")


def test_released_files(data_home) -> None:
    """The reference's values from the files that the authors released."""
    table = reproduce(data_home=data_home)
    assert len(table) >= 600
    of = table.set_index(["paper", "where"])
    table_4 = table[
        (table["paper"] == "covmis2022")
        & table["where"].str.fullmatch(r"Table 4, .*(favor|against|neither|total)")
    ]
    assert len(table_4) == 16
    assert (table_4["status"] == "match").all()
    for where, published in (
        ("Section 3.1, posts per item, mean", 23.70),
        ("Section 3.1, posts per item, sd", 4.23),
        ("Table 6, COVIDLies v0.2, pos", 738),
        ("Table 8, COVIDLies v0.1, na", 5748),
    ):
        row = of.loc["covmis2022", where]
        assert row["status"] == "match"
        assert row["published"] == published
    parts = table[
        (table["paper"] == "mu2023") & table["where"].str.match(r"Table 3, [^,]+, (rumor|non), \w+$")
    ]
    assert len(parts) == 36
    wrong = parts[parts["status"] == "mismatch"]
    assert wrong["where"].tolist() == ["Table 3, T16 strat, rumor, test", "Table 3, PHEME strat, rumor, test"]
    assert wrong["computed"].tolist() == [42, 395]
    fnc = table[(table["paper"] == "fnc2017") & (table["status"] == "match")]
    assert fnc["computed"].tolist() == [9556.5, 9550.75, 9335.25, 11651.25]


def test_a_missing_file_is_said(tmp_path) -> None:
    row = reproduce("fnc2017", data_home=tmp_path).iloc[0]
    assert row["status"] == "not_computable"
    assert row["reason"] == "The released file fnc1_test_predictions.csv.gz is not in COVMIS_DATA_HOME."


def test_the_page_has_every_figure(printed) -> None:
    results = Reproduction(printed)
    page = results.html()
    assert page.count("<tr>") >= len(printed)
    assert "what does not follow" in page
    assert results.summary()["figures"].sum() == len(printed)
    assert set(results.to_dict()["figures"][0]) == {
        "paper",
        "where",
        "published",
        "derived",
        "computed",
        "class",
        "status",
        "reason",
    }
    assert r"\toprule" in results.latex()
