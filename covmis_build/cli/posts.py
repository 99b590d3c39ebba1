"""`covmis posts`: preview a file of posts, and add it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs
from covmis_build.study.study import study_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from covmis_build.cli.verbs import Where
    from covmis_build.operations import Operation

app = Commands(help="Check and add files of posts.", no_args_is_help=True)


def _with_or_without_study(asked: Operation, given: Mapping[str, Any], where: Where) -> Callable[..., Any]:
    """A file can be looked at before there is a study."""
    del asked, given
    from covmis_build.study.look import look

    study = study_of(Path.cwd(), where.study, half_purged=True)
    return lambda path: look(path, study)


verbs(app, "posts", look=_with_or_without_study)
