"""Labels made in other tools: kappa of each tool's export is that of the labels, by scikit-learn."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from covmis_build.annotation.agreement import agreement
from covmis_build.annotation.exports import read_export
from covmis_build.annotation.frozen_items import for_people
from covmis_build.annotation.report_files import agreement_of_file
from covmis_build.errors import InputError
from covmis_build.files import json_rows
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, pushed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LABELS = ("favor", "against", "neither")
ITEMS = [f"c{at % 4}|x:{1255000000000000000 + at}" for at in range(60)]
SAID = {
    who: {item: LABELS[(at * 7 + (at % 5 == 0) * shift) % 3] for at, item in enumerate(ITEMS)}
    for who, shift in (("anna", 0), ("ben", 1))
}
TEXT = {item: f"Post {at}, “quoted”;\nwith a line" for at, item in enumerate(ITEMS)}
KAPPA = cohen_kappa_score(*([own[item] for item in ITEMS] for own in SAID.values()))
PAIRS = [(who, item, own[item]) for who, own in SAID.items() for item in ITEMS]


def table(names: list[str], rows: list[list[Any]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([names, *rows])
    return out.getvalue()


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def label_studio() -> list[dict[str, Any]]:
    """As Label Studio 1.x exports JSON: tasks of its own number, annotations, one skipped, a model's prediction."""

    def annotation(number: int, who: int, label: str, *, skipped: bool = False) -> dict[str, Any]:
        result = {
            "id": "a1B2", "type": "choices", "from_name": "stance", "to_name": "post", "origin": "manual",
            "value": {"choices": [label]},
        }  # fmt: skip
        return {
            "id": number, "completed_by": who, "result": [] if skipped else [result], "was_cancelled": skipped,
            "ground_truth": False, "created_at": "2026-01-01T10:00:00.1Z", "updated_at": "2026-01-01T10:00:09.1Z",
            "draft_created_at": None, "lead_time": 4.288, "task": number,
        }  # fmt: skip

    tasks = []
    for at, item in enumerate(ITEMS):
        given = [annotation(2 * at + n, n + 1, own[item]) for n, own in enumerate(SAID.values())]
        skipped = [annotation(900 + at, 3, "", skipped=True)] if at < 3 else []
        tasks.append(
            {
                "id": at + 41, "annotations": given + skipped, "drafts": [], "data": {"uid": item, "post": TEXT[item]},
                "predictions": [{"result": [], "model_version": "m"}], "meta": {}, "project": 3,
            }
        )  # fmt: skip
    return tasks


def prodigy() -> list[dict[str, Any]]:
    return [
        {
            "text": TEXT[item], "meta": {"source": "x"}, "_input_hash": ITEMS.index(item) - 30, "_task_hash": 5,
            "options": [{"id": name, "text": name} for name in LABELS], "_view_id": "choice", "accept": [label],
            "config": {"choice_style": "single"}, "answer": "accept", "_timestamp": 1707211049, "_annotator_id": f"stance-{who}",
            "_session_id": f"stance-{who}",
        }
        for who, item, label in PAIRS
    ]  # fmt: skip


def argilla() -> list[dict[str, Any]]:
    ids = {"anna": "0a6d…1", "ben": "0a6d…2"}
    return [
        {
            "id": item, "fields": {"text": TEXT[item]}, "metadata": {}, "suggestions": {"stance": {"value": "favor"}}, "vectors": {},
            "responses": {"stance": [{"value": own[item], "user_id": ids[who]} for who, own in SAID.items()]},
            "status": "completed", "_server_id": str(at),
        }
        for at, item in enumerate(ITEMS)
    ]  # fmt: skip


def labelbox() -> list[dict[str, Any]]:
    """As Labelbox's export task gives lines: a row of data with the labels of each project, one of them skipped."""

    def label(who: str, answer: dict[str, Any], *, skipped: bool = False) -> dict[str, Any]:
        return {
            "label_kind": "Default", "version": "1.0.0", "id": "cl1",
            "label_details": {"created_at": "2026-01-01T10:00:00.000+00:00", "created_by": f"{who}@x.org", "content_last_updated_by": ""},
            "performance_details": {"seconds_to_create": 4, "skipped": skipped},
            "annotations": {"objects": [], "relationships": [], "classifications": [] if skipped else [{"name": "stance", "value": "stance", **answer}]},
        }  # fmt: skip

    rows = []
    for at, item in enumerate(ITEMS):
        anna, ben = (own[item] for own in SAID.values())
        given = [
            label("anna", {"radio_answer": {"name": anna, "value": anna, "classifications": []}}),
            label("ben", {"checklist_answers": [{"name": ben, "value": ben}]}),
        ]
        given += [label("cleo", {}, skipped=True)] * (at < 2)
        project = {"name": "Stance", "labels": given, "project_details": {"workflow_status": "DONE"}}
        data = {"id": f"ck{at}", "external_id": item, "global_key": item, "row_data": TEXT[item]}
        rows.append({"data_row": data, "media_attributes": {}, "projects": {"cp1": project}})
    return rows


def potato(who: str) -> list[dict[str, Any]]:
    return [
        {
            "id": item, "displayed_text": TEXT[item], "label_annotations": {"stance": {SAID[who][item]: "true"}},
            "span_annotations": {}, "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "},
        }
        for item in ITEMS
    ]  # fmt: skip


def doccano(who: str) -> list[dict[str, Any]]:
    return [
        {"id": 100 + at, "text": TEXT[item], "label": [SAID[who][item]], "Comments": []}
        for at, item in enumerate(ITEMS)
    ]


def webanno(posts: list[tuple[str, str]]) -> str:
    """As INCEpTION exports WebAnno TSV 3.3: a sentence a post, its label on two tokens; another layer without labels."""
    rows = [
        "#FORMAT=WebAnno TSV 3.3",
        "#T_SP=webanno.custom.Stance|label",
        "#T_RL=webanno.custom.Link|BT_webanno.custom.Stance",
    ]
    for number, (text, label) in enumerate(posts, start=1):
        rows += ["", "", *(f"#Text={line}" for line in text.split("\n"))]
        for at, (token, cell) in enumerate(
            zip(text.split(), (f"{label}[{number}]", f"{label}[{number}]", *"_" * 9), strict=False), start=1
        ):
            rows.append(f"{number}-{at}\t{at}-{at + 1}\t{token}\t{cell if label != '_' else '_'}\t_\t_\t")
    return "\n".join(rows) + "\n"


def written(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write an export of each shape."""
    files = {
        "labelstudio.json": json.dumps(label_studio()),
        "labelstudio.csv": table(
            ["annotation_id", "annotator", "created_at", "id", "lead_time", "post", "stance", "uid", "updated_at"],
            [[n, f"{who}@x.org", "", 7, 3.2, TEXT[item], label, item, "2026-01-01T10:00:00Z"] for n, (who, item, label) in enumerate(PAIRS)],
        ),
        "prodigy.jsonl": lines(prodigy()),
        "argilla.json": json.dumps(argilla()),
        "labelbox.ndjson": lines(labelbox()),
        "potato.csv": table(
            ["user", "instance_id", "displayed_text", *(f"stance:::{name}" for name in LABELS)],
            [[who, item, TEXT[item], *("1" if label == name else "" for name in LABELS)] for who, item, label in PAIRS],
        ),
        "potato/anna/annotated_instances.jsonl": lines(potato("anna")),
        "potato/ben/annotated_instances.jsonl": lines(potato("ben")),
        **{
            f"inception/annotation/{item.partition('|')[2].replace(':', '_')}.txt/{who}.tsv": webanno([(TEXT[item], label)])
            for who, item, label in PAIRS
        },
        "inception/annotation/x_1.txt/INITIAL_CAS.tsv": webanno([("other", "_")]),
        "wide.csv": table(["item", "text", "anna", "ben"], [[item, TEXT[item], SAID["anna"][item], SAID["ben"][item]] for item in ITEMS]),
        "long.csv": table(["Coder", "Tweet ID", "code"], [[who, item.partition(":")[2], label] for who, item, label in PAIRS]),
    }  # fmt: skip
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        if "/" not in name:
            yield name, path
    yield "potato", folder / "potato"
    yield "inception", folder / "inception"
    with zipfile.ZipFile(folder / "inception.zip", "w") as archive:
        archive.writestr("exportedproject.json", '{"name": "p"}')
        archive.writestr("curation/posts.txt/CURATION_USER.tsv", webanno([("other", "favor")]))
        for who, own in SAID.items():
            archive.writestr(
                f"annotation/posts.txt/{who}.tsv", webanno([(TEXT[item], own[item]) for item in ITEMS])
            )
    yield "inception.zip", folder / "inception.zip"
    with zipfile.ZipFile(folder / "doccano.zip", "w") as archive:
        for who in SAID:
            archive.writestr(f"{who}.jsonl", lines(doccano(who)))
    yield "doccano.zip", folder / "doccano.zip"


def test_kappa_of_each_tools_export_is_scikit_learns(tmp_path):
    kappas = {name: agreement_of_file(path).kappa.value for name, path in written(tmp_path)}
    assert kappas == dict.fromkeys(kappas, pytest.approx(KAPPA))
    assert len(kappas) == 12
    assert 0.5 < KAPPA < 0.9


def test_a_frame_of_an_export_is_compared_like_its_file():
    flat = [
        {
            "id": item, "text": TEXT[item], "stance.responses": [own[item] for own in SAID.values()],
            "stance.responses.users": ["u1", "u2"], "stance.responses.status": ["submitted", "submitted"],
        }
        for item in ITEMS
    ]  # fmt: skip
    for rows in (label_studio(), prodigy(), argilla(), labelbox(), flat):
        assert agreement(pd.DataFrame(rows)).kappa.value == pytest.approx(KAPPA)


def test_what_is_no_label_is_counted_and_each_record_is_whole(tmp_path):
    path = tmp_path / "labelstudio.json"
    path.write_text(json.dumps(label_studio()))
    export = read_export(path)
    assert export.notes == ["3 answers left out: skipped, rejected, or a draft"]
    first = export.labels[0]
    assert (first.item, first.annotator, first.label, first.text) == (ITEMS[0], "1", "favor", TEXT[ITEMS[0]])
    assert (first.seconds, first.given_at) == (4.288, "2026-01-01T10:00:09Z")
    (tmp_path / "anna").mkdir()
    path = tmp_path / "anna/annotated_instances.jsonl"
    path.write_text(lines(potato("anna")))
    assert {(label.annotator, label.seconds) for label in read_export(path).labels} == {("anna", 65.0)}


@pytest.mark.parametrize(
    "row",
    [
        {"data_row": {"id": "1"}, "projects": {"p": 3}},
        {"data_row": {"id": "1"}, "projects": {"p": {"labels": [{"annotations": {"classifications": [4]}}]}}},
        {"id": 1, "data": {"text": "t"}, "annotations": [3]},
    ],
)
def test_an_export_of_another_shape_is_refused_in_one_line(tmp_path, row):
    path = tmp_path / "odd.json"
    path.write_text(json.dumps([row]))
    with pytest.raises(InputError, match=r"odd\.json: cannot be read"):
        read_export(path)


@pytest.mark.parametrize("name", ["export.jsonl", "export.zip"])
def test_objects_are_counted_before_they_are_made(tmp_path, monkeypatch, name):
    """Thirty million of them in a zip of 382 kB took 8 GB."""
    lines = '{"a":1}\n' * 1000
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("a1.jsonl", lines)
            archive.writestr("a2.jsonl", lines)
    else:
        (tmp_path / name).write_text(lines * 2)
    assert read_export(tmp_path / name) is None
    monkeypatch.setattr(json_rows, "MOST_VALUES", 7999)
    with pytest.raises(InputError, match="holds more than 1,999 objects"):
        read_export(tmp_path / name)


def test_questions_of_a_tool_are_asked_for_and_answered(tmp_path):
    tasks = label_studio()
    for task in tasks:
        for annotation in task["annotations"]:
            if annotation["result"]:
                more = {"from_name": "tone", "type": "choices", "value": {"choices": ["calm"]}}
                annotation["result"] = [*annotation["result"], more]
    path = tmp_path / "two.json"
    path.write_text(json.dumps(tasks))
    with pytest.raises(InputError, match="has 2 questions: stance, tone"):
        agreement_of_file(path)
    assert agreement_of_file(path, question="stance").kappa.value == pytest.approx(KAPPA)
    with pytest.raises(InputError, match=r"has no question 'stanc'.*Did you mean 'stance'"):
        agreement_of_file(path, question="stanc")


def test_ids_that_are_not_items_give_way_to_texts(tmp_path):
    """Each person had a project of their own, whose tasks were numbered anew, in another order."""
    for who, shift in (("anna", 0), ("ben", 17)):
        rows = doccano(who)
        rows = [{**row, "id": at} for at, row in enumerate(rows[shift:] + rows[:shift])]
        (tmp_path / f"{who}.jsonl").write_text(lines(rows))
    export = read_export(tmp_path)
    assert "items are known by their texts, because the id 0 has two texts" in export.notes
    assert agreement_of_file(tmp_path).kappa.value == pytest.approx(KAPPA)


def test_a_label_given_again_counts_once_and_two_labels_without_a_time_are_refused(tmp_path):
    rows = prodigy()
    path = tmp_path / "again.jsonl"
    path.write_text(lines([{**rows[0], "accept": ["neither"], "_timestamp": 1}, *rows, rows[3]]))
    assert read_export(path).notes == ["1 answer replaced by the person's later ones"]
    assert agreement_of_file(path).kappa.value == pytest.approx(KAPPA)
    undated = [{name: cell for name, cell in row.items() if name != "_timestamp"} for row in rows[:2]]
    path.write_text(lines([*undated, {**undated[1], "accept": ["favor"]}]))
    with pytest.raises(InputError, match=r"row 3: stance-anna gives the item .* two labels, .* and favor"):
        read_export(path)


@pytest.fixture
def study(tmp_path):
    pushed(tmp_path)
    return open_study(tmp_path)


def tasks_of(study, *, texts: bool = True) -> list[dict[str, Any]]:
    """Label Studio's export of the round's posts, made elsewhere: with the posts' own ids, or with their texts alone."""
    items = for_people(study.round().folder.items()).to_dict("records")
    return [
        {
            "id": at, "data": {"post": row["text"]} if texts else {"tweet_id": row["post_id"].partition(":")[2]},
            "annotations": [
                {"completed_by": {"id": n, "email": f"{who}@x.org"}, "result": [{"from_name": "s", "value": {"choices": [label]}}]}
                for n, (who, label) in enumerate({"anna": LABELS[at % 3], "ben": LABELS[at % 2]}.items())
            ],
        }
        for at, row in enumerate(items)
    ]  # fmt: skip


@pytest.mark.parametrize("texts", [True, False])
def test_labels_made_elsewhere_are_shown_and_then_the_answers_of_named_people(study, texts):
    path = study.folder / "project.json"
    path.write_text(json.dumps(tasks_of(study, texts=texts)))
    people = ["--people", "anna@x.org=a1", "--people", "ben@x.org=a2"]
    with pytest.raises(
        InputError, match=r"which annotators are anna@x.org, ben@x.org.*--people anna@x.org=a1"
    ):
        study.import_labels(path)
    shown = covmis(study.folder, "round", "import", str(path), *people)
    count = 18 if texts else 22  # two posts of the round have the same text
    assert (shown["by_text"], shown["by_id"], shown["imported"]) == (18 * texts, 22 * (not texts), False)
    assert any("of several items" in note for note in shown["notes"]) is texts
    assert len(study.round().labels) == 0
    done = covmis(study.folder, "round", "import", str(path), *people, "--yes")
    assert (done["added"], done["problems"]) == (count, [])
    labels = study.round().labels
    assert labels.groupby("annotator")["label"].value_counts().to_dict() == {
        (who, label): count for who, own in shown["labels"].items() for label, count in own.items()
    }
    assert set(labels["channel"]) == {"import"}
    assert covmis(study.folder, "round", "import", str(path), *people, "--yes")["added"] == 0
    covmis(study.folder, "round", "report")


def test_what_cannot_be_matched_or_read_is_named(study):
    items = for_people(study.round().folder.items()).to_dict("records")
    rows = [
        {"item": row["item_id"], "annotator": "a1", "label": "Favour.", "text": row["text"]} for row in items
    ]
    rows[0]["label"], rows[1]["text"], rows[2]["item"], rows[2]["text"] = (
        "maybe",
        "another",
        "c9|x:1",
        "elsewhere",
    )
    told = study.import_labels(pd.DataFrame(rows), yes=True)
    assert (told.by_id, told.unmatched, told.added) == (10, 1, 8)
    assert "unknown label 'maybe'" in told.problems[0]
    assert "the text is not the one of" in told.problems[1]
    both = [{**row, "annotator": who} for row in rows for who in ("anna", "ben")]
    with pytest.raises(InputError, match="anna and ben cannot both be a1"):
        study.import_labels(pd.DataFrame(both), people={"anna": "a1", "ben": "a1"})
    some = study.import_labels(pd.DataFrame(both), people={"anna": "a1", "ben": "-"})
    assert (some.imported, list(some.labels)) == (False, ["a1"])
