"""docs/reference/chance.md: its vectors, every key that covmis uses, and the sample drawn again in R."""

from __future__ import annotations

import ast
import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest

import covmis_build as covmis
from tests.services import r
from tests.specification import chance

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/chance.md").read_text("utf-8")
ROW = re.compile(r"^\| (\d+) \| (.+) \| (0\.\d+) \|$", re.MULTILINE)
KEYED = {"uniform", "uniforms", "digest", "order", "generator", "torch_seed"}
"""Functions whose second argument begins a key."""


def test_the_vectors_of_the_page() -> None:
    vectors = ROW.findall(PAGE.replace("\\|", "|"))
    assert len(vectors) == 8
    for seed, parts, number in vectors:
        key = re.findall("`(.+?)`", parts)
        assert covmis.uniform(int(seed), *key) == chance.number(int(seed), *key) == float(number)


def test_the_page_has_every_key_and_no_other() -> None:
    """The first part of each key; what is computed in it stands in capitals on the page."""
    rows = re.findall(r"^\| (`.+?) \|", PAGE.partition("## What the numbers decide")[2], re.MULTILINE)
    stated = {re.sub("[A-Z]+", "*", key.split("`")[1]) for row in rows for key in row.split("; ")}
    used = {
        begin
        for file in (ROOT / "covmis_build").rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call) and called(call) in KEYED and len(call.args) > 1
        if (begin := begins(call.args[1]))
    }
    assert used == stated


def called(call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def begins(part) -> str:
    """A text in code, with * for what is filled in."""
    if isinstance(part, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in part.values)  # noqa: PD011 - not pandas'
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""


@pytest.mark.needs("r")
def test_r_draws_the_same_sample(tmp_path) -> None:
    kinds = ["title", "keywords", "keywords", "news_url", "keywords"]
    rows = [(f"c{n % 3}|x:{n}大", f"c{n % 3}", kinds[n % 5]) for n in range(120)]
    items = pd.DataFrame(rows, columns=["item_id", "claim_id", "kind"])
    items.to_csv(tmp_path / "items.csv", index=False)
    own = covmis.sample(items, seed=20220405).query("drawn")
    drawn = r.run(ROOT / "docs/reference/same_sample.R", str(tmp_path / "items.csv"), "20220405")
    theirs = {row["item_id"]: float(row["p_sample"]) for row in csv.DictReader(io.StringIO(drawn))}
    assert 20 < len(theirs) < len(items)
    assert theirs == pytest.approx(dict(zip(own["item_id"], own["p_sample"], strict=True)), rel=1e-14)
