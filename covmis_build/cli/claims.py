"""`covmis claims`: bring a claim list in, check it, choose from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.command import Printed
from covmis_build.cli.options import pairs_of
from covmis_build.errors import InputError, counted
from covmis_build.report.result import Result
from covmis_build.study.study import Study

app = Typer(help="Import, check and select claims.", no_args_is_help=True)


@app.command("import")
def import_list(
    study: Study,
    source: Annotated[
        Path | None,
        Argument(metavar="FILE", help="CSV, TSV, JSON, JSON lines, xlsx; or a folder of CoAID releases."),
    ] = None,
    text: Annotated[str, Option(metavar="COLUMN", help="The column with the claims' texts.")] = "",
    column: Annotated[
        list[str] | None,
        Option(metavar="FIELD=COLUMN", help="The column of another field (FIELD=: none); repeatable."),
    ] = None,
    look: Annotated[bool, Option("--look", help="Only preview the list; write nothing.")] = False,
    form: Annotated[
        str, Option("--format", help="csv, coaid, claim_review, fact_check, liar, … (default: detected).")
    ] = "",
    search: Annotated[str, Option(help="Search Google Fact Check Tools instead of reading a file.")] = "",
    language: Annotated[str, Option(help="With --search: only reviews in this language.")] = "",
) -> Result:
    """Add claims from a list (CSV, Excel, JSON, ClaimReview).

    Columns are detected by their names; --look shows the result. A FIELD is claim_id, titles, news_urls, fact_check_urls,
    language, keywords, first_seen, verdict or posts. The column misinformation translates verdicts to yes, no or empty.

    Post ids in the list (CoAID, FakeNewsNet) go to data/archive/given-posts.csv and match as query type title.
    --search needs GOOGLE_FACT_CHECK_KEY in the environment.

    Example: covmis claims import misinformation.csv
    """
    columns = pairs_of("--column", column, "FIELD=COLUMN", str) | ({"text": text} if text else {})
    if look:
        if source is None:
            raise InputError("--look is for a FILE", remedy="Name the list to look at")
        return study.look_at_claims(source, columns=columns, form=form)
    return study.import_claims(source, columns=columns, form=form, search=search, language=language)


@app.command()
def lint(
    study: Study,
    accept: Annotated[
        list[str] | None,
        Option(metavar="FINDING", help="Carry out this finding's proposal; may be repeated."),
    ] = None,
) -> Result:
    """Check the claim list and propose corrections.

    Accepted edits are written to queries/claims.csv, with what stood there before in the column edits.

    Example: covmis claims lint --accept simplify:538
    """
    findings = study.lint_claims(accept=accept or ())
    edits = [f"{counted(len(accept), 'edits')} made."] if accept else []
    return Printed({"accepted": accept or [], **findings.to_dict()}, [*edits, *findings.summary])


@app.command()
def select(
    study: Study,
    top: Annotated[int, Option(min=1, help="How many claims to keep selected.")],
) -> Result:
    """Select the claims with the most posts.

    Writes the column `selected` of queries/claims.csv, and counts, ranks and ties to queries/selection.csv.

    Example: covmis claims select --top 200
    """
    return study.select_claims(top)
