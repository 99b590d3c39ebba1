"""Ablation: retrain with one component removed or changed at a time. See COVMis-Stance, tables 11 and 14."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from covmis_build.models.linear import Linear
from covmis_build.models.nli import Nli
from covmis_build.models.options import options_of
from covmis_build.models.posts import read_posts
from covmis_build.models.table import table
from covmis_build.models.train import steps_before
from covmis_build.models.training_cell import Setting
from covmis_build.models.twostep import BertScore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.models.encoders import Encoder
    from covmis_build.models.options import Options, Settings
    from covmis_build.models.sequence import Step
    from covmis_build.models.table import Compared
    from covmis_build.models.train import Posts

WHOLE = "as it is"


def ablate(
    posts: Posts,
    model: str = "bow",
    *,
    settings: Settings = None,
    before: Sequence[Posts] = (),
    maps: Mapping[str, str] | None = None,
    text_alone: bool = False,
    **how: Any,
) -> Compared:
    """Train and evaluate the model unchanged and with each change, with a test of the difference: see `table`.

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"text": ["so true", "a hoax"] * 5, "claim": "masks", "label": ["favor", "against"] * 5})
    >>> ablate(posts, "bow").cells["model"].tolist()[:3]
    ['as it is', 'single words', 'words in two texts']
    """
    whole = Setting(options_of(model, settings), tuple(steps_before(before, maps)))
    how.setdefault("schemes", ["random"])
    changed = ablations(whole, zero_shot="zero_shot" in how["schemes"])
    frame = read_posts(posts, labelled=True, text_alone=text_alone)
    return table(frame, changed, against=WHOLE, **how)


def ablations(setting: Options | Setting, *, zero_shot: bool = False) -> dict[str, Setting]:
    """Return these settings, and variants with one component removed or changed. Variants without effect are left out.

    Of the datasets learned first, each is left out in turn, and all of them; not all if the model learns from nothing
    else (`zero_shot`).

    >>> list(ablations(Linear()))
    ['as it is', 'single words', 'words in two texts', 'without the target', 'with class weights', 'n-grams in characters']
    >>> from covmis_build.models.encoders import Encoder
    >>> list(ablations(Encoder(path="x")))
    ['as it is', 'claim first', 'without class weights', 'without warm-up', 'sentence-bert']
    """
    whole = setting if isinstance(setting, Setting) else Setting(setting)
    changes: Mapping[str, Linear | Encoder | BertScore | Nli]
    if isinstance(whole.options, BertScore):
        changes = _bertscore(whole.options)
    elif isinstance(whole.options, Nli):
        changes = _nli(whole.options)
    else:
        changes = _linear(whole.options) if isinstance(whole.options, Linear) else _encoder(whole.options)
    settings = {WHOLE: whole}
    for name, before in _before(whole).items():
        settings[name] = replace(whole, before=before)
    for name, options in changes.items():
        if options not in [other.options for other in settings.values()]:
            settings[name] = replace(whole, options=options)
    return {name: changed for name, changed in settings.items() if changed.before or not zero_shot}


def _before(setting: Setting) -> dict[str, tuple[Step, ...]]:
    """Return variants without each dataset. Parts of a mixture (column `part`) count as datasets."""
    without: dict[str, tuple[Step, ...]] = {}
    for at, step in enumerate(setting.before):
        parts = sorted(set(step.frame["part"].astype(str))) if "part" in step.frame.columns else []
        others = (setting.before[:at], setting.before[at + 1 :])
        for part in parts if len(parts) > 1 else ():
            rest = step.frame[step.frame["part"].astype(str) != part].reset_index(drop=True)
            without[f"without {part}"] = (*others[0], replace(step, frame=rest), *others[1])
        without[f"without {step.name}"] = (*others[0], *others[1])
    return {**without, "without all before": ()} if len(setting.before) > 1 else without


def _linear(options: Linear) -> dict[str, Linear]:
    kept = tuple(kind for kind in options.features if "characters" not in kind)
    changes = {
        "single words": replace(options, word_span=(1, 1)),
        "words in two texts": replace(options, min_df=2),
        "without the target": replace(options, target=False),
        "with class weights": replace(options, class_weights="largest"),
        "without class weights": replace(options, class_weights="none"),
        "without characters": replace(options, features=kept),
        "n-grams in characters": replace(options, features=("characters in words",)),
        "one model for all targets": replace(options, per_target=False),
        "without the limit on n-grams": replace(options, max_features=0),
    }
    return {name: changed for name, changed in changes.items() if changed.features}


def _bertscore(options: BertScore) -> dict[str, Encoder | BertScore]:
    changes: dict[str, Encoder | BertScore] = {
        f"threshold {threshold:g}": replace(options, threshold=threshold)
        for threshold in (round(options.threshold + step, 3) for step in (-0.1, 0.1))
        if 0 <= threshold <= 1
    }
    if options.second is not None:
        changes |= {
            "without BERTScore": options.second,
            "without Sentence-BERT": replace(options, second=None),
        }
    return changes


def _nli(options: Nli) -> dict[str, Nli]:
    return {
        "post first" if options.claim_first else "claim first": replace(
            options, claim_first=not options.claim_first
        ),
        "zero-shot": replace(options, shots=0),
        "with 8 rows of each label": replace(options, shots=8),
    }


def _encoder(options: Encoder) -> dict[str, Encoder]:
    other_kind = "sentence-bert" if options.kind == "cross-encoder" else "cross-encoder"
    return {
        "post first" if options.claim_first else "claim first": replace(
            options, claim_first=not options.claim_first
        ),
        "without class weights": replace(options, class_weights=False),
        "with class weights": replace(options, class_weights=True),
        "without warm-up": replace(options, warm_up=0.0),
        other_kind: replace(options, kind=other_kind),  # type: ignore[arg-type] # one of the two
    }
