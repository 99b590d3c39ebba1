"""The results page: the library's own estimates, and scores of predictions that are not kept."""

from __future__ import annotations

import io
import math
import re
import tempfile
import zipfile

import pandas as pd
import pytest
from markupsafe import escape

from covmis_build.evaluation.rendering import bounded
from covmis_build.study.labelled import labelled_items
from covmis_build.study.study import open_study
from covmis_build.workbench.figures import over_time
from tests.annotation.small import covmis, label_both, pushed, study
from tests.workbench.conftest import client_of, send, wait_for


@pytest.fixture
def labelled(tmp_path):
    pushed(tmp_path)
    label_both(tmp_path)
    covmis(tmp_path, "round", "pull")
    return open_study(tmp_path)


def percent(share):
    return f"{share:.0%}"


def test_shares_are_those_of_estimate(labelled):
    client = client_of(labelled)
    shares = labelled.estimate(by=["claim", "month"]).shares
    for of in ("unique_posts", "posts"):
        page = client.get("/results", params={"of": of, "label": "against"}).text
        pool = shares.query("estimand == @of and scope == 'pool'")
        assert page.count('<div class="big">') == len(pool) == 3
        for row in pool.itertuples():
            assert f'<span class="k">{row.label}</span><div class="big">{percent(row.share)}</div>' in page
        claims = shares.query("estimand == @of and scope == 'claim' and label == 'against'")
        for row in claims.itertuples():
            imprecise = ", imprecise" if row.flagged and not row.why else ""
            limits = "no interval" if row.why else f"{percent(row.low)} to {percent(row.high)}"
            told = f'{percent(row.share)} <span class="soft">{limits}, n {row.n}{imprecise}'
            assert told in page
    assert "Claim 0 &lt;i&gt;says&lt;/i&gt;" in page
    assert client.get("/results?of=x&label=<script>").status_code == 200


def test_figures_of_the_results_and_of_a_report_are_taken_as_a_zip(labelled):
    covmis(labelled.places.folder, "round", "adjudicate", "--no-discussion")
    covmis(labelled.places.folder, "round", "report")
    client = client_of(labelled)
    assert 'href="/results/figures?format=pdf"' in client.get("/results").text
    report = "annotation/rounds/001/report.html"
    assert f'href="/figures/{report}?format=png"' in client.get("/rounds/001").text
    for address in ("/results/figures?format=svg", f"/figures/{report}"):
        answer = client.get(address)
        assert answer.headers["content-type"] == "application/zip"
        names = zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
        assert names
        assert all(name.endswith(".svg") for name in names)
    assert client.get(f"/figures/{report}?format=tiff").status_code == 400
    for other in (
        "study.toml",
        "annotation/rounds/001/report.json",
        "../study.toml",
        "data/release/card.html",
    ):
        assert client.get(f"/figures/{other}").status_code == 404


def test_months_stand_where_they_are_in_time_and_an_unknown_interval_is_not_drawn():
    columns = ["name", "share", "low", "high", "n", "why"]
    rows = [
        ("2020-12", 0.5, 0.4, 0.6, 20, ""),
        ("2021-01", 0.6, 0.5, 0.7, 20, ""),
        ("2022-01", 1.0, math.nan, math.nan, 1, "no interval"),
    ]
    drawn = str(over_time(list(pd.DataFrame(rows, columns=columns).itertuples(index=False)), 1, "favor"))
    places = [float(place) for place in re.findall(r'<circle[^>]* cx="([\d.]+)"', drawn)]
    assert places[2] - places[1] == pytest.approx(12 * (places[1] - places[0]), rel=0.05)
    assert drawn.count('class="whisker') == 2
    assert drawn.count('class="line') == 1, "only neighbouring months are joined"


def test_posts_without_a_final_label_are_warned_of_wherever_shares_are(tmp_path):
    study(tmp_path)
    for command in ("open", "push"):
        covmis(tmp_path, "round", command)
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    covmis(tmp_path, "round", "pull")
    told = "4 of 12 posts of round 001 have no final label"
    found = covmis(tmp_path, "estimate")
    assert told in found["warnings"]
    assert not any(
        "each annotator's own labels" in sentence for sentence in open_study(tmp_path).estimate().sentences
    )
    assert told in covmis(tmp_path, "release")["warnings"]
    methods = (tmp_path / "data/release/methods.md").read_text("utf-8")
    assert "4 sampled posts had no final label and are excluded; the estimates are provisional." in methods
    assert "Disagreements were discussed" not in methods
    item = open_study(tmp_path).round().cases().rows[0].item_id
    row = open_study(tmp_path).status().rounds[0]
    covmis(tmp_path, "round", "adjudicate", item, "--label", "favor")
    assert open_study(tmp_path).status().rounds[0] == row, "a decision is no label of an annotator"
    page = client_of(open_study(tmp_path)).get("/").text
    assert f'<span class="k">Answers</span><div class="v">{row.labels}</div>' in page
    assert all(open_study(tmp_path).stages().values()), "a round that was opened makes no table out of date"


def test_a_refusal_is_said_and_not_kept(labelled, tmp_path):
    client = client_of(open_study(study(tmp_path / "empty")))
    assert "No round has been opened yet" in client.get("/results").text
    covmis(tmp_path / "empty", "round", "open")
    assert "No round has been opened yet" not in client.get("/results").text


def test_predictions_are_scored_compared_and_tested_as_by_the_library_and_not_kept(labelled):
    client = client_of(labelled)
    items = labelled_items(labelled)["item_id"]

    def csv(label):
        return "item_id,label\n" + "".join(f"{item},{label}\n" for item in items)

    client.put("/systems/mistyped.csv", content=b"item_id,label\nnobody,favor\n")
    page = client.get("/systems").text
    assert "mistyped has no prediction for 12 of 12 items" in page
    assert tempfile.gettempdir() not in page
    page = client.get("/systems?missing=wrong&map=favor=against").text
    assert (
        "evaluate score data/release/corpus.csv mistyped.csv --extra ignore --missing wrong --map favor=against"
        in page
    )
    assert '<h2 id="scores">' in page
    send(client, "/systems", "/systems", {}, having="mistyped")
    answer = client.put("/systems/a%3Cb%3E.csv", content=csv("favor").encode(), headers={"x-part": "file"})
    assert answer.status_code == 200, answer.text
    page = client.get(answer.text).text
    row = (
        labelled.score({"a": dict.fromkeys(items, "favor")}).to_frame().query("measure == 'accuracy'").iloc[0]
    )
    assert f">{bounded(row.value, row.low, row.high)}</td>" in page
    assert "a_b_" in page
    assert "mistyped" not in page
    assert 'id="compared"' not in page
    assert "&lt;svg" not in page

    client.put("/systems/c.csv", content=csv("against").encode())
    page = client.get("/systems?measure=accuracy&test=tukey").text
    said = {"a_b_": dict.fromkeys(items, "favor"), "c": dict.fromkeys(items, "against")}
    compared = labelled.compare(said, measure="accuracy", test="tukey")
    assert escape(compared.sentences[0]) in page
    assert "evaluate compare data/release/corpus.csv a_b_.csv c.csv --measure accuracy --test tukey" in page
    assert "unknown test" in client.get("/systems?test=luck").text
    assert " style=" not in page, "the page's rules for content would leave these colours out"
    assert client_of(labelled, read_only=True).put("/systems/a.csv", content=b"").status_code == 403

    admission = {"name": "mine", "epsilon": "0.1"}
    send(client, "/systems", "/start/model-admit", admission, having="a_b_", follow_redirects=False)
    wait_for(lambda: client.bench.jobs.last.state != "running")
    page = client.get("/systems").text
    assert "It could not be tested" in page
    assert "has 30 items" in page
    assert client.bench.acts[-1].command == "covmis model admit a_b_.csv --epsilon 0.1 --name mine"
    send(client, "/systems", "/systems", {}, having="a_b_")
    assert "a_b_" not in client.get("/systems").text
    assert not [path for path in labelled.places.folder.rglob("*") if "a_b_" in path.name]
