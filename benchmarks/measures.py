"""Bootstrap replicates of many measures: covmis against a scikit-learn loop and a numpy bincount loop, in one run.

    .venv/bin/python benchmarks/measures.py [--items 2104] [--systems 100] [--replicates 2000]

The scikit-learn loop is timed on a few replicates and scaled up; the bincount loop runs in full, with the same 15
measures on its counts. The last lines score a million items in a process of their own and show its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from covmis_build.stats.bootstrap import replicate_cells

from covmis_build.evaluation.score import score
from covmis_build.evaluation.setting import setting

LABELS = ["favor", "neither", "against"]
NAMES = ["accuracy", "macro_precision", "macro_recall", "macro_f1", "f1_of_means", "macro_f2", "gmr", "kappa",
         "kappa_linear", "kappa_quadratic", "mcc", "mae_macro", "mae_micro", "wf1", "f_avg"]  # fmt: skip
WEIGHTS = [0.4, 0.2, 0.4]


def example(items, systems):
    rng = np.random.default_rng(20220405)
    gold = rng.choice(3, items, p=[0.48, 0.12, 0.40])
    said = np.where(rng.random((items, systems)) < 0.6, gold[:, None], rng.integers(0, 3, (items, systems)))
    return gold, said


def ours(gold, said, replicates):
    cells = gold[:, None] * 3 + said
    counts = replicate_cells(cells, 9, replicates, seed=0)
    chosen = setting(LABELS, names=NAMES, order=LABELS, poles=["favor", "against"], class_weights=WEIGHTS)
    return chosen.values(counts.reshape(replicates, -1, 3, 3))


def bincount_loop(gold, said, replicates):
    cells = gold[:, None] * 3 + said
    columns = [np.ascontiguousarray(one) for one in cells.T]
    counts = np.empty((replicates, len(columns), 9))
    rng = np.random.default_rng(0)
    for replicate in range(replicates):
        picked = rng.integers(0, len(gold), len(gold))
        for system, column in enumerate(columns):
            counts[replicate, system] = np.bincount(column[picked], minlength=9)
    chosen = setting(LABELS, names=NAMES, order=LABELS, poles=["favor", "against"], class_weights=WEIGHTS)
    return chosen.values(counts.reshape(replicates, -1, 3, 3))


def public(gold, said, replicates):
    """The same by the public function, from words: joined, checked, with intervals, as a table."""
    words = np.array(LABELS)
    systems = {str(at): words[said[:, at]] for at in range(said.shape[1])}
    return score(
        words[gold], systems, labels=LABELS, measures=NAMES, order=LABELS, poles=["favor", "against"],
        class_weights=WEIGHTS, replicates=replicates,
    )  # fmt: skip


def flat_loop(gold, said, replicates):
    """A loop as one would write it with care: one bincount a replicate over all systems; counts alone, no measure."""
    systems = said.shape[1]
    flat = np.ascontiguousarray((gold[:, None] * 3 + said + 9 * np.arange(systems)).astype(np.intp))
    counts, drawn = np.empty((replicates, 9 * systems)), np.empty_like(flat)
    rng = np.random.default_rng(0)
    for replicate in range(replicates):
        picked = rng.integers(0, len(gold), len(gold))
        np.take(flat, picked, axis=0, out=drawn, mode="clip")  # clip: without a copy of `drawn` in between
        counts[replicate] = np.bincount(drawn.ravel(), minlength=9 * systems)
    return counts.reshape(replicates, systems, 9)


def cpu(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def sklearn_once(gold, said):
    from sklearn import metrics as m

    common = {"labels": [0, 1, 2], "zero_division": 0}
    _, _, each, _ = m.precision_recall_fscore_support(gold, said, **common)
    recall = m.recall_score(gold, said, average=None, **common)
    precision = m.precision_score(gold, said, average="macro", **common)
    distances = np.abs(gold - said)
    return [
        m.accuracy_score(gold, said),
        precision,
        recall.mean(),
        m.f1_score(gold, said, average="macro", **common),
        2 * precision * recall.mean() / (precision + recall.mean()),
        m.fbeta_score(gold, said, beta=2, average="macro", **common),
        np.prod(recall) ** (1 / 3),
        m.cohen_kappa_score(gold, said),
        m.cohen_kappa_score(gold, said, weights="linear"),
        m.cohen_kappa_score(gold, said, weights="quadratic"),
        m.matthews_corrcoef(gold, said),
        np.mean([distances[gold == c].mean() for c in range(3)]),
        m.mean_absolute_error(gold, said),
        float(np.dot(WEIGHTS, each)),
        each[[0, 2]].mean(),
    ]


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def million():
    gold, said = example(1_000_000, 5)
    seconds, values = timed(lambda: ours(gold, said, 2000))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"1,000,000 items, 5 systems, 2,000 replicates, 15 measures: {seconds:.1f} s, peak {peak:,.0f} MB")
    gold, said = example(1_000_000, 40)
    seconds, values = timed(lambda: ours(gold, said, 20))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert values["accuracy"].shape == (20, 40)
    print(
        f"1,000,000 items, 40 systems (no two items alike), 20 replicates: {seconds:.1f} s, peak {peak:,.0f} MB"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=2104)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--million", action="store_true", help="only the memory of a million items")
    given = parser.parse_args()
    if given.million:
        million()
        return
    gold, said = example(given.items, given.systems)
    ours(gold, said, 70)  # warm up
    once = sklearn_once(gold, said[:, 0])
    chosen = setting(LABELS, names=NAMES, order=LABELS, poles=["favor", "against"], class_weights=WEIGHTS)
    matrix = np.bincount(gold * 3 + said[:, 0], minlength=9).reshape(3, 3).astype(float)
    for name, peer in zip(NAMES, once, strict=True):
        assert abs(float(chosen.values(matrix)[name]) - peer) < 1e-9, name
    repeats = 40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slow, _ = timed(lambda: [sklearn_once(gold, said[:, at % given.systems]) for at in range(repeats)])
    slow *= given.systems * given.replicates / repeats
    mine = sorted(timed(lambda: ours(gold, said, given.replicates))[0] for _ in range(3))[1]
    loop, _ = timed(lambda: bincount_loop(gold, said, given.replicates))
    print(
        f"{given.items:,} items, {given.systems} systems, {given.replicates:,} replicates, 15 measures, same values"
    )
    print(f"covmis                 {mine:10.2f} s (median of 3)")
    print(f"numpy bincount loop    {loop:10.2f} s ({loop / mine:.1f} times)")
    print(
        f"scikit-learn loop      {slow:10.0f} s ({slow / mine:,.0f} times; scaled from {repeats} evaluations)"
    )
    public(gold, said, 70)  # imports
    core, whole, counts = (
        sorted(cpu(lambda work=work: work(gold, said, given.replicates)) for _ in range(3))[1]
        for work in (ours, public, flat_loop)
    )
    print(f"CPU s (median of 3): core {core:.2f}, public score() {whole:.2f} ({whole / core:.1f} times), "
          f"one bincount a replicate, counts alone {counts:.2f}")  # fmt: skip
    subprocess.run([sys.executable, __file__, "--million"], check=True)


if __name__ == "__main__":
    main()
