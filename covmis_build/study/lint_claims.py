"""Checking the claim list against A.1, and carrying out the proposals that a person accepts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.edits import accept as carry_out
from covmis_build.claims.lint import Findings, lint
from covmis_build.claims.lists import read_claims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.study.study import Study


def lint_claims(study: Study, *, accept: Sequence[str]) -> Findings:
    """The findings; those named in `accept` are carried out first, in queries/claims.csv."""
    with study.locked_inputs("covmis claims lint") if accept else nullcontext():
        claims = read_claims(study.places.claims_csv, "csv")
        findings = lint(claims)
        if accept:
            claims = carry_out(claims, findings.to_frame(), accept)
            storage.write_bytes(study.places.claims_csv, claims_csv(claims))
            findings = lint(claims)
    return findings
