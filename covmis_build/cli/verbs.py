"""Commands made of operations: parameters are options, the docstring is the help, the result is printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter as Argued
from inspect import Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import listed, numbers, pairs_of
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.operations import REQUIRED, About, Many, Operation, Parameter, operation
from covmis_build.study.study import open_study
from covmis_build.study.verbs import VERBS

if TYPE_CHECKING:
    from typer import Typer

    from covmis_build.report.result import Result

ROUND = Annotated[str, Option("--round", metavar="N", help="The round (default: the last one opened).")]


@dataclass(frozen=True)
class Instead:
    """Another operation that the command does when one of its options is given: `covmis status --dropped STEP`."""

    home: str
    when: str
    """The parameter, of its operation or of its own, whose option chooses it."""
    about: About | None = None
    """What the option does that is no parameter of the operation."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the operation; of all but the choosing one the help says what they go with."""
        own = operation(self.home).parameters
        chooser = next((at for at in own if at.name == self.when), None)
        if chooser is None:
            assert self.about is not None
            chooser = Parameter(self.when, self.about, bool, default=False)
        return (chooser, *(_beside(at, chooser.flag) for at in own if at.name != self.when))


def _beside(at: Parameter, flag: str) -> Parameter:
    """A parameter whose help says which option it goes with."""
    help_ = at.about.help
    return replace(at, about=replace(at.about, help=f"With {flag}: {help_[:1].lower()}{help_[1:]}"))


Bind = Callable[..., Callable[..., Any]]
"""Gives the function to call: the operation on the study, round or recall that the command line names."""


def verbs(app: Typer, group: str, **how: Mapping[str, Any]) -> None:
    """Add the operations of a group as its commands; `how`: what `made` has to know of one of them."""
    for command in VERBS:
        if command.startswith(f"{group} "):
            name = command.removeprefix(f"{group} ")
            of = operation(VERBS[command]).parameters
            queries = any(at.about.metavar in {"EXPRESSION", "KEYWORDS..."} for at in of)
            minus = {"ignore_unknown_options": queries}  # a query may begin with a minus
            app.command(name, context_settings=minus)(made(command, **how.get(name, {})))


def bound(
    asked: Operation, given: Mapping[str, Any], *, study: Path | None, number: str, half_purged: bool
) -> Callable[..., Any]:
    """The operation on the study, its round or its recall, as the command line says which."""
    del given
    function = asked.load()
    if not asked.owner:
        return lambda **own: function(**own, **({"study": study} if "study" in asked.others else {}))
    opened = open_study(study, half_purged=half_purged)
    home = {"Study": lambda: opened, "Round": lambda: opened.round(number), "Recall": opened.recall}[
        asked.owner
    ]()
    return lambda **own: function(home, **own)


def made(
    command: str, *, instead: Sequence[Instead] = (), half_purged: bool = False, bind: Bind = bound
) -> Callable[..., Result | None]:
    """Make a command of an operation, or of several of which an option chooses one."""
    main, further = operation(VERBS[command]), [operation(choice.home) for choice in instead]
    known = {at.name: at for at in main.parameters}
    for choice in instead:
        for at in choice.parameters:
            known.setdefault(at.name, at)

    def called(**given: Any) -> Any:
        where = {name: given.pop(name, default) for name, default in (("study", None), ("number", ""))}
        progress = given.pop("progress", silent)
        values = {name: _value(known[name], value) for name, value in given.items()}
        is_set = [name for name, value in values.items() if value not in (known[name].default, None, (), {})]
        chosen = next((choice for choice in instead if choice.when in is_set), None)
        asked = operation(chosen.home) if chosen else main
        names = {at.name for at in asked.parameters} | asked.others
        for name in is_set:
            if name not in names and (chosen is None or name != chosen.when):
                raise _goes_not_with(known, name, chosen, instead)
        own = {name: value for name, value in values.items() if name in names}
        if "progress" in asked.others:
            own["progress"] = progress
        return bind(asked, own, **where, half_purged=half_purged)(**own)

    options = [_option(at) for at in known.values()]
    if main.owner == "Round":
        options.append(Argued("number", Argued.KEYWORD_ONLY, default="", annotation=ROUND))
    if main.owner or "study" in main.others:
        options.append(Argued("study", Argued.KEYWORD_ONLY, default=None, annotation=StudyOption))
    if any("progress" in each.others for each in (main, *further)):
        options.append(Argued("progress", Argued.KEYWORD_ONLY, default=silent, annotation=object))
    called.__signature__ = Signature(options)  # type: ignore[attr-defined]
    called.__name__, called.__doc__ = command.replace(" ", "_"), main.help
    return called


def _goes_not_with(
    known: Mapping[str, Parameter], name: str, chosen: Instead | None, instead: Sequence[Instead]
) -> InputError:
    """The error of an option that what was asked for does not have."""
    said = known[name].flag or known[name].about.metavar
    if chosen:
        return InputError(f"{said} and {known[chosen.when].flag} do not go together", remedy="Leave one out")
    home = next(other for other in instead if name in {at.name for at in other.parameters})
    return InputError(f"{said} goes with {known[home.when].flag}", remedy=f"Add {known[home.when].flag}")


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
