"""Machine-readable provenance: settings.toml, codemeta.json, and an RO-Crate with the Workflow Run profile.

The crate's workflow is the study's settings, run by covmis, with an action for each stage (from the ledger) and each round
(with its seal). Probabilities and weights are described by the design of the rows' draws.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.citation import address_of, schema_org_person
from covmis_build.corpus.licences import licence_of
from covmis_build.errors import counted
from covmis_build.records import meanings
from covmis_build.settings import Settings, settings_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from covmis_build.corpus.croissant import ReleasedFile
    from covmis_build.corpus.release_facts import ReleaseFacts, RoundFacts, StageFacts

WORKFLOW = "settings.toml"
SOFTWARE = "https://pypi.org/project/covmis/"
PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5", "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)  # fmt: skip
KINDS = {
    ".csv": "text/csv", ".jsonl": "application/jsonlines", ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json", ".md": "text/markdown", ".html": "text/html", ".tex": "application/x-tex",
    ".toml": "application/toml", ".bib": "application/x-bibtex", ".R": "text/x-r", ".py": "text/x-python",
    ".txt": "text/plain", ".cff": "application/yaml",
}  # fmt: skip
UNSTATED = "No licence has been stated"


def settings_told(facts: ReleaseFacts) -> str:
    """Return settings.toml: the settings that governed the data, without paths and people."""
    kept = {
        name: getattr(facts, name)
        for name in ("labels", "retrieval", "cleaning", "sampling", "annotation", "release")
    }
    head = "# The settings that governed this release; places on a machine, the seed and people's codes are left out.\n"
    lines = settings_toml(Settings(facts.title, **kept)).splitlines()
    return head + "\n".join(line for line in lines if not line.startswith(("seed = ", "build = "))) + "\n"


def codemeta(facts: ReleaseFacts, lead: str) -> str:
    """Return codemeta.json (CodeMeta 3.0): the corpus, and the software that created it."""
    licence = licence_of(facts.release.licence)
    described: dict[str, Any] = {
        "@context": "https://w3id.org/codemeta/3.0",
        "type": "Dataset",
        "name": facts.title,
        "description": lead,
        "author": [schema_org_person(author) for author in facts.release.authors],
        "version": facts.release.version,
        "datePublished": facts.date,
        "license": licence.url if licence else facts.release.licence,
        "identifier": address_of(facts),
        "funding": facts.release.funding,
        "keywords": ["stance detection", "misinformation"],
        "softwareRequirements": _software(facts),
    }
    return _written({name: value for name, value in described.items() if value})


def ro_crate(facts: ReleaseFacts, lead: str, data: Sequence[ReleasedFile], texts: Iterable[str]) -> str:
    """Return ro-crate-metadata.json. `data` are the data files, `texts` the names of the others."""
    licence = licence_of(facts.release.licence)
    sizes: dict[str, int | None] = dict.fromkeys(texts) | {file.name: file.size for file in data}
    files = [
        _file(name, size) for name, size in sorted(sizes.items()) if "/" not in name and name != WORKFLOW
    ]
    people = [schema_org_person(author) for author in facts.release.authors]
    employers = []
    for number, person in enumerate(people, 1):
        person.setdefault("@id", f"#author-{number}")
        if "affiliation" in person:
            employers.append({"@id": f"#affiliation-{number}", **person["affiliation"]})
            person["affiliation"] = _ref(employers[-1]["@id"])
    outputs = [_ref(file["@id"]) for file in files]
    actions = [
        *(_stage(stage, facts) for stage in facts.stages),
        *(_round(round_, facts) for round_ in facts.rounds),
    ]
    chances = [
        {"@id": f"#{name}", "@type": "PropertyValue", "name": name, "description": meanings("corpus")[name]}
        for name in ("p_claim", "p_sample", "weight")
    ]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": facts.title,
        "description": lead,
        "datePublished": facts.date,
        "version": facts.release.version,
        "identifier": address_of(facts),
        "funder": facts.release.funding,
        "license": _ref(licence.url) if licence else facts.release.licence or UNSTATED,
        "author": [_ref(person["@id"]) for person in people],
        "conformsTo": [_ref(profile) for profile in PROFILES],
        "mainEntity": _ref(WORKFLOW),
        "hasPart": [_ref(WORKFLOW), *outputs],
        "mentions": [_ref("#run"), *(_ref(action["@id"]) for action in actions)],
        "variableMeasured": [_ref(chance["@id"]) for chance in chances],
    }
    workflow = {
        "@id": WORKFLOW,
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": f"Settings of {facts.title}",
        "programmingLanguage": _ref(SOFTWARE),
        "encodingFormat": KINDS[".toml"],
        "description": "What covmis was told: from claims to queries, posts, sample and rounds.",
        "license": root["license"],
        "input": _ref("#claims"),
        "output": _ref("#corpus"),
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"covmis release of {facts.title}",
        "instrument": _ref(WORKFLOW),
        "endTime": facts.date,
        "result": outputs,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "description": "The release, from the rounds as they were frozen, labelled and sealed.",
        **({"agent": _ref(people[0]["@id"])} if people else {}),
        "object": [_ref(action["@id"]) for action in _sealed(facts)],
    }
    parameters = [
        _parameter("#claims", "claims", "the list of claims"),
        _parameter("#corpus", "corpus", "the labelled posts"),
    ]
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": _ref("./"),
            "conformsTo": [_ref("https://w3id.org/ro/crate/1.1"), _ref(PROFILES[2])],
        },
        {name: value for name, value in root.items() if value},
        workflow,
        run,
        *actions,
        *_sealed(facts),
        *parameters,
        *files,
        *({"@type": "Person", **person} for person in people),
        *employers,
        *chances,
        {
            "@id": SOFTWARE,
            "@type": ["ComputerLanguage", "SoftwareApplication"],
            "name": "covmis",
            "identifier": _ref("https://pypi.org/project/covmis/"),
            "url": _ref("https://pypi.org/project/covmis/"),
            "softwareVersion": facts.version,
        },
        *(
            {
                "@id": profile,
                "@type": "CreativeWork",
                "name": profile.split("/")[-2],
                "version": profile.split("/")[-1],
            }
            for profile in PROFILES
        ),
        *([{"@id": licence.url, "@type": "CreativeWork", "name": licence.name}] if licence else []),
    ]
    return _written({"@context": CONTEXT, "@graph": graph})


CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def _stage(stage: StageFacts, facts: ReleaseFacts) -> dict[str, Any]:
    """Return a stage of the ledger with the hashes of its tables."""
    tables = ", ".join(f"{table} sha256 {digest}" for table, digest in stage.tables.items())
    return {
        "@id": f"#stage-{stage.name}",
        "@type": "CreateAction",
        "name": f"covmis run {stage.name}",
        "instrument": _ref(SOFTWARE),
        "endTime": facts.date,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "description": f"With covmis {stage.version}. Tables: {tables}.",
        "result": _ref("corpus.parquet"),
    }


def _round(round_: RoundFacts, facts: ReleaseFacts) -> dict[str, Any]:
    sealed = f", sealed {round_.seal}" if round_.seal else ", not sealed"
    kept = "" if round_.pilot else f"; {round_.kappa.name} {round_.kappa}" if round_.kappa else ""
    return {
        "@id": f"#round-{round_.name}",
        "@type": "CreateAction",
        "name": f"Round {round_.name} of annotation",
        "instrument": _ref(SOFTWARE),
        "endTime": facts.date,
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "description": (
            f"{counted(round_.items, 'items')} on {counted(round_.claims, 'claims')}, {round_.for_people} judged by people, guideline "
            f"{round_.guideline or 'not recorded'}{sealed}{kept}."
        ),
        "result": _ref("corpus.parquet"),
    }


def _sealed(facts: ReleaseFacts) -> list[dict[str, Any]]:
    """Return the seals, each as an input of the release."""
    return [
        {
            "@id": f"#seal-{round_.name}",
            "@type": "PropertyValue",
            "name": f"seal of round {round_.name}",
            "value": round_.seal,
            "propertyID": "sha256",
        }
        for round_ in facts.rounds
        if round_.seal and not round_.pilot
    ]


def _parameter(at: str, name: str, about: str) -> dict[str, Any]:
    return {
        "@id": at,
        "@type": "FormalParameter",
        "name": name,
        "description": about,
        "additionalType": "Dataset",
        "conformsTo": _ref("https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"),
    }


def _software(facts: ReleaseFacts) -> list[dict[str, str]]:
    return [{"type": "SoftwareApplication", "name": "covmis", "version": facts.version}]


def _file(name: str, size: int | None) -> dict[str, Any]:
    kind = KINDS.get(PurePath(name).suffix, "application/octet-stream")
    told = {} if size is None else {"contentSize": str(size)}
    return {"@id": name, "@type": "File", "name": name, "encodingFormat": kind, **told}


def _ref(at: str) -> dict[str, str]:
    return {"@id": at}


def _written(described: dict[str, Any]) -> str:
    return json.dumps(described, ensure_ascii=False, indent=2) + "\n"
