"""The commands that pages start, and their forms: fields are made from the parameters of the operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, UnknownName
from covmis_build.operations import Many
from covmis_build.study import verbs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.operations import Parameter


@dataclass(frozen=True)
class Start:
    """A command that a page starts: arguments that it always has, and parameters that the page's form gives.

    `shows` is what the form is about (`shown.SUBJECTS`), if the command does something else once that has changed; `of` is the
    field that says which one.
    """

    command: str
    always: Mapping[str, Any] = field(default_factory=dict)
    asks: Sequence[str] = ()
    shows: str = ""
    of: str = ""

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters that the form gives."""
        known = {at.name: at for at in verbs.VERBS[self.command].chosen(self.always).parameters}
        return [known[name] for name in self.asks]

    def given(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the arguments that a form was sent with; an empty field leaves the default."""
        typed = {at.name: _value(at, form.get(at.name, "")) for at in self.parameters}
        for at in self.parameters:
            if at.is_required and typed[at.name] is None:
                raise InputError(f"`covmis {self.command}` needs {at.written}", remedy=at.about.help)
        return {**self.always, **{name: value for name, value in typed.items() if value is not None}}


def _value(at: Parameter, text: str) -> Any:
    if not text.strip():
        return None
    if at.kind is bool:
        return text == "yes"
    if at.many is Many.SEVERAL:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if at.kind in {int, float}:
        try:
            return at.kind(text.strip())
        except ValueError:
            raise InputError(f"'{text[:40]}' is no number", remedy=f"{at.written}: {at.about.help}") from None
    return text


STARTS = {
    "run read": Start("run", {"stages": ["read"]}),
    "round open": Start("round open", shows="rounds"),
    "round open pilot": Start("round open", {"pilot": True}, shows="rounds"),
    **{name: Start(name) for name in ("run", "round push", "round pull", "round report", "round adjudicate", "verify")},
    "round relabel": Start("round relabel", shows="rounds"),
    "round seal": Start("round seal", shows="round", of="round"),
    "round discard archive": Start("round discard", {"archive": True}, ("which",), shows="round", of="which"),
    "round discard": Start("round discard", {}, ("which",), shows="round", of="which"),
    "round reopen": Start("round reopen", {}, ("items", "reason"), shows="round", of="round"),
    "recall plan": Start("recall plan", {}, ("labels", "labels_found", "depth")),
    "recall draw": Start("recall draw", {}, ("labels", "labels_found", "depth", "learn"), shows="rounds"),
    "recall report": Start("recall report", {}, ("queries",)),
    "purge": Start("purge", {}, ("posts", "outside", "leave"), shows="purge"),
    "posts remove": Start("posts remove", {}, ("file",), shows="file", of="file"),
    "claims remove": Start("claims remove", {}, ("claims",), shows="claim", of="claims"),
    "model admit": Start("model admit", {}, ("predictions", "name", "epsilon"), shows="predictions", of="predictions"),
    "model ask": Start("model ask", {"yes": True}, ("url", "model", "key_env", "budget", "temperature", "max_tokens"), shows="prompt"),
    "release": Start("release", {}, ("text", "bundle", "deposit"), shows="release"),
}  # fmt: skip
"""By the name in the address."""


def start_of(name: str) -> Start:
    """Return the command that pages start under this name."""
    if name not in STARTS:
        raise UnknownName(f"no page starts '{name}'")
    return STARTS[name]
