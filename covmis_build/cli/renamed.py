"""Names that commands had in 0.2: they work in this version, and say what the command is called now."""

from __future__ import annotations

from collections.abc import Sequence

RENAMED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("round", "board"): ("export", "board"),
    ("round", "decide"): ("round", "adjudicate"),
    ("posts", "import"): ("posts", "add", "--convert"),
    ("model", "table"): ("model", "compare"),
    ("model", "ablate"): ("model", "compare", "--ablate"),
}

ALWAYS = "--calibrated"
"""An option of `covmis estimate` in 0.2: weights that meet the known number of posts of each query type."""


def renamed(words: Sequence[str]) -> tuple[list[str], str]:
    """The words with today's names, and the sentence that says so; empty if nothing was renamed.

    >>> renamed(["-q", "posts", "import", "a.csv"])
    (['-q', 'posts', 'add', '--convert', 'a.csv'], '`covmis posts import` is now `covmis posts add --convert`')
    """
    at = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    asked = tuple(words[at : at + 2])
    if asked[:1] == ("estimate",) and ALWAYS in words:
        return [word for word in words if word != ALWAYS], f"`{ALWAYS}` is always so now, and has gone"
    if asked not in RENAMED:
        return list(words), ""
    now, rest = RENAMED[asked], list(words[at + 2 :])
    if (
        asked == ("round", "decide")
        and not {"-h", "--help"} & {*rest}
        and not any("|" in word for word in rest)
    ):
        now = (*now, "--list")
    old, new = " ".join(asked), " ".join(now)
    return [*words[:at], *now, *rest], f"`covmis {old}` is now `covmis {new}`"
