"""What is read of a small file of each form, in every column: `python -m tests.archive.test_every_form` writes forms.json anew.

The files are made here (tests/fuzz/samples.py); what real files of the tools hold is compared in test_tools.py.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import msgspec
import pytest

from covmis_build.archive import streams
from covmis_build.archive.reader import ReadingOptions, read
from tests.fuzz import samples

EXPECTED = Path(__file__).parents[1] / "vectors" / "forms.json"
FILES = samples.LINES | samples.TABLES


def seen(name, folder):
    """Each post of the file, without what is empty; why lines are no posts."""
    path = folder / name
    path.write_bytes(FILES[name])
    posts, reasons = [], []
    for job in streams.jobs([(path, name)]):
        for one in read(job, how=ReadingOptions((), frozenset({"c1"}))):
            reasons += [one.problem] if one.problem else []
            posts += [
                {field: value for field, value in msgspec.to_builtins(post).items() if value}
                for post in one.posts
            ]
    return json.loads(json.dumps({"posts": posts, "unreadable": reasons}))


@pytest.mark.parametrize("name", FILES)
def test_every_column_of_every_form(name, tmp_path):
    assert seen(name, tmp_path) == json.loads(EXPECTED.read_text("utf-8"))[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        all_seen = {name: seen(name, Path(scratch)) for name in FILES}
    EXPECTED.write_text(json.dumps(all_seen, indent=1, ensure_ascii=False) + "\n", "utf-8")
