"""Files as people have them, and what is said about those that cannot be read."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest

import covmis_build as covmis
from covmis_build.errors import InputError
from covmis_build.evaluation.gold_and_systems import gold_and_systems
from covmis_build.evaluation.label_files import common_id, read_labels
from covmis_build.evaluation.soft_labels import score_soft
from covmis_build.files import reading
from covmis_build.study.evaluate import files_to_score

ROWS = [("x:1", "favor"), ("x:2", "against"), ("x:3", "neither")]
CSV = "item_id,label\n" + "".join(f"{one},{label}\n" for one, label in ROWS)
LINES = "".join(json.dumps({"id": one, "prediction": label, "score": 0.5}) + "\n" for one, label in ROWS)


def written(path, content):
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, "utf-8")
    return path


FILES = {
    "a.csv": CSV,
    "a.tsv": CSV.replace(",", "\t"),
    "semicolons.csv": CSV.replace(",", ";"),
    "marked.csv": "\ufeff" + CSV,
    "utf16.csv": CSV.encode("utf-16"),
    "a.csv.gz": gzip.compress(CSV.encode()),
    "a.jsonl": LINES,
    "a.json": json.dumps({"subtaskaenglish": dict(ROWS), "subtaskbenglish": {"x:1": ["true", 0.5]}}),
    "flat.json": json.dumps(dict(ROWS)),
    "list.json": json.dumps([{"id": one, "stance": label} for one, label in ROWS]),
}


@pytest.mark.parametrize("name", FILES)
def test_formats(tmp_path, name) -> None:
    read = read_labels(written(tmp_path / name, FILES[name]))
    assert read.labels(read.id_column).to_dict() == dict(ROWS)


def test_parquet_and_arrays(tmp_path) -> None:
    pd.DataFrame({"post_id": [1, 2], "label": ["a", "b"]}).to_parquet(tmp_path / "a.parquet")
    read = read_labels(tmp_path / "a.parquet")
    assert read.labels(read.id_column).to_dict() == {"1": "a", "2": "b"}
    np.save(tmp_path / "a.npy", np.array(["a", "b", "a"]))
    assert list(read_labels(tmp_path / "a.npy").labels()) == ["a", "b", "a"]
    assert list(read_labels(written(tmp_path / "labels.txt", "0\n2\n1\n")).labels()) == ["0", "2", "1"]


def test_fnc_files_are_joined_by_position(tmp_path) -> None:
    content = 'Headline,Body ID,Stance\n"A caf\xe9",1,agree\n"A caf\xe9",1,unrelated\n'.encode("latin-1")
    read = read_labels(written(tmp_path / "fnc.csv", content))
    assert read.id_column == ""
    assert list(read.labels()) == ["agree", "unrelated"]


def test_semeval_s_own_files_are_text_with_tabs_and_a_header(tmp_path) -> None:
    content = "ID\tTarget\tTweet\tStance\r\n1\tAtheism\tsaid #SemST\tAGAINST\r\n2\tAtheism\tmore\tNONE\r\n"
    gold = read_labels(written(tmp_path / "gold.txt", content))
    assert gold.labels(gold.id_column).to_dict() == {"1": "AGAINST", "2": "NONE"}
    guess = written(tmp_path / "guess.txt", content.replace("NONE", "FAVOR"))
    pairs = gold_and_systems(tmp_path / "gold.txt", {"m": guess})
    assert pairs.joined_by == ("id",)
    with pytest.raises(InputError, match="has several columns and no header"):
        read_labels(written(tmp_path / "bare.txt", "Atheism\tAGAINST\nAtheism\tNONE\n"))


@pytest.mark.parametrize("name", ["run.tsv", "run.txt", "run.csv"])
def test_runs_without_a_header(tmp_path, caplog, name) -> None:
    rows = "covid-19\t11\tfavor\tmine\ncovid-19\t12\tagainst\tmine\n"
    read = read_labels(written(tmp_path / name, rows.replace("\t", "," if name.endswith("csv") else "\t")))
    assert read.labels(read.id_column).to_dict() == {"11": "favor", "12": "against"}
    assert read.row(1) == 1
    assert "no header: its columns are read as topic, id, label, run" in caplog.text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("11\t0.25\n12\t0.75\n", r"has a score for each item \(id, score\), and no labels"),
        ("q\t0\td1\t1\nq\t0\td2\t1\n", "row 2: the id 0 occurs again"),
        ("1\tq0\td\t2\t0.5\tmine\n", "has 6 columns and no header"),
        ("0\t1\n11\tfavor\n12\tagainst\n", "has no column of labels"),
    ],
    ids=["scores", "relevance", "TREC", "columns by number"],
)
def test_what_is_no_run_of_labels(tmp_path, content, problem) -> None:
    path = written(tmp_path / "run.tsv", content)
    with pytest.raises(InputError, match=problem):
        covmis.score(path, path)


SHARES = "id,p_favor,p_against,p_neither\nx:1,0.5,0.25,0.25\nx:2,0.1,0.8,0.1\nx:3,0.3,0.3,0.4\n"


@pytest.mark.parametrize("style", ["p_{}", "{}", "prob_{}", "{}_prob"])
def test_of_shares_the_largest_is_the_label(tmp_path, style) -> None:
    content = SHARES
    for label in ("favor", "against", "neither"):
        content = content.replace(f"p_{label}", style.format(label.capitalize()))
    path = written(tmp_path / "shares.csv", content)
    frame = pd.read_csv(path)
    for said in (path, frame, {"m": path}, {"m": frame}):
        given = gold_and_systems(pd.DataFrame(ROWS, columns=["id", "label"]), said)
        assert next(iter(given.systems.values())).to_dict() == dict(ROWS)
        assert given.tables[0].label_column.startswith("the largest of ")
    people = pd.DataFrame(
        [(one, name, label) for one, label in ROWS for name in "ab"], columns=["id", "annotator", "label"]
    )
    soft = score_soft(people, {"m": path}, measures=["agreement"]).to_frame()
    assert soft["value"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("0.3,0.3,0.4", "0.4,0.4,0.2", "row 4: gives 2 labels the same largest share, 0.4"),
        ("0.1,0.8,0.1", "-1,4,2", r"row 3: has no shares of the labels with the sum 1 \(-1, 4, 2\)"),
        ("0.1,0.8,0.1", "0.1,,0.1", "row 3: has no shares"),
        ("p_neither", "p_other", "has no column of labels"),
        ("id,", "label,", r"has 4 columns that may hold the labels: label, p_favor"),
    ],
)
def test_shares_that_decide_nothing_are_refused(tmp_path, old, new, problem) -> None:
    path = written(tmp_path / "shares.csv", SHARES.replace(old, new))
    with pytest.raises(InputError, match=problem):
        gold_and_systems(pd.DataFrame(ROWS, columns=["id", "label"]), path)


def test_a_row_without_shares_is_a_missing_prediction(tmp_path) -> None:
    path = written(tmp_path / "shares.csv", SHARES.replace("0.1,0.8,0.1", ",,"))
    given = gold_and_systems(pd.DataFrame(ROWS, columns=["id", "label"]), path)
    assert next(iter(given.systems.values())).tolist() == ["favor", "", "neither"]


def test_letters_that_were_lost_do_not_part_rows(tmp_path) -> None:
    rows = "Headline,Body ID,Stance\n‘A caf\xe9’ in town,1,agree\n‘A caf\xe9’ in town,1,unrelated\nŠ Б a,2,agree\n"
    gold = written(tmp_path / "gold.csv", rows)
    lost = rows.replace("‘A caf\xe9’", "\ufffdA caf\ufffd\ufffd")
    assert (
        gold_and_systems(gold, written(tmp_path / "said.csv", lost))
        .joined_by[0]
        .startswith("position, with equal")
    )
    for other in (lost.replace("in town", "in Town"), rows.replace("Š Б a", "\ufffd \ufffd a")):
        with pytest.raises(InputError, match="has another headline here"):
            gold_and_systems(gold, written(tmp_path / "said.csv", other))


def test_long_ids_stay_whole(tmp_path) -> None:
    answers = {"1250814876492185601": "favor"}
    for name, content in (
        ("a.json", json.dumps(answers)),
        ("a.jsonl", '{"id": 1250814876492185601, "label": "favor"}\n'),
    ):
        read = read_labels(written(tmp_path / name, content))
        assert read.labels(read.id_column).to_dict() == answers


def test_which_ids_join(tmp_path) -> None:
    gold = read_labels(written(tmp_path / "corpus.csv", "item_id,post_id,native_id,label\n1|x:9,x:9,9,a\n"))
    for column in ("item_id", "post_id", "native_id"):
        system = read_labels(written(tmp_path / f"{column}.csv", f"{column},prediction\n9,a\n"))
        assert common_id(gold, system) == column
    bare = read_labels(written(tmp_path / "bare.csv", "prediction\na\n"))
    assert common_id(gold, bare) == ""
    other = read_labels(written(tmp_path / "tweets.csv", "tweet_id,prediction\n9,a\n"))
    with pytest.raises(InputError, match="has ids in 'tweet_id', gold in 'item_id'"):
        common_id(gold, other)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, "is missing"),
        ("empty.csv", "", "is empty"),
        ("header.csv", "id,label\n", "has no rows"),
        ("nolabel.csv", "id,colour\n1,red\n", "no column of labels.*FILE:COLUMN.*id, colour"),
        ("twice.csv", "id,label\nq,a\nq,b\n", r"row 3: the id q occurs again \(first in row 2\)"),
        ("noid.csv", "id,label\n1,a\n,b\n", "row 3: has an item without an id"),
        (
            "sheet.csv",
            "tweet_id,label\n1.25081E+18,a\n",
            "row 2: the id 1.25081E[+]18 was broken by a spreadsheet",
        ),
        ("bad.json", "{", "is not JSON"),
        ("deep.json", "[" * 100_000, "deep"),
        ("number.json", "5", "no column of labels|is not"),
        ("odd.xyz", "a", "odd"),
        ("nested.json", '{"a": {"b": 1}}', "no column of labels"),
        ("again.json", '{"a": "x", "a": "y"}', "'a' occurs twice in one object"),
        (
            "nobody.jsonl",
            '{"id": null, "label": "a"}\n{"id": 2, "label": "b"}\n',
            "row 1: has an item without an id",
        ),
        ("bad.jsonl", '{"id": 1, "label": "a"}\n[]\n', "row 2: is not an object"),
        ("a.xlsx", "x", "is not a workbook"),
        ("a.xls", "x", "has no rows"),
        ("a.csv.gz", "plain", "is not packed with gzip"),
        ("a.parquet", "plain", "is not a Parquet file"),
        ("a.npy", "plain", "is not a numpy array"),
    ],
)
def test_errors_name_file_and_row(tmp_path, name, content, words) -> None:
    path = tmp_path / name
    if content is not None:
        written(path, content)

    def labels():
        read = read_labels(path)
        return read.labels(read.id_column)

    with pytest.raises(InputError, match=words) as error:
        labels()
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def book(path, rows, merged=""):
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        workbook.active.append(row)
    if merged:
        workbook.active.merge_cells(merged)
    workbook.save(path)
    return path


def test_numbers_of_a_workbook_that_are_no_ids_may_be_long(tmp_path) -> None:
    rows = [["id", "author_id", "label"], ["p1", 1250814876492180000, "a"], ["p2", 1587549600000001, "b"]]
    read = read_labels(book(tmp_path / "a.xlsx", rows, ""))
    assert read.labels(read.id_column).to_dict() == {"p1": "a", "p2": "b"}


def test_packed_files_are_unpacked_up_to_a_limit(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,label\n" + b"".join(b"%d,a\n" % one for one in range(4000))))
    assert len(read_labels(path).table) == 4000
    monkeypatch.setattr(reading, "LARGEST", 20_000)
    with pytest.raises(InputError, match=r"a\.csv\.gz: unpacks to more than 0 MiB"):
        read_labels(path)
    path.write_bytes(path.read_bytes()[:-20])
    monkeypatch.setattr(reading, "LARGEST", 1 << 30)
    with pytest.raises(InputError, match=r"a\.csv\.gz"):
        read_labels(path)


def test_ids_that_became_numbers_with_a_point_are_ids_again(tmp_path) -> None:
    read = read_labels(written(tmp_path / "a.csv", "id,label\n12.0,a\n7.0,b\n"))
    assert read.labels("id").to_dict() == {"12": "a", "7": "b"}
    mixed = read_labels(written(tmp_path / "b.csv", "id,label\n12.0,a\n7.1,b\n"))
    assert list(mixed.labels("id").index) == ["12.0", "7.1"]
    long = read_labels(written(tmp_path / "c.csv", "id,label\n1250814876492185600.0,a\n"))
    with pytest.raises(InputError, match=r"row 2: the id 1250814876492185600.0 was read as a number"):
        long.labels("id")


def test_objects_in_arrays_are_never_loaded(tmp_path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not readable as an array"):
        read_labels(tmp_path / "a.npy")


def test_each_side_has_its_own_names_for_the_column_of_labels(tmp_path) -> None:
    """A system's file may have a copy of gold, gold a system's column; no copy is scored in its place."""
    for name in ("prediction", "PREDICTION", "pred", "y_pred", "Predicted Label"):
        path = written(tmp_path / "both.csv", f"item_id,label,{name}\n1,favor,against\n2,against,favor\n")
        assert list(read_labels(path, predicted=True).labels()) == ["against", "favor"], name
        assert list(read_labels(path).labels()) == ["favor", "against"], name
        assert list(read_labels(path, label_column=name).labels()) == ["against", "favor"], name
    alone = written(tmp_path / "alone.csv", "item_id,prediction\n1,favor\n")
    assert list(read_labels(alone).labels()) == ["favor"]
    plain = written(tmp_path / "plain.csv", "item_id,label\n1,favor\n")
    assert list(read_labels(plain, predicted=True).labels()) == ["favor"]


@pytest.mark.parametrize(
    ("header", "predicted"),
    [("pred,y_pred", True), ("label,stance", True), ("label,gold", False), ("prediction,pred", False), ("label,mine", True),
     ("prediction,mine", False)],
)  # fmt: skip
def test_between_two_columns_of_labels_nobody_chooses(tmp_path, header, predicted) -> None:
    path = written(tmp_path / "a.csv", f"item_id,{header},note\n1,favor,favor,why\n2,against,favor,so\n")
    with pytest.raises(
        InputError, match=rf"a\.csv: has 2 columns.*: {', '.join(header.split(','))}\. .*FILE:COLUMN"
    ):
        read_labels(path, predicted=predicted).check_labels(["favor", "against"])
    first = header.split(",")[0]
    read_labels(path, label_column=first, predicted=predicted).check_labels(["favor", "against"])


def paired(tmp_path, gold, system, **options):
    """The labels of gold and of a system, as they are paired."""
    pairs = gold_and_systems(tmp_path / gold, {"m": tmp_path / system}, by_position=True, **options)
    return list(zip(pairs.gold, pairs.systems["m"], strict=True))


LINES_OF = {
    "a.txt": "\n".join,
    "a.csv": lambda labels: "\n".join(["label", *labels]),
    "a.csv.gz": lambda labels: "\n".join(["label", *labels]),
    "quoted.csv": lambda labels: "\n".join(["label", *(label or '""' for label in labels)]),
    "two.csv": lambda labels: "\n".join(["label,text", *(label and f"{label},x" for label in labels)]),
    "a.jsonl": lambda labels: "\n".join(label and json.dumps({"label": label}) for label in labels),
}


@pytest.mark.parametrize("name", LINES_OF)
def test_an_empty_line_does_not_shift_what_is_paired_by_position(tmp_path, name) -> None:
    """Five labels each, and the second line of one is empty: its labels belong to other rows than they seem to."""
    whole, gap = (
        ["favor", "against", "favor", "against", "favor"],
        ["favor", "", "against", "favor", "against", "favor"],
    )
    for file, labels in (("whole", whole), ("ends", [*whole, "", "", ""]), ("gap", gap)):
        (tmp_path / file).mkdir()
        content = LINES_OF[name](labels) + "\n"
        written(tmp_path / file / name, gzip.compress(content.encode()) if name.endswith(".gz") else content)
    row = 2 + ("csv" in name)
    for gold, system in ((f"gap/{name}", f"whole/{name}"), (f"whole/{name}", f"gap/{name}")):
        with pytest.raises(InputError, match=rf"{name}, row {row}: has an empty line.*Remove the line"):
            paired(tmp_path, gold, system)
    assert paired(tmp_path, f"whole/{name}", f"ends/{name}") == list(zip(whole, whole, strict=True))


def test_an_empty_line_of_a_workbook_counts_too(tmp_path) -> None:
    book(tmp_path / "gap.xlsx", [["label"], ["favor"], [None], ["against"]])
    book(tmp_path / "whole.xlsx", [["label"], ["favor"], ["against"], [None]])
    with pytest.raises(InputError, match=r"gap\.xlsx, row 3: has an empty line"):
        paired(tmp_path, "whole.xlsx", "gap.xlsx")
    assert paired(tmp_path, "whole.xlsx", "whole.xlsx") == [("favor", "favor"), ("against", "against")]


def test_with_ids_an_empty_line_is_nothing_unless_rows_are_paired(tmp_path) -> None:
    written(tmp_path / "gold.csv", "item_id,label\n1,favor\n\n2,against\n")
    written(tmp_path / "system.csv", "item_id,pred\n\n2,against\n1,favor\n")
    written(tmp_path / "plain.txt", "favor\nagainst\n")
    assert list(read_labels(tmp_path / "gold.csv").labels("item_id")) == ["favor", "against"]
    pairs = gold_and_systems(tmp_path / "gold.csv", {"m": tmp_path / "system.csv"})
    assert pairs.systems["m"].to_dict() == {"1": "favor", "2": "against"}
    with pytest.raises(InputError, match=r"gold\.csv, row 3: has an empty line"):
        gold_and_systems(tmp_path / "gold.csv", {"m": tmp_path / "plain.txt"}, by_position=True)
    with pytest.raises(InputError, match=r"system\.csv, row 2: has an empty line"):
        gold_and_systems(["favor", "against"], {"m": tmp_path / "system.csv"})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("null.json", '{"i0": "favor", "i0": "against", "i1": null}', "a.json: 'i0' occurs twice in one object"),
        ("deep.json", '{"subtaskaenglish": {"i0": "a", "i0": null}}', "a.json: 'i0' occurs twice in one object"),
        (
            "empty.json",
            '{"subtaskaenglish": {"i0": "a"}, "subtaskaenglish": {}}',
            "a.json: 'subtaskaenglish' occurs twice in one object",
        ),
        ("list.json", '[{"id": 1, "label": "a", "label": "b"}]', "a.json: 'label' occurs twice in one object"),
        ("a.jsonl", '{"id": 1, "label": "a"}\n{"id": 2, "label": "a", "label": "b"}\n', "a.jsonl, row 2: 'label' occurs twice"),
        (
            "a.json",
            '{"subtaskaenglish": {"i0": "a"}, "subtaskadanish": {"i1": "a"}}',
            "a.json: has the answers subtaskaenglish and subtaskadanish. Keep those",
        ),
    ],
)  # fmt: skip
def test_of_two_answers_in_json_none_is_taken(tmp_path, name, content, words) -> None:
    path = written(tmp_path / ("a.jsonl" if name.endswith("l") else "a.json"), content)
    with pytest.raises(InputError, match=words):
        read_labels(path)


def test_answers_of_no_items_are_none(tmp_path) -> None:
    path = written(
        tmp_path / "a.json", '{"subtaskadanish": {}, "subtaskaenglish": {"i0": "a"}, "subtaskadanish": {}}'
    )
    read = read_labels(path)
    assert read.labels(read.id_column).to_dict() == {"i0": "a"}


@pytest.mark.parametrize("mark", ["NA", "nan", "NaN", "NULL", "null", "#N/A", "N/A", "<NA>"])
def test_what_programs_write_for_missing_is_no_label_of_gold(tmp_path, mark) -> None:
    """Unless it is declared as one. Of a system it is an unknown label."""
    words = f"has '{mark}' for a label, which programs write for what is missing"
    gold = written(tmp_path / "gold.csv", f"item_id,label\n1,favor\n2,against\n3,{mark}\n")
    whole = written(tmp_path / "whole.csv", "item_id,label\n1,favor\n2,against\n3,favor\n")
    for read in (
        lambda: files_to_score(str(gold), [str(whole)]),
        lambda: gold_and_systems(gold, {"m": whole}).labels(None),
    ):
        with pytest.raises(InputError, match=rf"gold\.csv, row 4: {words}.*--labels"):
            read()
    with pytest.raises(InputError, match=f"gold: {words}"):
        gold_and_systems(["favor", mark], {"m": ["favor", "favor"]}).labels(None)
    people = pd.DataFrame({"item_id": ["1", "1"], "annotator": ["a", "b"], "label": ["favor", mark]})
    with pytest.raises(InputError, match=f"people's table: {words}"):
        score_soft(people, {"m": {"1": "favor"}})
    declared = ["favor", "against", mark]
    assert files_to_score(str(gold), [str(whole)], labels=declared).labels == declared
    with pytest.raises(InputError, match=rf"gold\.csv, row 4: has the unknown label '{mark}'"):
        gold_and_systems(whole, {"m": gold}).labels(None)


def test_none_is_a_label() -> None:
    assert gold_and_systems(["FAVOR", "NONE"], {"m": ["NONE", "NONE"]}).labels(None) == ["FAVOR", "NONE"]
