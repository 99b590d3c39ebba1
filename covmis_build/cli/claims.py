"""`covmis claims`: bring a claim list in, check it, choose from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, print_result, tell, warn
from covmis_build.cli.options import pairs_of
from covmis_build.errors import InputError, counted
from covmis_build.study.study import open_study

app = Typer(help="Import, check and select claims.", no_args_is_help=True)


@app.command("import")
def import_list(
    source: Annotated[
        Path | None,
        Argument(metavar="FILE", help="CSV, TSV, JSON, JSON lines, xlsx; or a folder of CoAID releases."),
    ] = None,
    text: Annotated[str, Option(metavar="COLUMN", help="The column with the claims' texts.")] = "",
    column: Annotated[
        list[str] | None, Option(metavar="FIELD=COLUMN", help="The column of another field; repeatable.")
    ] = None,
    look: Annotated[bool, Option("--look", help="Only preview the list; write nothing.")] = False,
    form: Annotated[
        str, Option("--format", help="csv, coaid, claim_review, fact_check, liar, … (default: detected).")
    ] = "",
    search: Annotated[str, Option(help="Search Google Fact Check Tools instead of reading a file.")] = "",
    language: Annotated[str, Option(help="With --search: only reviews in this language.")] = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add claims from a list (CSV, Excel, JSON, ClaimReview).

    Columns are detected by their names; --look shows the result. A FIELD is claim_id, titles, news_urls, fact_check_urls,
    language, keywords, first_seen, verdict or posts. The column misinformation translates verdicts to yes, no or empty.

    Post ids in the list (CoAID, FakeNewsNet) go to data/archive/given-posts.csv and match as query type title.
    --search needs GOOGLE_FACT_CHECK_KEY in the environment.

    Example: covmis claims import misinformation.csv
    """
    study = open_study(folder)
    columns = pairs_of("--column", column, "FIELD=COLUMN") | ({"text": text} if text else {})
    if look:
        if source is None:
            raise InputError("--look is for a FILE", remedy="Name the list to look at")
        looked = study.look_at_claims(source, columns=columns, form=form)
        warn(*looked.understood.notes)
        print_result(looked, as_json=as_json)
        return
    imported = study.import_claims(source, columns=columns, form=form, search=search, language=language)
    warn(*imported.understood.notes)
    print_result(imported, as_json=as_json)


@app.command()
def lint(
    accept: Annotated[
        list[str] | None,
        Option(metavar="FINDING", help="Carry out this finding's proposal; may be repeated."),
    ] = None,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the claim list and propose corrections.

    Accepted edits are written to queries/claims.csv, with what stood there before in the column edits.

    Example: covmis claims lint --accept simplify:538
    """
    findings = open_study(folder).lint_claims(accept=accept or ())
    edits = [f"{counted(len(accept), 'edits')} made."] if accept else []
    tell({"accepted": accept or [], **findings.to_dict()}, [*edits, *findings.summary], as_json=as_json)


@app.command()
def select(
    top: Annotated[int, Option(min=1, help="How many claims to keep selected.")],
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Select the claims with the most posts.

    Writes the column `selected` of queries/claims.csv, and counts, ranks and ties to queries/selection.csv.

    Example: covmis claims select --top 200
    """
    selection = open_study(folder).select_claims(top)
    warn(*selection.warnings)
    print_result(selection, as_json=as_json)
