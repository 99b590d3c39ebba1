"""Predict posts' labels with a trained model, with the probability of every label."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.models.features import words
from covmis_build.models.posts import id_column, read_posts
from covmis_build.models.stored import StanceModel, load
from covmis_build.models.twostep import BertScoreModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


def predict(
    model: StanceModel | str | Path,
    posts: pd.DataFrame | str | Path,
    *,
    out: str | Path | None = None,
    errors: str | Path | None = None,
    text_alone: bool = False,
) -> pd.DataFrame:
    """Return one row per post: its id (or row number), `prediction`, and `p_…` for each label.

    `model` is a model or its folder; the posts' labels are ignored. `out` is a CSV file to write. `errors` is a page with
    the most confident errors, which needs labels and contains texts. `text_alone` must be as in training.
    """
    name = "the model"
    if isinstance(model, str | Path):
        name = Path(model).name
        model = load(Path(model))
    frame = read_posts(posts, labelled=errors is not None, text_alone=text_alone)
    import pandas as pd

    likeness = model.likeness(frame) if isinstance(model, BertScoreModel) else None
    if isinstance(model, BertScoreModel):
        probabilities = model.probabilities(frame, likeness)
    else:
        probabilities = model.probabilities(frame)
    ids = id_column(frame)
    predictions = pd.DataFrame(
        {
            ids or "row": frame[ids].tolist() if ids else [str(row) for row in range(1, len(frame) + 1)],
            "prediction": [model.labels[at] for at in probabilities.argmax(axis=1)],
            **{f"p_{label}": probabilities[:, at] for at, label in enumerate(model.labels)},
            **({"bertscore": likeness} if likeness is not None else {}),
        }
    )
    if out is not None:
        rows = (
            [item, label, *(f"{number:.6f}" for number in numbers)]
            for item, label, *numbers in predictions.itertuples(index=False, name=None)
        )
        storage.write_bytes(Path(out), storage.csv_bytes(list(predictions.columns), rows))
    if errors is not None:
        storage.write_text(Path(errors), mistakes(frame, probabilities, model.labels).page(name))
    return predictions


OVERLAPS = ((0.0, 0.0), (0.0, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 1.0))


@dataclass(frozen=True, slots=True)
class Mistakes:
    """confident: errors by gold label, the most confident first; overlap and kinds: items, accuracy and mean probability."""

    confident: pd.DataFrame
    overlap: pd.DataFrame
    kinds: pd.DataFrame

    def page(self, name: str) -> str:
        """Return a self-contained HTML page."""
        from covmis_build.report.page import Section, page, table_html

        columns = ["predicted", "probability", "overlap", "target", "text"]
        sections = [
            Section(f"Surest errors on {label}", body=table_html(rows[columns]))
            for label, rows in self.confident.groupby("gold", sort=False)
        ]
        heads = {"part": "", "mean_probability": "mean probability"}
        if len(self.overlap):
            prose = "The part of the claim's words that the post has."
            sections.append(Section("Shared words", prose, table_html(self.overlap, names=heads)))
        if len(self.kinds):
            sections.append(Section("Kind of query", body=table_html(self.kinds, names=heads)))
        return page(f"Errors of {name}", sections, lead="Contains texts of posts: for local use.")


def mistakes(
    frame: pd.DataFrame, probabilities: NDArray[np.float64], labels: Sequence[str], *, count: int = 10
) -> Mistakes:
    """Analyse the errors on a table with `text`, `label` and optionally `target` and `kind`.

    `probabilities` has one column per label. `count` errors are kept for each gold label.
    """
    import pandas as pd

    if "label" not in frame.columns or len(frame) != len(probabilities):
        raise InputError("errors need a label and a prediction for every row")
    gold = frame["label"].astype(str).to_numpy()
    best = probabilities.argmax(axis=1)
    target = frame["target"] if "target" in frame.columns else pd.Series([""] * len(frame))
    rows = pd.DataFrame(
        {
            "gold": gold,
            "predicted": [labels[at] for at in best],
            "probability": probabilities.max(axis=1),
            "text": frame["text"].fillna("").astype(str).to_numpy(),
            "target": target.fillna("").astype(str).to_numpy(),
        }
    )
    rows["overlap"] = [overlap(text, claim) for text, claim in zip(rows["text"], rows["target"], strict=True)]
    rows["right"] = rows["gold"] == rows["predicted"]
    wrong = rows[~rows["right"]].sort_values(["gold", "probability"], ascending=[True, False], kind="stable")
    confident = wrong.groupby("gold", sort=False).head(count).drop(columns="right").reset_index(drop=True)
    parts = [_name(share) for share in rows["overlap"]]
    kinds = frame["kind"].astype(str).tolist() if "kind" in frame.columns else []
    names = [_name(high) for _, high in OVERLAPS]
    return Mistakes(
        confident,
        _by(rows, parts, names) if rows["target"].ne("").any() else _by(rows.iloc[:0], [], []),
        _by(rows, kinds, sorted(set(kinds))) if kinds else _by(rows.iloc[:0], [], []),
    )


def overlap(text: str, target: str) -> float:
    """Return the share of the target's distinct words that occur in the text.

    >>> overlap("Masks kill, says nobody", "masks kill people")
    0.6666666666666666
    """
    wanted = set(words(target))
    return len(wanted & set(words(text))) / len(wanted) if wanted else 0.0


def _name(value: float) -> str:
    if value == 0:
        return "none"
    low, high = next((low, high) for low, high in OVERLAPS[1:] if value <= high)
    return f"{low:.0%} to {high:.0%}"


def _by(mistakes: pd.DataFrame, parts: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for name in names:
        here = mistakes[[part == name for part in parts]]
        if len(here):
            rows.append((name, len(here), float(here["right"].mean()), float(here["probability"].mean())))
    return pd.DataFrame(rows, columns=["part", "items", "accuracy", "mean_probability"])
