"""Croissant metadata (mlcommons.org/croissant 1.0) and the header of a Hugging Face card, both as plain data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import tables
from covmis_build.corpus.convert import columns
from covmis_build.corpus.parts import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from covmis_build.corpus.facts import Facts
    from covmis_build.corpus.statistics import Statistics

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
ENCODINGS = {
    "corpus.csv": "text/csv",
    "corpus.jsonl": "application/jsonlines",
    "corpus.parquet": "application/x-parquet",
}
TYPES = {"string": "sc:Text", "double": "sc:Float", "int64": "sc:Integer"}
HUB_LICENCES = frozenset(
    "apache-2.0 mit cc0-1.0 cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 odc-by odbl".split()  # noqa: SIM905
)
"""Licences that Hugging Face knows by these words; any other is `other` with its name."""
NO_LICENCE = "No licence has been stated"


def croissant(facts: Facts, lead: str, files: Mapping[str, tuple[str, int]]) -> str:
    """croissant.json for the corpus' files, given as {name: (sha256, bytes)}."""
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": _name(facts.title),
        "alternateName": facts.title,
        "description": lead,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": facts.release.licence or NO_LICENCE,
        "datePublished": facts.date,
        "version": "1.0.0",
        "citeAs": f"{facts.title} ({facts.date[:4]}), made with covmis {facts.version}",
        "creator": {"@type": "sc:Organization", "name": f"The authors of: {facts.title}"},
        "url": "./",
        "inLanguage": list(facts.cleaning.languages),
        "keywords": ["stance", "misinformation", "annotation", *(["simulated"] if facts.simulated else [])],
        "distribution": [_file(name, *files[name]) for name in ENCODINGS],
        "recordSet": [_records(text=facts.release.text)],
    }
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"


def _name(title: str) -> str:
    """A name that is safe in file names and addresses."""
    kept = "".join(one if one.isascii() and one.isalnum() else "-" for one in title)
    return "-".join(part for part in kept.split("-") if part)[:80] or "corpus"


def _file(name: str, sha256: str, size: int) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{size} B",
        "encodingFormat": ENCODINGS[name],
        "sha256": sha256,
    }


def _records(*, text: bool) -> dict[str, Any]:
    schema = tables.SCHEMAS["corpus"]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"corpus/{name}",
            "name": name,
            "description": COLUMNS[name],
            "dataType": TYPES[str(schema.field(name).type)],
            "source": {"fileObject": {"@id": "corpus.parquet"}, "extract": {"column": name}},
        }
        for name in columns(text=text)
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "corpus",
        "name": "corpus",
        "description": "A row is a post and the claim that it was found for.",
        "key": {"@id": "corpus/item_id"},
        "field": fields,
    }


def _hub_licence(licence: str) -> dict[str, str]:
    word = "-".join(licence.casefold().split())
    return (
        {"license": word}
        if word in HUB_LICENCES
        else {"license": "other", "license_name": licence or NO_LICENCE}
    )


def hugging_face_header(facts: Facts, numbers: Statistics) -> str:
    """The YAML header of a Hugging Face card; every value is JSON, which is YAML."""
    size = next(
        (
            name
            for most, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
            if numbers.rows < most
        ),
        "100K<n<1M",
    )
    header = {
        "pretty_name": facts.title,
        **_hub_licence(facts.release.licence),
        "language": list(facts.cleaning.languages),
        "task_categories": ["text-classification"],
        "tags": ["stance-detection", "misinformation", *(["simulated"] if facts.simulated else [])],
        "size_categories": [size],
        "configs": [{"config_name": "default", "data_files": "corpus.parquet"}],
    }
    lines = (f"{name}: {json.dumps(value)}" for name, value in header.items())
    return "---\n" + "\n".join(lines) + "\n---\n\n"
