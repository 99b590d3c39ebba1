"""Linear stance models and the majority baseline: fast, exactly reproducible, interpretable.

A logistic regression on TF-IDF n-grams or averaged word vectors of the post and, for pairs, of its target.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.models.features import ANALYZERS, Features, averages, fit_grams
from covmis_build.stats.class_weights import class_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Linear:
    """The settings of a model; `PRESETS` has those of the papers."""

    features: tuple[str, ...] = ("words",)
    """Any of words, characters, characters in words, vectors; none: the majority."""
    word_span: tuple[int, int] = (1, 2)
    character_span: tuple[int, int] = (2, 5)
    min_df: int = 1
    max_features: int = 0
    """Maximum number of n-grams of each kind and column, the most frequent ones; 0: all."""
    sublinear: bool = False
    """Use 1 + log of a count."""
    target: bool = True
    """Add features of the target's text to the post's."""
    per_target: bool = False
    """Train a separate model per target (SemEval-2016, task A); unknown targets are then refused."""
    C: float = 1.0
    class_weights: Literal["none", "balanced", "largest"] = "none"
    """balanced: n/(K·x_k); largest: max(x)/x_k, as in COVMis-Stance (5.2)."""
    vectors: str = ""
    """A file of word vectors in GloVe's format, or a model2vec folder."""


PRESETS: dict[str, Linear] = {
    "majority": Linear(features=()),
    "bow": Linear(class_weights="largest"),
    "mu": Linear(word_span=(1, 3), min_df=2, max_features=5000, target=False),
    "mu-chinese": Linear(
        features=("characters",), character_span=(1, 3), min_df=2, max_features=5000, target=False, C=10,
        class_weights="balanced",
    ),
    "grams": Linear(
        features=("words", "characters in words"), word_span=(1, 3), sublinear=True, target=False, per_target=True, C=10,
    ),
    "vectors": Linear(features=("vectors",), C=10),
}  # fmt: skip
"""majority; bow: COVMis-Stance's bag of words; mu, mu-chinese: Mu et al. 2023; grams: n-grams as on SemEval-2016."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A fitted regression: one row of coefficients per label; without features, only the intercept."""

    features: tuple[Features, ...]
    coefficients: Floats
    intercept: Floats

    def scores(self, frame: pd.DataFrame) -> Floats:
        """Return log-odds, one column per label, up to a constant per row."""
        scores = np.tile(self.intercept, (len(frame), 1))
        if self.features and len(frame):
            scores = scores + _stacked(self.features, frame) @ self.coefficients.T
        return np.asarray(scores, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Model:
    """A trained model: `predict`, `probabilities`, `telling`."""

    options: Linear
    labels: tuple[str, ...]
    parts: Mapping[str, Regression]
    """Regressions by target; a single one has an empty name."""

    def predict(self, frame: pd.DataFrame) -> list[str]:
        """Return the most probable label of each row; of equal ones the first."""
        best = self._scores(frame).argmax(axis=1)
        return [self.labels[at] for at in best]

    def probabilities(self, frame: pd.DataFrame) -> Floats:
        """Return one column per label, in the order of `labels`."""
        scores = self._scores(frame)
        with np.errstate(under="ignore"):
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _scores(self, frame: pd.DataFrame) -> Floats:
        needed = _checked(frame, self.options, labelled=False)
        if not self.options.per_target:
            return self.parts[""].scores(needed)
        scores = np.zeros((len(needed), len(self.labels)))
        for target, rows in needed.groupby("target", sort=True).indices.items():
            if str(target) not in self.parts:
                raise InputError(
                    f"the model was not trained on the target '{target}'",
                    remedy=nearest(str(target), self.parts),
                )
            scores[rows] = self.parts[str(target)].scores(needed.iloc[rows])
        return scores

    def telling(self, count: int = 10) -> pd.DataFrame:
        """Return the most informative features of each label: target model, label, column, feature, weight."""
        import pandas as pd

        rows = []
        for target, part in self.parts.items():
            names = [name for features in part.features for name in features.names()]
            for at, label in enumerate(self.labels):
                weights = part.coefficients[at] if names else np.zeros(0)
                order = np.lexsort((np.arange(len(weights)), -weights))[:count]
                rows += [(target, label, *names[at], float(weights[at])) for at in order if weights[at] > 0]
        return pd.DataFrame(rows, columns=["model_of", "label", "column", "feature", "weight"])


def train_linear(frame: pd.DataFrame, options: Linear | str = "bow", *, labels: Sequence[str] = ()) -> Model:
    """Train on a table with `text`, `label` and, if the options use it, `target`.

    `options` may be a name of `PRESETS`. `labels` is the label set in its order (default: those of the table,
    sorted); a label without an example is never predicted.

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"text": ["true story", "a hoax", "so true", "hoax"], "label": ["yes", "no", "yes", "no"]})
    >>> train_linear(posts, Linear(target=False)).predict(pd.DataFrame({"text": ["not true", "what a hoax"]}))
    ['yes', 'no']
    """
    if isinstance(options, str) and options not in PRESETS:
        raise UnknownName(f"no linear model is called '{options}'", remedy=nearest(options, PRESETS))
    chosen = check(PRESETS[options] if isinstance(options, str) else options)
    needed = _checked(frame, chosen, labelled=True)
    values = tuple(labels) or tuple(sorted(set(needed["label"])))
    for label in sorted(set(needed["label"]) - set(values)):
        raise InputError(f"the label '{label}' is not in the label set", remedy=nearest(label, values))
    groups = {"": needed}
    if chosen.per_target:
        groups = {str(target): rows for target, rows in needed.groupby("target", sort=True)}
    return Model(chosen, values, {name: _fit(rows, chosen, values) for name, rows in groups.items()})


def choose_linear(
    frame: pd.DataFrame,
    dev: pd.DataFrame,
    candidates: Sequence[Linear],
    *,
    measure: str = "macro_f1",
    labels: Sequence[str] = (),
    poles: Sequence[str] = (),
) -> tuple[Linear, list[float]]:
    """Return the candidate with the best value on the dev part (the first of equals), and all candidates' values."""
    from covmis_build.evaluation.score import score

    if not candidates:
        raise InputError("there is nothing to choose from")
    names = tuple(labels) or tuple(sorted(set(frame["label"]) | set(dev["label"])))
    values = []
    for candidate in candidates:
        predicted = train_linear(frame, candidate, labels=names).predict(dev)
        scores = score(
            dev["label"].tolist(), {"": predicted}, labels=names, measures=[measure], poles=poles or None
        )
        values.append(scores.value("", measure))
    return candidates[int(np.argmax(values))], values


def check(options: Linear) -> Linear:
    """Return these settings after a check."""
    kinds = [*ANALYZERS, "vectors"]
    for kind in options.features:
        if kind not in kinds:
            raise InputError(f"no features are called '{kind}'", remedy=nearest(kind, kinds))
    ways = ["none", "balanced", "largest"]
    if options.class_weights not in ways:
        raise InputError(
            f"no class weights are called '{options.class_weights}'",
            remedy=nearest(options.class_weights, ways),
        )
    spans = (options.word_span, options.character_span)
    if (
        not 0 < options.C < math.inf
        or options.min_df < 1
        or options.max_features < 0
        or any(not 1 <= a <= b for a, b in spans)
    ):
        raise InputError(
            "C must be above 0, min_df at least 1, max_features at least 0, and a span go up from at least 1"
        )
    return options


def _checked(frame: pd.DataFrame, options: Linear, *, labelled: bool) -> pd.DataFrame:
    """Return the needed columns as text."""
    uses = options.per_target or (options.target and bool(options.features))
    needed = ["text", *(["target"] if uses else []), *(["label"] if labelled else [])]
    for name in needed:
        if name not in frame.columns:
            without = (
                "; or train with --set target=false" if name == "target" and not options.per_target else ""
            )
            raise InputError(
                f"the table has no column {name}", remedy=f"It needs {', '.join(needed)}{without}"
            )
    if labelled and frame.empty:
        raise InputError("the table has no rows to train on")
    return frame[needed].fillna("").astype(str).reset_index(drop=True)


def _fit(frame: pd.DataFrame, options: Linear, labels: tuple[str, ...]) -> Regression:
    counts = Counter(frame["label"])
    present = [label for label in labels if counts[label]]
    intercept = np.full(len(labels), -np.inf)
    if not options.features or len(present) == 1:
        for at, label in enumerate(labels):
            if counts[label]:
                intercept[at] = np.log(counts[label] / len(frame))
        return Regression((), np.zeros((len(labels), 0)), intercept)
    features = tuple(_features(frame, options))
    coefficients, constants = _regression(frame, features, options, present)
    rows = [labels.index(label) for label in present]
    whole = np.zeros((len(labels), coefficients.shape[1]))
    whole[rows], intercept[rows] = coefficients, constants
    return Regression(features, whole, intercept)


def _features(frame: pd.DataFrame, options: Linear) -> list[Features]:
    features: list[Features] = []
    columns = ("text", "target") if options.target else ("text",)
    for kind in options.features:
        if kind == "vectors":
            if not options.vectors:
                raise InputError(
                    "this model needs word vectors",
                    remedy="Name a file in GloVe's format, or a folder of model2vec: --set vectors=PATH",
                )
            features.append(averages(Path(options.vectors), pair=options.target))
            continue
        span = options.word_span if kind == "words" else options.character_span
        settings = (options.min_df, options.max_features, options.sublinear)
        features += [fit_grams(frame[column].tolist(), column, kind, span, *settings) for column in columns]
    return features


def _regression(
    frame: pd.DataFrame, features: tuple[Features, ...], options: Linear, present: list[str]
) -> tuple[Floats, Floats]:
    counts = Counter(frame["label"])
    weights = {
        "none": None,
        "balanced": {label: len(frame) / (len(present) * counts[label]) for label in present},
        "largest": class_weights(frame["label"]),
    }[options.class_weights]
    return logistic(_stacked(features, frame), frame["label"].tolist(), present, C=options.C, weights=weights)


def logistic(
    matrix: Any,
    labels: list[str],
    present: list[str],
    *,
    C: float,  # noqa: N803
    weights: Mapping[str, float] | None,
) -> tuple[Floats, Floats]:
    """Return a row of coefficients and a constant for each label. One thread, so that every run gives the same sums."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    # with scikit-learn's tolerance (1e-4) the last steps, and so some answers, depend on the processor
    regression = LogisticRegression(C=C, class_weight=weights, max_iter=3000, tol=1e-8)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(matrix, labels)
    order = [list(regression.classes_).index(label) for label in present]
    coefficients, constants = regression.coef_, regression.intercept_
    if len(present) == 2:  # one row, for the second of the sorted labels
        coefficients, constants = (
            np.vstack([-coefficients, coefficients]) / 2,
            np.hstack([-constants, constants]) / 2,
        )
    return coefficients[order], constants[order]


def _stacked(features: tuple[Features, ...], frame: pd.DataFrame) -> Any:
    from scipy.sparse import hstack, issparse

    parts = [kind.matrix(frame) for kind in features]
    if any(issparse(part) for part in parts):
        return hstack(parts).tocsr()
    return np.hstack(parts)
