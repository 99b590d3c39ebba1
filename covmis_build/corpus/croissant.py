"""Croissant metadata (mlcommons.org/croissant 1.1) with the Croissant RAI 1.0 vocabulary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.card_sections import COLLECTION
from covmis_build.corpus.citation import address_of, bibtex, schema_org_person
from covmis_build.corpus.licences import licence_of
from covmis_build.corpus.limits import limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.resources import Resource
    from covmis_build.corpus.statistics import Statistics

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
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
    "isArray": "cr:isArray",
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
    ".csv": "text/csv", ".jsonl": "application/jsonlines", ".parquet": "application/x-parquet",
}  # fmt: skip
NO_LICENCE = "No licence has been stated"


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """A data file of the release."""

    name: str
    sha256: str
    size: int


def croissant(
    facts: ReleaseFacts,
    numbers: Statistics,
    lead: str,
    files: Sequence[ReleasedFile],
    resources: Sequence[Resource],
) -> str:
    """Return croissant.json for these files; `resources` are the tables among them. Unknown properties are omitted."""
    release = facts.release
    licence = licence_of(release.licence)
    described: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": safe_name(facts.title),
        "alternateName": facts.title,
        "description": lead,
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "license": licence.url if licence else release.licence or NO_LICENCE,
        "datePublished": facts.date,
        "version": release.version,
        "citeAs": bibtex(facts),
        "creator": [schema_org_person(author) for author in facts.release.authors],
        "funder": {"@type": "Organization", "name": release.funding} if release.funding else None,
        "url": address_of(facts) or "./",
        "inLanguage": list(facts.cleaning.languages),
        "keywords": ["stance", "misinformation", "annotation", *(["simulated"] if release.simulated else [])],
        **_responsible(facts, numbers),
        "distribution": [_file(file) for file in files],
        "recordSet": [_records(resource) for resource in resources],
    }
    told = {name: value for name, value in described.items() if value}
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _responsible(facts: ReleaseFacts, numbers: Statistics) -> Mapping[str, Any]:
    """Return the RAI properties that the study provides."""
    first, last = facts.period
    audited = f" People checked {facts.audit.audited} of them." if facts.audit.audited else ""
    people = int(numbers.by_kind.iloc[-1]["manual"])
    rules = ", ".join(f"{kind} is {label}" for kind, label in facts.labels.automatic.items())
    return {
        "rai:dataCollection": COLLECTION,
        "rai:dataCollectionType": ["Others: queries over posts of platforms"],
        "rai:dataCollectionTimeFrame": [first, last] if first else None,
        "rai:dataPreprocessingProtocol": [step.keeps for step in facts.flow],
        "rai:dataAnnotationProtocol": (
            f"{facts.annotators} people labelled {people} posts, {facts.annotation.per_item} each post, without seeing "
            "each other's labels; disagreements were discussed, and a third person decided what stayed open."
        ),
        "rai:dataAnnotationAnalysis": [f"{facts.kappa.name}: {facts.kappa}"] if facts.kappa else None,
        "rai:annotationsPerItem": str(facts.annotation.per_item),
        "rai:machineAnnotationTools": [f"Rule: {rules}.{audited}"] * bool(rules) + [*facts.machines] or None,
        "rai:dataBiases": limits(facts, numbers),
        "rai:dataUseCases": ["Training and testing systems that tell a post's stance towards a claim"],
        "rai:personalSensitiveInformation": [
            (
                "Texts of posts, accounts masked"
                if facts.release.mask_mentions
                else "Texts of posts, as posted"
            )
            if facts.release.text
            else "Ids of posts only; texts are not part of the release"
        ],
        "rai:dataReleaseMaintenancePlan": f"Write to {facts.release.contact}"
        if facts.release.contact
        else None,
    }


def safe_name(title: str) -> str:
    """Return a name that is safe in file names and URLs."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title)
    return "-".join(part for part in kept.split("-") if part)[:80] or "corpus"


def _file(file: ReleasedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.size} B",
        "encodingFormat": ENCODINGS[PurePath(file.name).suffix],
        "sha256": file.sha256,
    }


def _records(resource: Resource) -> dict[str, Any]:
    types = {"string": "sc:Text", "number": "sc:Float", "integer": "sc:Integer", "boolean": "sc:Boolean"}
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{resource.name}/{name}",
            "name": name,
            "description": resource.meanings[name],
            "dataType": types[resource.type_of(name)],
            "source": {"fileObject": {"@id": resource.source}, "extract": {"column": name}},
        }
        for name in resource.schema.names
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": resource.name,
        "name": resource.name,
        "description": resource.about,
        "key": [{"@id": f"{resource.name}/{column}"} for column in resource.key],
        "field": fields,
    }
