"""Terminals that cannot show every character: what they lack is escaped, and no command ends otherwise for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from covmis_build import storage
from covmis_build.study.study import open_study

ENCODINGS = ("ascii", "cp1252", "shift_jis", "utf-16")
LOCALES = {"C": "01", "de_DE.ISO-8859-1": "1"}
"""And whether Python may take UTF-8 instead."""
CLAIMS = "claim_id,text,language,keywords\nc1,Maske – “Σ” 口罩 😷 schützt,de,maske OR 口罩\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    study = tmp_path_factory.mktemp("study")
    storage.write_text(study / "study.toml", 'title = "Masken – 口罩 😷"\n')
    storage.write_text(study / "queries/claims.csv", CLAIMS)
    post = {
        "id": "1255000000000000003",
        "text": "Die Maske – 口罩 😷",
        "created_at": "2020-05-01T00:00:00.000Z",
    }
    storage.write_text(study / "data/archive/posts.jsonl", json.dumps({"data": [post]}) + "\n")
    open_study(study).run(["queries"])
    return study


def told(folder, *words: str, **environment: str) -> bytes:
    """What the program prints, its errors among it, and no traceback."""
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "covmis_build", *words], cwd=folder, env=plain | environment, capture_output=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_encoding_ends_a_command(folder, encoding):
    shown = told(folder, "queries", "show", PYTHONIOENCODING=encoding).decode(encoding)
    assert "maske" in shown
    as_json = json.loads(told(folder, "status", "--json", PYTHONIOENCODING=encoding).decode(encoding))
    assert as_json["title"] == "Masken – 口罩 😷"


@pytest.mark.parametrize(
    ("locale", "coerced"), [(name, each) for name, both in LOCALES.items() for each in both]
)
def test_no_locale_ends_a_command(folder, locale, coerced):
    assert told(folder, "queries", "show", LC_ALL=locale, PYTHONCOERCECLOCALE=coerced, PYTHONUTF8="0")
