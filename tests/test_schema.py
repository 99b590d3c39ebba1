"""The JSON Schema of study.toml is what the settings' records say, and agrees with what reading it refuses."""

from __future__ import annotations

import json
import tomllib
from typing import get_type_hints

import pytest

from covmis_build import settings
from covmis_build.errors import InputError
from covmis_build.options import Columns, LabelChange, PostCase, PostForm
from covmis_build.settings import Settings, settings_toml
from tests.conftest import ROOT
from tests.settings_pages import PAGE, SCHEMA, page, schema

WRONG = {
    "unknown table": "[clening]\nsimilarity = 0.5",
    "unknown key": "[cleaning]\nsimilarty = 0.5",
    "type": '[cleaning]\nsimilarity = "high"',
    "range": "[cleaning]\nsimilarity = 1.0",
    "value": '[sampling]\ndesign = "snowball"',
    "part of a list": '[sampling]\nstrata_by = ["mood"]',
    "key of columns": '[[retrieval.columns]]\nident = "nr"',
    "key of forms": '[[retrieval.forms]]\nname = "a"\nident = "nr"',
    "key of cases": '[[retrieval.forms]]\nname = "a"\n[[retrieval.forms.case]]\nif_ = "nr"',
    "key of changes": '[[labels.changes]]\nafter_round = 1\nfrom_ = "a"\nto = []',
}


def test_schema_and_page_are_what_the_settings_say():
    assert SCHEMA.read_text("utf-8") == schema(), "renew it: python -m tests.settings_pages"
    assert PAGE.read_text("utf-8") == page(), "renew it: python -m tests.settings_pages"


def test_every_key_has_a_meaning():
    records = [settings.Settings, *settings.TABLES.values(), Columns, LabelChange, PostForm, PostCase]
    bare = [
        f"{record.__name__}.{name}"
        for record in records
        for name, kind in get_type_hints(record, include_extras=True).items()
        if name not in settings.TABLES and not settings.meaning(kind)
    ]
    assert bare == []


@pytest.mark.needs("docs")
def test_settings_that_are_read_pass():
    import jsonschema

    change = '\n[[labels.changes]]\nafter_round = 1\nfrom = "b"\nto = ["c"]\n'
    root = (ROOT / "study.toml").read_text("utf-8")
    for text in (root, root + change, settings_toml(Settings("t"), explained=True)):
        jsonschema.validate(tomllib.loads(text), json.loads(schema()))


@pytest.mark.needs("docs")
@pytest.mark.parametrize("what", WRONG)
def test_settings_that_are_refused_do_not_pass(what):
    import jsonschema

    data = tomllib.loads(f'title = "t"\n{WRONG[what]}')
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(schema()))
    with pytest.raises(InputError):
        settings.parse(data)
