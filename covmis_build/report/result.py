"""The base class of all results: one summary, shown equally in terminal, notebook and file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.report.summary import Listing, in_notebook
from covmis_build.report.terminal import as_json, lines, names, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.report.summary import Summary


class Result:
    """The base of all results. Subclasses define `summary` and `to_dict`.

    Subclasses are dataclasses with `repr=False`, or structs: a result prints as one line. `warnings`, if any, are shown first in
    notebooks and by `print`; the command line prints them to stderr.
    """

    __slots__ = ()

    @property
    def summary(self) -> Summary:
        """Return sentences and tables for users, in reading order."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object, printed with `--json`: all fields by default."""
        return {name: plain(getattr(self, name)) for name in names(self)}

    @property
    def exit_code(self) -> int:
        """Return the exit code of a command with this result, if nothing is wrong with its input."""
        return 0

    def check(self) -> None:
        """Raise an error that a command must report after printing; most results have none."""

    @property
    def sentences(self) -> list[str]:
        """Return the summary without its tables."""
        return [part for part in self.summary if isinstance(part, str) and part]

    def to_frame(self) -> pd.DataFrame:
        """Return the main table: the first one of the summary by default."""
        import pandas as pd

        for part in self.summary:
            if isinstance(part, Listing):
                return pd.DataFrame(list(part.rows), columns=list(part.header))
            if not isinstance(part, str):
                return part
        return pd.DataFrame({"summary": self.sentences})

    def to_json(self) -> str:
        """Return `to_dict` as text."""
        return as_json(self.to_dict())

    def __str__(self) -> str:
        warnings = [f"warning: {warning}" for warning in getattr(self, "warnings", ())]
        return "\n".join([*warnings, *lines(self.summary)])

    def __repr__(self) -> str:
        first = next(iter(self.sentences), "")
        return f"<{type(self).__name__}{': ' if first else ''}{first[:100]}>"

    def _repr_html_(self) -> str:
        return in_notebook([*getattr(self, "warnings", ()), *self.summary])


@dataclass(frozen=True, repr=False)
class PlainResult(Result):
    """A result without a record of its own: sentences and tables, and the same as an object."""

    data: Mapping[str, Any]
    text: Summary
    warnings: Sequence[str] = ()
    code: int = 0

    @property
    def exit_code(self) -> int:
        """As it was given."""
        return self.code

    @property
    def summary(self) -> Summary:
        """Return the words."""
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the object."""
        return dict(self.data)
