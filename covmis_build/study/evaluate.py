"""Evaluate files: systems against gold with the label scheme of gold's study; splits, and leakage between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build import storage
from covmis_build.datasets.catalogue import published_for
from covmis_build.datasets.conversion import corpora_folder
from covmis_build.engine.port import silent
from covmis_build.errors import CheckFailed, InputError, UnknownName, nearest
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.gold_and_systems import (
    Names,
    gold_and_systems,
    parts_of_spec,
    read_spec,
    read_specs,
)
from covmis_build.evaluation.keys import (
    check_texts,
    kept_together,
    keys_of,
    known_keys,
    near_copies_of,
    words_of,
)
from covmis_build.evaluation.label_files import common_id, read_labels
from covmis_build.evaluation.leakage import EDITS, compared, leakage
from covmis_build.evaluation.over_posts import score_over_posts
from covmis_build.evaluation.score import score
from covmis_build.evaluation.soft_labels import people_table, score_soft
from covmis_build.evaluation.split import PARTS, identities, splits
from covmis_build.evaluation.times import times
from covmis_build.files.columns import column_of
from covmis_build.report.result import Result
from covmis_build.study.score import Over, check_over, design_of_gold
from covmis_build.study.study import study_of
from covmis_build.text.near_duplicates import near_duplicate_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from covmis_build.engine.port import Progress
    from covmis_build.evaluation.keys import Values
    from covmis_build.evaluation.label_files import Labelled
    from covmis_build.evaluation.leakage import Leakage, Pairs
    from covmis_build.evaluation.over_posts import ScoresOverPosts
    from covmis_build.evaluation.scores import Scores
    from covmis_build.evaluation.soft_labels import SoftScores
    from covmis_build.report.summary import Summary
    from covmis_build.stats.over_posts import Design
    from covmis_build.study.of_study import OfStudy


@dataclass(frozen=True)
class FilesToScore:
    """Gold and systems read from files, and the label scheme: as declared, the study's, or the labels in gold."""

    gold: Labelled
    systems: dict[str, list[Labelled]]
    labels: list[str]
    order: list[str] | None
    poles: list[str] | None
    labels_from_gold: bool
    study: OfStudy | None = None
    """The study to which gold belongs."""

    @property
    def title(self) -> str:
        """The study's title."""
        return self.study.settings.title if self.study else ""

    @property
    def scheme(self) -> dict[str, Any]:
        """The scheme arguments of `score`, `compare` and `meta`."""
        return {"labels": self.labels, "order": self.order, "poles": self.poles}

    @property
    def columns(self) -> list[dict[str, str]]:
        """The label column of each file."""
        sides = [("gold", self.gold), *((name, run) for name, runs in self.systems.items() for run in runs)]
        return [{"of": side, "file": table.name, "column": table.label_column} for side, table in sides]

    def joined_by(self, *, by_position: bool) -> tuple[str, ...]:
        """Return the key that joins the rows of gold and systems."""
        return gold_and_systems(self.gold, self.systems, by_position=by_position).joined_by

    def people(self, file: str) -> str | None:
        """Return the file of individual labels: as named, or the one in gold's release, or none."""
        if file:
            return None if file == "none" else file
        gold = Path(self.gold.file)
        beside = gold.with_name("annotations.csv")
        return str(beside) if gold.stem == "corpus" and beside.is_file() else None

    def design(self) -> Design | None:
        """Return how gold's items were sampled, if this study sampled them."""
        return design_of_gold(self.study, self.gold.table) if self.study else None


def files_to_score(
    gold: str,
    systems: Sequence[str],
    *,
    id_column: str = "",
    labels: Sequence[str] = (),
    order: Sequence[str] = (),
    poles: Sequence[str] = (),
    folder: Path | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
) -> FilesToScore:
    """Read gold (FILE[:COLUMN]) and each system ([NAME=]FILE[:COLUMN]), and find the label scheme.

    `map` says what labels of the files are called here.
    """
    _, table = read_spec(gold, id_column)
    study = study_of(Path(table.file), folder)
    renamed = table.renamed(Names(map or {}))
    in_gold = {label for label in renamed.labels() if label}
    if not labels and study is not None and in_gold <= set((scheme := study.settings.labels).values):
        runs = read_specs(systems, id_column, scheme.values)
        return FilesToScore(
            table,
            runs,
            list(scheme.values),
            list(order or scheme.order) or None,
            list(poles or scheme.poles) or None,
            labels_from_gold=False,
            study=study,
        )
    declared = list(labels or order or renamed.label_set())
    runs = read_specs(systems, id_column, declared)
    return FilesToScore(
        table,
        runs,
        declared,
        list(order) or None,
        list(poles) or None,
        labels_from_gold=not (labels or order),
        study=study,
    )


def score_files(
    files: FilesToScore,
    over: str,
    *,
    clusters: str | None,
    probabilities: str | None,
    by: Sequence[str],
    people: str,
    seed: int,
    **how: Any,
) -> Scores | ScoresOverPosts:
    """Score the systems over gold's items, or over all posts of the target population.

    `people` is the file with all individual labels. For a release the default is annotations.csv next to gold; "none"
    omits it.
    """
    how |= {"probabilities": probabilities, "title": files.title}
    if check_over(over) is Over.POSTS:
        design = (
            files.design() if probabilities == "" else None
        )  # a named column of probabilities takes precedence
        return score_over_posts(files.gold, files.systems, design=design, **how)
    return score(
        files.gold,
        files.systems,
        clusters=clusters,
        by=by,
        people=files.people(people),
        seed=seed,
        **how,
    )


def published_scores(gold: Path, shown: Collection[str]) -> str:
    """Return scores that others published for this gold file, in these measures; empty if there are none."""
    published = published_for(gold, corpora_folder())
    if published is None:
        return ""
    for system, measure, _ in published.scores:
        if measure not in measures:
            raise UnknownName(
                f"published: no measure is called '{measure}' (of {system})",
                remedy=nearest(measure, measures),
            )
    return published.sentence(shown)


def score_soft_files(
    people: str,
    systems: Sequence[str],
    *,
    labels: Sequence[str],
    order: Sequence[str],
    folder: Path | None,
    clusters: str | None,
    probabilities: str | None,
    **how: Any,
) -> SoftScores:
    """Score systems' label distributions against the labels of several people; each system is [NAME=]FILE[:COLUMN]."""
    table = people_table(people, how.pop("id", ""))
    study = study_of(Path(table.file), folder)
    scheme = study.settings.labels if study else None
    values = list(labels) or (list(scheme.values) if scheme else None)
    ordered = list(order) or (list(scheme.order) if scheme and not labels else None)
    return score_soft(
        table,
        _named_files(systems),
        labels=values,
        order=ordered or None,
        clusters=clusters,
        probabilities=probabilities or None,
        title=study.settings.title if study else "",
        **how,
    )


def _named_files(specs: Sequence[str]) -> dict[str, Path | Labelled]:
    """Return the systems of [NAME=]FILE[:COLUMN]. A file without a named column may contain probabilities."""
    files: dict[str, Path | Labelled] = {}
    for name, file, column in map(parts_of_spec, specs):
        if name in files:
            raise InputError(
                f"two files are called {name}",
                file=file,
                remedy="Give each a name of its own, as NAME=FILE: with --soft there are no runs of one system",
            )
        files[name] = read_labels(file, label_column=column, predicted=True) if column else file
    return files


SIMILAR, TOGETHER = "similar texts", "kept together"
"""The key for near-duplicates, and the column of groups that every split keeps together."""
MOST_LOOKED_AT = 5
"""Maximum number of splits that `split_file` checks for leakage: five folds. More of the same kind add no information."""


@dataclass(frozen=True, repr=False)
class Divided(Result):
    """The result: items per split and part, groups kept together, and what the parts share."""

    sizes: pd.DataFrame
    findings: list[str]
    file: Path
    groups: pd.DataFrame | None = None
    """For each key and all keys together: number of groups, share of items in groups, largest group."""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis evaluate split --json` prints it."""
        groups = [] if self.groups is None else self.groups.to_dict("records")
        return {"file": str(self.file), "divisions": self.sizes, "groups": groups, "findings": self.findings}

    @property
    def summary(self) -> Summary:
        """Return the first splits, and what their parts share."""
        groups: Summary = [] if self.groups is None else ["Kept in one part:", self.groups]
        return [self.sizes.head(20), *groups, *self.findings, f"Written: {self.file}"]


def split_file(  # noqa: PLR0913 - every option is named
    file: str,
    out: Path,
    *,
    id_column: str = "",
    scheme: str = "random",
    group: Sequence[str] = (),
    similarity: float | None = None,
    text: str = "text",
    time: str = "",
    fractions: Sequence[float] = (0.7, 0.1, 0.2),
    progress: Progress = silent,
    **how: Any,
) -> Divided:
    """Write the parts of a file's items, one row each, after a `leakage` check.

    Items with the same value in the column `group` stay in one part unless `group` is "none".
    """
    import pandas as pd

    _, items = read_spec(file, id_column)
    table = items.table
    if not group and scheme == "random":
        column = column_of([str(name) for name in table.columns], ["group"])
        group = [column] if column and len(set(table[column])) > 1 else []
    group = [name for name in group if name != "none"]
    keys = keys_of(table, group, time=time, id_column=id_column) if scheme != "leave_one_out" else {}
    texts = None
    if similarity is not None or text in table.columns:
        words = words_of(items.column(text))
        likeness = 0.8 if similarity is None else similarity
        if similarity is not None:
            check_texts(words)
        if any(word.strip() for word in words):
            texts = _Texts(words, near_duplicate_pairs(words, threshold=likeness), likeness)
    if texts is not None and similarity is not None and scheme != "leave_one_out":
        keys[SIMILAR] = near_copies_of(texts.pairs, len(texts.words))
    if keys:
        bound = kept_together(list(keys.values()), len(table))
        table, group = table.assign(**{TOGETHER: bound}), [TOGETHER]
    parts = pd.DataFrame(
        splits(
            table,
            scheme=scheme,  # type: ignore[arg-type] # `splits` refuses others
            label=items.label_column,
            id=id_column,
            group=group,
            time=time,
            fractions=tuple(fractions),  # type: ignore[arg-type] # likewise
            **how,
        )
    )
    groups = _groups(keys, len(table))
    findings = _far_from(parts, fractions) if groups is not None and scheme in {"random", "grouped"} else []
    findings += _shared_by_parts(table, parts, keys, texts, similarity, progress)
    ids = identities(table, id_column)
    header = [id_column or items.id_column or "row", *map(str, parts.columns)]
    rows = ([item, *row] for item, row in zip(ids, parts.to_numpy(), strict=True))
    storage.write_bytes(out, storage.csv_bytes(header, rows))
    sizes = pd.DataFrame(
        {"division": str(name), **{part: int((parts[name] == part).sum()) for part in PARTS}}
        for name in parts.columns
    )
    return Divided(sizes, findings, out, groups)


@dataclass(frozen=True)
class _Texts:
    """The texts of items and their near-duplicates, computed once for splitting, groups and leakage check."""

    words: list[str]
    pairs: Pairs
    similarity: float


def _groups(keys: Mapping[str, Values], size: int) -> pd.DataFrame | None:
    """Return the groups that each key (and all keys together) forms; None without groups."""
    import pandas as pd

    alone = [(name, [key]) for name, key in keys.items()]
    if len(alone) > 1:
        alone.append(("all together", list(keys.values())))
    rows = []
    for name, values in alone:
        sizes = np.bincount(kept_together(values, size))
        tied = sizes[sizes > 1]
        rows.append(
            {
                "key": name,
                "groups": len(tied),
                "items": int(tied.sum()),
                "share": f"{tied.sum() / size:.1%}",
                "largest": f"{sizes.max() / size:.2%}",
            }
        )
    return pd.DataFrame(rows) if rows else None


def _far_from(parts: pd.DataFrame, fractions: Sequence[float]) -> list[str]:
    """Report parts that whole groups made more than two points larger or smaller than requested."""
    if len(parts.columns) > 1:
        return []
    lines = []
    for part, wanted in zip(PARTS, fractions, strict=True):
        share = float((parts.iloc[:, 0] == part).mean())
        if abs(share - wanted) > 0.02:
            lines.append(
                f"{part} has {share:.1%} of the items instead of {wanted:.0%}, because groups stay whole."
            )
    return lines


def _shared_by_parts(
    table: pd.DataFrame,
    parts: pd.DataFrame,
    keys: Mapping[str, Values],
    texts: _Texts | None,
    similarity: float | None,
    progress: Progress,
) -> list[str]:
    """Describe what the parts share. A split that breaks its guarantee is refused, not written."""
    findings: list[str] = []
    for name in parts.columns:
        for key, values in keys.items():
            held = {
                (value, part) for several, part in zip(values, parts[name], strict=True) for value in several
            }
            if len({value for value, _ in held}) < len(held):
                raise CheckFailed(
                    f"the division {name} has values of {key} in two parts; nothing was written"
                )
    if texts is None:
        return ["There are no texts: near-copies in two parts cannot be seen."]
    others = keys_of(
        table, [name for name in known_keys([str(name) for name in table.columns]) if name not in keys]
    )
    for name in list(parts.columns)[:MOST_LOOKED_AT]:
        if not {"train", "test"} <= set(parts[name]):
            continue
        part = parts[name].to_numpy(dtype=object)
        shared = compared(texts.words, part, texts.pairs, EDITS, texts.similarity, others, progress=progress)
        near = int(shared.summary["similar"].sum())
        if near and similarity is not None:
            raise CheckFailed(f"the division {name} has near-copies in two parts; nothing was written")
        told = shared.findings if len(parts.columns) == 1 else shared.findings[:4]
        findings += [f"{name}: {finding}" if len(parts.columns) > 1 else finding for finding in told]
    return findings


def leakage_of_files(
    file: Path,
    parts: str,
    *,
    text: str = "text",
    id_column: str = "",
    edits: int = 20,
    similarity: float = 0.8,
    group: Sequence[str] = (),
    progress: Progress = silent,
) -> tuple[Leakage, list[str]]:
    """Check what the parts of a file's items share, and report why times are not compared.

    `parts` is a file as `split_file` writes it. `group` names the columns to compare in addition to the texts; the default
    is the columns whose names covmis knows.
    """
    _, items = read_spec(str(file), id_column)
    part = _parts_of(items, parts)
    named = (
        [name for name in group if name != "none"]
        if group
        else known_keys(list(map(str, items.table.columns)))
    )
    keys = keys_of(items.table, named, id_column=id_column)
    try:
        moments, notes = times(items.table), []
    except InputError as error:
        moments, notes = None, [f"Times are not compared: {error}"]
    shared = leakage(
        items.column(text),
        part,
        edits=edits,
        similarity=similarity,
        keys=keys,
        times=moments,
        labels=list(items.labels()),
        progress=progress,
    )
    return shared, notes


def _parts_of(items: Labelled, parts: str) -> list[str]:
    """Return the part of each item, joined by id if both files have ids."""
    named = ":" in parts and not Path(parts).exists()
    path, _, column = parts.rpartition(":") if named else (parts, "", "part")
    divided = read_labels(Path(path), label_column=column)
    by = common_id(items, divided) if divided.id_column else ""
    if not by and items.id_column:
        raise InputError(
            f"has no ids that {items.name} has ({items.id_column})",
            file=divided.file,
            remedy="Make the parts of these items with `covmis evaluate split`",
        )
    if not by:
        if len(divided.table) != len(items.table):
            raise InputError(
                f"has {len(divided.table)} rows, {items.name} has {len(items.table)}",
                file=divided.file,
                remedy="Divide the same items",
            )
        items.by_position()
        return list(divided.by_position())
    part_of = dict(divided.labels(by).items())
    wanted = items.labels(by).index
    lacking = [item for item in wanted if item not in part_of]
    if lacking:
        raise InputError(f"lacks the part of {lacking[0]}", file=divided.file, remedy="Divide the same items")
    return [str(part_of[item]) for item in wanted]
