"""Train an encoder with transformers' Trainer: the papers' settings, reproducible on one machine, resumable.

The Trainer provides optimizer, schedule, mixed precision, accumulation, several devices and checkpoints. This module adds
the keyed order of rows, and ignores incomplete checkpoints. A checkpoint is written every few minutes and after every
epoch. A resumed run gives the same result as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
import warnings
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import keyed, storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, MissingExtra, nearest
from covmis_build.models.checkpoints import described, digest, fingerprint, load_encoder
from covmis_build.models.encoders import (
    Encoder,
    EncoderModel,
    encoded,
    extra,
    fresh,
    fresh_head,
    scored,
    texts_of,
    torch_seed,
)
from covmis_build.models.folder import COURSE
from covmis_build.models.run_card import add_rows
from covmis_build.stats.class_weights import class_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from covmis_build.engine import Progress

VERSION = 2
"""Version of training. Increase it when the same inputs give another model."""


KEEP_SECONDS = 120.0
"""Seconds between checkpoints within an epoch. They do not affect the result."""


@dataclass(slots=True)
class Course:
    """Progress of a training."""

    losses: list[float] = field(default_factory=list)
    """The mean loss of each finished epoch."""
    dev: list[float] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)
    """The batch losses of the current epoch."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and its training: the mean loss of each epoch, on train and dev."""

    model: EncoderModel
    losses: tuple[float, ...]
    dev_losses: tuple[float, ...]


def train_encoder(
    frame: pd.DataFrame,
    options: Encoder,
    *,
    labels: Sequence[str],
    dev: pd.DataFrame | None = None,
    start: Path | EncoderModel | None = None,
    state: Path | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train on a table with `text`, `target` and `label`.

    `start` is a model trained on other data, or its folder: its encoder is trained further, and its head if the labels
    are the same. A model in memory is modified. `state` is a folder for checkpoints, from which a stopped run resumes.
    """
    _check(frame, dev, options, labels)
    key = training_key(frame, dev, options, labels, start)
    model = _begin(options, labels, start)
    adapter = lora(model) if options.lora else None
    with nullcontext(state) if state is not None else tempfile.TemporaryDirectory() as folder:
        run = _Run(model, frame, dev, Path(folder), key, state is not None, progress)
        trainer, last = _trainer(run), _last(run)
        if not run.is_over:
            trainer.train(resume_from_checkpoint=str(last) if last is not None else None)
        if options.patience:
            _restore(trainer.model, run.best)
    if adapter is not None:
        adapter.merge_and_unload()
    model.encoder.eval()
    return Trained(model, tuple(run.course.losses), tuple(run.course.dev))


def _check(frame: pd.DataFrame, dev: pd.DataFrame | None, options: Encoder, labels: Sequence[str]) -> None:
    """Refuse early what would otherwise fail after hours."""
    for part in (frame, dev):
        if part is not None:
            _checked(part, labels)
            texts_of(part, options)
    if options.patience and dev is None:
        raise InputError("early stopping needs a dev part", remedy="Name one, or set patience to 0")
    if options.precision == "fp16" and not extra().cuda.is_available():
        raise InputError("fp16 needs a GPU", remedy="Use --set precision=bf16, or float32")


def weighted_loss(scores: Any, gold: Any, weights: Any) -> Any:
    """Return the cross-entropy, with rows weighted by their label's weight, divided by the sum of the weights."""
    import torch

    return torch.nn.functional.cross_entropy(scores, gold, weight=weights)


def _begin(options: Encoder, labels: Sequence[str], start: Path | EncoderModel | None) -> EncoderModel:
    """Return a new model, or one that starts from another's encoder."""
    if start is None:
        return fresh(options, labels)
    before = start if isinstance(start, EncoderModel) else load_encoder(start)
    if before.options.kind != options.kind:
        raise InputError(
            f"is a {before.options.kind}, not a {options.kind}", file="" if before is start else str(start)
        )
    if before.labels == tuple(labels):
        return EncoderModel(options, tuple(labels), before.tokenizer, before.encoder, before.head)
    head = fresh_head(options.seed, before.head.in_features, len(labels)).to(before.encoder.device)
    return EncoderModel(options, tuple(labels), before.tokenizer, before.encoder, head)


def lora(model: EncoderModel) -> Any:
    """Freeze the encoder and add low-rank adapters to its linear layers (LoRA), which are merged at the end."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError:
        raise MissingExtra.of("lora", "Training with lora") from None
    extra().manual_seed(torch_seed(model.options.seed, "lora"))
    rank = model.options.lora
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", lora_dropout=0.0)
    with warnings.catch_warnings():  # peft asks transformers for names that it will remove
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model.encoder, config)


@dataclass(frozen=True, slots=True)
class _Run:
    """One training, with its data and its folder."""

    model: EncoderModel
    frame: pd.DataFrame
    dev: pd.DataFrame | None
    folder: Path
    key: str
    keep: bool
    """True if the folder can be used for resuming."""
    progress: Progress
    course: Course = field(default_factory=Course)

    @property
    def updates(self) -> int:
        """Optimizer steps per epoch."""
        return math.ceil(
            math.ceil(len(self.frame) / self.model.options.batch) / self.model.options.accumulate
        )

    @property
    def best(self) -> Path:
        """The checkpoint of the epoch with the best dev loss."""
        return self.folder / f"checkpoint-{(self.course.dev.index(min(self.course.dev)) + 1) * self.updates}"

    @property
    def is_over(self) -> bool:
        """True if early stopping applies."""
        losses, patience = self.course.dev, self.model.options.patience
        return bool(patience and losses) and len(losses) - 1 - losses.index(min(losses)) >= patience

    def write_down(self, checkpoint: Path) -> None:
        """Mark this complete checkpoint as valid, and delete earlier ones except the best."""
        whole = {"key": self.key, "course": asdict(self.course), "files": _contents(checkpoint)}
        storage.write_text(checkpoint / COURSE, json.dumps(whole) + "\n")
        kept = {checkpoint, self.best} if self.model.options.patience and self.course.dev else {checkpoint}
        for earlier in set(self.folder.glob("checkpoint-*")) - kept:
            storage.remove(earlier)


def _trainer(run: _Run) -> Any:
    """Return this run's Trainer."""
    import torch
    from transformers import PrinterCallback, Trainer, TrainingArguments

    model, options = run.model, run.model.options
    on_gpu = model.encoder.device.type == "cuda"
    devices = max(1, torch.cuda.device_count()) if on_gpu else 1

    class Keyed(Trainer):  # type: ignore[misc] # transformers has no types here
        def _get_train_sampler(self, *_: Any) -> Any:
            return _order(self, run)

        def compute_loss(self, *words: Any, **how: Any) -> Any:
            loss = super().compute_loss(*words, **how)
            run.course.batches.append(float(loss.detach().mean()))
            return loss

        def _save_checkpoint(self, *words: Any) -> None:
            checkpoint = run.folder / f"checkpoint-{self.state.global_step}"
            (checkpoint / COURSE).unlink(missing_ok=True)
            super()._save_checkpoint(*words)
            run.write_down(checkpoint)

    settings = TrainingArguments(
        output_dir=str(run.folder),
        num_train_epochs=options.epochs,
        learning_rate=options.learning_rate,
        per_device_train_batch_size=math.ceil(options.batch / devices),
        gradient_accumulation_steps=options.accumulate,
        weight_decay=options.weight_decay,
        lr_scheduler_type="linear",
        warmup_steps=math.ceil(options.warm_up * run.updates * options.epochs),
        seed=torch_seed(options.seed, "dropout") % 2**32,
        bf16=options.precision == "bf16",
        fp16=options.precision == "fp16",
        use_cpu=not on_gpu,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
    )
    gold = map(model.labels.index, run.frame["label"].astype(str))
    rows = list(zip(texts_of(run.frame, options), gold, strict=True))
    weights = _weights(run.frame, options, model.labels, model.encoder.device)
    trainer = Keyed(
        _scorer(model, weights),
        settings,
        train_dataset=rows,
        callbacks=[_writing(run, weights)],
        data_collator=lambda batch: {
            "gold": torch.tensor([gold for _, gold in batch]),
            **encoded(model, [pair for pair, _ in batch]),
        },
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _scorer(model: EncoderModel, weights: Any) -> Any:
    """Return encoder and head as one module, from tokenised texts to the loss.

    sentence-transformers' SoftmaxLoss is the same model, but its trainer does not store the head in checkpoints, so that a
    run could not be resumed (docs/decisions/0064).
    """
    import torch

    class Scorer(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.head = model.encoder, model.head

        def forward(self, gold: Any, first: Any, second: Any = None) -> dict[str, Any]:
            scores = scored(model.options.kind, self.encoder, self.head, first, second)
            return {"loss": weighted_loss(scores, gold, weights)}

    return Scorer()


def _order(trainer: Any, run: _Run) -> Any:
    """Return the rows of the next or current epoch in keyed order."""
    import torch

    class Order(torch.utils.data.Sampler):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(run.frame)

        def __iter__(self) -> Iterator[int]:
            epoch = trainer.state.global_step // run.updates
            return map(
                int, keyed.order(run.model.options.seed, f"epoch {epoch}", map(str, range(len(run.frame))))
            )

    return Order()


def _writing(run: _Run, weights: Any) -> Any:
    """Return the callback that writes checkpoints: every few minutes, and after each epoch with the dev loss."""
    from transformers import TrainerCallback

    class Writing(TrainerCallback):  # type: ignore[misc]
        kept_at = time.monotonic()

        def on_epoch_begin(self, *_: Any, **__: Any) -> None:
            run.progress("epochs", len(run.course.losses), run.model.options.epochs)

        def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
            due = run.keep and time.monotonic() - self.kept_at >= KEEP_SECONDS
            control.should_save = due and state.global_step % run.updates != 0  # the epoch's end has its own
            self.kept_at = time.monotonic() if control.should_save else self.kept_at

        def on_epoch_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
            course = run.course
            course.losses.append(math.fsum(course.batches) / len(course.batches))
            course.batches.clear()
            if run.dev is not None:
                course.dev.append(_loss_on(run.model, run.dev, weights))
            control.should_save = run.keep or bool(run.model.options.patience)
            control.should_training_stop = control.should_training_stop or run.is_over

    return Writing()


def _contents(checkpoint: Path) -> dict[str, str]:
    """Return a hash of each file, so that damaged checkpoints are reported and not used."""
    files = [path for path in sorted(checkpoint.iterdir()) if path.name != COURSE]
    return {path.name: storage.sha256_of(path) for path in files}


def _last(run: _Run) -> Path | None:
    """Return the last complete checkpoint, if any, and restore the progress. A checkpoint of another training is refused."""
    whole = [path.parent for path in run.folder.glob(f"checkpoint-*/{COURSE}")]
    if not whole:
        return None
    last = max(whole, key=lambda path: int(path.name.partition("-")[2]))
    try:
        told = json.loads((last / COURSE).read_text("utf-8"))
        intact, kept = told["files"] == _contents(last), Course(**told["course"])
    except (OSError, ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise InputError("cannot be read as the state of a training", file=last, remedy="Remove it")
    if told["key"] != run.key:
        raise InputError(
            "belongs to a training with other data or settings",
            file=last,
            remedy="Remove it, or name another folder",
        )
    run.course.losses, run.course.dev, run.course.batches = kept.losses, kept.dev, kept.batches
    return last


def forget(state: Path) -> None:
    """Delete the checkpoints of a finished training."""
    for checkpoint in state.glob("checkpoint-*"):
        storage.remove(checkpoint)


def _restore(module: Any, checkpoint: Path) -> None:
    from safetensors.torch import load_file

    module.load_state_dict(load_file(checkpoint / "model.safetensors"))


def _loss_on(model: EncoderModel, frame: pd.DataFrame, weights: Any) -> float:
    """Return the weighted loss on a part not used for training."""
    import numpy as np

    chances = model.probabilities(frame)
    gold = [model.labels.index(label) for label in frame["label"].astype(str)]
    w = weights.double().cpu().numpy()[gold]
    return float(np.sum(-w * np.log(np.maximum(chances[range(len(gold)), gold], 1e-300))) / w.sum())


def _weights(frame: pd.DataFrame, options: Encoder, labels: Sequence[str], device: Any) -> Any:
    """Return the labels' class weights; 1 for all if not requested, and for labels without rows."""
    import torch

    weights = class_weights(frame["label"]) if options.class_weights else {}
    return torch.tensor([weights.get(label, 1.0) for label in labels], dtype=torch.float32, device=device)


def _checked(frame: pd.DataFrame, labels: Sequence[str]) -> None:
    if "label" not in frame.columns or frame.empty:
        raise InputError("the table has no labelled rows to train on")
    if not labels:
        raise InputError("the label set is empty")
    for label in sorted(set(frame["label"].astype(str)) - set(labels)):
        raise InputError(f"the label '{label}' is not in the label set", remedy=nearest(label, labels))


def training_key(
    frame: pd.DataFrame,
    dev: pd.DataFrame | None,
    options: Encoder,
    labels: Sequence[str],
    start: Path | EncoderModel | None = None,
) -> str:
    """Return a hash of all inputs of a trained model: rows, settings, and the initial model."""
    if isinstance(start, EncoderModel):
        origin = digest(start)
    else:
        origin = fingerprint(options.path) if start is None else str(described(start)["weights"])
    settings = {name: value for name, value in asdict(options).items() if name != "path"}
    summed = hashlib.sha256(json.dumps([VERSION, settings, list(labels), origin]).encode())
    for part in (frame, dev):
        if part is not None:
            add_rows(summed, part)
        summed.update(b"|")
    return summed.hexdigest()
