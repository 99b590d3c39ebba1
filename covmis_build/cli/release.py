"""`covmis release`, `verify` and `hydrate`: the corpus to publish, and the checks for its users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.cli.verbs import Where, bound, made
from covmis_build.errors import InputError
from covmis_build.study.study import study_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from covmis_build.operations import Operation


def _of_bundle_or_corpus(asked: Operation, given: Mapping[str, Any], where: Where) -> Callable[..., Any]:
    """A bundle becomes a study; a corpus and archives need none, but where there is one, its purge list holds."""
    corpus, archive = given.get("corpus"), given.get("archive")
    if corpus is not None and corpus.suffix == ".zip":
        if given.get("into") is None:
            raise InputError("a bundle needs a place to become a study", remedy="Name a folder with --into")
        from covmis_build.study.rebuild import rebuild

        return lambda **own: rebuild(own["corpus"], own["into"], own["archive"], progress=own["progress"])
    study = study_of(Path.cwd(), where.study) if corpus is not None and archive else None
    if corpus is None or not archive or study:
        return bound(asked, given, where)
    from covmis_build.study.hydrate import hydrate

    return lambda **own: hydrate(
        own["corpus"], own["archive"], into=own["into"], mask=own["mask"], progress=own["progress"]
    )


release = made("release")
verify = made("verify")
hydrate = made("hydrate", _of_bundle_or_corpus)
