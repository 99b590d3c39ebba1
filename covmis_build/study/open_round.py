"""Open a round: freeze the next claims' sampled posts, with the settings used to build their tables."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import known_label, labels_and_keys
from covmis_build.annotation.channels.sheets import ROW, read_rows
from covmis_build.annotation.checks import how_many, own_again
from covmis_build.annotation.final_labels import LabelSource
from covmis_build.annotation.frozen_items import freeze, frozen_items, next_claims
from covmis_build.annotation.gold import check_seals
from covmis_build.annotation.guideline import as_html, check_defined, read_guideline
from covmis_build.annotation.label_sets import check_meaning, in_todays_labels
from covmis_build.annotation.looks import labelled_before
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.annotation.training import frozen_anew, known_items, write_key, written_reasons
from covmis_build.claims.lists import read_claims
from covmis_build.engine import silent
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.options import is_machine
from covmis_build.places import DRAWS
from covmis_build.sampling.ledger import opened, passed_claims, read_ledger
from covmis_build.study.admit import check_admitted
from covmis_build.study.intents import intent
from covmis_build.study.population import copies_of, pool_of
from covmis_build.study.round import Round
from covmis_build.study.round_settings import settings_of_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from markupsafe import Markup

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.engine import Progress
    from covmis_build.study.intents import Intent
    from covmis_build.study.of_study import OfStudy


def open_round(
    study: OfStudy,
    claims: int | Sequence[str],
    *,
    pilot: bool,
    run: bool,
    predictions: Sequence[Path] = (),
    progress: Progress = silent,
) -> Round:
    """Freeze the sampled posts of the next claims, or of these claims, in the order of claims.csv.

    Out-of-date tables are refused, or rebuilt with `run`. The hashes of `predictions` are recorded as proof that these
    files existed before the round's labels.
    """
    if missing := [path for path in predictions if not path.is_file()]:
        raise InputError("is no file", file=missing[0], remedy="Name a file of predictions")
    registered = {path.name: storage.sha256_of(path) for path in predictions}
    study.need_current(run=run, progress=progress)
    check_admitted(study)
    with study.locked_rounds("covmis round open"):
        tables = {
            name: storage.read_table(study.places.table(name), name) for name in ("sample", "claims", "draws")
        }
        for name, key in {"items": "item_id", "posts": "post_id"}.items():  # load only the sampled rows
            drawn = set(tables["sample"][key])
            tables[name] = storage.read_table(study.places.table(name), name, among=(key, drawn))
        draws = tables.pop("draws")
        if "fact_check" in study.settings.annotation.show:
            verdicts = read_claims(study.places.claims_csv).set_index("claim_id")["verdict"]
            tables["claims"] = tables["claims"].assign(verdict=tables["claims"]["claim_id"].map(verdicts))
        if tables["sample"].empty and draws.empty:
            raise nothing_kept()
        built = [storage.sha256_of(study.places.table(name)) for name in ("sample", "claims", "draws")]
        given = claims if isinstance(claims, int | str) else list(claims)
        asked = intent(study.places, "round open", given, pilot, registered, built)
        if before := opened_before(study, asked, RoundKind.STANCE):
            _hide_posts(study, before)
            return before
        check_meaning(record.all_rounds(study.places.rounds), study.settings.labels)
        guideline = read_guideline(study.places.guideline)
        check_defined(guideline, study.settings.labels, study.places.guideline)
        number = record.next_number(study.places.rounds, RoundKind.STANCE)
        before_this = record.all_rounds(study.places.rounds)
        earlier = [folder.items() for folder in before_this]
        options, named = study.settings.annotation, None
        if isinstance(claims, int):
            if claims < 0:
                raise InputError(f"a round of {claims} claims", remedy="Give a number above 0")
            options = replace(options, claims_per_round=claims or options.claims_per_round)
        else:
            named = [claims] if isinstance(claims, str) else list(claims)
            tables["claims"] = _named(tables["claims"], draws, tables["sample"], named)
            options = replace(options, claims_per_round=len(named))
        round_ = Round(study, study.places.rounds / number)
        with asked.making(number, round_.is_opened):
            looked_at = _keep_draws(study, draws, tables, earlier, options.claims_per_round, named, number)
            _keep_population(study, looked_at, number)
            frozen = freeze(
                **tables,
                earlier=earlier,
                options=options,
                labels=study.settings.labels,
                seed=study.settings.seed,
                pilot=pilot,
                salt=secrets.token_hex(16),
                number=number,
            )
            record.create(
                study.places.rounds,
                frozen,
                options,
                study.settings.labels,
                guideline,
                now=storage.moment(),
                settings=settings_of_tables(study.places, study.settings),
                predictions=registered,
                seen=labelled_before(before_this, set(frozen["claim_id"].astype(str))),
                named=named is not None,
            )
            _hide_posts(study, round_)
        return round_


def opened_before(study: OfStudy, asked: Intent, kind: RoundKind) -> Round | None:
    """Return the round that an earlier call opened and could not tell of, as long as nobody has worked on it."""
    rounds = record.rounds_of_kind(study.places.rounds, kind)
    if not asked.begun or not rounds or rounds[-1].number != asked.begun:
        return None
    folder = rounds[-1]
    if folder.sealed or folder.pushed_at or len(folder.labels()):
        return None
    asked.finish()
    return Round(study, folder.folder, done_before=True)


def guideline_html(study: OfStudy) -> Markup:
    """The guideline as it is now, for people to read; a round that is opened keeps it."""
    return as_html(read_guideline(study.places.guideline))


def _named(
    claims: pd.DataFrame, draws: pd.DataFrame, sample: pd.DataFrame, named: Sequence[str]
) -> pd.DataFrame:
    """Return these claims of the table, if every one took part in a draw."""
    if not named:
        raise InputError("no claim is named")
    looked_at = {*draws["claim_id"], *sample["claim_id"]}
    known = claims["claim_id"].tolist()
    for claim in named:
        if claim not in known:
            raise UnknownName(f"no claim is called '{claim}'", remedy=nearest(claim, known))
        if claim not in looked_at:
            raise _nothing_left(claim)
    return claims[claims["claim_id"].isin(named)]


def _keep_draws(
    study: OfStudy,
    draws: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    earlier: Sequence[pd.DataFrame],
    count: int,
    named: Sequence[str] | None,
    number: str,
) -> list[str]:
    """Write the draws to the ledger, including those that added nothing. Returns the claims of these draws.

    The ledger is written before the round: a missing draw would give items a wrong probability.
    """
    begun = {claim for frozen in earlier for claim in frozen["claim_id"]}
    taken = {item for frozen in earlier for item in frozen["item_id"]}
    sample = tables["sample"]
    waiting = set(sample.loc[~sample["item_id"].isin(taken), "claim_id"])
    order = list(tables["claims"]["claim_id"])
    chosen = next_claims(order, waiting, begun, count)
    ledger = read_ledger(study.places.rounds)
    looked_at = passed_claims(order, waiting, begun, chosen) if named is None else named
    now = opened(ledger, draws, looked_at, number)
    if len(now) > len(ledger):
        storage.write_table(study.places.rounds / DRAWS, now, "draws")
    if named and not chosen:
        raise _nothing_left(named[0])
    return list(looked_at)


def _keep_population(study: OfStudy, claims: Sequence[str], number: str) -> None:
    """Keep which posts of these claims the round's draws could choose. A folder without items is not a round yet."""
    pool = pool_of(study)
    assert pool is not None
    chosen = pool[pool["claim_id"].isin(claims)]
    copies = copies_of(study.places)
    chosen = chosen.assign(copies=chosen["item_id"].map(lambda item: copies.get(item, [])))
    storage.write_table(study.places.rounds / number / record.POPULATION, chosen, "population")


def _nothing_left(claim: str) -> InputError:
    return InputError(
        f"no sampled post of the claim {claim} is left to open",
        remedy="`covmis sample` says what was drawn of each claim",
    )


def nothing_kept() -> InputError:
    """Return the error for current but empty tables."""
    return InputError(
        "no post was found and kept, so that there is nothing to draw from",
        remedy="`covmis status` shows where posts were lost, `covmis queries try` what the queries find",
    )


class Known(NamedTuple):
    """Posts with a known label: frozen items, labels, and reasons."""

    frozen: pd.DataFrame
    gold: pd.DataFrame
    reasons: Mapping[str, str]


def open_training(study: OfStudy, items: int, pass_mark: float | None, sheet: Path | None = None) -> Round:
    """Open a training round with posts of known gold, from sealed rounds or a sheet, for all annotators."""
    with study.locked_rounds("covmis round open"):
        key = storage.sha256_of(sheet) if sheet else ""
        asked = intent(study.places, "round open training", items, pass_mark, key)
        if before := opened_before(study, asked, RoundKind.TRAINING):
            return before
        number = record.next_number(study.places.rounds, RoundKind.TRAINING)
        known = _known_from_sheet(study, sheet) if sheet else _known_from_seals(study)
        chosen = known_items(known.frozen, known.gold, items, number=number, seed=study.settings.seed)
        if not chosen:
            raise InputError(
                "no sealed round has posts whose gold several people stand behind",
                remedy="Seal a round first: training is on posts whose label is known; or name a sheet of them (gold, --gold)",
            )
        round_ = Round(study, RoundKind.TRAINING.folder(study.places.rounds) / number)
        with asked.making(number, round_.is_opened):
            _open_beside(study, RoundKind.TRAINING, number, known, chosen, pass_mark)
        return round_


def _hide_posts(study: OfStudy, round_: Round) -> None:
    """Hide posts of sealed rounds in this one, unless some are hidden: checks for all annotators, repeats for each."""
    options, seed = study.settings.annotation, study.settings.seed
    if round_.pilot or round_.folder.checks or not (options.checks or options.repeats):
        return
    number = f"{RoundKind.CHECKS}{round_.number}"
    known = _known_from_seals(study)
    # Fields that earlier rounds did not show are not shown here: they would reveal the hidden posts.
    alike = [tuple(shown) == options.show for shown in known.frozen["show"]]
    known = known._replace(frozen=known.frozen[alike])
    for_all = known_items(known.frozen, known.gold, how_many(round_.items, options), number=number, seed=seed)
    work = {code: items for code, items in round_.work().items() if not is_machine(code)}
    there = set(known.frozen.loc[known.frozen["salt"] != "", "item_id"]) - set(for_all)
    sealed = [
        folder for folder in record.all_rounds(study.places.rounds) if folder.sealed and not folder.pilot
    ]
    again = own_again(work, sealed, there, options.repeats, number=number, seed=seed)
    hidden = list(dict.fromkeys([*for_all, *(item for items in again.values() for item in items)]))
    if hidden:
        _open_beside(study, RoundKind.CHECKS, number, known, for_all, repeats=again, besides=hidden)


def _open_beside(
    study: OfStudy,
    kind: RoundKind,
    number: str,
    known: Known,
    chosen: list[str],
    pass_mark: float | None = None,
    *,
    repeats: dict[str, list[str]] | None = None,
    besides: Sequence[str] = (),
) -> RoundFolder:
    """Freeze posts of earlier rounds again, with a key of those `chosen` for their known label."""
    settings = study.settings
    guideline = read_guideline(study.places.guideline)
    check_defined(guideline, settings.labels, study.places.guideline)
    people = settings.annotation.people
    options = replace(settings.annotation, annotators=people, per_item=len(people))  # all label each post
    home = kind.folder(study.places.rounds)
    items = frozen_anew(
        known.frozen, besides or chosen, number=number, seed=settings.seed, salt=secrets.token_hex(16)
    )
    write_key(home / number, chosen, known.gold, known.reasons, pass_mark)
    return record.create(
        home,
        items,
        options,
        settings.labels,
        guideline,
        now=storage.moment(),
        repeats=repeats,
    )


def _known_from_seals(study: OfStudy) -> Known:
    rounds = record.all_rounds(study.places.rounds)
    check_seals(rounds)
    sealed = [round_ for round_ in rounds if round_.sealed and not round_.pilot]
    today = study.settings.labels
    check_meaning(rounds, today)
    gold = pd.concat([tables.empty("gold"), *(round_.decisions() for round_ in sealed)], ignore_index=True)
    gold = in_todays_labels(gold, rounds, today)
    frozen = (
        pd.concat([round_.items() for round_ in sealed], ignore_index=True)
        if sealed
        else frozen_items(study.places.rounds)
    )
    return Known(frozen, gold, written_reasons(record.all_labels(study.places.rounds)))


def _known_from_sheet(study: OfStudy, sheet: Path) -> Known:
    """Return the posts of a sheet with the columns item_id, label, and optional reason."""
    rows = read_rows(sheet, ("item_id", "label")).whole(sheet)
    labels: dict[str, str] = {}
    for row in rows:
        label = known_label(row["label"], study.settings.labels)
        if label not in study.settings.labels.values:  # noqa: PD011 - not pandas'
            raise InputError(
                f"'{row['label']}' is no label",
                file=sheet,
                row=int(row[ROW]),
                remedy=f"Use {labels_and_keys(study.settings.labels)}",
            )
        if labels.setdefault(row["item_id"].strip(), label) != label:
            raise InputError(
                f"a second label for {row['item_id']}", file=sheet, row=int(row[ROW]), remedy="Keep one"
            )
    frozen = _anywhere(study, set(labels))
    there = set(frozen["item_id"])
    for row in rows:
        if row["item_id"].strip() not in there:
            raise InputError(
                f"the item {row['item_id']} is in no round and not among the cleaned posts",
                file=sheet,
                row=int(row[ROW]),
                remedy="Name items as claim|post, as the reports do",
            )
    gold = pd.DataFrame(
        [(item, label, LabelSource.ADJUDICATED, "") for item, label in labels.items()],
        columns=["item_id", "label", "how", "round"],
    )
    reasons = {row["item_id"].strip(): reason for row in rows if (reason := row.get("reason", "").strip())}
    return Known(frozen, gold, reasons)


def _anywhere(study: OfStudy, wanted: set[str]) -> pd.DataFrame:
    """Return these items as frozen in a round, otherwise from the cleaned posts."""
    known = frozen_items(study.places.rounds)
    known = known[known["item_id"].isin(wanted)]
    missing = ("item_id", wanted - set(known["item_id"]))
    items = storage.read_table(study.places.table("items"), "items", among=missing)
    if items.empty:
        return known
    claims = storage.read_table(study.places.table("claims"), "claims")
    drawn = items[["item_id", "claim_id", "post_id", "kind"]].assign(
        p_sample=1.0, draw="", design="", automatic_label="", audited=False, p_audit=0.0
    )
    posts = storage.read_table(study.places.table("posts"), "posts", among=("post_id", set(items["post_id"])))
    cleaned = freeze(
        drawn,
        items,
        claims,
        posts,
        [],
        replace(study.settings.annotation, claims_per_round=len(claims)),
        study.settings.labels,
        seed=study.settings.seed,
        number="",
    )
    return pd.concat([known, cleaned], ignore_index=True) if len(known) else cleaned
