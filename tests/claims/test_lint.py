"""The rules of A.1, each by claims that break it and claims that do not."""

from __future__ import annotations

import pytest

from covmis_build.claims.claim import Claim, checked
from covmis_build.claims.lint import lint
from covmis_build.claims.lists import read_claims

UNLIKE = [
    "Garlic cures the flu.",
    "Masts spread a virus.",
    "Children are immune.",
    "Bat soup began it all.",
    "Hand dryers kill.",
]
GOOD = {"news_urls": ["https://news.org/a"], "fact_check_urls": ["https://check.org/a"]}


def findings(*claims):
    found = lint(checked(claims, "claims.csv")).to_frame()
    return {row["finding"]: (row["says"], row["proposal"]) for row in found.to_dict("records")}


def of_text(text, language="en"):
    return {
        name.split(":")[0]: proposal
        for name, (_, proposal) in findings(Claim("1", text, language=language, **GOOD)).items()
    }


@pytest.mark.parametrize(
    ("text", "rule", "proposal"),
    [
        ("No evidence that garlic cures it", "correct", "Garlic cures it."),
        ("There is no proof that 5G spreads it.", "correct", "5G spreads it."),
        ("FACT CHECK: Masks cause cancer", "correct", "Masks cause cancer."),
        ("Fact check: There are no chips in it", "correct", ""),
        ("It is not true that garlic cures it", "correct", "Garlic cures it."),
        ("Fact-check: The Pope did NOT wear it", "correct", "The Pope did wear it."),
        ("The governor did NOT ban seeds", "correct", "The governor did ban seeds."),
        ("Post falsely claims garlic cures it", "correct", "Garlic cures it."),
        ("Debunked: garlic as a cure", "correct", "Garlic as a cure."),
        ("Can 5G alter hemoglobin?", "correct", "5G can alter hemoglobin."),
        ("Did a vaccine kill children?", "correct", ""),
        ("Vitamin C protects against the virus. Hospitals were paid more for patients.", "split", "Vitamin C protects against the virus.\nHospitals were paid more for patients."),
        ("He said “garlic cures it all” in May", "simplify", "He said garlic cures it all in May."),
        ("“Garlic cures it all”", "simplify", "Garlic cures it all."),
    ],
)  # fmt: skip
def test_wording(text, rule, proposal):
    assert of_text(text) == {rule: proposal}


@pytest.mark.parametrize(
    "text",
    [
        "Garlic cures it.", "Dr. Fauci knew it in 2005.", "NY Gov. Cuomo refused ventilators.", "The U.S. CDC healthy people mask.",
        "Vitamin C protects against the virus. It also cures the common cold.", "Harris Homes v. EEOC was a case of the court.",
        "The story about garlic is a hoax", "He was falsely accused of eating garlic.", "The book “The Eyes of Darkness” foresaw it.",
        "Salt and vinegar kill it.", "There are no specific tests for it.", "Norway bans alcohol and tobacco.", "Michael J. Fox said it.",
    ],
)  # fmt: skip
def test_plain_statements_are_left_alone(text):
    assert of_text(text) == {}


@pytest.mark.parametrize(
    ("language", "text", "rule", "proposal"),
    [
        ("de-AT", "Keine Belege daf\u00fcr, dass Knoblauch heilt", "correct", ""),
        ("de", "Faktencheck: Masken machen krank", "correct", "Masken machen krank."),
        ("de", "Masken machen sehr schnell krank. Knoblauch heilt alle Grippekranken sofort.", "split", "Masken machen sehr schnell krank.\nKnoblauch heilt alle Grippekranken sofort."),
        ("de", "Der Minister sagte: \u201eKnoblauch heilt alle Kranken\u201c", "simplify", "Der Minister sagte: Knoblauch heilt alle Kranken."),
        ("es", "No hay pruebas de que el ajo cure", "correct", ""),
        ("es", "\u00bfEl ajo cura la gripe?", "correct", ""),
        ("fr", "Il n\u2019y a aucune preuve que l\u2019ail gu\u00e9rit", "correct", "L\u2019ail gu\u00e9rit."),
        ("fr", "Le ministre a dit : \u00abL\u2019ail gu\u00e9rit tous les malades\u00bb", "simplify", "Le ministre a dit : L\u2019ail gu\u00e9rit tous les malades."),
        ("pt", "N\u00e3o h\u00e1 provas de que o alho cura", "correct", "O alho cura."),
        ("ar", "\u0644\u0627 \u064a\u0648\u062c\u062f \u062f\u0644\u064a\u0644 \u0639\u0644\u0649 \u0623\u0646 \u0627\u0644\u062b\u0648\u0645 \u064a\u0639\u0627\u0644\u062c", "correct", "\u0627\u0644\u062b\u0648\u0645 \u064a\u0639\u0627\u0644\u062c."),
        ("ar", "\u0647\u0644 \u0627\u0644\u062b\u0648\u0645 \u064a\u0639\u0627\u0644\u062c\u061f", "correct", ""),
        ("hi", "\u092b\u0948\u0915\u094d\u091f \u091a\u0947\u0915: \u0932\u0939\u0938\u0941\u0928 \u0938\u0947 \u0907\u0932\u093e\u091c \u0939\u094b\u0924\u093e \u0939\u0948", "correct", "\u0932\u0939\u0938\u0941\u0928 \u0938\u0947 \u0907\u0932\u093e\u091c \u0939\u094b\u0924\u093e \u0939\u0948\u0964"),
        ("zh", "\u8f9f\u8c23\uff1a\u5927\u849c\u53ef\u4ee5\u6cbb\u75c5", "correct", "\u5927\u849c\u53ef\u4ee5\u6cbb\u75c5\u3002"),
        ("zh", "\u6ca1\u6709\u8bc1\u636e\u8868\u660e\u5927\u849c\u53ef\u4ee5\u6cbb\u75c5", "correct", "\u5927\u849c\u53ef\u4ee5\u6cbb\u75c5\u3002"),
    ],
)  # fmt: skip
def test_wording_in_other_languages(language, text, rule, proposal):
    assert of_text(text, language) == {rule: proposal}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Der Knoblauch heilt. Er macht auch sehr viele Menschen satt."), ("es", "El ajo cura la gripe en Espa\u00f1a."),
        ("fr", "L\u2019ail gu\u00e9rit la grippe \u00e0 Paris."), ("pt", "O alho cura a gripe em Lisboa."),
        ("ar", "\u0627\u0644\u062b\u0648\u0645 \u064a\u0639\u0627\u0644\u062c"), ("hi", "\u0932\u0939\u0938\u0941\u0928 \u0938\u0947 \u0907\u0932\u093e\u091c"), ("zh", "\u5927\u849c\u53ef\u4ee5\u6cbb\u75c5\u3002"),
    ],
)  # fmt: skip
def test_plain_statements_in_other_languages_are_left_alone(language, text):
    assert of_text(text, language) == {}


def test_languages_without_rules_are_reported_as_not_checked():
    assert of_text("Foo bar", "sw") == {"not checked": ""}
    assert of_text("Fact check: garlic", "en-GB") == {"correct": "Garlic."}


def test_addresses():
    found = findings(
        Claim("1", "A thing.", keywords=["thing"]), Claim("2", "Another.", news_urls=["https://news.org/a"]), Claim("3", "Third one.", **GOOD | {"fact_check_urls": ["check.org", "ftp://x"]})
    )  # fmt: skip
    assert found["addresses:1"][0].startswith("has neither a news address nor a fact-check")
    assert found["addresses:2"][0] == "has no fact-check address"
    assert {found["addresses:3"][0], found["addresses:3:2"][0]} == {
        "is not an address: ftp://x",
        "names a whole site, only its front page is found: check.org",
    }


def test_one_page_about_many_claims():
    rows = [
        Claim(
            str(at),
            UNLIKE[at],
            fact_check_urls=["https://check.org/myths#" + str(at)],
        )
        for at in range(5)
    ]
    found = {name: one for name, one in findings(*rows).items() if name.startswith("shared")}
    shared = {name: says for name, (says, _) in found.items()}
    assert len(shared) == 5
    assert {proposal for _, proposal in found.values()} == {"without check.org/myths"}
    assert shared["shared:0"] == "shares the fact-check check.org/myths with 4 other claims"


def test_a_whole_site_that_claims_share_is_named_as_a_site_alone():
    """`check.org` as the fact-check of many claims is no page that they share."""
    rows = [Claim(str(at), UNLIKE[at], fact_check_urls=["https://check.org/"]) for at in range(5)]
    assert {name.split(":")[0] for name in findings(*rows)} == {"addresses"}


def test_a_site_that_is_all_the_news_of_one_claim_may_be_what_the_claim_is_about():
    check = {"fact_check_urls": ["https://check.org/a"]}
    alone = Claim("1", UNLIKE[0], news_urls=["https://shop.org/"], **check)
    assert findings(alone) == {}
    beside = Claim("1", UNLIKE[0], news_urls=["https://shop.org/", "https://news.org/a"], **check)
    assert set(findings(beside)) == {"addresses:1"}
    twice = findings(
        alone, Claim("2", UNLIKE[1], news_urls=["https://shop.org"], fact_check_urls=["https://check.org/b"])
    )
    assert {"addresses:1", "addresses:2"} <= set(twice)


def test_reported_questions_and_denials_are_no_corrections():
    for text in ("A minister asked, “Is garlic not enough?”", "Senators “voted NOT to send the checks.”"):
        assert set(of_text(text)) == {"simplify"}


def test_the_same_story_under_two_ids():
    found = findings(
        Claim("1", "The cat sat on the mat in May.", **GOOD), Claim("2", "The cat sat on dogs.", news_urls=["http://m.news.org/a/"], fact_check_urls=["https://check.org/b"]),
        Claim("3", "In May the cat sat on the mat!", news_urls=["https://news.org/c"], fact_check_urls=["https://check.org/c"]),
    )  # fmt: skip
    assert found["merge:1"] == ("may be the same story as 2: the news address news.org/a", "2")
    assert found["merge:1:2"] == ("may be the same story as 3: nearly the same words", "3")
    assert len(found) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A boy named Pierce Crowley is missing from his home in Ohio.", "A boy named Christopher Mineo is missing from his home in Ohio."),
        ("The list of the Darwin Awards of 2003 is real.", "The list of the Darwin Awards of 2006 is real."),
        ("Vitamin C cures the coronavirus.", "Vitamin D cures the coronavirus."),
        ("The president signed an order banning Confederate flags.", "The president signed an order banning assault weapons."),
    ],
)  # fmt: skip
def test_two_things_of_a_kind_are_no_story(first, second):
    assert findings(Claim("1", first, **GOOD), Claim("2", second, news_urls=["https://news.org/b"], fact_check_urls=["https://check.org/b"])) == {}  # fmt: skip


def test_what_is_true_of_most_claims_is_said_once():
    claims = [
        Claim(str(at), f"Statement number {at} about thing{at} only.", keywords=[f"thing{at}"])
        for at in range(7)
    ]
    found = lint(checked(claims, "claims.csv"))
    assert found.summaries == (
        "addresses: 7 of 7 claims: each has neither a news address nor a fact-check (fine where keywords find enough posts)",
    )
    assert len(found) == 0
    assert found.summary[-1] == "1 finding about the list of 7 claims."
    claims.append(Claim("8", "No evidence that garlic cures the flu.", keywords=["garlic"]))
    found = lint(checked(claims, "claims.csv"))
    assert found.summary[-1] == "1 finding about single claims and 1 finding about the list of 8 claims."


def test_a_claim_that_no_query_can_find_is_named():
    found = findings(Claim("1", "A thing."), Claim("2", "Another one.", titles=["Another"]))
    assert "no post is found" in found["no query:1"][0]
    assert "no query:2" not in found


def test_every_finding_names_its_rule():
    assert set(lint(checked([Claim("1", "No evidence that x y")], "x")).to_frame()["section"]) == {"A.1"}


def test_the_published_lists(data_home):
    covmis = lint(read_claims(data_home / "covmis/misinformation.csv")).to_frame()
    shared = covmis[covmis["rule"] == "shared"]
    assert len(shared) == 19
    assert shared["says"].str.contains("coronavirus-myths-explored with 18 other").all()
    coaid = lint(read_claims(data_home / "coaid")).to_frame()
    assert (coaid["rule"] == "correct").sum() >= 12
    assert not coaid["proposal"].str.contains("falsely", case=False).any()
