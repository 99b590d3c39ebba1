"""`covmis posts`: preview a file of posts, and add it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs
from covmis_build.study.study import study_of

if TYPE_CHECKING:
    from collections.abc import Callable

app = Commands(help="Check and add files of posts.", no_args_is_help=True)


def _with_or_without_study(asked: Any, given: Any, **where: Any) -> Callable[..., Any]:
    """A file can be looked at before there is a study."""
    del asked, given
    from covmis_build.study.look import look

    study = study_of(Path.cwd(), where["study"], half_purged=True)
    return lambda file: look(file, study)


verbs(app, "posts", look={"bind": _with_or_without_study})
