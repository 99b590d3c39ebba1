"""Write data/release: data, card, methods, statistics, metadata, readers, checksums."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from covmis_build import anchors, storage
from covmis_build.anchors import OF_ROOT
from covmis_build.corpus import (
    card,
    citation,
    convert,
    covmis_shape,
    croissant,
    design,
    hugging_face,
    people_labels,
    provenance,
    statistics_page,
)
from covmis_build.corpus.bundle import hash_tree, root_of
from covmis_build.corpus.datacite import datacite
from covmis_build.corpus.datapackage import datapackage, reader_for_pandas, reader_for_r
from covmis_build.corpus.inventory import PLACE, file_hashes
from covmis_build.corpus.methods import methods
from covmis_build.corpus.release_facts import to_json, without_root
from covmis_build.corpus.resources import (
    ANNOTATIONS,
    CLAIMS,
    DIVIDED,
    IN_COVMIS_SHAPE,
    MISINFORMATION,
    PAIRED,
    PAIRS,
    PARTS,
    PEOPLE,
    SOFT_LABELS,
    SPLITS,
    STANCE,
    WEIGHTS,
    resources_of,
    soft_resource,
    weights_resource,
)
from covmis_build.corpus.signature import SIGNATURE
from covmis_build.corpus.statistics import statistics
from covmis_build.places import CHECKSUMS, DESIGN, FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from covmis_build.corpus.design import Drawn
    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.resources import Resource
    from covmis_build.corpus.statistics import Statistics

SURVEY_SCRIPTS = ("estimates.R", "estimates.py", "estimates_svy.py")
STATISTICS = "statistics.json"
HUGGING_FACE = "huggingface"
BUNDLE = "bundle.zip"
CRATE = "ro-crate-metadata.json"
ALWAYS = (
    *(f"corpus.{name}" for name in convert.FORMATS),
    f"{STANCE}.csv",
    "card.md",
    "card.html",
    "methods.md",
    "statistics.html",
    "statistics.tex",
    STATISTICS,
    FACTS,
    "croissant.json",
    "datapackage.json",
    "datacite.json",
    "codemeta.json",
    CRATE,
    "settings.toml",
    "citation.bib",
    "read_with_r.R",
    "read_with_pandas.py",
    f"{HUGGING_FACE}/README.md",
)
SOMETIMES = (
    f"{ANNOTATIONS}.csv",
    f"{ANNOTATIONS}.parquet",
    *(f"{name}.csv" for name in (SOFT_LABELS, SPLITS, WEIGHTS, PAIRS, MISINFORMATION)),
    DESIGN,
    *SURVEY_SCRIPTS,
    "CITATION.cff",
    "LICENCE.txt",
    f"{HUGGING_FACE}/{ANNOTATIONS}.parquet",
    f"{HUGGING_FACE}/corpus.parquet",
    *(f"{HUGGING_FACE}/{part}.parquet" for part in PARTS),
    BUNDLE,
)
"""Optional files of a release."""


@dataclass(frozen=True)
class Beside:
    """Content of a release besides the corpus, as far as the study has it."""

    labels: pd.DataFrame | None = None
    """Annotators' labels that count."""
    secret: str = ""
    """Shuffles annotator codes; known only to the study."""
    claims: pd.DataFrame | None = None
    """The table of claims, with their queries."""
    splits: pd.DataFrame | None = None
    weights: pd.DataFrame | None = None
    pairs: pd.DataFrame | None = None
    design: Drawn | None = None


@dataclass(frozen=True)
class Content:
    """What the files of a release are made of, besides its facts: tables as they are published."""

    corpus: pd.DataFrame
    numbers: Statistics
    people: pd.DataFrame | None = None
    soft: pd.DataFrame | None = None
    claims: pd.DataFrame | None = None
    splits: pd.DataFrame | None = None
    weights: pd.DataFrame | None = None
    pairs: pd.DataFrame | None = None
    design: Drawn | None = None


def write_release(
    folder: Path,
    corpus: pd.DataFrame,
    facts: ReleaseFacts,
    texts: pd.Series[Any] | None = None,
    beside: Beside | None = None,
    *,
    bundle: Callable[[bytes, dict[str, str]], tuple[bytes, str]] | None = None,
    shares: pd.DataFrame | None = None,
) -> Statistics:
    """Write a complete release and return its statistics.

    `shares` are the study's estimates. `texts` (by item_id) are counted for lengths, and written only if
    `facts.release.text` is set and the corpus has them. Checksums are deleted first and written last: a folder without
    them is not a finished release. Other files of an earlier release are deleted.
    """
    numbers = statistics(corpus, facts.labels.values, texts, shares)
    _clear(folder)
    facts = replace(facts, root=PLACE)
    content = _content(corpus, numbers, facts, beside or Beside())
    write_tables(folder, facts, content)
    texts_of = write_texts(folder, facts, content)
    hashes = release_hashes(folder, PLACE)
    if bundle is None:
        root = root_of(hash_tree(release=hashes))
    else:
        data, root = bundle(without_root(texts_of[FACTS].encode()), hashes)
        storage.write_bytes(folder / BUNDLE, data)
    for name, text in texts_of.items():
        if PLACE in text:
            storage.write_text(folder / name, text.replace(PLACE, root))
    _keep_stamp(folder / OF_ROOT, root)
    storage.write_text(folder / CHECKSUMS, checksums(folder))
    return numbers


def _keep_stamp(path: Path, root: str) -> None:
    """Delete a time stamp of another root hash."""
    if path.exists() and not anchors.may_be_of(path, root):
        storage.remove(path)


def release_hashes(folder: Path, root: str) -> dict[str, str]:
    """Return the hash of each file of a release that its root hash covers directly; the bundle's own files are in its manifest."""
    return file_hashes(folder, (name for name in (*ALWAYS, *SOMETIMES) if name != BUNDLE), root)


def data_hashes(folder: Path) -> dict[str, str]:
    """Return what the root hash of a release of before 0.3 covers: its data files, and its facts."""
    data = [
        name
        for name in (*ALWAYS, *SOMETIMES)
        if name.endswith((".csv", ".jsonl", ".parquet", STATISTICS)) and (folder / name).is_file()
    ]
    hashes = {name: storage.sha256_of(folder / name) for name in data}
    return hashes | {FACTS: hashlib.sha256(without_root((folder / FACTS).read_bytes())).hexdigest()}


def _clear(folder: Path) -> None:
    """Delete the mark of a finished release, and leftovers of an earlier or interrupted one."""
    for name in (CHECKSUMS, SIGNATURE, *SOMETIMES):
        storage.remove(folder / name)
    for path in folder.rglob(".*.part") if folder.is_dir() else ():
        if storage.is_unfinished(path):  # it would be uploaded with the others
            storage.remove(path)


def _content(corpus: pd.DataFrame, numbers: Statistics, facts: ReleaseFacts, beside: Beside) -> Content:
    """Return what a release has of the study's tables besides the corpus."""
    people = soft = None
    if beside.labels is not None:
        said = people_labels.in_corpus_labels(beside.labels, facts.label_sets)
        soft = people_labels.soft_labels(said, corpus, numbers.labels)
        if facts.release.individual_labels:
            people = people_labels.labels_of_people(beside.labels, corpus, secret=beside.secret)
    claims = None if beside.claims is None else covmis_shape.misinformation(beside.claims, corpus)
    return Content(
        corpus,
        numbers,
        people=people,
        soft=soft,
        claims=claims,
        splits=beside.splits,
        weights=beside.weights,
        pairs=beside.pairs,
        design=beside.design,
    )


def write_tables(folder: Path, facts: ReleaseFacts, content: Content) -> None:
    """Write the data files of a release."""
    text, corpus = facts.release.text, content.corpus
    for name in convert.FORMATS:
        convert.write_corpus(folder / f"corpus.{name}", corpus, text=text)
    for name, rows in hub_parts(corpus, content.splits).items():
        convert.write_corpus(folder / HUGGING_FACE / f"{name}.parquet", rows, text=text)
    tables: list[tuple[Resource, pd.DataFrame | None]] = [
        (IN_COVMIS_SHAPE, covmis_shape.stance(corpus)),
        (PEOPLE, content.people),
        (soft_resource(content.numbers.labels), content.soft),
        (CLAIMS, content.claims),
        (DIVIDED, content.splits),
        (weights_resource([] if content.weights is None else [*content.weights]), content.weights),
        (PAIRED, content.pairs),
    ]
    for resource, cells in tables:
        if cells is not None:
            resource.write(folder, cells)
    if content.people is not None:
        for path in (folder / PEOPLE.source, folder / HUGGING_FACE / PEOPLE.source):
            storage.write_bytes(path, parquet_bytes(content.people, PEOPLE.schema))
    if content.design is not None:
        storage.write_text(folder / DESIGN, design.to_json(content.design))


def write_texts(folder: Path, facts: ReleaseFacts, content: Content) -> dict[str, str]:
    """Write and return what follows from the data files, and the facts: all other files but bundle and checksums."""
    texts = _rendered(folder, facts, content.numbers, content.splits) | {FACTS: to_json(facts)}
    for name, written in texts.items():
        storage.write_text(folder / name, written)
    return texts


def hub_parts(corpus: pd.DataFrame, divided: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    """Return the files of the Hugging Face folder: the corpus, or one file per non-empty part."""
    if divided is None:
        return {"corpus": corpus}
    part_of = corpus["item_id"].map(divided.set_index("item_id")["part"])
    return {name: corpus[part_of == name].reset_index(drop=True) for name in PARTS if (part_of == name).any()}


def parquet_bytes(rows: pd.DataFrame, schema: pa.Schema) -> bytes:
    """Return these rows as a Parquet file."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    data = io.BytesIO()
    table = pa.Table.from_pandas(rows, schema=schema, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()


def _first_row(folder: Path) -> dict[str, str]:
    """Return the first item of the corpus as in its file."""
    with (folder / "corpus.csv").open(encoding="utf-8-sig", newline="") as file:
        return next(csv.DictReader(file), {})


def _rendered(
    folder: Path, facts: ReleaseFacts, numbers: Statistics, divided: pd.DataFrame | None
) -> dict[str, str]:
    """Return all files of a release that follow from its facts and data files."""
    lead, title = card.lead(facts, numbers), croissant.safe_name(facts.title)
    told = card.markdown_card(facts, numbers)
    resources = resources_of(folder, facts, numbers.labels)
    sizes = None if divided is None else divided["part"].value_counts()
    parts = None if sizes is None else {name: int(sizes[name]) for name in PARTS if name in sizes}
    header = hugging_face.header(facts, numbers, annotated=PEOPLE in resources, splits=parts)
    usage = hugging_face.usage(parts, _first_row(folder), annotated=PEOPLE in resources)
    data = [
        name
        for name in (*ALWAYS, *SOMETIMES)
        if name.endswith((".csv", ".jsonl", ".parquet")) and "/" not in name
    ]
    files = [
        croissant.ReleasedFile(name, *_described(folder / name)) for name in data if (folder / name).exists()
    ]
    weighted = (folder / f"{WEIGHTS}.csv").exists()
    texts = {
        "card.md": told,
        "card.html": card.html_card(facts, numbers),
        "methods.md": methods(facts, numbers),
        "statistics.html": statistics_page.statistics_html(facts, numbers),
        "statistics.tex": statistics_page.statistics_latex(facts, numbers),
        STATISTICS: _statistics_json(facts, numbers),
        f"{HUGGING_FACE}/README.md": f"{header}{told}\n{usage}",
        "croissant.json": croissant.croissant(facts, numbers, lead, files, resources),
        "datapackage.json": datapackage(facts, title, lead, resources),
        "datacite.json": datacite(facts, lead),
        "codemeta.json": provenance.codemeta(facts, lead),
        "settings.toml": provenance.settings_told(facts),
        "citation.bib": citation.bibtex(facts) + "\n",
        "read_with_r.R": reader_for_r(resources),
        "read_with_pandas.py": reader_for_pandas(resources),
        "LICENCE.txt": facts.licence_text,
        "CITATION.cff": citation.citation_cff(facts, lead) if facts.release.authors else "",
        **(_survey_scripts(facts.labels.values) if weighted else {}),
    }
    texts = {name: text for name, text in texts.items() if text}
    crate = provenance.ro_crate(facts, lead, files, texts)
    return texts | {CRATE: crate}


def checksums(folder: Path) -> str:
    """Return the released files in the format of `sha256sum`."""
    names = sorted([*ALWAYS, *(name for name in SOMETIMES if (folder / name).exists())])
    return "".join(f"{_described(folder / name)[0]}  {name}\n" for name in names)


def _described(path: Path) -> tuple[str, int]:
    data = path.read_bytes()
    return hashlib.sha256(data).hexdigest(), len(data)


def _statistics_json(facts: ReleaseFacts, numbers: Statistics) -> str:
    content = {"title": facts.title, **numbers.to_dict()}
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _survey_scripts(labels: Sequence[str]) -> dict[str, str]:
    """Return scripts for R (survey) and Python (numpy; svy) that compute estimates from a release, for these labels."""
    folder = files(__package__) / "scripts"
    written = ", ".join(json.dumps(label, ensure_ascii=False) for label in labels)
    for_r, *for_python = (
        folder.joinpath(name if name.endswith(".R") else f"{name}.txt").read_text("utf-8")
        for name in SURVEY_SCRIPTS
    )
    texts = [for_r.replace("labels <- LABELS", f"labels <- c({written})")]
    texts += [text.replace('["LABELS"]', f"[{written}]") for text in for_python]
    return dict(zip(SURVEY_SCRIPTS, texts, strict=True))
