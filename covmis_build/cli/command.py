"""What all commands have: the study, a bar of progress, and a result that is printed in words or as JSON."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

from typer import Exit, Typer

from covmis_build.cli import console
from covmis_build.cli.console import JsonOption, StudyOption
from covmis_build.cli.panels import ELSEWHERE
from covmis_build.cli.plain_values import Command
from covmis_build.study.intents import until_told
from covmis_build.study.study import Study, open_study

if TYPE_CHECKING:
    from covmis_build.report.result import Result


def command(function: Callable[..., Result | None]) -> Callable[..., None]:
    """The function as a command, which prints its result and has --json; by its parameters it asks for more.

    `study: Study` is opened as --study says; `progress` is a bar; a dataclass (`options: Searching`) is filled in from options, one a
    field. A result's warnings go to the error stream, and what it refuses is raised when it has been printed.
    """
    own = dict(signature(function, eval_str=True).parameters)
    studies = [name for name, parameter in own.items() if parameter.annotation is Study]
    groups: dict[str, Any] = {
        name: kind.annotation
        for name, kind in own.items()
        if is_dataclass(kind.annotation) and name not in studies
    }

    @functools.wraps(function)
    def called(as_json: bool, **given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        for name in studies:
            given[name] = open_study(given[name])
        if "as_json" in own:
            given["as_json"] = as_json
        with until_told():
            with console.progress() if "progress" in own else nullcontext() as progress:
                result = function(**given, **({"progress": progress} if progress else {}))
            if result is not None:
                console.warn(*getattr(result, "warnings", ()))
                console.tell(result.to_dict(), result.summary, as_json=as_json)
                sys.stdout.flush()  # told is what has left this process
        if result is not None:
            result.check()
            if result.exit_code:
                raise Exit(result.exit_code)

    plain = [
        parameter for name, parameter in own.items() if name not in {*studies, *groups, "progress", "as_json"}
    ]
    of_groups = [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hint)
        for group in groups.values()
        for field, hint in zip(
            fields(group), get_type_hints(group, include_extras=True).values(), strict=True
        )
    ]
    of_all = [
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=StudyOption) for name in studies),
        Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=JsonOption),
    ]
    every = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*plain, *of_groups, *of_all)]
    called.__signature__ = Signature(every)  # type: ignore[attr-defined] # typer reads both
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return called


class Commands(Typer):
    """A group of commands: each function has what all commands have."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Add a function as a command."""

        def added(function: Callable[..., Result | None]) -> Callable[..., Result | None]:
            plain = {"cls": Command, "epilog": ELSEWHERE, **settings}
            super(Commands, self).command(name, **plain)(command(function))
            return function

        return added
