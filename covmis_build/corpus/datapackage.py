"""datapackage.json (Frictionless), and readers for R and pandas: the CSV files with their column types.

R and spreadsheets parse long platform ids as numbers and round them; programs that use the schema do not.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.citation import address_of
from covmis_build.corpus.licences import licence_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.resources import Resource


def datapackage(facts: ReleaseFacts, name: str, lead: str, resources: Sequence[Resource]) -> str:
    """Return datapackage.json for these files."""
    licence = licence_of(facts.release.licence)
    described: dict[str, Any] = {
        "name": name.casefold(),
        "title": facts.title,
        "description": lead,
        "created": f"{facts.date}T00:00:00Z",
        "version": facts.release.version,
        "homepage": address_of(facts),
        "contributors": [
            {"title": author.plain, "organization": author.affiliation, "role": "author"}
            if author.affiliation
            else {"title": author.plain, "role": "author"}
            for author in facts.release.authors
        ],
        "licenses": [{"name": licence.spdx, "title": licence.name, "path": licence.url}] if licence else [],
        "resources": [_described(resource) for resource in resources],
    }
    told = {key: value for key, value in described.items() if value}
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _described(resource: Resource) -> dict[str, Any]:
    fields = []
    for column in resource.schema.names:
        rules: dict[str, Any] = _key_rules(column, resource.key)
        if column in resource.allowed:
            rules["enum"] = list(resource.allowed[column])
        field = {"name": column, "type": resource.type_of(column), "description": resource.meanings[column]}
        fields.append(field | ({"constraints": rules} if rules else {}))
    return {
        "name": resource.name,
        "path": f"{resource.name}.csv",
        "description": resource.about,
        "profile": "tabular-data-resource",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8-sig",
        "schema": {"fields": fields, "primaryKey": list(resource.key), "missingValues": [""]},
    }


def _key_rules(column: str, key: tuple[str, ...]) -> dict[str, Any]:
    return {"required": True} | ({"unique": True} if key == (column,) else {}) if column in key else {}


FOR_R = "{} = '{}'"
FOR_PANDAS = '"{}": "{}"'


def reader_for_r(resources: Sequence[Resource]) -> str:
    """Return read_with_r.R, which reads every file as a data frame with ids as text."""
    types = {"string": "character", "number": "numeric", "integer": "integer", "boolean": "logical"}
    head = (
        "# Reads the CSV files of this release with the types that they have: ids are text, never numbers.\n"
        "# source('read_with_r.R') in this folder.\n"
    )
    return head + "".join(
        f"{resource.name} <- read.csv('{resource.name}.csv', fileEncoding = 'UTF-8-BOM', na.strings = '', "
        f"colClasses = c(\n  {_typed(resource, types, FOR_R, 2)}))\n"
        for resource in resources
    )


def reader_for_pandas(resources: Sequence[Resource]) -> str:
    """Return read_with_pandas.py, which reads every file as a DataFrame with ids as text."""
    types = {"string": "str", "number": "float64", "integer": "Int64", "boolean": "boolean"}
    head = (
        '"""Read the CSV files of this release with the types that they have: ids are text, never numbers."""\n\n'
        "from pathlib import Path\n\nimport pandas as pd\n\nHERE = Path(__file__).parent\n"
    )
    return head + "".join(
        f'{resource.name} = pd.read_csv(\n    HERE / "{resource.name}.csv", encoding="utf-8-sig", '
        f'keep_default_na=False, na_values=[""], dtype={{\n    {_typed(resource, types, FOR_PANDAS, 4)},\n}})\n'
        for resource in resources
    )


def _typed(resource: Resource, types: Mapping[str, str], pair: str, indent: int) -> str:
    """Return each column with its type, one per line."""
    columns = (pair.format(name, types[resource.type_of(name)]) for name in resource.schema.names)
    return (",\n" + " " * indent).join(columns)
