"""The card of a training run: rows, versions, device, and scores."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd


def rows_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the number of rows, and a hash of their content and order.

    >>> import pandas as pd
    >>> rows_of(pd.DataFrame({"text": ["a"], "label": ["favor"]}))
    {'rows': 1, 'sha256': '74d48569f8f0e331'}
    """
    summed = hashlib.sha256()
    add_rows(summed, frame)
    return {"rows": len(frame), "sha256": summed.hexdigest()[:16]}


def add_rows(summed: Any, frame: pd.DataFrame) -> None:
    """Add the content of these rows, in order, to a hash."""
    columns = [name for name in ("text", "target", "label") if name in frame.columns]
    for row in frame[columns].fillna("").astype(str).itertuples(index=False, name=None):
        summed.update(json.dumps(row).encode())


def scored(gold: Iterable[object], said: Sequence[str], labels: Sequence[str]) -> dict[str, float]:
    """Return accuracy and macro-F1."""
    from covmis_build.evaluation.score import score

    measures = ["accuracy", "macro_f1"]
    scores = score([str(label) for label in gold], {"": list(said)}, labels=labels, measures=measures)
    return {str(row["measure"]): float(row["value"]) for row in scores.to_frame().to_dict("records")}


def versions(*, transformer: bool) -> dict[str, str]:
    """Return the versions of the training software, and the device if relevant."""
    from covmis_build import __version__

    if not transformer:
        import sklearn

        return {"covmis": __version__, "scikit-learn": sklearn.__version__}
    import accelerate
    import torch
    import transformers

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {
        "covmis": __version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "accelerate": accelerate.__version__,
        "device": device,
    }
