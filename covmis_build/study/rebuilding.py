"""Rebuild COVMis-Stance from its published claims and post ids, and compare the result.

The user provides the files (`misinformation.csv`, `covmis_stance.csv`, and optionally CoAID's releases); covmis contains
none of them. `covmis collect ids` looks up the posts; the other steps are those of every study.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.annotation.round_folder import all_rounds
from covmis_build.claims import coaid
from covmis_build.claims.claim import claims_csv
from covmis_build.claims.lists import read_list
from covmis_build.errors import InputError, counted
from covmis_build.files.columns import need
from covmis_build.files.ids import check_ids
from covmis_build.files.reading import read_table
from covmis_build.options import KINDS, Cleaning
from covmis_build.places import Places
from covmis_build.report.result import Result
from covmis_build.sampling.audit import AUDITED, AUTOMATIC
from covmis_build.study.claims import GIVEN_POSTS
from covmis_build.study.new import new_study

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd

    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy

CLAIMS, CORPUS = "misinformation.csv", "covmis_stance.csv"
TITLE = "COVMis-Stance, built again"
KAPPA = 0.67
"""Kappa of the paper's annotators (3.1); their labels were not published."""

AGAIN = "drawn again"


@dataclass(frozen=True, slots=True, repr=False)
class Rebuilding(Result):
    """The new study, and how much of the published corpus it covers."""

    study: OfStudy
    claims: int
    published: int
    title_posts: int

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis new --from covmis-stance --json` prints."""
        counts = {"claims": self.claims, "published": self.published, "title_posts": self.title_posts}
        return {"folder": str(self.study.places.folder), "title": self.study.settings.title, **counts}

    @property
    def summary(self) -> Summary:
        """Return what was created and the next steps."""
        folder = self.study.places.folder
        posts = f"{self.published:,} published posts, {self.title_posts:,} of CoAID's"
        return [
            f"Made {folder}/: {counted(self.claims, 'claims')}, {posts}.",
            f"Next: `cd {folder}`, `covmis collect ids data/archive/{GIVEN_POSTS}`, then `covmis run`.",
        ]


def new_from_published(
    folder: Path, files: Path, opened: Callable[[Path], OfStudy], *, title: str, releases: Path | None
) -> Rebuilding:
    """Create a study with the 111 claims, and the published ids as posts to look up.

    `files` is the folder of the published corpus. `releases` is that of CoAID, whose title ids are added (3.1: post ids
    found by titles are those that CoAID gives). Errors in them are reported before anything is created.
    """
    pairs = _published_pairs(files)
    claims = read_list(files / CLAIMS).claims
    known = set(claims["claim_id"])
    given = {(f"x:{post}", claim_id, kind) for claim_id, post, kind in pairs}
    titles = {pair for pair in coaid.posts(releases) if pair[0] in known} if releases is not None else set()
    given |= {(post_id, claim_id, "title") for claim_id, post_id in titles}
    places = Places(folder)
    posts = storage.csv_bytes(["post_id", "claim_id", "kind"], sorted(given))
    own = {places.claims_csv: claims_csv(claims), places.archives[0] / GIVEN_POSTS: posts}
    new_study(folder, title or TITLE, own, cleaning=Cleaning())  # one label for a post, as in the paper
    return Rebuilding(opened(folder), len(claims), len(pairs), len(titles))


def _published_pairs(files: Path) -> list[tuple[str, str, str]]:
    """Return claim, post id and query type of every row of the published corpus."""
    path = files / CORPUS
    sheet = read_table(path)
    rows = sheet.whole(path)
    claim, post, kind = (need(path, sheet.header, [name]) for name in ("mid", "tweet_id", "source"))
    check_ids(path, [row[post] for row in rows])
    for number, row in zip(sheet.numbers, rows, strict=True):
        if row[kind] not in KINDS:
            raise InputError(
                f"the source '{row[kind]}' is none of the four kinds",
                file=path,
                row=number,
                remedy=f"Allowed: {', '.join(KINDS)}",
            )
    return [(row[claim], row[post], row[kind]) for row in rows]


@dataclass(frozen=True, slots=True, repr=False)
class BesidePublished(Result):
    """A study compared with the published corpus that it rebuilds."""

    rows: pd.DataFrame
    """One row per claim and query type: published, matched, cleaned, sampled; outcomes of published posts; additional posts."""
    totals: pd.DataFrame
    """One row per figure: published, here, and why they differ."""
    reasons: dict[str, int]
    """Outcome → number of published posts."""

    def to_frame(self) -> pd.DataFrame:
        """A row per claim and query type."""
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """As `covmis status --published --json` prints it."""
        return {"totals": self.totals, "published_posts": self.reasons, "rows": self.rows}

    @property
    def summary(self) -> Summary:
        """Return the totals, and the outcomes of the published posts."""
        fates = f"The published posts: {_counted(self.reasons)}."
        return [self.totals, "", fates, "Each claim and kind: data/build/published.csv"]


def beside_published(study: OfStudy, files: Path) -> BesidePublished:
    """Compare by claim and query type: published, matched, kept by cleaning, sampled; and why they differ.

    Also written to data/build/published.csv.
    """
    import pandas as pd

    pairs = _published_pairs(files)
    looked_up = set(study.posts["post_id"])
    dropped = study.dropped
    step = dict(zip(zip(dropped["claim_id"], dropped["post_id"], strict=True), dropped["step"], strict=True))
    kept = set(zip(study.items["claim_id"], study.items["post_id"], strict=True))
    drawn = _kinds(study.sample)
    fates: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for claim_id, native, kind in pairs:
        pair = (claim_id, f"x:{native}")
        fates[claim_id, kind][_fate(pair, kind, looked_up, step, kept, drawn)] += 1
    published = {(claim_id, f"x:{native}"): kind for claim_id, native, kind in pairs}
    besides: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for pair, kind in drawn.items():
        if published.get(pair) != kind:
            besides[pair[0], kind][_why_not_published(published.get(pair))] += 1
    hits, items, sample = (
        frame.groupby(["claim_id", "kind"])["post_id"].nunique()
        for frame in (study.hits, study.items, study.sample)
    )
    rows = []
    for key in sorted({*fates, *besides}):
        counts = [int(table.get(key, 0)) for table in (hits, items, sample)]
        rows.append([*key, fates[key].total(), *counts, _counted(fates[key]), _counted(besides[key])])
    columns = ["claim_id", "kind", "published", "found", "cleaned", "sampled", "published_posts", "others"]
    storage.write_bytes(study.places.build / "published.csv", storage.csv_bytes(columns, rows))
    reasons = dict(sum(fates.values(), Counter[str]()))
    return BesidePublished(pd.DataFrame(rows, columns=columns), _totals(study, files, published), reasons)


def _kinds(sample: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the query type of each claim-post pair."""
    pairs = zip(sample["claim_id"], sample["post_id"], strict=True)
    return dict(zip(pairs, sample["kind"], strict=True))


def _totals(study: OfStudy, files: Path, published: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Return posts, claims, posts per claim, query types, automatic labels, labels and kappa: published, here, reason."""
    import pandas as pd

    sheet = read_table(files / CORPUS)
    header, rows = sheet.header, sheet.whole(files / CORPUS)
    claim, post, rule, label = (
        need(files / CORPUS, header, [name]) for name in ("mid", "tweet_id", "auto", "label")
    )
    gold, sample = study.gold(), study.sample
    if rounds := all_rounds(study.places.rounds):
        frozen = pd.concat([round_.items() for round_ in rounds if not round_.pilot])
        sample = frozen[frozen["item_id"].isin(gold["item_id"])]
    drawn = _kinds(sample)
    again = drawn.keys() & published.keys()
    sizes = [Counter(claim_id for claim_id, _ in pairs) for pairs in (published, drawn)]
    gone = sizes[0].keys() - sizes[1].keys()
    design = study.settings.sampling
    asked = f"{design.per_claim} asked for" + (
        ", more or fewer as chance has it" if design.design == "poisson" else ""
    )
    figures: list[tuple[str, Any, Any, str]] = [
        (
            "posts",
            len(published),
            len(drawn),
            f"{len(again):,} drawn again, {len(drawn) - len(again):,} others",
        ),
        ("claims", len(sizes[0]), len(sizes[1]), f"{len(gone):,} lack posts or gold labels" if gone else ""),
    ]
    for name, function in (("mean", mean), ("min", min), ("max", max)):
        theirs, ours = (function(size.values()) if size else None for size in sizes)
        figures.append((f"posts a claim, {name}", theirs, ours, asked))
    for kind in KINDS:
        here = [pair for pair, drawn_as in drawn.items() if drawn_as == kind]
        same = sum(published.get(pair) == kind for pair in here)
        otherwise = sum(pair in published for pair in here) - same
        why = f"{same:,} drawn again, {otherwise:,} published as another kind, {len(here) - same - otherwise:,} others"
        figures.append((f"kind {kind}", Counter(published.values())[kind], len(here), why))
    by_rule, audited = (int((gold["how"] == how).sum()) for how in (AUTOMATIC, AUDITED))
    why = f"those that link to a fact-check; {audited:,} more of them were shown to people"
    figures.append(("labelled by rule", sum(row[rule] == "True" for row in rows), by_rule, why))
    labels = dict(zip(gold["item_id"], gold["label"], strict=True))
    known = {f"{row[claim]}|x:{row[post]}": row[label] for row in rows}
    names = study.settings.labels.values  # noqa: PD011 - of the scheme, not of a frame
    for name in names:
        labelled = [item for item, given in labels.items() if given == name]
        same = sum(known.get(item) == name for item in labelled)
        otherwise = sum(item in known for item in labelled) - same
        why = f"{same:,} as published, {otherwise:,} published otherwise, {len(labelled) - same - otherwise:,} of others"
        figures.append((f"label {name}", Counter(known.values())[name], len(labelled), why))
    figures.append(("kappa", KAPPA, _kappa(study), "of this study's annotators"))
    return pd.DataFrame(figures, columns=["figure", "published", "here", "why"], dtype=object)


def _kappa(study: OfStudy) -> float | None:
    """Return kappa over all rounds from the last report."""
    from covmis_build.annotation.report_files import read_figure

    kappa = read_figure(study.places.rounds / "summary.json", "kappa")
    return kappa.value if kappa else None


def _counted(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {what}" for what, count in Counter(counts).most_common())


def _fate(
    pair: tuple[str, str],
    kind: str,
    looked_up: set[str],
    step: dict[tuple[str, str], str],
    kept: set[tuple[str, str]],
    drawn: dict[tuple[str, str], str],
) -> str:
    """Return the outcome of a published post."""
    if pair in drawn:
        return AGAIN if drawn[pair] == kind else f"{AGAIN} as {drawn[pair]}"
    if pair in kept:
        return "not drawn this time"
    if pair[1] not in looked_up:
        return "without a post in the archive"
    return f"dropped at {step[pair]}" if pair in step else "found, but for another claim"


def _why_not_published(published_as: str | None) -> str:
    """Return why a sampled post was not published for this claim and query type."""
    return "not among the published" if published_as is None else f"published as {published_as}"
