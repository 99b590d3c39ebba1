"""A study.toml that somebody has sent: read if it is one, or refused."""

from __future__ import annotations

import pytest

from covmis_build.errors import InputError
from covmis_build.files import toml_file
from covmis_build.settings import read_settings

REFUSED = {
    "larger than 256 KiB": lambda: b"#" * (300 << 10),
    "dots": lambda: b"a." * 100_000 + b"a = 1",
    "not UTF-8": lambda: b'title = "\xff"',
    "not TOML": lambda: b"x = " + b"[" * 100_000,
}


@pytest.mark.parametrize("problem", REFUSED)
def test_what_is_refused(tmp_path, problem):
    path = tmp_path / "study.toml"
    path.write_bytes(REFUSED[problem]())
    with pytest.raises(InputError, match=problem):
        read_settings(path)


def test_a_text_with_many_sentences_is_read(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("\ufefftext = '''" + "One. " * 900 + "\n" + "Two. " * 900 + "'''", "utf-8")
    assert toml_file.read(path)["text"].count("One.") == 900
