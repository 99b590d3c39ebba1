"""What are labels worth with a model's help, and do the intervals hold? SemEval-2016 task 6, samples of its test set.

    COVMIS_DATA_HOME=DIR python benchmarks/assisted.py --samples 3000

Two linear models a target are trained on the training and dev parts, which were one training set once: one of n-grams, one
of the vectors of a small sentence model (all-MiniLM-L6-v2). The C of each is what gives dev the greatest likelihood after
training on the rest; the test part is not looked at. Predictions are the mean of both models' probabilities, known for all
1,249 posts of the test part; people's labels are known for a sample. Prints for each stance the ratio of the variances
without and with predictions, how often the assisted interval holds, and its width over the plain one's: at even chances, at
chances twice as great where the predictions doubt, with n-grams alone, and with useless predictions (those of other posts).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from models import minilm
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from covmis_build import datasets
from covmis_build.estimation import estimate
from covmis_build.models.linear import train_linear
from covmis_build.models.options import options_of
from covmis_build.models.sentences import sentence_model

LABELS = ["favor", "against", "none"]
SHOWN = ("none", "against", "favor")


def by_grams(known: pd.DataFrame, asked: pd.DataFrame, c: float) -> np.ndarray:
    return train_linear(known, options_of("grams", {"C": c}), labels=LABELS).probabilities(asked)


def by_vectors(known: pd.DataFrame, asked: pd.DataFrame, c: float) -> np.ndarray:
    said = np.zeros((len(asked), len(LABELS)))
    for target, rows in known.groupby("target"):
        head = LogisticRegression(C=c, max_iter=3000).fit(np.vstack(rows["vector"]), codes(rows))
        here = np.flatnonzero(asked["target"] == target)
        said[np.ix_(here, head.classes_)] = head.predict_proba(np.vstack(asked["vector"].iloc[here]))
    return said


def codes(frame: pd.DataFrame) -> np.ndarray:
    return frame["label"].map(LABELS.index).to_numpy()


def predictions() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The test part: people's labels by number, and the probabilities of each model and of their mean."""
    frame = datasets.read("semeval2016-task6", Path(os.environ["COVMIS_DATA_HOME"]))
    _, _, encode, _ = sentence_model(minilm())
    texts = frame["text"].tolist()
    frame = frame.assign(
        vector=[vector for at in range(0, len(texts), 64) for vector in encode(texts[at : at + 64])]
    )
    train, dev, test = (frame[frame["split"] == name] for name in ("train", "dev", "test"))
    said = {}
    for name, model in {"n-grams": by_grams, "vectors": by_vectors}.items():
        likelihood = {
            c: np.log(model(train, dev, c)[np.arange(len(dev)), codes(dev)]).mean()
            for c in (0.3, 1, 3, 10, 30)
        }
        chosen = max(likelihood, key=likelihood.__getitem__)
        said[name] = model(pd.concat([train, dev]), test, chosen)
        print(f"{name}: C = {chosen:g}", end="; ")
    return codes(test), said | {"both": (said["n-grams"] + said["vectors"]) / 2}


def chances(said: np.ndarray, labels: int, *, even: bool) -> np.ndarray:
    """With the expected number of labels; where the model doubts, twice those of where it is sure."""
    doubtful = said.max(1) < np.median(said.max(1))
    weights = np.ones(len(said)) if even else 1.0 + doubtful
    return np.asarray(labels * weights / weights.sum())


def simulated(
    y: np.ndarray, f: np.ndarray, pi: np.ndarray, samples: int
) -> tuple[float, float, float, float]:
    """The ratio of variances without and with predictions, its simulation error; the interval's coverage, and width over plain."""
    chance, rows = np.random.default_rng(16), []
    for _ in range(samples):
        s = chance.random(len(y)) < pi
        plain, helped = estimate(y[s], pi[s]), estimate(y[s], pi[s], assisted_by=(f[s], f))
        rows.append(
            (plain.value, helped.value, helped.low <= y.mean() <= helped.high,
             (helped.high - helped.low) / (plain.high - plain.low))
        )  # fmt: skip
    without, assisted, held, width = np.array(rows, float).T
    ratio = float(without.var() / assisted.var())
    # both variances are of the same samples, so their errors go together
    alike = float(np.corrcoef(without, assisted)[0, 1] ** 2)
    return ratio, ratio * 2 * ((1 - alike) / samples) ** 0.5, float(held.mean()), float(width.mean())


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--samples", type=int, default=3000)
    samples = words.parse_args().samples
    with threadpool_limits(1):
        gold, models = predictions()
    said = models["both"]
    shuffled = said[np.random.default_rng(1).permutation(len(said))]
    right = ", ".join(f"{name} {np.mean(f.argmax(1) == gold):.3f}" for name, f in models.items())
    shares = ", ".join(
        f"{label} {np.mean(gold == LABELS.index(label)):.3f} (the models alone: {said[:, LABELS.index(label)].mean():.3f})"
        for label in SHOWN
    )
    print(f"{len(gold):,} posts; accuracy {right}; {shares}; {samples:,} samples\n")
    print(f"| labels | {' | '.join(SHOWN)} |\n|---|---|---|---|")
    for name, labels, even, f in (
        ("even chances, 60", 60, True, said), ("even chances, 300", 300, True, said),
        ("doubtful posts twice as often, 150", 150, False, said), ("doubtful posts twice as often, 300", 300, False, said),
        ("n-grams alone, even chances, 300", 300, True, models["n-grams"]),
        ("useless predictions, even chances, 300", 300, True, shuffled),
    ):  # fmt: skip
        pi = chances(said, labels, even=even)
        cells = (
            simulated((gold == LABELS.index(label)).astype(float), f[:, LABELS.index(label)], pi, samples)
            for label in SHOWN
        )
        told = (
            f"{ratio:.2f} ± {error:.2f} / {held:.3f} / {width:.2f}" for ratio, error, held, width in cells
        )
        print(f"| {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
