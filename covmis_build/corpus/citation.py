"""Citation of a release: its authors, CITATION.cff (citation-file-format.github.io, 1.2.0) and BibTeX."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.licences import licence_of
from covmis_build.report.page import latex_escape

if TYPE_CHECKING:
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.options import Author

ORCID = "https://orcid.org/"
DOI = "https://doi.org/"


def address_of(facts: ReleaseFacts) -> str:
    """Return the corpus's URL: its DOI, otherwise the configured one, otherwise empty."""
    return DOI + facts.release.doi if facts.release.doi else facts.release.url


def schema_org_person(author: Author) -> dict[str, Any]:
    """Return an author in schema.org's vocabulary, which Croissant, RO-Crate and codemeta use."""
    person: dict[str, Any] = {
        "@type": "Person",
        "name": author.plain,
        "givenName": author.given,
        "familyName": author.family,
        "affiliation": {"@type": "Organization", "name": author.affiliation} if author.affiliation else "",
        "@id": ORCID + author.orcid if author.orcid else "",
    }
    return {name: value for name, value in person.items() if value}


def bibtex(facts: ReleaseFacts) -> str:
    """Return a BibTeX entry for this release; braces and backslashes in users' texts are made harmless."""
    authors = facts.release.authors
    lines = {
        "title": latex_escape(facts.title),
        "author": " and ".join(latex_escape(author.inverted) for author in authors),
        "year": facts.date[:4],
        "version": latex_escape(facts.release.version),
        "doi": latex_escape(facts.release.doi),
        "url": latex_escape(facts.release.url),
        "note": f"Made with covmis {latex_escape(facts.version)} on {facts.date}",
    }
    told = ",\n".join(f"  {name} = {{{value}}}" for name, value in lines.items() if value)
    return f"@misc{{this_corpus,\n{told}\n}}"


def citation_cff(facts: ReleaseFacts, abstract: str) -> str:
    """Return CITATION.cff, with JSON values (valid YAML). The format requires an author: without one, return nothing."""
    licence = licence_of(facts.release.licence)
    described = {
        "cff-version": "1.2.0",
        "message": "If you use this corpus, please cite it as below.",
        "type": "dataset",
        "title": facts.title,
        "abstract": abstract,
        "authors": [_cff_person(author) for author in facts.release.authors],
        "version": facts.release.version,
        "date-released": facts.date,
        "doi": facts.release.doi,
        "url": facts.release.url,
        "license": licence.spdx if licence else "",
        "keywords": ["stance detection", "misinformation"],
    }
    return "".join(
        f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in described.items() if value
    )


def _cff_person(author: Author) -> dict[str, str]:
    person = {
        "family-names": author.family,
        "given-names": author.given,
        "affiliation": author.affiliation,
        "orcid": ORCID + author.orcid if author.orcid else "",
    }
    return {name: value for name, value in person.items() if value}
