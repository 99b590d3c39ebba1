"""`covmis release`, `hydrate` and `verify`: the corpus to publish, its texts brought back, its checks."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, progress, say, warn
from covmis_build.errors import CheckFailed, InputError

TEXT_WARNING = (
    "this release contains posts' texts. Platforms' terms mostly forbid passing them on, and what authors delete must "
    "disappear: publish ids, and keep texts to yourself, unless you know that you may."
)


def release(
    text: Annotated[
        bool | None,
        typer.Option("--text/--ids-only", help="With texts, or ids only (default: [release] text)."),
    ] = None,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="Also write bundle.zip: all that a rebuild needs, no texts.")
    ] = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write data/release/: the corpus in three formats, its card, methods, statistics, metadata and checksums.

    Made from the rounds as they were frozen and labelled; posts on queries/purge.csv are left out and counted.

    Example: covmis release --bundle
    """
    from covmis_build.corpus import make_corpus
    from covmis_build.corpus.publish import write_release
    from covmis_build.corpus.release import left_out
    from covmis_build.publication import gather, gold_and_frozen, read_purged, write_bundle
    from covmis_build.study import open_study

    opened = open_study(study)
    options = opened.release if text is None else replace(opened.release, text=text)
    if options.text:
        warn(TEXT_WARNING)
    purged = read_purged(opened)
    gold, frozen = gold_and_frozen(opened)
    corpus = make_corpus(gold, frozen, options, purged=purged)
    out = left_out(gold, frozen, purged)
    facts = gather(opened, corpus, gold, frozen, out, options)
    for one in facts.differences:
        warn(f"{one}; the card tells of the settings that governed the data")
    write_release(
        opened.release_folder, corpus, facts, frozen.drop_duplicates("item_id").set_index("item_id")["text"]
    )
    result: dict[str, Any] = {
        "folder": opened.relative(opened.release_folder), "rows": len(corpus), "claims": corpus["claim_id"].nunique(),
        "text": options.text, "left_out": {reason.replace(" ", "_"): count for reason, count in out.items()},
        "differences": [asdict(one) for one in facts.differences], "bundle": None,
    }  # fmt: skip
    if bundle:
        result["bundle"] = opened.relative(write_bundle(opened, corpus, purged))
    if as_json:
        emit_json(result)
        return
    gone = ", ".join(f"{count:,} {reason}" for reason, count in out.items() if count)
    say(
        f"{len(corpus):,} posts on {result['claims']:,} claims in {result['folder']}/"
        + (" with texts" if options.text else ", ids only")
        + (f"; left out: {gone}." if gone else "."),
        f"Read {result['folder']}/card.html; methods.md has two paragraphs for a paper.",
        *([f"Bundle for a rebuild: {result['bundle']}."] if bundle else []),
    )


def hydrate(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="A released corpus, or a bundle (default: the study's corpus)."
        ),
    ] = None,
    archive: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Where posts are; repeatable (default: the study's archive)."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where to write (default: hydrated/ beside FILE, or in data/build)."
        ),
    ] = None,
    as_posted: Annotated[
        bool, typer.Option("--as-posted", help="Leave accounts' names in the texts.")
    ] = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring texts back to a release that has ids only, from posts in a local archive; list what is gone.

    Fetch the posts first: `covmis collect ids corpus.csv`. A bundle becomes a study in --into DIR: put posts into its
    archive, hydrate it once more if they come later, then `covmis run` and `covmis release` build the same corpus.

    Example: covmis hydrate corpus.csv --archive posts/ --into with-texts/
    """
    from covmis_build.study import open_study

    if file is not None and file.suffix == ".zip":
        if into is None:
            raise InputError("a bundle needs a place to become a study", remedy="Name a folder with --into")
        _rebuild(file, into, archive or [], as_json=as_json)
        return
    opened = None if file is not None and archive else open_study(study)
    source = file or (opened.release_folder / "corpus.parquet" if opened else Path("corpus.parquet"))
    places = archive or (opened.archives if opened else [])
    beside = opened.build if opened and file is None else source.parent
    _hydrate(
        source, places, into or beside / "hydrated", opened.purge_csv if opened else None, mask=not as_posted,
        as_json=as_json,
    )  # fmt: skip


def _rebuild(file: Path, into: Path, places: list[Path], *, as_json: bool) -> None:
    from covmis_build.publication import rebuild

    with progress() as report:
        result = rebuild(file, into, places, report)
    if as_json:
        emit_json(result)
        return
    say(
        f"{into} is a study now: {result['frozen']:,} frozen posts, {result['without_text']:,} of them without text."
    )
    if result["without_text"]:
        say("Put the posts into its archive, then run this again.")
    say(f"Next: `covmis run --study {into}`, then `covmis release --study {into}`.")


def _hydrate(
    source: Path, places: list[Path], into: Path, purge_list: Path | None, *, mask: bool, as_json: bool
) -> None:
    from covmis_build.corpus import read_corpus, write_corpus
    from covmis_build.corpus.convert import once
    from covmis_build.corpus.hydrate import hydrate as join
    from covmis_build.corpus.hydrate import write_gone
    from covmis_build.publication import posts_of

    corpus = once(read_corpus(source), source)
    with progress() as report:
        posts = posts_of(corpus, places, report, purge_list)
    found = join(corpus, posts, mask=mask)
    target, gone = into / f"corpus{source.suffix}", into / "gone.csv"
    write_corpus(target, found.corpus, text=True)
    write_gone(gone, found.gone)
    there = len(corpus) - len(found.gone)
    result = {
        "rows": len(corpus), "found": there, "gone": len(found.gone), "corpus": str(target), "list": str(gone),
        "reasons": [{"reason": reason, "count": count} for reason, count in found.reasons.items()],
    }  # fmt: skip
    if as_json:
        emit_json(result)
        return
    say(f"{there:,} of {len(corpus):,} posts have their text again: {target}")
    if len(found.gone):
        told = ", ".join(f"{count:,} {reason}" for reason, count in found.reasons.items())
        say(f"{len(found.gone):,} are gone ({told}): {gone}")
    warn("texts are for your own work: the platforms' terms apply to them.")


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A bundle, a release's folder or one of its files."),
    ] = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a release or a bundle: checksums, formats, weights; of a bundle also rounds and seals.

    Example: covmis verify data/release/bundle.zip
    """
    from covmis_build.corpus.verify import check_bundle, check_corpus, check_release
    from covmis_build.publication import check_seals
    from covmis_build.study import open_study

    place = file or open_study(study).release_folder
    if not place.exists():
        raise InputError("is not there", file=place, remedy="Make it with `covmis release`")
    if place.suffix == ".zip":
        checks = check_bundle(place)
        checks += check_seals(place) if all(one.passed for one in checks) else []
    elif place.is_dir() or (place.parent / "checksums.txt").is_file():
        checks = check_release(place if place.is_dir() else place.parent)
    else:
        from covmis_build.corpus import read_corpus

        checks = check_corpus(read_corpus(place))
    failed = [one for one in checks if not one.passed]
    if as_json:
        rows = [{"check": one.what, "passed": one.passed, "detail": one.detail} for one in checks]
        emit_json({"file": str(place), "passed": not failed, "checks": rows})
    else:
        for one in checks:
            say(
                f"{'ok    ' if one.passed else 'FAILED'}  {one.what}"
                + (f": {one.detail}" if one.detail else "")
            )
    if failed:
        raise CheckFailed(f"{place}: {len(failed)} of {len(checks)} checks failed")
