"""Write covmis_build/study.schema.json, what editors know of study.toml: `python -m tests.settings_schema`.

Types, ranges and defaults are the settings' dataclasses'; what a key means is the template's comment on it.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from pathlib import Path

from covmis_build.options import Columns
from covmis_build.settings import TABLES, Settings

PACKAGE = Path(__file__).parents[1] / "covmis_build"
TARGET = PACKAGE / "study.schema.json"
SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number"}
BOUNDS = {"at_least": "minimum", "below": "exclusiveMaximum", "at_most": "maximum"}


def schema() -> str:
    """The whole schema, as its file has it."""
    told = comments()
    keys: dict[str, typing.Any] = {
        "title": {"type": "string", "minLength": 1, "description": told["title"]},
        "seed": {
            "type": "integer",
            "minimum": 0,
            "maximum": 2**63 - 1,
            "default": Settings("").seed,
            "description": told["seed"],
        },
        "build": {"type": "string", "default": "", "description": told["build"]},
    }
    keys |= {name: table(kind, f"{name}.", told) for name, kind in TABLES.items()}
    whole = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "study.toml of covmis",
        "type": "object",
        "required": ["title"],
        "additionalProperties": False,
        "properties": keys,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def comments() -> dict[str, str]:
    """What the template says about each key."""
    told, prefix = {}, ""
    for line in (PACKAGE / "template" / "study.toml").read_text("utf-8").splitlines():
        if line.startswith("["):
            prefix = line.strip("[]") + "."
        elif "=" in line and not line.startswith("#"):
            told[prefix + line.partition("=")[0].strip()] = line.rpartition("# ")[2]
    return told


def table(kind: type, prefix: str, told: dict[str, str]) -> dict[str, typing.Any]:
    """One table of settings: no key but its own."""
    hints, usual = typing.get_type_hints(kind), kind()
    keys = {}
    for field in dataclasses.fields(kind):
        key = of_type(hints[field.name]) | rules(field.metadata)
        default = getattr(usual, field.name)
        if default is not None:
            key["default"] = json.loads(json.dumps(default))
        if field.name == "columns":
            key["items"] = table(Columns, "retrieval.columns.", told)
        if description := told.get(prefix + field.name):
            key["description"] = description
        keys[field.name] = key
    about = " ".join((kind.__doc__ or "").split()).partition("]: ")[2].split(". ")[0].rstrip(".")
    return {"type": "object", "description": about, "additionalProperties": False, "properties": keys}


def of_type(hint: typing.Any) -> dict[str, typing.Any]:
    """A type as JSON Schema says it."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return {"anyOf": [of_type(part) for part in inside if part is not type(None)]}
    if origin in {tuple, list}:
        return {"type": "array", "items": of_type(inside[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": of_type(inside[1])}
    if origin is typing.Literal:
        return {"enum": list(inside)}
    return {"type": SIMPLE[hint]} if hint in SIMPLE else {}


def rules(metadata: typing.Mapping[str, typing.Any]) -> dict[str, typing.Any]:
    """What `options.setting` allows beside a field."""
    allowed = {BOUNDS[name]: metadata[name] for name in BOUNDS if metadata.get(name) is not None}
    if metadata.get("each"):
        allowed["items"] = {"enum": list(metadata["each"])}
    return allowed


if __name__ == "__main__":
    TARGET.write_text(schema(), "utf-8")
