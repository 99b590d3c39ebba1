"""The header of a Hugging Face card, for the hub's loader, viewer and search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build import tables
from covmis_build.corpus.convert import columns
from covmis_build.corpus.licences import licence_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
TYPES = {"string": "string", "double": "float64", "int64": "int64"}
WHOLE = "corpus"
"""Name of the only split of a release without splits."""


def header(
    facts: ReleaseFacts, numbers: Statistics, annotated: bool = False, splits: Mapping[str, int] | None = None
) -> str:
    """Return the YAML header, with JSON values. `splits` has each part's rows, if there are parts."""
    size = next((name for most, name in SIZES if numbers.rows < most), "1M<n<10M")
    parts = splits or {WHOLE: numbers.rows}
    files = {name: f"{name}.parquet" if splits else "corpus.parquet" for name in parts}
    described: dict[str, Any] = {
        "pretty_name": facts.title,
        **_licence(facts.release.licence),
        "language": list(facts.cleaning.languages),
        "multilinguality": ["monolingual" if len(facts.cleaning.languages) == 1 else "multilingual"],
        "source_datasets": ["original"],
        "task_categories": ["text-classification"],
        "tags": ["stance-detection", "misinformation", *(["simulated"] if facts.release.simulated else [])],
        "size_categories": [size],
        "configs": [
            {
                "config_name": "default",
                "default": True,
                "data_files": [{"split": name, "path": files[name]} for name in parts],
            },
            *([{"config_name": "annotations", "data_files": "annotations.parquet"}] if annotated else []),
        ],
        "dataset_info": {
            "config_name": "default",
            "features": [_feature(name, numbers.labels) for name in columns(text=facts.release.text)],
        },
    }
    lines = (f"{name}: {json.dumps(value)}" for name, value in described.items())
    return "---\n" + "\n".join(lines) + "\n---\n\n"


def usage(splits: Mapping[str, int] | None, row: Mapping[str, Any], *, annotated: bool) -> str:
    """Return the card's section on loading the dataset, with one example row."""
    lines = ["from datasets import load_dataset", ""]
    lines += [f'{name} = load_dataset("OWNER/NAME", split="{name}")' for name in splits or (WHOLE,)]
    lines += ['annotations = load_dataset("OWNER/NAME", "annotations", split="train")'] if annotated else []
    instance = json.dumps(dict(row), ensure_ascii=False, indent=1)
    code = "\n".join(lines)
    return (
        "## Load it\n\nOWNER/NAME is where this folder was uploaded.\n\n"
        f"```python\n{code}\n```\n\nOne row:\n\n```json\n{instance}\n```\n"
    )


def _feature(name: str, labels: tuple[str, ...]) -> dict[str, Any]:
    if name == "label":
        names = {str(at): label for at, label in enumerate(labels)}
        return {"name": name, "dtype": {"class_label": {"names": names}}}
    return {"name": name, "dtype": TYPES[str(tables.SCHEMAS["corpus"].field(name).type)]}


def _licence(stated: str) -> dict[str, str]:
    licence = licence_of(stated)
    if licence and licence.hub:
        return {"license": licence.hub}
    return {"license": "other", "license_name": stated} if stated else {"license": "unknown"}
