"""A test is skipped, never failed, where a program that it starts is not installed."""

import pytest

from tests.services import SERVICES


@pytest.mark.parametrize(("there", "ready"), [(["chromium"], False), (["chromium", "chromedriver"], True)])
def test_pages_are_looked_at_where_the_browser_and_its_driver_are_there(monkeypatch, tmp_path, there, ready):
    for program in there:
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SERVICES["chromium"].ready() is ready
