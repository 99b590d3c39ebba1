"""Lists of claims as researchers have them: what is understood, what is left over, what is refused."""

from __future__ import annotations

import json
import re
import zipfile
from functools import partial

import openpyxl
import pandas as pd
import pytest

from covmis_build.claims.claim import claims_csv
from covmis_build.claims.lists import days_of, read_claims, read_list
from covmis_build.errors import BrokenIds, InputError
from covmis_build.files.reading import open_table
from covmis_build.files.table import Switches
from tests.annotation.libreoffice import Job, save


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("checkthat2020_vclaims.tsv", "checkthat"), ("liar_train.tsv", "liar"),
        ("fakenewsnet_politifact_fake.csv", "fakenewsnet"), ("politifact_scrapy.json", "politifact"),
        ("known_lie_snopes.tsv", "snopes"),
    ],
)  # fmt: skip
def test_public_lists_are_read_as_expected(data_home, name, form):
    expected = json.loads((data_home / "claimlists/expected.json").read_text("utf-8"))[name]["claims"]
    understood = read_list(data_home / "claimlists" / name)
    assert understood.form == form
    posts = {}
    for post in understood.posts:
        posts.setdefault(post.claim_id, []).append(post.post_id)
    rows = understood.claims.to_dict("records")
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        had = {**row, "posts": posts.get(row["claim_id"], [])}
        for field in wanted.keys() - {"speaker", "posts"}:
            assert had[field] == wanted[field]
        assert had["posts"] == sorted(wanted.get("posts", []))


def test_a_list_without_sentences_is_refused_with_its_columns(data_home):
    with pytest.raises(
        InputError, match=r"no column holds the claims' sentences.*page_names.*politifact\.cat\.j\..*--text"
    ):
        read_list(data_home / "claimlists/notnews_politifacts.csv")


def test_covidlies_both_ways(data_home):
    sentences = read_list(data_home / "covidlies/misconceptions.jsonl")
    assert (sentences.form, len(sentences.claims)) == ("covidlies", 62)
    assert (
        sentences.claims["text"][0]
        == "A person can tell if they have coronavirus or not simply by holding their breath."
    )
    assert len(read_list(data_home / "covidlies/covid_lies_v0.2.csv").posts) > 6000
    with pytest.raises(
        BrokenIds, match="all 4,371 long ids"
    ):  # as released: of v0.2's ids 55% are exact as floats
        read_list(data_home / "covidlies/covid_lies_v1.0.csv")


def test_the_user_names_columns_and_misnames_them(tmp_path):
    path = written(tmp_path, "mine.csv", "nr;gesagt;wo\n1;Der Mond ist aus Käse gemacht;mimikama.org/x\n")
    with pytest.raises(InputError, match=r"If one does, name it: --text COLUMN"):
        read_list(path)
    with pytest.raises(InputError, match=r"has no column 'gesgt'\. Did you mean 'gesagt'"):
        read_list(path, columns={"text": "gesgt"})
    with pytest.raises(InputError, match=r"no field of a claim is called 'txt'\. Did you mean 'text'"):
        read_list(path, columns={"txt": "gesagt"})
    understood = read_list(path, columns={"text": "gesagt", "fact_check_urls": "wo"})
    (row,) = understood.claims.to_dict("records")
    assert (row["claim_id"], row["text"]) == ("mine-0001", "Der Mond ist aus Käse gemacht")
    assert row["fact_check_urls"] == ["https://mimikama.org/x"]
    assert understood.left_over == ["nr"]
    path = written(tmp_path, "more.csv", "id,text,keywords\n7,The moon is made of cheese,moon\n")
    (row,) = read_list(path, columns={"keywords": "", "claim_id": ""}).claims.to_dict("records")
    assert (row["claim_id"], row["keywords"]) == ("more-0001", []), "a field named with nothing has no column"


@pytest.mark.parametrize("header", ["claim_id,text,keyword", "claim_id,text,fact_check_url"])
def test_misspelt_columns_of_our_own_list_are_refused(tmp_path, header):
    path = written(tmp_path, "claims.csv", f"{header}\n1,Garlic cures the flu.,garlic\n")
    for read in (read_list, read_claims):
        with pytest.raises(InputError, match=r"row 1: has an unknown column '\w+'\. Did you mean '\w+s'"):
            read(path)


def test_columns_of_ones_own_stay_and_strange_ones_are_refused_in_the_study(tmp_path):
    path = written(tmp_path, "claims.csv", "claim_id,text,_note\n1,Garlic cures the flu.,ask Ann\n")
    assert read_claims(path, "csv")["_note"].tolist() == ["ask Ann"]
    path.write_bytes(claims_csv(read_claims(path, "csv")))
    assert read_claims(path, "csv")["_note"].tolist() == ["ask Ann"]
    strange = written(tmp_path, "b.csv", "claim_id,text,remarks\n1,Garlic cures the flu.,ask Ann\n")
    with pytest.raises(InputError, match=r"unknown column 'remarks'.*a column of your own begins with _"):
        read_claims(strange, "csv")
    assert read_list(strange).left_over == ["remarks"]


def test_verdicts_say_whether_it_is_misinformation(tmp_path):
    rows = [
        {"claim": f"Claim number {n} is here", "rating": rating}
        for n, rating in enumerate(["False", "Pants on Fire!", "mostly-true", "Half-True", "whatever"])
    ]
    claims = read_list(written(tmp_path, "list.json", json.dumps(rows))).claims
    assert claims["misinformation"].tolist() == ["yes", "yes", "no", "", ""]
    path = tmp_path / "claims.csv"
    path.write_bytes(claims_csv(claims))
    assert read_claims(path, "csv")["verdict"].tolist() == claims["verdict"].tolist()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"id": 7, "claim": "Garlic cures the flu"}\n{"id": 8, "claim": "Tea makes it rain"}\n'),
        ("b.json", '{"7": {"claim": "Garlic cures the flu"}, "8": {"claim": "Tea makes it rain"}}'),
        ("c.json", '{"id": {"0": 7, "1": 8}, "claim": {"0": "Garlic cures the flu", "1": "Tea makes it rain"}}'),
        ("d.json", '{"claims": [{"id": 7.0, "claim": "Garlic cures the flu"}, {"id": 8, "claim": "Tea makes it rain"}]}'),
        ("e.tsv", "ID\tClaim\n7\tGarlic cures the flu\n8\tTea makes it rain\n"),
        ("g.tsv", 'id\tsaid\tclaim\n7\t"a b\tGarlic cures the flu\n8\tc"\tTea makes it rain\n'),
        ("f.tsv", 'id\tclaim\tsaid\n7\tGarlic cures the flu\t"a b\n8\tTea makes it rain\tc\n'),
    ],
)  # fmt: skip
def test_the_same_list_in_many_files(tmp_path, name, text):
    understood = read_list(written(tmp_path, name, text))
    assert understood.claims[["claim_id", "text"]].to_numpy().tolist() == [
        ["7", "Garlic cures the flu"],
        ["8", "Tea makes it rain"],
    ]


def test_workbooks(tmp_path):
    from datetime import datetime

    book = openpyxl.Workbook()
    book.active.append(["Claim ID", "Statement", "Date", None])
    book.active.append([7, "Garlic cures the flu", datetime(2020, 3, 1), None])  # noqa: DTZ001 - workbooks know no zones
    book.save(tmp_path / "list.xlsx")
    (row,) = read_list(tmp_path / "list.xlsx").claims.to_dict("records")
    assert (row["claim_id"], row["text"], row["first_seen"]) == ("7", "Garlic cures the flu", "2020-03-01")


def test_multiclaim_and_a_folder_with_a_file_a_claim(tmp_path):
    cell = "('O alho cura a gripe', 'Garlic cures the flu', [('por', 0.98)])"
    path = written(
        tmp_path,
        "fact_checks.csv",
        f'fact_check_id,claim,instances,title\n5,"{cell}","[(1,\'https://check.org/5\')]",\n',
    )
    (row,) = read_list(path).claims.to_dict("records")
    assert (row["claim_id"], row["text"], row["language"], row["fact_check_urls"]) == (
        "5", "O alho cura a gripe", "pt", ["https://check.org/5"],
    )  # fmt: skip
    folder = tmp_path / "vclaims"
    folder.mkdir()
    for n in (1, 2):
        (folder / f"v{n}.json").write_text(
            json.dumps(
                {
                    "vclaim_id": f"vclaim-{n}",
                    "vclaim": f"Claim number {n} here",
                    "title": "T",
                    "date": "1 May 2020",
                }
            )
        )
    understood = read_list(folder)
    assert (understood.form, understood.claims["claim_id"].tolist()) == (
        "checkthat",
        ["vclaim-1", "vclaim-2"],
    )
    assert set(understood.claims["first_seen"]) == {"2020-05-01"}


def test_two_texts_of_one_id_are_refused_with_both_rows(tmp_path):
    path = written(tmp_path, "list.tsv", "id\tclaim\n7\tGarlic cures the flu\n7\tTea makes it rain\n")
    with pytest.raises(InputError, match=r"row 3: the claim_id 7 is already that of row 2"):
        read_list(path)


def test_ids_that_a_spreadsheet_has_rounded_are_refused(tmp_path):
    rows = "".join(f"{n}\tGarlic cures flu {n}\t1252934402983{n}0000\n" for n in range(10, 14))
    path = written(tmp_path, "list.tsv", f"id\tclaim\ttweet_id\n{rows}")
    with pytest.raises(InputError, match="zeros after the 15th digit"):
        read_list(path)


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("title", lambda at: ("Governor", "Senator")[at % 2], "12 cells have only 2 different values"),
        ("title", lambda at: f"Senator{at}", "most have one or two words"),
        ("keywords", lambda at: rf"\bgarlic{at}\b.*flu", "regular expressions"),
    ],
)
def test_columns_that_are_not_what_their_names_say_are_asked_for(tmp_path, column, cell, problem):
    rows = "".join(f"{at}\tGarlic number {at} cures flu\t{cell(at)}\n" for at in range(12))
    path = written(tmp_path, "list.tsv", f"id\tclaim\t{column}\n{rows}")
    field = {"title": "titles"}.get(column, column)
    with pytest.raises(InputError, match=problem) as error:
        read_list(path)
    assert f"--column {field}= " in error.value.remedy
    assert field not in read_list(path, columns={field: ""}).columns
    assert column in read_list(path, columns={field: column}).columns.values()


def test_a_list_without_header_and_with_another_separator_is_read_as_it_says(tmp_path):
    path = written(tmp_path, "list.txt", "c1^Garlic cures the flu\nc2^Tea and honey make it rain\n")
    with pytest.raises(InputError, match="no column holds") as error:
        read_list(path)
    assert "--header 0 --text 2" in error.value.remedy
    listed = read_list(path, columns={"claim_id": "1", "text": "2"}, switches=Switches("^", header=False))
    assert list(listed.claims["claim_id"]) == ["c1", "c2"]
    assert listed.claims["text"][1] == "Tea and honey make it rain"


def test_a_verdict_in_front_of_claims_is_not_part_of_them(tmp_path):
    rows = "".join(f"{at}\t{('FALSE: garlic', 'Tea')[at % 2]} number {at} cures flu\n" for at in range(6))
    claims = read_list(written(tmp_path, "list.tsv", f"id\tclaim\n{rows}")).claims
    assert list(claims["text"][:2]) == ["Garlic number 0 cures flu", "Tea number 1 cures flu"]
    assert list(claims["verdict"][:2]) == ["FALSE", ""]


def test_days_that_contradict_one_another_are_none():
    assert days_of(["13/01/2020", "01/13/2020"]) == ["", ""]
    assert days_of(["31.12.2019"]) == ["2019-12-31"]
    assert days_of(["20/04/20", "20/04/21", "20/04/22"]) == ["", "", ""], "years may stand first"
    assert days_of(["20/04/20", "21/04/20", "22/04/20"])[1:] == ["2020-04-21", "2020-04-22"]
    assert days_of(["2020-13-01", "March 40, 2020", "11-Apr-20"]) == ["", "", "2020-04-11"]


def workbook(path, rows, merged=()):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for area in merged:
        book.active.merge_cells(area)
    book.save(path)
    return path


def test_titles_above_a_header_are_left_out_and_told(tmp_path):
    said = r"1 line above the header left out, with 'Our claims'"
    table = written(tmp_path, "a.csv", "Our claims,,\nid,claim,rating\n7,Garlic cures the flu,False\n")
    rows = [["Our claims", None, None], ["id", "claim", "rating"], [7, "Garlic cures the flu", "False"]]
    for path in (table, workbook(tmp_path / "a.xlsx", rows, ["A1:C1"])):
        understood = read_list(path)
        assert said in understood.notes
        assert understood.claims[["claim_id", "text", "misinformation"]].to_numpy().tolist() == [
            ["7", "Garlic cures the flu", "yes"]
        ]
    index = written(tmp_path, "b.csv", ",claim\n0,Garlic cures\n1,Tea makes it rain\n")
    assert read_list(index).claims["claim_id"].tolist() == ["0", "1"]
    assert "ids are those of the first column, which has no name, as '0'" in read_list(index).notes
    short = written(tmp_path, "c.csv", "id,claim,note\n1,Garlic cures the flu,\nx,Tea makes rain,no\n")
    assert len(read_list(short).claims) == 2


def cut_short(path):
    """The workbook, saying that it ends with its second row, as programs do that write rows as they come."""
    parts = {}
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:B2"', part))
    return path


def test_a_workbook_may_have_more_rows_than_it_says(tmp_path):
    rows = [["id", "claim"], *([number, f"Garlic cures the flu, {number}"] for number in range(5))]
    path = cut_short(workbook(tmp_path / "a.xlsx", rows))
    assert len(read_list(path).claims) == 5


def test_what_had_to_be_supposed_of_an_encoding_is_told(tmp_path):
    data = "id,claim\n1,El ajo cura según mi tía\n2,El limón mata el virus\n".encode()
    path = tmp_path / "a.csv"
    path.write_bytes(data.replace("limón".encode(), b"lim\xc3n"))
    understood = read_list(path)
    assert understood.claims["text"].tolist()[0] == "El ajo cura según mi tía"
    assert "not UTF-8 in 1 place, shown as \N{REPLACEMENT CHARACTER}" in understood.notes
    path.write_bytes(data.decode().encode("cp1252"))
    understood = read_list(path)
    assert understood.claims["text"].tolist()[0] == "El ajo cura según mi tía"
    assert "not UTF-8: read as Western European (Windows-1252), as in 'según'" in understood.notes


@pytest.mark.parametrize(
    ("claims", "encoding"),
    [
        ("大蒜可以治疗新冠肺炎", "gb18030"),
        ("大蒜可以治療新冠肺炎,新冠疫苗會改變人類的基因", "big5"),
        ("Чеснок лечит коронавирус", "cp1251"),
    ],
)
def test_other_alphabets_than_western_european_are_asked_for_in_utf8(tmp_path, claims, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(f"id;claim\n1;{claims}\n2;{claims}!\n".encode(encoding))
    with pytest.raises(InputError, match=r"a\.csv: is neither UTF-8 nor Western European.*Save it as UTF-8"):
        read_list(path)
    with pytest.raises(InputError, match="is neither UTF-8 nor Western European"):
        open_table(partial(path.open, "rb"))


def test_a_few_odd_letters_in_a_large_file_do_not_make_it_another_alphabet(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"id;claim\n1;said \xcd\xa2\x91\x84\x91\xee twice \xcd\xa2\x91\x84\x91\xee\n"
        + b"2;garlic cures it\n" * 8_000
    )
    table = open_table(partial(path.open, "rb"))
    assert table.notes[0].startswith("not UTF-8: read as Western European")


@pytest.mark.parametrize(
    "claim",
    [
        "A vacinação da população é obrigatória; não há comprovação de alteração no DNA",
        "«\xa0Éric\xa0»… “Não…” —“ação”… «\xa0Être\xa0»",
        "hyvää yötä, älä lähde töihin ennen häätä",
    ],
)
def test_letters_in_twos_and_signs_beside_them_are_western_european(tmp_path, claim):
    path = tmp_path / "a.csv"
    path.write_bytes(f"id\tclaim\n1\t{claim}\n".encode("cp1252"))
    assert read_list(path).claims["text"].str.split().tolist() == [claim.split()]
    assert open_table(partial(path.open, "rb")).notes[0].startswith("not UTF-8: read as Western European")


def test_what_stands_for_nothing_is_nothing(tmp_path):
    """What R writes where a cell is empty, and what a spreadsheet shows where a formula has failed."""
    table = written(
        tmp_path,
        "a.csv",
        "id,claim,keywords,language\n1,Garlic cures the flu,NA,NA\n2,NA,NA,en\n3,Tea makes it rain,tea,en\n",
    )
    understood = read_list(table)
    assert understood.claims[["claim_id", "language"]].to_numpy().tolist() == [["1", ""], ["3", "en"]]
    assert [list(words) for words in understood.claims["keywords"]] == [[], ["tea"]]
    assert "4 cells that say NA, NULL or the like taken for empty" in understood.notes
    own = written(tmp_path, "b.csv", "claim_id,text,keywords\n1,Garlic cures the flu,NA\n")
    with pytest.raises(InputError, match=r"row 2: keywords is 'NA'"):
        read_claims(own)
    rows = [["id", "claim", "keywords"], [1, "Garlic cures the flu", "#N/A"], [2, "Tea makes it rain", "tea"]]
    understood = read_list(workbook(tmp_path / "a.xlsx", rows))
    assert [list(words) for words in understood.claims["keywords"]] == [[], ["tea"]]
    assert "1 cell with an error, left empty, as C2" in understood.notes


def test_of_cells_merged_to_the_sheets_end_only_rows_that_are_there_are_blank(tmp_path):
    rows = [["id", "claim", "rating"], [1, "Garlic cures the flu", "False"], [2, "Tea makes it rain", None]]
    small = workbook(
        tmp_path / "small.xlsx", rows, ["C2:C3", "D2:D3"]
    )  # openpyxl would write two million cells
    with zipfile.ZipFile(small) as parts, zipfile.ZipFile(tmp_path / "a.xlsx", "w") as large:
        for name in parts.namelist():
            large.writestr(name, re.sub(rb'"([CD]2:[CD])3"', rb'"\g<1>1048576"', parts.read(name)))
    understood = read_list(tmp_path / "a.xlsx")
    assert understood.claims["verdict"].tolist() == ["False", ""]
    assert "C2 is merged over several rows" in understood.notes[0]


@pytest.mark.needs("libreoffice")
def test_merged_cells_of_calc_are_read_as_those_of_excel(tmp_path):
    rows = [
        ["id", "claim", "rating"],
        [1, "Garlic cures the flu", "False"],
        [2, "Tea makes it rain", None],
        *[[None, None, None]] * 3,
        [3, "Salt melts in the sea", "True"],
        [3, "Salt melts in the sea", None],
    ]
    path = workbook(tmp_path / "a.xlsx", rows, ["C2:C3", "C7:C8", "E2:E9"])
    save(tmp_path, [Job(path, tmp_path / "a.ods", "calc8")])
    understood = [read_list(tmp_path / name) for name in ("a.xlsx", "a.ods")]
    assert understood[0].notes == understood[1].notes
    assert (
        "C2 is merged over several rows: it counts for row 2 alone, the others are blank"
        in understood[0].notes
    )
    excel, calc = (each.claims.to_dict("records") for each in understood)
    assert calc == excel


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl"])
def test_an_empty_list_is_one_line(tmp_path, name):
    with pytest.raises(InputError, match="is empty"):
        read_list(written(tmp_path, name, ""))


def test_verdicts_of_fact_checks_have_their_meaning_too(tmp_path):
    review = {"@type": "ClaimReview", "url": "https://check.org/1", "claimReviewed": "Garlic cures the flu.", "reviewRating": {"alternateName": "Pants on Fire!"}}  # fmt: skip
    answer = {"claims": [{"text": "Garlic cures the flu.", "claimReview": [{"url": "https://check.org/1", "textualRating": "False"}]}]}  # fmt: skip
    for document in (review, answer):
        claims = read_list(written(tmp_path, "a.json", json.dumps(document))).claims
        assert claims["misinformation"].tolist() == ["yes"]


def test_sentences_worth_a_check_have_no_verdict(tmp_path):
    path = written(tmp_path, "task1.tsv", "sentence_id\tsentence\tlabel\ns1\tGarlic cures the flu\tYes\n")
    understood = read_list(path)
    assert (understood.form, understood.claims["claim_id"].tolist()) == ("checkthat", ["s1"])
    assert understood.left_over == ["label"]


@pytest.mark.parametrize(("cell", "problem"), [("", "has no claim_id"), ("a|b", r"'a\|b' is no claim id")])
def test_a_column_claim_id_with_a_cell_that_is_none_is_refused(tmp_path, cell, problem):
    """Claims by their row in its place would silently lose the ids that are there."""
    path = tmp_path / "list.csv"
    path.write_text(
        f"claim_id,claim,rating\n7,Garlic cures the flu,False\n{cell},Masks are useless,False\n", "utf-8"
    )
    with pytest.raises(InputError, match=f"row 3: {problem}"):
        read_list(path)


def test_a_parquet_table_of_claims_is_read(tmp_path):
    path = tmp_path / "claims.parquet"
    pd.DataFrame({"nr": ["a", "b"], "claim": ["Garlic cures it.", "Masts spread it."]}).to_parquet(path)
    assert read_list(path).claims["text"].tolist() == ["Garlic cures it.", "Masts spread it."]
