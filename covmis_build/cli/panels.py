"""The help of the program and of its groups: every command with one complete line, in named panels, nothing cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from covmis_build.cli.plain_values import read_plainly

if TYPE_CHECKING:
    from collections.abc import Iterator

PANELS = {
    "Start": ("new", "run", "status", "open"),
    "Posts & queries": ("claims", "posts", "queries", "collect"),
    "Annotate": ("sample", "guideline", "round", "label-studio", "agreement"),
    "Results": ("estimate", "recall", "explain", "export"),
    "Publish": ("release", "verify", "hydrate"),
    "Judge systems": ("evaluate", "model", "dataset"),
    "Maintain": ("check", "doctor", "purge"),
}
"""The commands of the program, in the order in which a study needs them."""

WIDTH = 12
GLOBAL = (
    ("--study DIR", "Study folder  [default: nearest study.toml upwards]"),
    ("--json", "Print one JSON object"),
    ("-q, --quiet", "Print only results and errors"),
    ("-v, --verbose", "Print details"),
    ("--version", "Print the version"),
    ("-h, --help", "Show help; also `covmis COMMAND --help`"),
)
"""What every command takes, before or after its name."""


ELSEWHERE = "Global options: see `covmis --help`."


def line(command: Any) -> str:
    """A command in one line: the first sentence of its help."""
    return str(command.help or "").strip().split("\n")[0].rstrip(".")


class Group(TyperGroup):
    """A group of commands, each with its line."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters."""
        return read_plainly(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, or the one list of a group."""
        for title, names in self.panels(ctx):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(WIDTH), line(self.get_command(ctx, name))) for name in names])

    def panels(self, ctx: Any) -> Iterator[tuple[str, list[str]]]:
        """The commands by panel."""
        yield "Commands", self.list_commands(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as all groups are asked
        """Say where the options are that every command takes."""
        formatter.write_paragraph()
        formatter.write_text(ELSEWHERE)


class Program(Group):
    """The program, whose commands stand in named panels."""

    def panels(self, ctx: Any) -> Iterator[tuple[str, list[str]]]:
        """The commands by panel; a test holds that all are in one."""
        del ctx
        for title, names in PANELS.items():
            yield title, list(names)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options that every command takes."""
        self.format_commands(ctx, formatter)
        with formatter.section("Global options (before or after the command)"):
            formatter.write_dl(GLOBAL)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Say where the documentation is."""
        formatter.write_paragraph()
        formatter.write_text("Documentation: docs/index.md. Shell completion: --install-completion.")
