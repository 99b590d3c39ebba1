"""datacite.json: DOI metadata for Zenodo, Dataverse and others (DataCite 4.5, as JSON)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.citation import ORCID
from covmis_build.corpus.licences import licence_of

if TYPE_CHECKING:
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.options import Author

PAPER = "arXiv:2204.02000"
"""Hou et al. (2022), whose method covmis implements."""
POSTED = "when the posts were made"
UNKNOWN = ":tba"
"""DataCite's placeholder for missing values; the schema requires creators and a publisher."""


def datacite(facts: ReleaseFacts, abstract: str) -> str:
    """Return the metadata of this release. Nothing is invented for missing information."""
    release = facts.release
    first, last = facts.period
    described: dict[str, Any] = {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "doi": release.doi,
        "url": release.url,
        "creators": [_creator(author) for author in facts.release.authors] or [{"name": UNKNOWN}],
        "titles": [{"title": facts.title}],
        "publisher": {"name": UNKNOWN},
        "publicationYear": facts.date[:4],
        "types": {"resourceType": "Annotated corpus", "resourceTypeGeneral": "Dataset"},
        "subjects": [{"subject": word} for word in ("stance detection", "misinformation", "social media")],
        "dates": [
            {"date": facts.date, "dateType": "Created"},
            *([{"date": f"{first}/{last}", "dateType": "Other", "dateInformation": POSTED}] if first else []),
        ],
        "language": facts.cleaning.languages[0] if len(facts.cleaning.languages) == 1 else "",
        "version": release.version,
        "rightsList": [_rights(release.licence)] if release.licence else [],
        "descriptions": [{"description": abstract, "descriptionType": "Abstract"}],
        "fundingReferences": [{"funderName": release.funding}] if release.funding else [],
        "relatedIdentifiers": [
            {"relatedIdentifier": PAPER, "relatedIdentifierType": "arXiv", "relationType": "References"}
        ],
        "formats": ["text/csv", "application/jsonlines", "application/vnd.apache.parquet"],
    }
    told = {name: value for name, value in described.items() if value}
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _rights(stated: str) -> dict[str, str]:
    licence = licence_of(stated)
    if licence is None:
        return {"rights": stated}
    return {
        "rights": licence.name,
        "rightsUri": licence.url,
        "rightsIdentifier": licence.spdx,
        "rightsIdentifierScheme": "SPDX",
        "schemeUri": "https://spdx.org/licenses/",
    }


def _creator(author: Author) -> dict[str, Any]:
    creator: dict[str, Any] = {
        "name": author.inverted,
        "nameType": "Personal",
        "givenName": author.given,
        "familyName": author.family,
        "affiliation": [{"name": author.affiliation}] if author.affiliation else [],
        "nameIdentifiers": [
            {"nameIdentifier": ORCID + author.orcid, "nameIdentifierScheme": "ORCID", "schemeUri": ORCID}
        ]
        if author.orcid
        else [],
    }
    return {name: value for name, value in creator.items() if value}
