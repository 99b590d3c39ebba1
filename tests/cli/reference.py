"""Write docs/reference/commands.md from the commands themselves: `python -m tests.cli.reference`."""

import inspect
from pathlib import Path

import typer

from covmis_build.cli import app
from covmis_build.cli.panels import GLOBAL

TARGET = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"


def reference() -> str:
    """Every command: its help, its arguments and options."""
    lines = ["# Commands", "", "Made from the commands' own help by `python -m tests.cli.reference`.", ""]
    lines += [
        "Every command takes these options, before or after its name:",
        "",
        "| option | meaning |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in GLOBAL] + [""]
    shown: dict[tuple[str, str], str] = {}
    for name, command in _commands(typer.main.get_command(app), ()):
        lines += [f"## covmis {name}", "", *_help(command), ""]
        rows, same = [], {}
        for one in command.params:
            if one.name == "help" or getattr(one, "hidden", False):
                continue
            row = _row(one)
            first = shown.setdefault((name.split()[0], row), name)
            if first == name:
                rows.append(row)
            else:
                same.setdefault(first, []).append(row.split(" | ")[0].removeprefix("| "))
        if rows:
            lines += ["| option | meaning |", "|---|---|", *rows, ""]
        for first, names in same.items():
            lines += [f"As in `covmis {first}`: {', '.join(names)}.", ""]
    return "\n".join(lines)


def _commands(command, path):
    if hasattr(command, "commands"):
        for name, child in sorted(command.commands.items()):
            yield from _commands(child, (*path, name))
    else:
        yield " ".join(path), command


def _help(command):
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        text = " ".join(paragraph.replace("\b", "").split())
        example = text.startswith("Example: ")
        yield from (["```console", f"$ {text.removeprefix('Example: ')}", "```"] if example else [text])
        yield ""


def _row(parameter):
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.metavar or parameter.name.upper()}`"
    meaning = (getattr(parameter, "help", "") or "").replace("|", "\\|")
    return f"| {names} | {meaning} |"


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(reference())
