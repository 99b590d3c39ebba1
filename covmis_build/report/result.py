"""What every verb gives: a record with one summary, from which a terminal, a notebook and a file show the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build.report.summary import Listing, in_notebook
from covmis_build.report.terminal import as_json, lines, names, plain

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.report.summary import Summary


class Result:
    """The base of all results; a subclass says its `summary` and `to_dict`, and the rest follows.

    Subclasses are dataclasses with `repr=False`, or structs: a result prints as one line. If they have `warnings`, a notebook
    and `print` show these first; the command line prints them on the error stream.
    """

    __slots__ = ()

    @property
    def summary(self) -> Summary:
        """Sentences and tables for people, in reading order."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The same as one JSON object, what the command prints with `--json`: all fields, unless a subclass says otherwise."""
        return {name: plain(getattr(self, name)) for name in names(self)}

    def check(self) -> None:
        """Raise what a command must not pass over when it has been printed; most results have nothing of the kind."""

    @property
    def sentences(self) -> list[str]:
        """The summary without its tables."""
        return [part for part in self.summary if isinstance(part, str) and part]

    def to_frame(self) -> pd.DataFrame:
        """The main table: the first of the summary, unless a subclass has a fuller one."""
        import pandas as pd

        for part in self.summary:
            if isinstance(part, Listing):
                return pd.DataFrame(list(part.rows), columns=list(part.header))
            if not isinstance(part, str):
                return part
        return pd.DataFrame({"summary": self.sentences})

    def to_json(self) -> str:
        """`to_dict` as text."""
        return as_json(self.to_dict())

    def __str__(self) -> str:
        warnings = [f"warning: {warning}" for warning in getattr(self, "warnings", ())]
        return "\n".join([*warnings, *lines(self.summary)])

    def __repr__(self) -> str:
        first = next(iter(self.sentences), "")
        return f"<{type(self).__name__}{': ' if first else ''}{first[:100]}>"

    def _repr_html_(self) -> str:
        return in_notebook([*getattr(self, "warnings", ()), *self.summary])
