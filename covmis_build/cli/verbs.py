"""Commands made of operations: parameters are options, the docstring is the help, the result is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter as Argued
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Argument, Option

from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import listed, numbers, pairs_of
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.operations import REQUIRED, Many, Operation, Parameter, operation
from covmis_build.study.study import open_study
from covmis_build.study.verbs import VERBS, Choice, Verb

if TYPE_CHECKING:
    from typer import Typer

    from covmis_build.report.result import Result

ROUND = Annotated[str, Option("--round", metavar="N", help="The round (default: the last one opened).")]


class Where(NamedTuple):
    """What the command line says of the study: its folder, the round, and whether it may be half purged."""

    study: Path | None
    number: str
    half_purged: bool


Bind = Callable[["Operation", Mapping[str, Any], Where], Callable[..., Any]]
"""Gives the function to call: the operation on the study, round or recall that the command line names."""


def verbs(app: Typer, group: str, **bind: Bind) -> None:
    """Add the operations of a group as its commands."""
    for command, verb in VERBS.items():
        if command.startswith(f"{group} "):
            name = command.removeprefix(f"{group} ")
            queries = any(
                at.about.metavar in {"EXPRESSION", "KEYWORDS..."} for at in verb.parameters.values()
            )
            minus = {"ignore_unknown_options": queries}  # a query may begin with a minus
            app.command(name, context_settings=minus)(made(command, bind.get(name, bound)))


def bound(asked: Operation, given: Mapping[str, Any], where: Where) -> Callable[..., Any]:
    """The operation on the study, its round or its recall, as the command line says which."""
    del given
    function = asked.load()
    if not asked.owner:
        return partial(function, **({"study": where.study} if "study" in asked.others else {}))
    study = open_study(where.study, half_purged=where.half_purged)
    if asked.owner == "Round":
        return partial(function, study.round(where.number))
    return partial(function, study.recall() if asked.owner == "Recall" else study)


def made(command: str, bind: Bind = bound) -> Callable[..., Result | None]:
    """Make a command of an operation, or of several of which an option chooses one."""
    verb = VERBS[command]
    main, known = verb.operation, verb.parameters

    def called(**given: Any) -> Any:
        where = Where(given.pop("study", None), given.pop("number", ""), verb.half_purged)
        progress = given.pop("progress", silent)
        values = {name: _value(known[name], value) for name, value in given.items()}
        is_set = [name for name, value in values.items() if value not in (known[name].default, None, (), {})]
        choice, asked = verb.choice(is_set), verb.chosen(is_set)
        _check(asked, choice, verb, is_set)
        own = {at.name: values[at.name] for at in asked.parameters}
        if "progress" in asked.others:
            own["progress"] = progress
        return bind(asked, own, where)(**own)

    options = [_option(at) for at in known.values()]
    if main.owner == "Round":
        options.append(Argued("number", Argued.KEYWORD_ONLY, default="", annotation=ROUND))
    if main.owner or "study" in main.others:
        options.append(Argued("study", Argued.KEYWORD_ONLY, default=None, annotation=StudyOption))
    if any("progress" in each.others for each in (main, *(operation(one.home) for one in verb.choices))):
        options.append(Argued("progress", Argued.KEYWORD_ONLY, default=silent, annotation=object))
    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    called.__name__, called.__doc__ = command.replace(" ", "_"), main.help
    return called


def _check(asked: Operation, choice: Choice | None, verb: Verb, is_set: Sequence[str]) -> None:
    """Refuse options that what was asked for does not have, and the lack of one that it needs."""
    known, names = verb.parameters, {at.name for at in asked.parameters}
    chooser = known[choice.by].written if choice else ""
    for name in is_set:
        if name in names or (choice and name == choice.by):
            continue
        if choice:
            problem = f"{known[name].written} and {chooser} do not go together"
            raise InputError(problem, remedy="Leave one out")
        home = next(one for one in verb.choices if name in {at.name for at in one.parameters})
        needed = known[home.by].written
        raise InputError(f"{known[name].written} goes with {needed}", remedy=f"Add {needed}")
    for at in asked.parameters:
        if choice and at.default is REQUIRED and at.name not in is_set:
            raise InputError(f"{chooser} needs {known[at.name].written}", remedy="Name it")


def _option(at: Parameter) -> Argued:
    """A parameter as typer declares it."""
    about, default = at.about, ... if at.default is REQUIRED else at.default
    kind: Any = list.__class_getitem__(at.kind) if at.many is Many.SEVERAL else at.kind
    if at.many is Many.PAIRS:
        kind = list[str]
    if about.commas:
        kind, default = str, ",".join(map(str, default)) if default and default is not ... else default or ""
    elif at.many is not Many.ONE and default is not ...:
        kind, default = kind | None, None
    elif default is None:
        kind = kind | None
    more: dict[str, Any] = {
        "metavar": about.metavar or None,
        "help": about.help,
        "min": about.at_least,
        "max": about.at_most,
    }
    if about.argument:
        spoken: Any = Argument(**more)
    else:
        spoken = Option(at.flag, envvar=about.environment or None, **more)
        default = False if at.is_switched_off else default
    empty = Argued.empty if default is ... else default
    return Argued(at.name, Argued.KEYWORD_ONLY, default=empty, annotation=Annotated[kind, spoken])


def _value(at: Parameter, given: Any) -> Any:
    """What was given, as the operation takes it."""
    if at.is_switched_off:
        return not given
    if at.many is Many.PAIRS:
        form = at.about.metavar
        texts = listed(given) if at.about.commas else given
        plain = at.kind is str and not at.about.may_be_empty
        return pairs_of(at.flag, texts, form, *([] if plain else [at.kind]))
    if at.about.commas:
        return tuple(numbers(given, at.flag, at.kind) if at.kind in {int, float} else listed(given))
    if at.many is Many.SEVERAL:
        return tuple(given or ())
    return given
