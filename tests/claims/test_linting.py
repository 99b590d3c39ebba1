"""The rules of A.1, each by claims that break it and claims that do not."""

from __future__ import annotations

import pytest

from covmis_build.claims import lint, read_claims
from covmis_build.claims.reading import checked, claim

GOOD = {"news_urls": ["https://news.org/a"], "fact_check_urls": ["https://check.org/a"]}


def findings(*rows):
    found = lint(checked([dict(row) for row in rows], "claims.csv"))
    return {row["finding"]: (row["says"], row["proposal"]) for row in found.to_dict("records")}


def of_text(text, language="en"):
    return {
        name.split(":")[0]: proposal
        for name, (_, proposal) in findings(claim("1", text, language=language, **GOOD)).items()
    }


@pytest.mark.parametrize(
    ("text", "rule", "proposal"),
    [
        ("No evidence that garlic cures it", "correct", "Garlic cures it."),
        ("There is no proof that 5G spreads it.", "correct", "5G spreads it."),
        ("FACT CHECK: Masks cause cancer", "correct", "Masks cause cancer."),
        ("Fact-check: The Pope did NOT wear it", "correct", "The Pope did wear it."),
        ("The governor did NOT ban seeds", "correct", "The governor did ban seeds."),
        ("Post falsely claims garlic cures it", "correct", "Post claims garlic cures it."),
        ("Debunked: garlic as a cure", "correct", "Garlic as a cure."),
        ("The story about garlic is a hoax", "correct", ""),
        ("Can 5G alter hemoglobin?", "correct", "5G can alter hemoglobin."),
        ("Did a vaccine kill children?", "correct", ""),
        ("Vitamin C protects. It also cures.", "split", "Vitamin C protects.\nIt also cures."),
        ("Hospitals were paid more for patients, and the city has inflated its numbers.", "split", "Hospitals were paid more for patients.\nThe city has inflated its numbers."),
        ("He said “garlic cures it all” in May", "simplify", "He said garlic cures it all in May."),
    ],
)  # fmt: skip
def test_wording(text, rule, proposal):
    assert of_text(text) == {rule: proposal}


@pytest.mark.parametrize(
    "text",
    [
        "Garlic cures it.", "Dr. Fauci knew it in 2005.", "NY Gov. Cuomo refused ventilators.", "The U.S. CDC healthy people mask.",
        "Salt and vinegar kill it.", "There are no specific tests for it.", "Norway bans alcohol and tobacco.", "Michael J. Fox said it.",
    ],
)  # fmt: skip
def test_plain_statements_are_left_alone(text):
    assert of_text(text) == {}


def test_other_languages_are_reported_as_not_checked():
    assert of_text("No hay pruebas de que el ajo cure", "es") == {"not checked": ""}
    assert of_text("Ohne Beleg: Knoblauch heilt", "de-AT") == {"not checked": ""}
    assert of_text("Fact check: garlic", "en-GB") == {"correct": "Garlic."}


def test_addresses():
    found = findings(
        claim("1", "A thing."), claim("2", "Another.", news_urls=["https://news.org/a"]), claim("3", "Third one.", **GOOD | {"fact_check_urls": ["check.org", "ftp://x"]})
    )  # fmt: skip
    assert found["addresses:1"][0] == "has neither a news address nor a fact-check"
    assert found["addresses:2"][0] == "has no fact-check address"
    assert {found["addresses:3"][0], found["addresses:3:2"][0]} == {
        "is not an address: ftp://x",
        "names a whole site, only its front page is found: check.org",
    }


def test_one_page_about_many_claims():
    rows = [
        claim(
            str(at),
            f"Statement number {at} about thing{at} only.",
            fact_check_urls=["https://check.org/myths#" + str(at)],
        )
        for at in range(5)
    ]
    found = {name: one for name, one in findings(*rows).items() if name.startswith("shared")}
    shared = {name: says for name, (says, _) in found.items()}
    assert len(shared) == 5
    assert {proposal for _, proposal in found.values()} == {"without check.org/myths"}
    assert shared["shared:0"] == "shares the fact-check check.org/myths with 4 other claims"


def test_the_same_story_under_two_ids():
    found = findings(
        claim("1", "The cat sat on the mat in May.", **GOOD), claim("2", "Dogs are different.", news_urls=["http://m.news.org/a/"], fact_check_urls=["https://check.org/b"]),
        claim("3", "In May the cat sat on the mat!", news_urls=["https://news.org/c"], fact_check_urls=["https://check.org/c"]),
    )  # fmt: skip
    assert found["merge:1"] == ("may be the same story as 2: the news address news.org/a", "2")
    assert found["merge:1:2"] == ("may be the same story as 3: nearly the same words", "3")
    assert len(found) == 2


def test_every_finding_names_its_rule():
    assert set(lint(checked([claim("1", "No evidence that x y")], "x"))["section"]) == {"A.1"}


def test_the_published_lists(data_home):
    covmis = lint(read_claims(data_home / "covmis/misinformation.csv"))
    shared = covmis[covmis["rule"] == "shared"]
    assert len(shared) == 19
    assert shared["says"].str.contains("coronavirus-myths-explored with 18 other").all()
    assert set(covmis[covmis["rule"] == "split"]["claim_id"]) == {"201", "548"}
    coaid = lint(read_claims(data_home / "coaid"))
    assert (coaid["rule"] == "shared").sum() == 40
    assert (coaid["rule"] == "correct").sum() >= 20
