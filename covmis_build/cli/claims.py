"""`covmis claims`: bring a claim list in, check it, choose from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covmis_build import storage
from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say, warn
from covmis_build.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.study import Study

app = typer.Typer(help="The claim list: import, check, choose.", no_args_is_help=True)
GIVEN = "given-posts.csv"


@app.command("import")
def import_list(
    source: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A claim list, or a folder of CoAID releases.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="csv, coaid, claim_review or fact_check (default: found out).")
    ] = "",
    search: Annotated[
        str, typer.Option(help="Instead of a file: ask Google Fact Check Tools for this.")
    ] = "",
    language: Annotated[str, typer.Option(help="With --search: only reviews in this language.")] = "",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the claims of a list to queries/claims.csv; claims already there stay as they are.

    Posts that a list names itself (CoAID) go to data/archive/given-posts.csv and become hits of kind title.
    --search needs a key in the environment variable GOOGLE_FACT_CHECK_KEY.

    Example: covmis claims import misinformation.csv
    """
    from covmis_build.claims import claims_csv
    from covmis_build.claims.edits import used_ids
    from covmis_build.study import open_study

    opened = open_study(study)
    fresh = _fetched(search, language) if search else _listed(source, form)
    known = _known(opened)
    if known is not None:
        used = used_ids(known)
        added = fresh[~fresh["claim_id"].isin(used)]
        _refuse_other_texts(known, fresh, opened)
        merged = _together(known, added)
    else:
        added = merged = fresh
    storage.write_bytes(opened.claims_csv, claims_csv(merged))
    given = _keep_given(opened, source) if source is not None else 0
    if as_json:
        emit_json(
            {
                "added": len(added),
                "already_there": len(fresh) - len(added),
                "claims": len(merged),
                "given_posts": given,
            }
        )
        return
    say(
        f"{len(added):,} claims added, {len(fresh) - len(added):,} already there: {opened.relative(opened.claims_csv)}"
    )
    if given:
        file = opened.relative(opened.archives[0] / GIVEN)
        say(f"{given:,} posts named by the list: {file}")
        say(f"They are ids: their posts must be in the archive, or come with `covmis collect ids {file}`.")
    say("Next: `covmis claims lint`.")


def _listed(source: Path | None, form: str) -> pd.DataFrame:
    from covmis_build.claims import read_claims

    if source is None:
        raise InputError("name a FILE to import, or use --search")
    return read_claims(source, form)


def _fetched(search: str, language: str) -> pd.DataFrame:
    from covmis_build.claims import search_fact_checks
    from covmis_build.claims.reading import checked

    rows = search_fact_checks(search, language=language)
    if not rows:
        raise InputError(f"no fact-checks were found for '{search}'")
    return checked(rows, Path("Google Fact Check Tools"))


def _known(study: Study) -> pd.DataFrame | None:
    from covmis_build.claims import read_claims
    from covmis_build.text.sheets import read_rows

    if not study.claims_csv.exists() or not read_rows(study.claims_csv)[1]:
        return None
    return read_claims(study.claims_csv, "csv")


def _refuse_other_texts(known: pd.DataFrame, fresh: pd.DataFrame, study: Study) -> None:
    """An id stands for one claim for ever: another list may not bring it with other words, unless these were edited."""
    mine = {row["claim_id"]: row for row in known.to_dict("records")}
    for row in fresh.to_dict("records"):
        one = mine.get(row["claim_id"])
        if one and one["text"] != row["text"] and not any(row["text"] in edit for edit in one["edits"]):
            raise InputError(
                f"the id {row['claim_id']} is that of another claim here: {one['text'][:60]}",
                file=study.claims_csv,
                remedy="Give the claims of the new list other ids",
            )


def _together(known: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([known, added], ignore_index=True) if len(added) else known


def _keep_given(study: Study, source: Path) -> int:
    """Write the posts that the list names where the stage `retrieve` finds them, beside those of other lists."""
    from covmis_build.claims import given_posts
    from covmis_build.text.sheets import read_rows

    posts = {(one.post_id, one.claim_id, one.kind) for one in given_posts(source)}
    path = study.archives[0] / GIVEN
    if not posts:
        return 0
    if path.exists():
        posts |= {(row["post_id"], row["claim_id"], row["kind"]) for row in read_rows(path)[1]}
    storage.write_bytes(path, storage.csv_bytes(["post_id", "claim_id", "kind"], sorted(posts)))
    return len(posts)


@app.command()
def lint(
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="FINDING", help="Carry out this finding's proposal; may be repeated."),
    ] = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the claim list against the rules of A.1; every finding names its rule and proposes an edit.

    Accepted edits are written to queries/claims.csv, with what stood there before in the column edits.

    Example: covmis claims lint --accept simplify:538
    """
    from covmis_build.claims import claims_csv, read_claims
    from covmis_build.claims import lint as findings_of
    from covmis_build.claims.edits import accept as carry_out
    from covmis_build.study import open_study

    opened = open_study(study)
    claims = read_claims(opened.claims_csv, "csv")
    findings = findings_of(claims)
    if accept:
        claims = carry_out(claims, findings, accept)
        storage.write_bytes(opened.claims_csv, claims_csv(claims))
        findings = findings_of(claims)
    if as_json:
        emit_json({"accepted": accept or [], "claims": len(claims), "findings": findings})
        return
    for row in findings.to_dict("records"):
        say(f"{row['finding']}  ({row['section']}) {row['says']}")
        for line in str(row["proposal"]).splitlines():
            say(f"    → {line}")
    many = f"{len(accept):,} edits made; " if accept else ""
    say(f"{many}{len(findings):,} findings in {len(claims):,} claims.")


@app.command()
def select(
    top: Annotated[int, typer.Option(min=1, help="How many claims to keep selected.")],
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Select the claims with most posts found through titles and addresses, as the paper did (A.1).

    Writes the column `selected` of queries/claims.csv, and counts, ranks and ties to queries/selection.csv.

    Example: covmis claims select --top 200
    """
    from covmis_build.claims import claims_csv, read_claims
    from covmis_build.claims import select as choose
    from covmis_build.study import open_study

    opened = open_study(study)
    if not opened.table("hits").exists():
        raise InputError("there are no hits yet", remedy="Select all claims, then `covmis run retrieve`")
    claims = read_claims(opened.claims_csv, "csv")
    chosen = choose(claims, storage.read_table(opened.table("hits"), "hits"), top)
    storage.write_bytes(opened.claims_csv, claims_csv(chosen.claims))
    counted = opened.claims_csv.with_name("selection.csv")
    rows = chosen.counts.to_numpy().tolist()
    storage.write_bytes(counted, storage.csv_bytes(list(chosen.counts.columns), rows))
    selected = chosen.counts[chosen.counts["selected"]]
    if as_json:
        emit_json({"selected": len(selected), "of": len(claims), "claims": chosen.counts})
        return
    grid(selected.head(20).to_numpy().tolist(), list(selected.columns))
    say(f"{len(selected):,} of {len(claims):,} claims selected; all counts: {opened.relative(counted)}")
    ties = int(chosen.counts["tied"].sum())
    if ties:
        warn(
            f"{ties:,} claims have as many posts as the last one selected; among them the order of the list decided"
        )
