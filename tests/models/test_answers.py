"""What answers of language models give: a table of real-shaped ones, and the rule's edges."""

import json
from collections import Counter
from pathlib import Path

import pytest

from covmis_build.errors import InputError
from covmis_build.models.answers import AnswerOutcome, read_answer

LABELS = ["favor", "against", "neither"]
TABLE = json.loads(Path(__file__).with_name("answers.json").read_text("utf-8"))


@pytest.mark.parametrize("row", TABLE, ids=range(len(TABLE)))
def test_an_answer_gives_its_label_or_the_reason_why_not(row):
    reading = read_answer(row["answer"], LABELS)
    assert (reading.label, reading.outcome) == (row["label"], row["outcome"])


def test_the_table_is_long_and_has_every_outcome():
    assert len(TABLE) >= 200
    assert len({json.dumps(row["answer"]) for row in TABLE}) == len(TABLE)
    assert set(Counter(row["outcome"] for row in TABLE)) == set(AnswerOutcome)


def test_no_order_of_labels_changes_a_reading():
    for row in TABLE:
        assert read_answer(row["answer"], LABELS[::-1]) == read_answer(row["answer"], LABELS)


def test_longer_labels_hide_those_inside_them():
    labels = ["true", "partly true", "c++", "c"]
    assert read_answer("Partly true.", labels).label == "partly true"
    assert read_answer("partly_true", labels).label == "partly true"
    assert read_answer("I think it is partly true", labels).outcome is AnswerOutcome.PROSE
    assert read_answer("c++", labels).label == "c++"


@pytest.mark.parametrize("labels", [["c", "c#"], ["no stance", "no_stance"], ["+", "-"]])
def test_labels_that_answers_cannot_tell_apart_are_refused(labels):
    with pytest.raises(InputError, match="cannot tell the label"):
        read_answer("c", labels)


def test_objects_and_confidence():
    assert read_answer({"label": "favor", "confidence": 0.25}, LABELS).confidence == 0.25
    assert read_answer({"label": "favor", "confidence": 25}, LABELS).confidence is None
    assert read_answer({"nothing": 1}, LABELS).outcome is AnswerOutcome.NO_LABEL
    assert read_answer('{"label": "favor"' * 3000, LABELS).outcome is AnswerOutcome.JSON
    assert read_answer("{" * 50_000, LABELS).outcome is AnswerOutcome.CUT
