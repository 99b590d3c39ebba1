"""Claim lists in every form they come in, and back to CSV."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.claims.claim import Claim, checked, claims_csv
from covmis_build.claims.coaid import mended
from covmis_build.claims.lists import read_claims, read_list
from covmis_build.errors import InputError
from covmis_build.files.ids import NOTHING
from covmis_build.files.table import Switches


@pytest.fixture
def file(tmp_path):
    def write(text, name="claims.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def test_csv_of_our_own(file):
    path = file(
        "claim_id,text,language,keywords,titles,news_urls,fact_check_urls,first_seen,selected,edits\n"
        '12a,"Garlic  cures it.",English,"garlic cure\n[es] ajo cura",,https://a.org/x,,2020-03-01,no,"split from 12: All of it."\n'
        "12b,Garlic kills it.,,,,,,,,\n"
    )
    row, other = read_claims(path).to_dict("records")
    assert other["selected"], "an empty cell leaves a claim in"
    assert row | {"verdict": "", "misinformation": ""} == Claim(
        "12a", "Garlic cures it.", language="en", keywords=["garlic cure", "[es] ajo cura"], news_urls=["https://a.org/x"],
        first_seen="2020-03-01", selected=False, edits=["split from 12: All of it."],
    ).cells()  # fmt: skip


@pytest.mark.parametrize("header", ["claim_id,text", "id,statement", "id,text,keywords"])
def test_apostrophes_of_others_are_parts_of_their_texts(file, header):
    texts = ["''Sun'' kills it.", "'=garlic' cures it.", "'+1' is no cure."]
    path = file(header + "".join(f"\n{at},{text}" for at, text in enumerate(texts)) + "\n", "theirs.csv")
    assert read_list(path).claims["text"].tolist() == texts


def test_our_own_list_is_known_without_some_of_its_columns(file):
    path = file("claim_id,text,keywords,first_seen\n1,'=1+1 is the price.,garlic,\n", "ours.csv")
    assert read_list(path).claims["text"].tolist() == ["=1+1 is the price."]


NESTED = {
    "source": "s",
    "tags": [{"text": "no"}],
    "pages": [
        {"claims": [{"id": 1, "text": "Garlic cures the flu in a day."}]},
        {"claims": [{"id": 2, "text": "Masks cause a lack of oxygen."}]},
    ],
}


@pytest.mark.parametrize(
    "text", [json.dumps(NESTED, indent=1), json.dumps(NESTED) + "\n" + json.dumps({"pages": []})]
)
def test_a_list_anywhere_in_json(file, text):
    path = file(text, "nested.json")
    assert read_list(path, switches=Switches(path="pages[].claims[]")).claims["claim_id"].tolist() == [
        "1",
        "2",
    ]
    with pytest.raises(InputError, match=r"has no rows at 'claims\[\]'.*it has: source, tags, pages"):
        read_list(path, switches=Switches(path="claims[]"))


def test_json_is_utf_8(tmp_path):
    path = tmp_path / "theirs.json"
    path.write_bytes(json.dumps([{"text": "Ärger hilft gegen Viren."}], ensure_ascii=False).encode("cp1252"))
    for switches in (Switches(), Switches(path="a[]")):
        with pytest.raises(InputError, match=r"theirs\.json: is not UTF-8"):
            read_list(path, switches=switches)


@pytest.mark.parametrize("name", ["theirs.csv", "theirs.xlsx"])
def test_switches_that_a_file_has_no_use_for_are_refused(tmp_path, name):
    rows = pd.DataFrame({"text": ["Garlic cures the flu in a day."]})
    rows.to_csv(tmp_path / name) if name.endswith("csv") else rows.to_excel(tmp_path / name)
    with pytest.raises(InputError, match=r"is no JSON, in which 'a\[\]' could be"):
        read_list(tmp_path / name, switches=Switches(path="a[]"))
    if name.endswith("xlsx"):
        with pytest.raises(InputError, match="is no text"):
            read_list(tmp_path / name, switches=Switches(lines=True))


def test_a_claim_a_line(file):
    listed = read_list(
        file("Sun, and sea;\n\nNo, none\n", "claims.txt"), switches=Switches(lines=True)
    ).claims
    assert listed["text"].tolist() == ["Sun, and sea;", "No, none"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_encodings_and_separators(file, encoding, separator):
    path = file(f"claim_id{separator}text\n1{separator}Knöblauch heilt\n", encoding=encoding)
    assert read_claims(path)["text"].tolist() == ["Knöblauch heilt"]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16"])
def test_other_encodings_are_refused_with_the_row(file, encoding):
    with pytest.raises(InputError, match=r"claims\.csv, row [12]: is not UTF-8\. Save it as CSV UTF-8"):
        read_claims(file("mid,mis\n1,Knöblauch heilt\n", encoding=encoding))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("claim_id,text\n", "has no claims"),
        ("claim_id,txt\n1,x\n", "row 1: lacks the column 'text'. Did you mean 'txt'?"),
        ("a,b\n1,x\n", "lacks the column 'claim_id'. The file has: a, b"),
        ("claim_id,text\n1,x\n1,y\n", "row 3: the claim_id 1 is already that of row 2"),
        ("claim_id,text\n,x\n", "row 2: has no claim_id"),
        ("claim_id,text\n1,\n", "row 2: the claim 1 has no text"),
        ("claim_id,text\na|b,x\n", "a space, a colon or a bar"),
        ("claim_id,text,selected\n1,x,maybe\n", "row 2: selected is 'maybe'. Write yes or no"),
        ("claim_id,text\n1,x,y\n", "row 2: 'y' is beyond the last column"),
        pytest.param(b"claim_id\0text", "is not a text file", id="not text"),
        ('{"a": 1}', "has no ClaimReview in it"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(file, text, message):
    path = file(text)
    with pytest.raises(InputError) as error:
        read_claims(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_or_nothing_instead_of_a_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read_claims(tmp_path)
    with pytest.raises(InputError, match="is missing"):
        read_claims(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="no claim list format"):
        read_claims(tmp_path, "cvs")


CELL = (
    st.text(
        st.characters(codec="utf-8", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\0"),
        max_size=12,
    )
    .map(str.strip)
    .filter(lambda text: text not in NOTHING)
)
LIST = st.lists(CELL.filter(bool), max_size=3)


@given(st.lists(st.builds(dict, text=CELL.map(lambda text: " ".join(text.split())).filter(bool), keywords=LIST, titles=LIST, news_urls=LIST, edits=LIST, selected=st.booleans()), min_size=1, max_size=4))  # fmt: skip
def test_written_and_read_back_it_is_the_same(tmp_path_factory, rows):
    frame = checked([Claim(f"c{at}", **row) for at, row in enumerate(rows)], "x")
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    path.write_bytes(claims_csv(frame))
    pd.testing.assert_frame_equal(read_claims(path, "csv"), frame)


def test_a_spreadsheet_runs_nothing_of_it():
    data = claims_csv(checked([Claim("1", '=HYPERLINK("http://a.org")', keywords=["-mask", "+1"])], "x"))
    cells = data.decode("utf-8-sig").splitlines()[1]
    assert data.startswith(b"\xef\xbb\xbf")
    assert "'=HYPERLINK" in cells
    assert "'-mask" in cells


REVIEW = {
    "@context": "https://schema.org", "@type": "ClaimReview", "url": "https://check.org/1", "claimReviewed": "Garlic cures it.", "datePublished": "2020-03-05", "inLanguage": "en",
    "itemReviewed": {"@type": "Claim", "author": {"@type": "Person", "name": "Someone"}, "datePublished": "2020-03-01", "appearance": [{"@type": "CreativeWork", "url": "https://news.org/a", "headline": "Garlic!"}, "https://news.org/b"], "firstAppearance": {"url": "https://news.org/a?utm_source=x"}},
    "reviewRating": {"@type": "Rating", "alternateName": "False"},
}  # fmt: skip
OTHER = {
    "@type": ["ClaimReview"],
    "url": "https://other.org/2",
    "claimReviewed": "garlic  cures it.",
    "itemReviewed": {"appearance": "https://news.org/c"},
}


@pytest.mark.parametrize(
    "document",
    [
        [REVIEW, OTHER],
        {"@context": "https://schema.org", "@graph": [REVIEW, OTHER]},
        {"@type": "DataFeed", "dataFeedElement": [{"@type": "DataFeedItem", "item": [REVIEW]}, {"@type": "DataFeedItem", "item": [OTHER]}]},
        {"@type": "WebPage", "mainEntity": {"review": [REVIEW, OTHER]}},
    ],
)  # fmt: skip
def test_claim_reviews(file, document):
    (row,) = read_claims(file(json.dumps(document), "feed.json")).to_dict("records")
    assert row["text"] == "Garlic cures it."
    assert (row["language"], row["first_seen"]) == ("en", "2020-03-01")
    assert row["titles"] == ["Garlic!"]
    assert row["news_urls"] == ["https://news.org/a", "https://news.org/b", "https://news.org/c"]
    assert row["fact_check_urls"] == ["https://check.org/1", "https://other.org/2"]


def test_claim_reviews_one_a_line_keep_their_ids(file):
    both = read_claims(
        file("\n".join(map(json.dumps, [REVIEW, {**OTHER, "claimReviewed": "Another."}])), "reviews.jsonl")
    )
    alone = read_claims(file(json.dumps({**OTHER, "claimReviewed": "Another."}), "one.json"))
    assert both["claim_id"][1] == alone["claim_id"][0]
    assert both["claim_id"].is_unique


GOOGLE = {
    "claims": [
        {"text": "Garlic cures it.", "claimant": "Someone", "claimDate": "2020-03-01T00:00:00Z", "claimReview": [{"publisher": {"name": "C", "site": "check.org"}, "url": "https://check.org/1", "title": "No.", "reviewDate": "2020-03-05T00:00:00Z", "textualRating": "False", "languageCode": "en"}]},
        {"text": "Otro.", "claimReview": [{"url": "https://check.org/2", "languageCode": "es"}]},
    ],
    "nextPageToken": "CAo",
}  # fmt: skip


def test_googles_answers(file):
    claims = read_claims(file(json.dumps(GOOGLE), "answer.json"))
    assert claims["text"].tolist() == ["Garlic cures it.", "Otro."]
    assert claims["language"].tolist() == ["en", "es"]
    assert claims["first_seen"].tolist() == ["2020-03-01", ""]
    assert claims["fact_check_urls"].tolist() == [["https://check.org/1"], ["https://check.org/2"]]
    lines = file("\n".join(json.dumps(one) for one in (GOOGLE, GOOGLE)), "answers.jsonl")
    pd.testing.assert_frame_equal(read_claims(lines), claims)


NEWS = (
    "\ufeff,type,fact_check_url,archive,news_url,news_url2,news_url3,news_url4,news_url5,title,newstitle,content,abstract,publish_date,meta_keywords\n"
    '7,article,https://check.org/7,,https://news.org/7,https://news.org/7b,,,https://news.org/7e,IndiaÕs ÒplanÓ works.,"""The Plan""",,,11-Apr-20,\n'
    "8,post,https://check.org/8,,https://news.org/8,,,,,Title eight.,,,,soon,\n"
)


@pytest.fixture
def coaid(tmp_path):
    release = tmp_path / "coaid/05-01-2020"
    release.mkdir(parents=True)
    (release / "NewsFakeCOVID-19.csv").write_text(NEWS)
    (release / "NewsFakeCOVID-19_tweets.csv").write_text(
        "index,tweet_id\n7,1252934402983763968\n7,1252934402983763968\n8,1252934402983763969\n"
    )
    (release / "NewsFakeCOVID-19_tweets_replies.csv").write_text("news_id,tweet_id,reply_id\n7,1,2\n")
    return tmp_path / "coaid"


def test_coaid_releases(coaid):
    first, second = read_claims(coaid).to_dict("records")
    assert first["text"] == "India’s “plan” works."
    assert first["titles"] == ['"The Plan"']
    assert first["news_urls"] == ["https://news.org/7", "https://news.org/7b", "https://news.org/7e"]
    assert (first["first_seen"], second["first_seen"]) == ("2020-04-11", "")
    assert [tuple(one) for one in read_list(coaid).posts] == [
        ("7", "x:1252934402983763968", "title"),
        ("8", "x:1252934402983763969", "title"),
    ]
    one_file = coaid / "05-01-2020/NewsFakeCOVID-19.csv"
    assert len(read_claims(one_file)) == len(read_claims(one_file, "coaid")) == 2


def test_broken_post_ids_of_a_release_are_refused(coaid):
    (coaid / "05-01-2020/NewsFakeCOVID-19_tweets.csv").write_text("index,tweet_id\n7,1.25E+18\n")
    with pytest.raises(InputError, match="broken by a spreadsheet"):
        read_list(coaid)


def test_signs_that_were_right_stay(file):
    assert mended("“Quèën” in Côte d’Ivoire — 5 £") == "“Quèën” in Côte d’Ivoire — 5 £"


def test_the_published_lists(data_home):
    covmis = read_claims(data_home / "covmis/misinformation.csv")
    assert len(covmis) == 111
    assert (
        covmis["titles"].str.len().sum(),
        covmis["news_urls"].str.len().sum(),
        covmis["fact_check_urls"].str.len().sum(),
    ) == (77, 121, 124)
    coaid = read_claims(data_home / "coaid")
    assert len(coaid) == 953
    assert not coaid["text"].str.contains("[ÒÓÕ]").any()
    assert coaid["news_urls"].str.len().max() == 5
    known = dict(zip(coaid["claim_id"], coaid["fact_check_urls"], strict=True))
    other = [
        row["claim_id"]
        for row in covmis.to_dict("records")
        if not set(row["fact_check_urls"]) & set(known[row["claim_id"]])
    ]
    assert len(other) == 19
    assert all(known[one] == ["medicalnewstoday.com"] for one in other)
    assert len(read_list(data_home / "coaid").posts) > 10_000


@pytest.mark.parametrize("day", ["1/31/2020", "31.01.2020", "2020-13-01", "Jan 2020"])
def test_days_that_a_spreadsheet_rewrote_are_named(tmp_path, day):
    path = tmp_path / "claims.csv"
    path.write_text(f"claim_id,text,first_seen\n1,a,2020-01-31\n2,b,{day}\n")
    with pytest.raises(InputError, match=r"row 3: first_seen is .* Write it like 2020-01-31"):
        read_claims(path)


def test_days_of_fact_checks_are_days_or_nothing(tmp_path):
    path = tmp_path / "review.json"
    review = {"@type": "ClaimReview", "url": "https://a.org/1", "claimReviewed": "It is so."}
    told = [("2020-03-01T10:00:00Z", "2020-03-01"), ("March 1, 2020", ""), ("2020-03-011", "")]
    for written, day in told:
        path.write_text(json.dumps(review | {"datePublished": written}))
        claims = read_claims(path)
        assert claims["first_seen"].tolist() == [day]
        (tmp_path / "claims.csv").write_bytes(claims_csv(claims))
        assert read_claims(tmp_path / "claims.csv")["first_seen"].tolist() == [day]
