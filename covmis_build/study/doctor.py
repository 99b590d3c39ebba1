"""Check which parts of covmis are ready on this machine, which are missing, and how to install them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from covmis_build.addresses import Address
from covmis_build.credentials import NAMES, find
from covmis_build.errors import CheckFailed, InputError, ServiceError, pip_install
from covmis_build.operations import About
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from covmis_build.operations import Spark
    from covmis_build.report.summary import Summary

CORE = (
    "duckdb", "httpx", "jinja2", "langdetect", "markdown-it-py", "msgspec", "numba",
    "numpy", "openpyxl", "pandas", "pyarrow", "python-calamine", "rapidfuzz", "rich", "scikit-learn", "scipy", "snowballstemmer", "starlette", "statsmodels", "tomlkit", "typer",
    "uvicorn", "zstandard",
)  # fmt: skip
"""The packages that pyproject.toml requires."""
EXTRAS = {
    "label-studio": (("label_studio_sdk",), "annotate in Label Studio"),
    "x": (("twarc",), "collect posts from X"),
    "bluesky": (("atproto",), "collect posts from Bluesky"),
    "mastodon": (("mastodon",), "collect posts from Mastodon"),
    "snscrape": (("snscrape",), "collect public channels and accounts"),
    "language": (("py3langid", "pycld2"), "faster language detectors"),
    "keyring": (("keyring",), "keep credentials in the system's keyring"),
    "qr": (("segno",), "QR codes of annotators' links"),
    "figures": (("typst",), "figures as PDF and PNG"),
    "statistics": (("pyreadstat", "rdata"), "read files of SPSS and R"),
    "spark": (("pyspark",), "run matching and cleaning on Apache Spark"),
    "models": (("torch", "transformers", "accelerate"), "neural stance models; linear ones work without"),
    "lora": (("peft",), "LoRA: training low-rank additions instead of the encoder"),
    "model2vec": (("model2vec",), "linear models on static embeddings"),
}
OLDEST_JAVA = 17
OF_SERVICES = {
    "GOOGLE_FACT_CHECK_KEY": "the key of `covmis claims import --search`",
}
"""Credentials that are read only from the environment."""
PROGRAMS = {
    "java": "Apache Spark needs Java 17: install a JRE",
    "chromium": "only for this project's own tests of pages: `make services`",
}


class Kind(StrEnum):
    """The kind of a component."""

    CORE = "core"
    EXTRA = "extra"
    PROGRAM = "program"
    CREDENTIAL = "credential"
    ARCHIVE = "archive"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Component:
    """A part of covmis or an optional program: version or state, and how to install it."""

    part: str
    kind: Kind
    state: str
    note: str


@dataclass(frozen=True, slots=True, repr=False)
class Doctor(Result):
    """The available and missing components."""

    parts: tuple[Component, ...]

    @property
    def missing(self) -> list[str]:
        """Return the required packages that are not installed."""
        return [part.part for part in self.parts if part.kind is Kind.CORE and part.state == "missing"]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis doctor --json` prints it."""
        return {"parts": [asdict(part) for part in self.parts], "complete": not self.missing}

    @property
    def summary(self) -> Summary:
        """Return one row per component."""
        rows = [(part.part, part.state, part.note) for part in self.parts]
        complete = [] if self.missing else ["", "The core is complete."]
        return [Listing(("part", "state", "note"), rows), *complete]

    def check(self) -> None:
        """Raise an error if a required package is missing."""
        if self.missing:
            raise CheckFailed(f"covmis cannot do without {', '.join(self.missing)}: pip install covmis")


def doctor(
    study: Path | str | None = None,
    *,
    master: Annotated[str, About("Also check the workers of this Spark: spark://host:7077.")] = "",
    settings: Spark = None,
) -> Doctor:
    """Check the installation.

    Ends with exit code 1 if a part of the core is missing. Shows only whether credentials are set. In a study also
    says whether the buckets of its archive answer.

    Example: covmis doctor
    """
    from covmis_build.study.study import study_of

    # also allowed during an interrupted purge
    try:
        here = study_of(Path.cwd(), Path(study) if study else None, half_purged=True)
    except InputError:
        if study:
            raise
        here = None  # a study that cannot be read must not stop the check
    far = [path for path in here.places.archives if isinstance(path, Address)] if here else []
    far += [here.places.far.address] if here and here.places.far else []
    workers = _workers(far, {**(settings or {}), "spark.master": master}) if master else ()
    return Doctor((*_core(), *_extras(), *_programs(), *_credentials(), *_archives(far), *workers))


def _core() -> Iterator[Component]:
    yield Component("Python", Kind.CORE, ".".join(map(str, sys.version_info[:3])), "")
    for name in CORE:
        try:
            yield Component(name, Kind.CORE, metadata.version(name), "")
        except metadata.PackageNotFoundError:
            yield Component(name, Kind.CORE, "missing", "pip install covmis")


def _extras() -> Iterator[Component]:
    """Return the extras. An extra is ready if all its modules are installed."""
    for extra, (modules, what) in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        state = "ready" if not missing else "not installed" if len(missing) == len(modules) else "incomplete"
        note = f"{what}: {pip_install(extra)}" if missing else what
        yield Component(f"extra {extra}", Kind.EXTRA, state, note)


def _programs() -> Iterator[Component]:
    for name, note in PROGRAMS.items():
        there = shutil.which(name) is not None
        old = there and name == "java" and _version_of_java() < OLDEST_JAVA
        state = "too old" if old else "ready" if there else "not found"
        yield Component(name, Kind.PROGRAM, state, "" if state == "ready" else note)


def _version_of_java() -> int:
    """Return the major version of the Java that Spark would start; before 9 it was called 1.x."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=f"{home}/bin") if home else "java"
    command = [program or "java", "-version"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # noqa: S603 - our own words
    match = re.search(r'version "(\d+)', said)
    return int(match[1]) if match else 0


def _archives(addresses: Sequence[Path]) -> Iterator[Component]:
    """Check whether the object stores respond with this machine's credentials."""
    for address in addresses:
        try:
            state, note = (
                ("ready", "") if address.exists() else ("empty", "nothing has a name that begins so")
            )
        except ServiceError as error:
            state, note = "no answer", str(error)
        yield Component(str(address), Kind.ARCHIVE, state, note)


def _workers(addresses: Sequence[Path], settings: Mapping[str, str]) -> Iterator[Component]:
    from covmis_build.engine.spark import open_spark
    from covmis_build.engine.spark_workers import edition, workers

    with open_spark(settings=settings) as engine:
        for worker in workers(engine.started(), [path for path in addresses if path.exists()]):
            unseen = "; ".join(f"{file}: {reason}" for file, reason in worker.unseen)
            same = worker.edition == edition()
            state = "ready" if same and not unseen else "sees no archive" if same else "another covmis"
            own = f"Python {worker.python}, covmis {worker.edition}"
            yield Component(
                f"worker {worker.host}", Kind.WORKER, state, f"{own}; {unseen}" if unseen else own
            )


def _credentials() -> Iterator[Component]:
    """Return the names of the credentials that are set (environment or keyring), never their values."""
    for name, what in NAMES.items():
        yield Component(name, Kind.CREDENTIAL, "set" if find(name) else "not set", what)
    for name, what in OF_SERVICES.items():
        is_set = bool(os.environ.get(name, "").strip())
        yield Component(name, Kind.CREDENTIAL, "set" if is_set else "not set", what)
