"""Real LibreOffice, headless: one process opens many sheets, does to each what a person would, and saves it."""

from __future__ import annotations

import subprocess
from dataclasses import astuple, dataclass
from pathlib import Path
from xml.sax.saxutils import escape

DEEDS = Path(__file__).with_name("libreoffice.bas")
CSV = "Text - txt - csv (StarCalc)"
DOCTYPE = '<!DOCTYPE {0}:{1} PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "{1}.dtd">\n'


@dataclass(frozen=True)
class Job:
    """Open `source`, do the deed of libreoffice.bas, if any, and save it as `target` with this filter."""

    source: Path
    target: Path
    filter: str
    options: str = ""
    deed: str = ""
    reading: str = ""
    """How a CSV file is opened: separator, quote, encoding."""
    password: str = ""


def save(folder: Path, jobs: list[Job]) -> None:
    """Do all of these in one process; whatever cannot be done is an error."""
    home = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    soffice = ["soffice", home, "--headless", "--norestore"]
    subprocess.run([*soffice, "--terminate_after_init"], check=True, capture_output=True, timeout=600)
    library = folder / "profile" / "user" / "basic" / "Standard"
    (library / "Module1.xba").write_text(
        DOCTYPE.format("script", "module")
        + '<script:module xmlns:script="http://openoffice.org/2000/script" '
        f'script:name="Module1" script:language="StarBasic">{escape(DEEDS.read_text())}</script:module>'
    )
    lines = []
    for job in jobs:
        parts = [job.deed, job.source, job.reading, job.target, job.filter, job.options, job.password]
        assert len(parts) == len(astuple(job))
        lines.append("\t".join(map(str, parts)))
    (folder / "jobs.txt").write_text("\n".join(lines) + "\n")
    macro = f'macro:///Standard.Module1.Main("{folder}")'
    subprocess.run([*soffice, macro], check=True, capture_output=True, timeout=600)
    failed = folder / "errors.txt"
    assert not failed.exists(), failed.read_text()
    missing = [job for job in jobs if not job.target.exists()]
    assert not missing, missing
