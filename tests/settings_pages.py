"""Write what follows from the settings' records (covmis_build/options.py): `python -m tests.settings_pages`.

That is study.schema.json, what editors know of study.toml; the tables of docs/reference/settings.md; and the comments of the
study.toml at the root.
"""

from __future__ import annotations

import json
import typing
from dataclasses import MISSING, fields
from pathlib import Path

import msgspec

from covmis_build.options import Columns, LabelChange, PostCase, PostForm
from covmis_build.settings import TABLES, Settings, key_of, meaning, read_settings, settings_toml, toml

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "covmis_build" / "study.schema.json"
PAGE = ROOT / "docs" / "reference" / "settings.md"
STUDY = ROOT / "study.toml"
NONE = {"type": "object", "maxProperties": 0}
"""What stands for no record."""
BEGIN = "<!-- made by python -m tests.settings_pages -->\n"


def schema() -> str:
    """The records as a JSON Schema; no table has keys but its own."""
    made = msgspec.json.schema(Settings)
    for record in made["$defs"].values():
        record["additionalProperties"] = False
        record["properties"] = {key_of(name): key for name, key in record["properties"].items()}
        if "required" in record:
            record["required"] = [key_of(name) for name in record["required"]]
        for key in record["properties"].values():
            if "anyOf" in key:
                key["anyOf"] = [NONE if kind == {"type": "null"} else kind for kind in key["anyOf"]]
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def page() -> str:
    """The page, with its tables of keys made anew."""
    head = PAGE.read_text("utf-8").partition(BEGIN)[0]
    tables = [section(f"[{name}]", kind) for name, kind in TABLES.items()]
    lists = {
        "[[labels.changes]]": LabelChange,
        "[[retrieval.columns]]": Columns,
        "[[retrieval.forms]]": PostForm,
        "[[retrieval.forms.case]]": PostCase,
    }
    return head + BEGIN + "\n".join([*tables, *(section(name, kind) for name, kind in lists.items())])


def section(name: str, kind: type) -> str:
    hints = typing.get_type_hints(kind, include_extras=True)
    rows = []
    for field in fields(kind):
        value = field.default if field.default_factory is MISSING else field.default_factory()
        default = (
            ""
            if value in (None, MISSING)
            else f"`{toml(list(value) if isinstance(value, tuple) else value)}`"
        )
        rows.append(
            f"| `{key_of(field.name)}` | {default} | {meaning(hints[field.name])} |".replace("||", r"\|\|")
        )
    return f"\n## {name}\n\n| key | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), "utf-8")
    PAGE.write_text(page(), "utf-8")
    STUDY.write_text(settings_toml(read_settings(STUDY), explained=True), "utf-8")
