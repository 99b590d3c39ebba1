"""Sheets: safe in spreadsheets, and checked row by row on return."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import keyed
from covmis_build.annotation.answers import Answer, checked, known_label, present
from covmis_build.annotation.channels import sheets
from covmis_build.annotation.channels.check_words import Owner, check_word
from covmis_build.annotation.channels.sheets import ROW, Returned, read_sheet, sheet
from covmis_build.annotation.frozen_items import by_item, freeze
from covmis_build.annotation.recording import append
from covmis_build.errors import InputError
from covmis_build.models.answers import read_answer
from covmis_build.options import Annotation, Labels
from covmis_build.settings import parse
from covmis_build.study.study import open_study
from tests.annotation.small import (
    LABELS,
    covmis,
    fill,
    labelled,
    pushed,
    recorded,
    rows_of,
    sampled,
    write_rows,
)

if TYPE_CHECKING:
    import pandas as pd

SCHEME = Labels()
A1 = Owner("001", "a1")


def frozen(**options) -> pd.DataFrame:
    tables = sampled()
    return freeze(
        **tables, earlier=[], options=Annotation(claims_per_round=2, **options), labels=SCHEME, seed=7
    )


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "a1.csv"
    made.write_bytes(sheet(frozen(), frozen()["item_id"].tolist(), SCHEME, owner=A1))
    return made


def read(path, scheme=SCHEME):
    sheet = read_sheet(path, A1, by_item(frozen()), scheme)
    return sheet.answers, sheet.problems


def test_no_cell_is_a_formula_and_every_text_comes_back(path):
    for row in csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    rows = rows_of(path)
    for row in rows:
        row["label"] = "favor"
    write_rows(path, rows)
    answers, problems = read(path)
    assert len(answers) == 12
    assert problems == []


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "utf-16"])
def test_other_programs_save_otherwise(path, separator, encoding):
    rows = rows_of(path)
    rows[3]["label"] = "Against"
    rows[3]["comment"] = 'naïve; "quoted", 日本'
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(out.getvalue().replace("\n\n", "\r\n\r\n").encode(encoding))
    answers, problems = read(path)
    assert problems == []
    assert [(one.item_id, one.label, one.comment) for one in answers] == [
        (rows[3]["item_id"], "against", 'naïve; "quoted", 日本')
    ]


def test_one_column_sorted_apart_is_refused_row_by_row(path):
    rows = rows_of(path)
    posts = sorted(row["post"] for row in rows)
    for row, post in zip(rows, posts, strict=True):
        row["label"], row["post"] = "favor", post
    write_rows(path, rows)
    _, problems = read(path)
    assert problems
    assert all(
        "the post is not the one of" in str(one) and "sorted separately" in str(one) for one in problems
    )


def test_what_is_wrong_is_said_with_its_row(path):
    rows = rows_of(path)
    rows[0]["label"] = "pro"
    rows[1]["label"] = "skip"
    rows[2] = {**rows[2], "label": "favor"}
    rows.append({**rows[2], "label": "against"})
    rows.append({**rows[3], "item_id": "other|x:1", "label": "favor"})
    write_rows(path, rows)
    answers, problems = read(path)
    told = [str(one) for one in problems]
    assert (
        told[0]
        == "a1.csv, row 2: unknown label 'pro'. Write favor, against, neither (or 1, 2, 3), skip, or unclear claim"
    )
    assert "row 14: a second answer" in told[1]
    assert "row 15: the item other|x:1 is not in this round" in told[2]
    assert [one.status for one in answers] == ["invalid", "skipped", "invalid"]


def test_keys_count_in_the_digits_of_any_script_and_skipped_is_skip(path):
    written = [
        "\N{ARABIC-INDIC DIGIT ONE}",
        "\N{EXTENDED ARABIC-INDIC DIGIT TWO}",
        "\N{FULLWIDTH DIGIT THREE}",
        "Skipped",
    ]
    rows = rows_of(path)
    for row, label in zip(rows, written, strict=False):
        row["label"] = label
    write_rows(path, rows)
    answers, problems = read(path)
    assert problems == []
    assert [one.label or one.status for one in answers] == ["favor", "against", "neither", "skipped"]


ALIASES = {"favor": ("für", "a favor", "dafür"), "against": ("dagegen", "en contra"), "neither": ("0",)}


def test_labels_as_people_and_models_write_them_by_one_function(path):
    """What `[labels.aliases]` names, and what needs none, means the same in a sheet and in a model's answer."""
    scheme = Labels(aliases=ALIASES)
    written = {
        "favour": "favor", "Favor.": "favor", "(FÜR)": "favor", "a_favor": "favor", "fu\u0308r": "favor",
        "En  Contra!": "against", "2,0": "against", "2)": "against", "0": "neither", "0.0": "neither",
        "-2": "", "2.5": "", "12": "", "favor dagegen": "", "fur": "", "?": "",
    }  # fmt: skip
    assert {text: known_label(text, scheme) for text in written} == written
    for text, label in written.items():
        if label and not any(sign.isdigit() for sign in text):
            assert read_answer(f'{{"label": "{text}"}}', LABELS, ALIASES).label == label
            assert read_answer(f"Antwort: {text}", LABELS, ALIASES).label == label
    assert read_answer("Antwort: dagegen", LABELS).label == ""
    rows = rows_of(path)
    rows[0]["label"], rows[1]["label"] = "Dagegen", "für"
    write_rows(path, rows)
    answers, problems = read(path, scheme)
    assert ([answer.label for answer in answers], problems) == (["against", "favor"], [])
    alike = Labels(values=("+", "-", "C", "C#"), keys=("1", "2", "3", "4"))
    assert [known_label(text, alike) for text in ("+", "-", "c", "c#", "C.")] == ["+", "-", "C", "C#", ""]


@pytest.mark.parametrize(
    ("aliases", "problem"),
    [
        ({"favor": ["pro"], "against": ["Pro."]}, "'Pro.' means favor and against"),
        ({"favor": ["against"]}, "'against' means against and favor"),
        ({"favor": ["2"]}, "'2' means against and favor"),
        ({"favour": ["pro"]}, "'favour' is not a label. Did you mean 'favor'"),
        ({"favor": ["skip"]}, "'skip' cannot be an alias"),
    ],
)
def test_an_alias_means_one_label(aliases, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        parse({"title": "t", "labels": {"aliases": aliases}})


def test_aliases_of_today_count_in_an_open_round(tmp_path):
    """A sheet comes back in German: the lead adds aliases, and pulls again."""
    pushed(tmp_path)
    sheet_of_a1 = tmp_path / "annotation/rounds/001/sheets/a1.csv"
    fill(sheet_of_a1, lambda row: "dafür")
    assert covmis(tmp_path, "round", "pull", fails=1)["to_correct"] == 11
    with (tmp_path / "study.toml").open("a") as file:
        file.write('[labels.aliases]\nfavor = ["dafür"]\n')
    covmis(tmp_path, "round", "pull")
    assert set(present(open_study(tmp_path).round().labels)["label"]) == {"favor"}
    assert '"aliases": {}' in (tmp_path / "annotation/rounds/001/round.json").read_text()


def test_columns_that_annotators_do_not_need_may_be_missing_or_renamed(path):
    rows = rows_of(path)
    rows[0] |= {"label": "favor", "comment": "klar"}
    names = {"item_id": "Item ID", "comment": "Anmerkung", "post": " Post "}
    kept = [name for name in rows[0] if name != "context"]
    write_rows(path, [{names.get(name, name): row[name] for name in kept} for row in rows])
    back = read_sheet(path, A1, by_item(frozen()), SCHEME)
    assert [(answer.label, answer.comment) for answer in back.answers] == [("favor", "klar")]
    assert [str(note) for note in back.notes] == ["a1.csv: the column 'anmerkung' is read as comment"]
    write_rows(path, [{name: row[name] for name in kept if name != "comment"} for row in rows])
    assert [answer.label for answer in read(path)[0]] == ["favor"]
    write_rows(path, [{name: row[name] for name in kept if name != "label"} for row in rows])
    with pytest.raises(InputError, match="the column label is missing"):
        read(path)


def test_a_sheet_that_spanish_excel_saved_is_read_if_its_checks_tell_the_posts(path):
    """Windows-1252 with semicolons: signs that it lacks became question marks, and rows are known by their checks."""
    rows = rows_of(path)
    for row in rows:
        row |= {"label": "favor", "comment": "sí, señor"}
    rows[2]["post"] = rows[3]["post"]

    def saved(rows):
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
        text = "".join(sign if sign < "\U00010000" else "??" for sign in out.getvalue())
        path.write_bytes(text.encode("cp1252", "replace"))

    saved(rows)
    back = read_sheet(path, A1, by_item(frozen()), SCHEME)
    assert {answer.comment for answer in back.answers} == {"sí, señor"}
    assert [answer.item_id for answer in back.answers] == [
        row["item_id"] for row in rows if row is not rows[2]
    ]
    assert [problem.row for problem in back.problems] == [4]
    saved([{**row, "check": ""} for row in rows])
    with pytest.raises(InputError, match="is not UTF-8"):
        read(path)


def test_a_label_that_is_itself_a_digit_is_never_anothers_key():
    scheme = Labels(values=("0", "1"), keys=("1", "2"))
    typed = ["\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT TWO}", "1.0"]
    assert [known_label(one, scheme) for one in typed] == ["1", "1", "1"]
    scheme = Labels(values=("a", "b"), keys=("1", "\N{ARABIC-INDIC DIGIT ONE}"))
    assert [known_label(one, scheme) for one in (*scheme.keys, "\N{FULLWIDTH DIGIT ONE}")] == ["a", "b", "a"]


def test_files_that_are_no_sheets_are_refused(path):
    for content, message in [
        (b"\xff\xfe\x00\xd8", "the column item_id is missing"),
        (b"item_id,claim\n", "the column post is missing"),
        ("é".encode("latin-1") + b",x\n", "not UTF-8"),
        (b'item_id,claim,post,label,comment\n"1', "is not readable as CSV"),
    ]:
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read(path)


def test_a_sheet_with_tabs_whose_quotation_marks_quote_nothing_keeps_its_rows(path):
    """As Google Sheets downloads it; quoted, the first comment would take in the rows below."""
    rows = rows_of(path)
    rows[0]["comment"], rows[2]["comment"] = '"to be', 'or not to be"'
    for row in rows:
        row["label"] = "favor"
    cells = [" ".join(str(cell).split()) for row in rows for cell in row.values()]
    width = len(rows[0])
    lines = ["\t".join(cells[at : at + width]) for at in range(0, len(cells), width)]
    path.write_text("\n".join(["\t".join(rows[0]), *lines]) + "\n")
    answers, _ = read(path)
    assert len(answers) == len(rows)


def test_annotators_never_see_kind_probability_or_automatic_label(path):
    text = path.read_bytes().decode("utf-8-sig")
    for word in ("keywords", "fact_check_url", "poisson"):
        assert word not in text


def test_show_decides_what_stands_beside():
    everything = frozen(show=("card", "quoted", "date", "parent", "media"))
    assert (everything["parent"] == "the parent").all()
    nothing = frozen(show=())
    assert all(len(nothing[name].iloc[0]) == 0 for name in ("cards", "media", "quoted", "parent"))
    assert set(everything["shown"]).isdisjoint(nothing["shown"])


def test_sub_labels_belong_to_their_label():
    scheme = Labels(sub_labels={"neither": ("unrelated", "questions")})
    good = checked(Answer("i", "a1", "neither", "csv", sub_label="Questions"), scheme)
    assert (good.label, good.sub_label) == ("neither", "questions")
    bad = checked(Answer("i", "a1", "favor", "csv", sub_label="questions"), scheme)
    assert (bad.status, bad.reason) == ("invalid", "'questions' is not a sub-label of favor")


answers = st.lists(
    st.builds(
        Answer,
        item_id=st.sampled_from(["i1", "i2", "i3"]),
        annotator=st.sampled_from(["a1", "a2"]),
        label=st.sampled_from(["favor", "against"]),
        channel=st.sampled_from(["csv", "html", "label-studio"]),
        comment=st.sampled_from(["", "c"]),
    ),
    max_size=20,
)


@given(answers, answers)
@settings(max_examples=60)
def test_the_record_only_grows_and_the_same_pull_adds_nothing(first, second):
    about = {"number": "001", "guideline": "g", "now": "2026-01-01T00:00:00Z"}
    one = append((), first, **about)
    lines = append(one, second, **about)
    assert {*one} <= {*lines}
    last = {(a.item_id, a.annotator, a.channel): a for a in [*first, *second]}
    assert append(lines, last.values(), **about) == lines
    two = recorded((), lines, **about)
    assert not two["label_id"].duplicated().any()
    assert not present(two).duplicated(["item_id", "annotator", "phase"]).any()
    said = {(row.item_id, row.annotator): row.label for row in present(two).itertuples()}
    assert set(said) == {(a.item_id, a.annotator) for a in [*first, *second]}


def test_two_people_in_one_file_are_refused_in_words_of_the_sheet(tmp_path):
    labelled(tmp_path)
    sheets = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    second = (sheets / "a2.csv").read_bytes().removeprefix(b"\xef\xbb\xbf")
    (sheets / "a2.csv").unlink()
    whole = (sheets / "a1.csv").read_bytes()
    for below, what in (
        (second, "row 13 is a second header row"),
        (second.split(b"\r\n", 1)[1], "11 posts occur twice"),
    ):
        (sheets / "a1.csv").write_bytes(whole + below)
        told = covmis(tmp_path, "round", "pull", fails=2)["error"]
        assert "a1.csv" in told
        assert f"contains rows of two annotators: {what}" in told
    (sheets / "a1.csv").write_bytes(whole)
    assert covmis(tmp_path, "round", "pull")["added"] == 11


CLAIMS, PER_CLAIM = 12, 13


def big(rows_labelled=156, *, skewed=False, seed=1):
    """A sheet of 12 claims with labels as people give them, claim after claim; skewed: most of a claim alike."""
    rows = []
    for claim in range(CLAIMS):
        for at in range(PER_CLAIM):
            number = keyed.uniform(seed, "label", str(claim), str(at))
            alike = skewed and claim % 3 and number < 0.9
            label = LABELS[claim % 3 if alike else int(3 * number)]
            row = len(rows) + 2
            item = f"c{claim}|x:{at}"
            rows.append(
                {
                    ROW: str(row),
                    "item_id": item,
                    "claim": f"claim {claim}",
                    "label": label,
                    "check": check_word(A1, item, row),
                }
            )
    for row in rows[rows_labelled:]:
        row["label"] = ""
    return rows  # fmt: skip


def with_labels(rows, labels):
    return [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]


@pytest.mark.parametrize("skewed", [False, True])
def test_labels_that_nobody_sorted_are_not_questioned(skewed):
    for seed in range(40):
        rows = big(skewed=skewed, seed=seed)
        assert sheets._sorted_apart(rows, SCHEME) == ""
        by_claim = sorted(rows, key=lambda row: keyed.uniform(seed, row["item_id"]))
        assert sheets._sorted_apart(by_claim, SCHEME) == "", "mixed claims"


def test_part_of_a_column_that_was_sorted_by_itself_is_seen():
    seen = 0
    for seed in range(40):
        rows = big(seed=seed)
        labels = [row["label"] for row in rows]
        for order in (sorted(labels[:40]), sorted(labels[:40], key=LABELS.index)):
            seen += bool(sheets._sorted_apart(with_labels(rows, order + labels[40:]), SCHEME))
        mixed = sorted(rows, key=lambda row: keyed.uniform(seed, row["item_id"]))
        labels = [row["label"] for row in mixed]
        told = sheets._sorted_apart(with_labels(mixed, sorted(labels[:40]) + labels[40:]), SCHEME)
        assert told, "in mixed order always"
    assert seen >= 25, "within claims, where the posts around differ, often"


def test_labels_moved_with_what_is_beside_them_are_seen_row_by_row():
    rows = big()
    moved = [
        {**row, **{name: other[name] for name in ("label", "check")}} for row, other in pairwise(rows[:71])
    ]
    table = Returned(["item_id", "claim", "label", "check"], [*moved, *rows[70:]], {}, {})
    assert list(table.moved([A1])) == list(range(2, 72))
    assert Returned(table.columns, rows[::-1], {}, {}).moved([A1]) == {}, "whole rows may stand in any order"


def test_a_label_beyond_the_posts_is_a_shifted_column(path):
    rows = rows_of(path)
    labels = ["", *("favor" for _ in rows)]
    write_rows(
        path,
        [
            {**row, "label": label}
            for row, label in zip([*rows, dict.fromkeys(rows[0], "")], labels, strict=True)
        ],
    )
    with pytest.raises(InputError, match="has a label but no post"):
        read(path)
