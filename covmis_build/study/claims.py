"""A study's claim list: import, checks, and selection."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.building import purge as purging
from covmis_build.claims.claim import LISTS, checked, claims_csv, claims_frame
from covmis_build.claims.edits import accept as carry_out
from covmis_build.claims.edits import used_ids
from covmis_build.claims.fact_check import search_fact_checks
from covmis_build.claims.lint import Findings, lint
from covmis_build.claims.lists import ClaimList, GivenPost, read_claims, read_list
from covmis_build.claims.selection import Selection, select
from covmis_build.errors import InputError, counted
from covmis_build.files.reading import read_table
from covmis_build.queries.build import build_queries
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.files.table import Switches
    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.tables import Frame


GIVEN_POSTS = "given-posts.csv"
"""File in the first archive for posts that claim lists contain."""
FILLED_IN = (
    "keywords",
    "titles",
    "news_urls",
    "fact_check_urls",
    "language",
    "first_seen",
    "verdict",
    "misinformation",
)
"""Fields that an import adds to an existing claim if they are empty and were not deleted by an edit."""


@dataclass(frozen=True, slots=True, repr=False)
class ImportedClaims(Result):
    """The result of an import: `added` and `already_there` are counts, `claims` is the whole list afterwards."""

    claims: pd.DataFrame
    added: int
    already_there: int
    given_posts: int
    given_posts_file: str
    understood: ClaimList
    examples_removed: int = 0
    filled_in: dict[str, int] = field(default_factory=dict)
    """Field → number of existing claims whose empty field was filled from the list."""
    differing: dict[str, int] = field(default_factory=dict)
    """Field → number of existing claims that keep a value other than the list's."""

    @property
    def warnings(self) -> list[str]:
        """Return uncertain detections that the user should check."""
        return self.understood.notes

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as `covmis claims import --json` prints them."""
        return {
            "added": self.added,
            "already_there": self.already_there,
            "claims": len(self.claims),
            "given_posts": self.given_posts,
            "filled_in": self.filled_in,
            "differing": self.differing,
        }

    @property
    def summary(self) -> Summary:
        """Return what was added, and the next step."""
        room = f"Removed the {self.examples_removed} example claims of `covmis new`."
        file = self.given_posts_file
        given = [
            f"{counted(self.given_posts, 'posts')} named by the list: {file}",
            f"They are ids: their posts must be in the archive, or come with `covmis collect ids {file}`.",
        ]
        return [
            f"{counted(self.added, 'claims')} added, {self.already_there:,} already there: queries/claims.csv",
            *([room] if self.examples_removed else []),
            *(f"Filled in: {name} of {counted(n, 'claims')}" for name, n in self.filled_in.items()),
            *(
                f"Not changed: {name} of {counted(n, 'claims')} differ from the list; edit queries/claims.csv"
                for name, n in self.differing.items()
            ),
            *([f"Columns left over: {', '.join(left)}"] if (left := self.understood.left_over) else []),
            *(given if self.given_posts else []),
            "Next: `covmis claims lint`.",
        ]


FIELDS = {
    "text": "the claim", "claim_id": "id", "keywords": "keywords", "titles": "titles of articles", "news_urls": "URLs of news",
    "fact_check_urls": "URLs of fact-checks", "language": "language", "first_seen": "first seen", "verdict": "verdict",
    "posts": "ids of posts",
}  # fmt: skip
"""What a column of a list of claims may be."""
OWN = "a table with the columns of queries/claims.csv"


@dataclass(frozen=True, slots=True, repr=False)
class LookedAt(Result):
    """A preview of a claim list: detected columns and claims. Nothing is written."""

    understood: ClaimList

    @property
    def warnings(self) -> list[str]:
        """Return uncertain detections that the user should check."""
        return self.understood.notes

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis claims import --look --json` prints."""
        verdicts = self.verdicts()
        return {
            "form": self.understood.form,
            "claims": len(self.understood.claims),
            "columns": self.understood.columns,
            "left_over": self.understood.left_over,
            "posts": len(self.understood.posts),
            "verdicts": [
                {"verdict": verdict, "claims": n, "misinformation": said} for verdict, n, said in verdicts
            ],
            "notes": self.understood.notes,
            "first": self.understood.claims.head(3),
        }

    @property
    def summary(self) -> Summary:
        """Return the content of each column, the unused columns, and the first claims."""
        understood = self.understood
        columns = [
            f"  {field} <- {column or 'the first column'}" for field, column in understood.columns.items()
        ]
        parts: list[str | Listing] = [
            f"{counted(len(understood.claims), 'claims')}, read as {OWN if understood.form == 'csv' else understood.form}.",
            *columns,
            *([f"  left over: {', '.join(understood.left_over)}"] if understood.left_over else []),
            *([f"  {counted(len(understood.posts), 'posts')} named by the list"] if understood.posts else []),
        ]
        if verdicts := self.verdicts():
            parts.append(Listing(("verdict", "claims", "misinformation"), verdicts))
        for row in understood.claims.head(3).to_dict("records"):
            parts.append(f"{row['claim_id']}  {row['text']}")
            for name in ("titles", "news_urls", "fact_check_urls"):
                parts += [f"    {name}: {value}" for value in row[name]]
        return [*parts, "A preview: nothing was written."]

    def verdicts(self) -> list[tuple[str, int, str]]:
        """Return each verdict with its number of claims and whether it means misinformation, the most frequent first."""
        claims = self.understood.claims
        if "verdict" not in claims:
            return []
        said = claims["misinformation"] if "misinformation" in claims else [""] * len(claims)
        map_of = dict(zip(claims["verdict"], said, strict=True))
        counts = claims["verdict"].value_counts()
        return [(str(verdict), int(count), map_of[verdict]) for verdict, count in counts.items() if verdict]


def import_claims(
    study: OfStudy,
    path: Path | pd.DataFrame | Frame | None,
    *,
    columns: Mapping[str, str],
    form: str,
    search: str,
    language: str,
    switches: Switches,
) -> ImportedClaims:
    """Add claims from a file, or from Google's fact-checks for a search, to queries/claims.csv."""
    if search:
        understood = _searched(search, language)
    elif path is None:
        raise InputError("name a FILE to import, or use --search")
    else:
        understood = read_list(path, form, columns, switches)
    given_file = study.places.archives[0] / GIVEN_POSTS
    command = "covmis claims import"
    with study.locked(study.places.notes, command), study.locked_inputs(command):
        fresh, known = understood.claims, _known_claims(study)
        examples = len(known) if known is not None and _are_examples(known) else 0
        if examples:
            known = None
        claims = added = fresh
        filled_in, differing = dict[str, int](), dict[str, int]()
        if known is not None:
            _refuse_other_texts(known, fresh, study.places.claims_csv)
            added = fresh[~fresh["claim_id"].isin(used_ids(known))]
            filled_in, differing = _fill_in(known, fresh)
            claims = _appended(known, added)
        forget = purging.read_list(study.places.purge_csv)
        given = [post for post in understood.posts if post.post_id not in forget.posts]
        storage.write_bytes(study.places.claims_csv, claims_csv(claims))
        kept = _keep_given_posts(given_file, given)
    return ImportedClaims(
        claims,
        len(added),
        len(fresh) - len(added),
        kept,
        study.places.relative(given_file),
        understood,
        examples,
        filled_in,
        differing,
    )


def _known_claims(study: OfStudy) -> pd.DataFrame | None:
    """Return the existing claims, if any."""
    path = study.places.claims_csv
    return read_claims(path, "csv") if path.exists() and read_table(path, own=True).rows else None


def before_run(study: OfStudy) -> str:
    """Return what the claims still need before a run can find posts; empty if they have queries or given posts."""
    known = _known_claims(study)
    if known is None or _are_examples(known):
        has = "no claims" if known is None else "only the examples of `covmis new`"
        return f"`covmis claims import FILE`, or write your claims into queries/claims.csv (it has {has})"
    if build_queries(known).empty and not (study.places.archives[0] / GIVEN_POSTS).exists():
        return "`covmis queries suggest CLAIM` proposes keywords; no claim has any yet"
    return ""


def has_examples(study: OfStudy) -> bool:
    """True if the claim list is still the unchanged example of `covmis new`."""
    known = _known_claims(study)
    return known is not None and _are_examples(known)


def _are_examples(known: pd.DataFrame) -> bool:
    """True if the list is still the unchanged example of `covmis new`, which imported claims replace."""
    with as_file(files("covmis_build") / "template/queries/claims.csv") as path:
        examples = read_claims(path, "csv")
    return claims_csv(known) == claims_csv(examples)


def _searched(search: str, language: str) -> ClaimList:
    claims = search_fact_checks(search, language=language)
    if not claims:
        raise InputError(f"no fact-checks were found for '{search}'")
    return ClaimList(checked(claims, Path("Google Fact Check Tools")), "fact_check")


def _refuse_other_texts(known: pd.DataFrame, fresh: pd.DataFrame, path: Path) -> None:
    """Refuse other texts for existing claim ids. Texts changed by an edit are allowed."""
    known_rows = {row["claim_id"]: row for row in known.to_dict("records")}
    for row in fresh.to_dict("records"):
        mine = known_rows.get(row["claim_id"])
        if mine and mine["text"] != row["text"] and not any(row["text"] in edit for edit in mine["edits"]):
            raise InputError(
                f"the id {row['claim_id']} is that of another claim here: {mine['text'][:60]}",
                file=path,
                remedy="Give the claims of the new list other ids",
            )


def _fill_in(known: pd.DataFrame, fresh: pd.DataFrame) -> tuple[dict[str, int], dict[str, int]]:
    """Fill empty fields of existing claims from the list. Returns numbers filled and differing by field. Edits are kept."""
    import pandas as pd

    rows = {row["claim_id"]: row for row in fresh.to_dict("records")}
    filled_in, differing = Counter[str](), Counter[str]()
    for name in filter(fresh.columns.__contains__, FILLED_IN):
        values: list[Any] = []
        column = known.get(name, [""] * len(known))
        for claim, mine, edits in zip(known["claim_id"], column, known["edits"], strict=True):
            theirs = rows.get(claim, {}).get(name, "")
            if name in LISTS and any(value in edit for value in theirs for edit in edits):
                theirs = ""
            filled_in[name] += bool(theirs) and not mine
            differing[name] += bool(theirs) and bool(mine) and theirs != mine
            values.append(mine or theirs)
        known[name] = pd.Series(values, dtype=object)
    return +filled_in, +differing


def _appended(known: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return claims_frame(pd.concat([known, added], ignore_index=True)) if len(added) else known


def _keep_given_posts(given_file: Path, given: list[GivenPost]) -> int:
    """Write the posts that the list contains where `retrieve` finds them, next to those of other lists."""
    posts = {(post.post_id, post.claim_id, post.kind) for post in given}
    if not posts:
        return 0
    if given_file.exists():
        posts |= {
            (row["post_id"], row["claim_id"], row["kind"]) for row in read_table(given_file, own=True).rows
        }
    storage.write_bytes(given_file, storage.csv_bytes(["post_id", "claim_id", "kind"], sorted(posts)))
    return len(posts)


def lint_claims(study: OfStudy, *, accept: Sequence[str]) -> Findings:
    """Return the findings, after applying those in `accept` to queries/claims.csv."""
    with study.locked_inputs("covmis claims lint") if accept else nullcontext():
        claims = read_claims(study.places.claims_csv, "csv")
        findings = lint(claims)
        if accept:
            claims = carry_out(claims, findings.to_frame(), accept)
            storage.write_bytes(study.places.claims_csv, claims_csv(claims))
            findings = replace(lint(claims), accepted=tuple(accept))
    return findings


def select_claims(study: OfStudy, top: int) -> Selection:
    """Set `selected` in queries/claims.csv. Counts, ranks and ties go to queries/selection.csv."""
    if not study.places.table("hits").exists():
        raise InputError("there are no hits yet", remedy="Select all claims, then `covmis run retrieve`")
    with study.locked_inputs("covmis claims select"):
        selection = select(read_claims(study.places.claims_csv, "csv"), study.hits, top)
        storage.write_bytes(study.places.claims_csv, claims_csv(selection.claims))
        rows = selection.counts.to_numpy().tolist()
        storage.write_bytes(
            study.places.selection_csv, storage.csv_bytes(list(selection.counts.columns), rows)
        )
    return selection
