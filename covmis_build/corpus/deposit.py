"""A release as a repository takes it: a folder to upload, and a list of what is missing; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.corpus.bundle import zipped
from covmis_build.corpus.card_sections import not_stated
from covmis_build.corpus.markdown import markdown
from covmis_build.corpus.publish import CHECKSUMS, FACTS, HUGGING_FACE
from covmis_build.corpus.release_facts import from_json

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.corpus.release_facts import ReleaseFacts

UPLOAD = "upload"
CHECKLIST = "CHECKLIST.md"


def make_deposit(release: Path, folder: Path) -> Path:
    """Copy a finished release to `folder`/upload, flat as repositories want it, with a checklist next to it.

    The files keep their bytes; those of huggingface/ are one zip, which is decompressed before `covmis verify`.
    """
    facts = from_json((release / FACTS).read_bytes())
    storage.remove(folder / UPLOAD)
    for path in sorted(release.iterdir()):
        if path.is_file():
            storage.write_bytes(folder / UPLOAD / path.name, path.read_bytes())
    hub = sorted((release / HUGGING_FACE).iterdir())
    data = zipped({f"{HUGGING_FACE}/{path.name}": path.read_bytes() for path in hub})
    storage.write_bytes(folder / UPLOAD / f"{HUGGING_FACE}.zip", data)
    storage.write_text(folder / CHECKLIST, _checklist(facts))
    return folder


def missing(facts: ReleaseFacts) -> list[str]:
    """What somebody should see to before the upload, a line each."""
    lines = [f"[release] {name} is empty: {told}" for name, told in not_stated(facts).items()]
    lines += [
        f"round {round_.name} is not sealed: `covmis round seal`"
        for round_ in facts.rounds
        if not round_.pilot and not round_.seal
    ]
    if facts.release.text:
        lines.append("texts of posts are in it: the platforms' terms mostly forbid passing them on")
    if not facts.release.doi:
        lines.append(
            "no DOI yet: reserve one, set [release] doi, and release again, so that the citation has it"
        )
    return lines


def _checklist(facts: ReleaseFacts) -> str:
    lines = [f"- [ ] {markdown(line)}" for line in missing(facts)] or ["Nothing is missing."]
    steps = [
        f"`covmis verify {UPLOAD}/{CHECKSUMS}` passes where {HUGGING_FACE}.zip has been unpacked",
        "all files of `upload/` are uploaded; `datacite.json` has what the repository's form asks for",
        "a new version later: raise [release] version, release and deposit again",
    ]
    return "\n".join(
        [
            f"# Before {markdown(facts.title)} is uploaded", "", "## Missing", "", *lines, "", "## Steps", "",
            *(f"- [ ] {step}" for step in steps), "",
        ]
    )  # fmt: skip
