"""How wide intervals are beside those of other tools: python benchmarks/widths.py.

glide's active inference (its figures in tests/vectors) speaks of a superpopulation, ours of the posts of the pool. DSL
(R, its printed figures and data in COVMIS_DATA_HOME) fits a forest to labels and predictions; we take predictions as they are.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build.estimation.assisted import assisted_estimate, deviations, strength
from covmis_build.estimation.regression import Formula, regression
from covmis_build.stats.over_posts import expected_of, made_design

if TYPE_CHECKING:
    from collections.abc import Iterator

VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "ppi.json"


def beside_glide() -> Iterator[float]:
    """Of each sample of labels 0 and 1: the width of our assisted share over that of glide's."""
    for case in json.loads(VECTORS.read_text())["cases"]:
        y = np.array([np.nan if one is None else one for one in case["y"]], float)
        here = ~np.isnan(y)
        if "pi" in case and set(np.unique(y[here])) <= {0.0, 1.0}:
            yield ours(y[here], np.array(case["f"], float), here, np.array(case["pi"], float)) / (
                case["glide"]["asi_tuned"]["high"] - case["glide"]["asi_tuned"]["low"]
            )


def ours(y: Any, f: Any, here: Any, pi: Any) -> float:
    """The width of our share, with λ tuned."""
    design, n = made_design(pi[here]), len(y)
    scale = np.full(n, 1 / design.weights.sum())
    centres = [np.full(n, float(np.sum(design.weights * scale * values))) for values in (y, f[here])]
    moved = strength(
        deviations(y, centres[0], scale), deviations(f[here], centres[1], scale, f[here]), design
    )
    found = assisted_estimate(
        y, f[here], (centres[0], centres[1]), scale, design, n=n, pool_mean=float(f.mean()), moved=moved,
        expected=expected_of(pi, np.full(len(pi), 1 / len(pi))),
    )  # fmt: skip
    return found.high - found.low


def beside_dsl(folder: Path) -> list[float]:
    """Of each coefficient of its example of unequal probabilities: the width of ours over that of DSL's."""
    printed = pd.DataFrame(json.loads((folder / "printed.json").read_text())["data_unequal"])
    data = pd.read_csv(folder / "data_unequal.csv")
    rows = data[["X1", "X2", "X3"]].assign(claim_id=np.arange(len(data)).astype(str))
    table = regression(
        Formula("label", ("X1", "X2", "X3")), data["Y"].fillna(0).to_numpy(float), rows,
        labelled=data["Y"].notna().to_numpy(), chances=data["sample_prob"].to_numpy(float),
        predicted=data["pred_Y"].to_numpy(float), over="posts",
    ).table  # fmt: skip
    return list((table["high"] - table["low"]).to_numpy() / (printed["high"] - printed["low"]).to_numpy())


if __name__ == "__main__":
    glide = list(beside_glide())
    print(f"glide, {len(glide)} samples: {np.mean(glide):.2f} ({min(glide):.2f} to {max(glide):.2f})")
    if home := os.environ.get("COVMIS_DATA_HOME"):
        print("DSL:", ", ".join(f"{ratio:.2f}" for ratio in beside_dsl(Path(home) / "dsl")))
