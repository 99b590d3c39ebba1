"""Connect a study with its Label Studio: the server in its settings, or the local one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from covmis_build import credentials, storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Pulled
from covmis_build.annotation.channels.label_studio import projects, server
from covmis_build.annotation.channels.label_studio.client import LabelStudio, makers_client
from covmis_build.annotation.channels.label_studio.label_config import study_config
from covmis_build.annotation.guideline import read_guideline
from covmis_build.annotation.relevance import GUIDELINE
from covmis_build.errors import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from covmis_build.annotation.channels.label_studio.tasks import SentProject
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.study.of_study import OfStudy

TOKEN = "LABEL_STUDIO_API_KEY"  # noqa: S105 - the variable's name


@contextmanager
def connected(study: OfStudy) -> Iterator[LabelStudio]:
    """Open a connection to the study's Label Studio and close it at the end."""
    makers_client()  # raises MissingExtra before anything is started
    label_studio = _connection(study)
    try:
        yield label_studio
    finally:
        label_studio.close()


def _connection(study: OfStudy) -> LabelStudio:
    """Return the study's Label Studio: the configured server with its token, or the local one."""
    url = study.settings.annotation.label_studio_url.rstrip("/")
    if url:
        return LabelStudio(url, credentials.need_for(TOKEN, url).reveal())
    mine = server.local_server()
    address = mine.address()
    if not address:
        raise ServiceError("the local Label Studio is not running. Start it with `covmis label-studio up`")
    return LabelStudio(address, mine.users()[server.ADMIN]["token"])


def login(address: str, asked: Callable[[str], str]) -> str:
    """Store the token for this server only. Returns the server's normalised URL."""
    here = credentials.origin(address)
    credentials.store(TOKEN, here, credentials.Secret(asked(here).strip()))
    return here


def push_round(
    study: OfStudy, label_studio: LabelStudio, round_: RoundFolder, work: dict[str, list[str]], guideline: str
) -> list[SentProject]:
    """Create or complete each annotator's project."""
    own = round_.folder / "label_config.xml"  # for rounds with another question
    config = study_config(own if round_.asks_relevance else study.places.label_config, round_.scheme)
    _ensure_users(study, list(work))
    return projects.push_round(
        label_studio, round_, work, study=study.settings.title, config=config, guideline=guideline
    )


def used_by(round_: RoundFolder) -> bool:
    """True if this round has projects in a Label Studio."""
    return bool(projects.known_projects(round_))


def _ensure_users(study: OfStudy, codes: list[str]) -> None:
    """On the local server, create missing users for these annotators."""
    if not study.settings.annotation.label_studio_url:
        server.up(server.local_server(), codes, say=lambda _: None)


def pull_round(study: OfStudy, round_: RoundFolder, work: Mapping[str, Sequence[str]]) -> Pulled:
    """Import the labels from Label Studio."""
    with connected(study) as label_studio:
        return projects.pull_round(label_studio, round_, work, now=storage.moment())


def compare_rounds(study: OfStudy, rounds: Iterable[RoundFolder]) -> list[projects.Compared]:
    """Compare these rounds' labels in Label Studio with the record. Rounds without projects are omitted."""
    there = [round_ for round_ in rounds if used_by(round_)]
    if not there:
        return []
    with connected(study) as label_studio:
        return [projects.compare_round(label_studio, round_) for round_ in there]


def adjudicate_round(
    study: OfStudy, round_: RoundFolder, work: Mapping[str, Sequence[str]], adjudicator: str, *, discuss: bool
) -> Pulled:
    """Import decisions from Label Studio, and send open disagreements."""
    with connected(study) as label_studio:
        _ensure_users(study, [adjudicator])
        pulled = Pulled(round_.number)
        if used_by(round_):
            pulled = projects.pull_round(label_studio, round_, work, now=storage.moment())
        projects.send_disagreements(
            label_studio,
            round_,
            adjudicator,
            study=study.settings.title,
            guideline=GUIDELINE if round_.asks_relevance else read_guideline(study.places.guideline),
            seed=study.settings.seed,
            discuss=discuss,
        )
        return pulled


def forget(study: OfStudy, post_ids: list[str]) -> int:
    """Remove purged posts' tasks from all projects. Returns their number."""
    rounds = [round_ for round_ in record.kept_rounds(study.places.rounds) if used_by(round_)]
    if not rounds:
        return 0
    with connected(study) as label_studio:
        return projects.forget_tasks(label_studio, rounds, post_ids)
