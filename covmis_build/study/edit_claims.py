"""Type claims, and change the text of one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.edits import used_ids, with_text
from covmis_build.claims.lists import claim_texts, read_claims
from covmis_build.errors import InputError, NoClaim
from covmis_build.files.reading import read_table
from covmis_build.files.table import Switches
from covmis_build.report.result import Result
from covmis_build.study.claims import has_examples, import_claims
from covmis_build.study.remove_claims import frozen_posts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from covmis_build.report.summary import Summary
    from covmis_build.study.claims import ImportedClaims
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True, slots=True, repr=False)
class EditedClaim(Result):
    """A claim's new and previous text, and its posts in rounds, which people labelled by the text of then."""

    claim_id: str
    text: str
    before: str
    in_rounds: Mapping[str, int]

    @property
    def summary(self) -> Summary:
        """Return what was changed, and what it means for rounds."""
        if self.text == self.before:
            return [f"Claim {self.claim_id} has this text already."]
        told = [f"Claim {self.claim_id}: {self.text} (was {self.before})."]
        if self.in_rounds:
            rounds = ", ".join(f"{number} ({count:,})" for number, count in self.in_rounds.items())
            told.append(f"Posts in rounds keep the text that they were labelled by: {rounds}.")
        return [*told, "Next: `covmis run`."]


def edit_claim(study: OfStudy, claim: str, text: str, *, instead_of: str | None) -> EditedClaim:
    """See `Study.edit_claim`."""
    path, new = study.places.claims_csv, " ".join(text.split())
    if not new:
        raise InputError(f"claim {claim} needs a text", remedy="`covmis claims remove` takes a claim out")
    with study.locked_inputs("covmis claims edit"):
        claims = read_claims(path, "csv")
        texts = dict(zip(claims["claim_id"], claims["text"], strict=True))
        if claim not in texts:
            raise NoClaim.of(claim, list(texts))
        before = texts.pop(claim)
        if instead_of is not None and before not in {instead_of, new}:
            raise InputError(
                f"the text of claim {claim} has changed since: {before}",
                file=path,
                remedy="Look at the new one, and save again",
            )
        if same := next((other for other, known in texts.items() if known == new), ""):
            raise InputError(f"this is the text of claim {same} already: {new[:60]}", file=path)
        if before != new:
            storage.write_bytes(path, claims_csv(with_text(claims, claim, new)))
    return EditedClaim(claim, new, before, frozen_posts(study, [claim]))


def add_claims(study: OfStudy, texts: Sequence[str]) -> ImportedClaims:
    """See `Study.add_claims`."""
    import pandas as pd

    path = study.places.claims_csv
    fresh = list(dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts))))
    if not fresh:
        raise InputError("no claim is given", remedy="Write each as a sentence")
    known = claim_texts(path) if path.exists() and not has_examples(study) else {}
    id_of = {text: claim for claim, text in known.items()}
    used = used_ids(read_claims(path, "csv")) if known else set()
    ids = (name for at in itertools.count(1) if (name := f"claim-{at:04}") not in used)
    rows = [{"claim_id": id_of.get(text) or next(ids), "text": text} for text in fresh]
    columns = {name: name for name in rows[0]}
    frame = pd.DataFrame(rows)
    return import_claims(study, frame, columns=columns, form="", search="", language="", switches=Switches())


def columns_of_list(
    file: Path, *, separator: str = "", header: int | None = None, encoding: str = "", path: str = ""
) -> list[str]:
    """Return the names of the columns of a list of claims, so that people can say what each is."""
    table = read_table(file, switches=Switches.given(separator, header, encoding, path=path))
    return [name for name in dict.fromkeys(table.header) if name]
