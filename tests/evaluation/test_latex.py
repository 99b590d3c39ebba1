"""The tables of `score` in LaTeX: every interval that the caption promises, and bold only where a system is shown to be best."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from covmis_build import score

LABELS = ["favor", "neither", "against"]


def tables(latex):
    """The tables of a file by label: caption, header and rows, each as a list of cells."""
    read = {}
    for table in re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", latex, re.DOTALL):
        width = len(re.search(r"\\begin\{tabular\}\{(l?r*)\}", table)[1])
        rows = [
            line.removesuffix(r" \\").split(" & ") for line in table.splitlines() if line.endswith(r" \\")
        ]
        assert {len(row) for row in rows} == {width}
        caption = re.search(r"\\caption\{(.*)\}", table)[1]
        read[re.search(r"\\label\{tab:(.*)\}", table)[1]] = (caption, rows[0], rows[1:])
    return read


def test_the_tables_have_what_their_captions_say() -> None:
    rng = np.random.default_rng(2)
    gold = pd.DataFrame({
        "item_id": map(str, range(300)), "label": rng.choice(LABELS, 300), "kind": rng.choice(["a_1", "b"], 300),
        "p_sample": rng.uniform(0.2, 1, 300), "p_claim": 1,
    })  # fmt: skip
    systems = {
        name: dict(
            zip(gold["item_id"], np.where(rng.random(300) < skill, gold["label"], "favor"), strict=True)
        )
        for name, skill in (("good", 0.9), ("a & b", 0.5), ("as b", 0.5))
    }
    scores = score(gold, systems, measures=["accuracy", "macro_f1"], by=["kind"])
    read = tables(scores.latex())
    assert list(read) == [
        "scores",
        "weighted",
        "by-kind",
        "classes",
        "confusion-1",
        "confusion-2",
        "confusion-3",
    ]
    caption, header, rows = read["scores"]
    assert "95\\% intervals: over 300 items" in caption
    assert (
        "Bold: better than each other system (paired intervals over items, p below 0.05 after Holm" in caption
    )
    assert header[:2] == ["System", "ACC"]
    figures = scores.table[scores.table["group_by"] == ""].to_dict("records")
    cells = [cell for row in rows for cell in row[1:]]
    for cell, figure in zip(cells, figures, strict=True):
        assert f"[{figure['low']:.3f}, {figure['high']:.3f}]" in cell
        assert ("textbf" in cell) == (figure["system"] == "good")
    assert [row[1].split()[0] for row in read["weighted"][2]] == [
        f"{figure['weighted']:.3f}" for figure in figures if figure["measure"] == "accuracy"
    ]
    assert read["by-kind"][2][0][:2] == ["good", r"a\_1"]
    counts = np.array([row[1:] for row in read["confusion-1"][2]], float)
    assert counts.sum() == 300

    del systems["good"]
    caption, _, rows = tables(
        score(gold, systems, measures=["accuracy", "macro_f1"], probabilities=None).latex()
    )["scores"]
    assert "Nothing is bold: no system is better than each other system" in caption
    assert not any("textbf" in cell for row in rows for cell in row)
