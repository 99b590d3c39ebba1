"""Estimate from a corpus of others: with its own columns, and what other files of its release say of the draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.corpus.convert import corpus_file, read_corpus
from covmis_build.corpus.design import Drawn, posts_of, read_design
from covmis_build.corpus.people_labels import in_corpus_labels
from covmis_build.corpus.release_facts import from_json
from covmis_build.corpus.resources import PEOPLE
from covmis_build.errors import InputError
from covmis_build.estimation.differences import BEFORE, FROM, compared_parts
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.page import check_formats, written
from covmis_build.estimation.scopes import check_scopes
from covmis_build.estimation.shares import Estimates, estimates
from covmis_build.estimation.unlabelled import with_bounds
from covmis_build.options import Labels, Sampling, by_people
from covmis_build.places import DESIGN, FACTS
from covmis_build.records import independent
from covmis_build.sampling.strata import DAY

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts


NO_DESIGN = (
    f"there is no {DESIGN} in the corpus's folder: the posts that the labelled ones represent are not known. These figures are not "
    "the study's, and intervals for all posts may be too narrow. Keep the release's files together"
)
NO_CHANCES = (
    "the corpus is of a version before 0.3: how each post was drawn, and how likely each automatic label was to be checked, are "
    "guessed from its rows"
)
NO_SETTINGS = (
    f"there is no {FACTS} in the corpus's folder: its labels are those that occur in it, or the paper's"
)
NO_DAYS = "of posts without a label only the month is known here: parts by day have no known numbers of posts"
NO_ANSWERS = (
    "the release has no labels of single annotators, so there are no shares with each annotator's own labels"
)
NO_RECALL = "the shares of all relevant posts, found or not, are on the card alone: the recall round is not in the release"


def estimate_corpus(
    corpus: Path | str,
    *,
    by: str | Sequence[str] | None = None,
    between: Sequence[str] | None = None,
    before: str | dt.date = "",
    after: str | dt.date = "",
    level: float = 0.95,
    out: Sequence[Path | str] = (),
) -> Estimates:
    """Estimate from someone else's release (its folder, or its corpus), with its own design."""
    files = [Path(file) for file in out]
    check_formats(files)
    path = corpus_file(Path(corpus))
    facts = from_json((path.parent / FACTS).read_bytes()) if (path.parent / FACTS).is_file() else None
    frame = read_corpus(path)
    labels = _labels(frame) if facts is None else list(facts.labels.values)
    frame = frame[frame["in_population"].fillna("") != "no"].reset_index(drop=True)
    asked, compared = check_scopes(by), compared_parts(between, before, after, labels=labels)
    sampling = Sampling() if facts is None else facts.sampling
    drawn = read_design(path.parent / DESIGN)
    posts = posts_of(drawn or Drawn(unlabelled=None), frame, path.parent / DESIGN)
    notes = _unknown(frame, facts, drawn)
    pool = posts.pool
    by_day = DAY in asked or any(part.scope in {BEFORE, FROM, DAY} for part in compared or ())
    if by_day and drawn is not None and drawn.time != DAY:
        pool, notes = None, [*notes, NO_DAYS]
    answers = _answers(path.parent, facts) if drawn is not None and drawn.complete else None
    if answers is None and drawn is not None and drawn.complete:
        notes.append(NO_ANSWERS)
    figures = estimates(
        posts.labelled,
        labels,
        sampling,
        automatic=Labels().automatic if facts is None else facts.labels.automatic,
        pool=pool,
        answers=answers,
        draws=posts.draws,
        by=asked,
        between=compared,
        level=level,
        apart=[] if facts is None else _of_some_rounds(facts),
        stated=facts is not None,
    )
    figures = with_bounds(figures, posts.labelled, posts.missing, sampling, pool, posts.draws)
    if facts is not None:
        statement, *outside = facts.population or ("",)
        methods = [text for text in (statement, *figures.methods, *facts.label_notes) if text]
        figures = replace(figures, methods=tuple(methods), label_notes=tuple(facts.label_notes))
        notes = [*outside, *notes]
    return written(replace(figures, warnings=(*figures.warnings, *notes)), files)


def _unknown(frame: pd.DataFrame, facts: ReleaseFacts | None, drawn: Drawn | None) -> list[str]:
    """Return what is not known here of a study."""
    notes = [NO_DESIGN] if drawn is None else []
    notes += [NO_CHANCES] if frame["automatic_label"].isna().all() else []
    notes += [NO_SETTINGS] if facts is None else []
    return [*notes, *([NO_RECALL] if facts is not None and facts.recall else [])]


def _answers(folder: Path, facts: ReleaseFacts | None) -> pd.DataFrame | None:
    """Return people's independent labels in the corpus's labels; None if the release has none."""
    said = PEOPLE.read(folder)
    if said is None or facts is None:
        return None
    rows = independent(by_people(in_corpus_labels(said, facts.label_sets)))
    return answers_table(zip(rows["item_id"], rows["annotator"], rows["label"], strict=True))


def _of_some_rounds(facts: ReleaseFacts) -> list[str]:
    """Return the labels that not all rounds could give: their shares are in the study."""
    sets = facts.label_sets.values()
    return [label for label in facts.labels.values if any(label not in known.values() for known in sets)]  # noqa: PD011


def _labels(frame: pd.DataFrame) -> list[str]:
    """Return the label scheme of a corpus alone: the paper's if it fits, else the occurring labels."""
    usual = Labels().values  # noqa: PD011 - a setting of ours
    present = sorted(set(frame["label"].dropna().astype(str)))
    if set(present) <= set(usual):
        return list(usual)
    for label in present:
        for near in {*present, *usual}:
            if label != near and label.casefold() == near.casefold():
                raise InputError(
                    f"the label '{label}' of the corpus is '{near}' in another case", remedy="Write one"
                )
    return present
