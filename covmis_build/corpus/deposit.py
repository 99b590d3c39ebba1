"""A release for a repository: a folder to upload, and a list of what is missing. Nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.corpus.bundle import zipped
from covmis_build.corpus.card_sections import WISHED
from covmis_build.corpus.markdown import markdown
from covmis_build.corpus.publish import HUGGING_FACE
from covmis_build.corpus.release_facts import from_json
from covmis_build.places import CHECKSUMS, FACTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.options import Release

UPLOAD = "upload"
CHECKLIST = "CHECKLIST.md"
IDS_ONLY = "ids only, no texts of posts"


def make_deposit(release: Path, folder: Path) -> Path:
    """Copy a finished release to `folder`/upload, without subfolders as repositories require, with a checklist next to it.

    The files are unchanged. Those of huggingface/ are one zip, which must be extracted before `covmis verify`.
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


class ReleaseCheck(NamedTuple):
    """A requirement of a release, and the remedy if it is not met."""

    passed: bool
    what: str
    remedy: str


def release_checks(options: Release, sealed: Mapping[str, bool]) -> list[ReleaseCheck]:
    """Return what to check before the upload; `sealed` are the rounds that count."""
    checks = [
        ReleaseCheck(bool(getattr(options, name)), told, f"missing: {told}. Set [release] {name}")
        for name, told in WISHED.items()
    ]
    checks += [
        ReleaseCheck(done, f"round {name} is sealed", f"round {name} is not sealed: `covmis round seal`")
        for name, done in sealed.items()
    ]
    terms = "texts of posts are in it: the platforms' terms mostly forbid passing them on"
    reserve = "no DOI yet: reserve one, set [release] doi, and release again, so that the citation has it"
    return [
        *checks,
        ReleaseCheck(not options.text, IDS_ONLY, terms),
        ReleaseCheck(bool(options.doi), "a DOI", reserve),
    ]


def _checklist(facts: ReleaseFacts) -> str:
    sealed = {round_.name: bool(round_.seal) for round_ in facts.rounds if not round_.pilot}
    checks = release_checks(facts.release, sealed)
    lines = [f"- [ ] {markdown(check.remedy)}" for check in checks if not check.passed]
    lines = lines or ["Nothing is missing."]
    steps = [
        f"`covmis verify {UPLOAD}/{CHECKSUMS}` passes where {HUGGING_FACE}.zip has been unpacked",
        "all files of `upload/` are uploaded; `datacite.json` has what the repository's form asks for",
        "a new version later: raise [release] version, release and deposit again",
    ]
    return "\n".join(
        [
            f"# Before {markdown(facts.title)} is uploaded",
            "",
            "## Missing",
            "",
            *lines,
            "",
            "## Steps",
            "",
            *(f"- [ ] {step}" for step in steps),
            "",
        ]
    )
