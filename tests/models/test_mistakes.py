"""Errors sorted by how sure the model was, and by what goes with them."""

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.models.predict import mistakes, overlap

FRAME = pd.DataFrame(
    {
        "text": ["masks kill", "no", "masks kill people", "maybe"],
        "target": ["masks kill people"] * 4,
        "label": ["favor", "against", "favor", "against"],
        "kind": ["title", "title", "keywords", "keywords"],
    }
)
CHANCES = np.array([[0.4, 0.6], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])


def test_the_surest_errors_come_first():
    found = mistakes(FRAME, CHANCES, ["favor", "against"])
    rows = found.confident[["gold", "predicted", "probability", "text"]].to_numpy().tolist()
    assert rows == [
        ["against", "favor", 0.9, "no"],
        ["against", "favor", 0.7, "maybe"],
        ["favor", "against", 0.6, "masks kill"],
    ]
    assert len(mistakes(FRAME, CHANCES, ["favor", "against"], count=1).confident) == 2


def test_accuracy_by_shared_words_and_kind():
    found = mistakes(FRAME, CHANCES, ["favor", "against"])
    assert found.overlap[["part", "items", "accuracy"]].to_numpy().tolist() == [
        ["none", 2, 0.0],
        ["50% to 100%", 2, 0.5],
    ]
    assert found.kinds[["part", "items", "accuracy"]].to_numpy().tolist() == [
        ["keywords", 2, 0.5],
        ["title", 2, 0.0],
    ]
    plain = mistakes(FRAME[["text", "label"]], CHANCES, ["favor", "against"])
    assert plain.overlap.empty
    assert plain.kinds.empty


@pytest.mark.parametrize(("text", "part"), [("a b", 1.0), ("a", 0.5), ("", 0.0), ("c", 0.0)])
def test_overlap(text, part):
    assert overlap(text, "A b") == part
    assert overlap(text, "") == 0


def test_every_row_needs_a_label_and_a_prediction():
    with pytest.raises(InputError, match="errors need a label"):
        mistakes(FRAME.drop(columns="label"), CHANCES, ["favor", "against"])
