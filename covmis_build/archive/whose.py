"""Whose posts the ids of a table are: by their row's URLs, by their form, or by the times of their rows; otherwise it is a question."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from covmis_build.archive import ids
from covmis_build.archive.cells import LOOKED_AT, TOGETHER, bare_cell
from covmis_build.files.columns import folded
from covmis_build.files.ids import not_of_x
from covmis_build.files.workbook import KEPT_DIGITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from covmis_build.archive.columns import Understood
    from covmis_build.files.table import Table

OF_X = frozenset({"tweetid", "statusid", "tweetids"})
"""Column names that only X's posts have."""
X_LENGTHS = range(15, 21)
DIGITS_IN_2006 = 7
"""Maximum number of digits in ids of X's first year."""
FORMS_OF_IDS = {"reddit": re.compile(r"t[13]_[0-9a-z]{4,12}"), "facebook": re.compile(r"\d{5,20}_\d{5,20}")}
"""Ids that only one platform has: Reddit's comments and posts, posts of Facebook pages."""
ENOUGH, DAY = 0.9, 86_400
IN_SETTINGS = " In study.toml: "
"""Separates a question from the settings that answer it."""


def addresses_of_posts(table: Table) -> str:
    """Return the first column in which nearly all cells are URLs of posts; empty if there is none."""
    rows = [cells for _, cells, problem in islice(table.rows(), TOGETHER) if not problem]
    for at, name in enumerate(table.header):
        cells = [row[at] for row in rows if "://" in row[at]]
        if rows and sum(bool(ids.post_id(cell, "")) for cell in cells) >= ENOUGH * len(rows):
            return name
    return ""


def rounded_addresses(table: Table, column: int) -> str:
    """Return the column of post URLs whose ids are those of the id column, but not rounded; empty if none are rounded."""
    name = addresses_of_posts(table)
    if not name or table.header.index(name) == column:
        return ""
    at, like = table.header.index(name), Counter[bool]()
    for _, cells, problem in table.rows():
        native, whole = bare_cell(cells[column]), ids.post_id(cells[at], "").partition(":")[2]
        if not problem and native.isdecimal() and whole.isdecimal() and native != whole:
            apart = abs(int(native) - int(whole))
            like[len(native) == len(whole) and apart < 10 ** (len(whole) - KEPT_DIGITS)] += 1
    return name if like[True] > ENOUGH * like.total() else ""


def in_addresses(table: Table, column: int, asked: AbstractSet[str] | None = None) -> dict[str, str]:
    """Return the ids that also occur in a URL of their row, with the URL; of all rows, or of the `asked` ids."""
    addressed = dict[str, str]()
    for _, cells, problem in table.rows():
        own = "" if problem else bare_cell(cells[column])
        if own and (asked is None or own in asked):
            address = next(
                (cell for cell in cells if len(cell) <= LOOKED_AT and own in cell and "://" in cell), ""
            )
            addressed |= {own: address} if address else {}
    return addressed


HOSTS = {
    "facebook.com": "facebook", "fb.com": "facebook", "weibo.com": "weibo", "weibo.cn": "weibo", "twitter.com": "x", "x.com": "x",
    "instagram.com": "instagram", "tiktok.com": "tiktok", "youtube.com": "youtube", "t.me": "telegram", "threads.net": "threads",
    "vk.com": "vk", "gab.com": "gab", "truthsocial.com": "truth",
}  # fmt: skip
"""Website → platform of its posts."""


def _platform_of_addresses(addresses_of: Iterable[str]) -> str:
    """Return the platform to which nearly all of these URLs belong; empty if there is none."""
    hosts = Counter(
        ".".join(address.partition("://")[2].partition("/")[0].lower().split(".")[-2:])
        for address in addresses_of
    )
    platforms = Counter[str]()
    for host, count in hosts.items():
        platforms[HOSTS.get(host, "")] += count
    (platform, count) = platforms.most_common(1)[0] if platforms else ("", 0)
    return platform if count >= ENOUGH * hosts.total() else ""


def platform_of_ids(
    understood: Understood,
    table: Table,
    bare: Sequence[str],
    native_ids: Sequence[str],
    moments: Sequence[str],
) -> str:
    """Return the platform of ids without prefix; empty if every id has one, or if the user must choose."""
    bare = [native for native in bare if native.isdigit()]
    if not bare:
        return _platform_of_words(understood, native_ids) if "id" in understood.taken else ""
    addressed = in_addresses(table, table.header.index(understood.taken["id"][0]))
    if len(addressed) >= ENOUGH * len(set(bare)) and (site := _platform_of_addresses(addressed.values())):
        understood.notes.append(f"{site}'s: {len(addressed):,} ids are in URLs of that site in their rows")
        return site
    named, alone = (
        any(folded(name) in OF_X for name in understood.taken["id"]),
        "text" not in understood.taken,
    )
    if (named or alone) and (why := not_of_x(bare)):
        understood.questions.append(f"{why}.{IN_SETTINGS}{_named(bare[0])}")
        return ""
    if named or alone:
        if named and max(map(len, bare)) <= DIGITS_IN_2006:
            understood.notes.append(
                f"ids such as {bare[0]} look like row numbers: if they are, name a platform of your own in [[retrieval.columns]]"
            )
        if not named:
            understood.notes.append("bare ids are treated as X's; the posts are in other files")
        return "x"
    if _times_agree(understood, bare, native_ids, moments):
        return "x"
    understood.questions.append(_whose(bare[0]))
    return ""


def _times_agree(
    understood: Understood, bare: Sequence[str], native_ids: Sequence[str], moments: Sequence[str]
) -> bool:
    """True if nearly all ids, as X's, contain the times of their rows."""
    compared = agreeing = 0
    for native, moment in zip(native_ids, moments, strict=True):
        when, own = understood.times.read(moment), ids.snowflake_time(native)
        if when and native.isdigit() and len(native) in X_LENGTHS:
            compared += 1
            agreeing += bool(own) and abs(ids.seconds(when) - ids.seconds(own)) <= DAY
    if compared and agreeing >= ENOUGH * len(bare):
        times = f"all {agreeing:,}" if agreeing == len(bare) else f"{agreeing:,} of {len(bare):,}"
        understood.notes.append(f"{times} times agree with the times encoded in the X post ids")
        return True
    return False


def _platform_of_words(understood: Understood, native_ids: Sequence[str]) -> str:
    """Return the platform of ids that are neither numbers nor URLs: by their format, or as a question."""
    foreign = [native for native in native_ids if native and not ids.post_id(native, "")]
    if not foreign or len(foreign) < ENOUGH * len(native_ids):
        return ""
    for platform, form in FORMS_OF_IDS.items():
        if all(map(form.fullmatch, foreign)):
            understood.notes.append(f"{platform}'s: ids such as {foreign[0]}")
            return platform
    understood.questions.append(_whose(foreign[0]))
    return ""


def _whose(native: str) -> str:
    return f"which platform are ids such as {native[:60]} from?{IN_SETTINGS}{_named(native)}"


def _named(native: str) -> str:
    """Return the setting that names a platform."""
    likely = '"x", "weibo", "tiktok", or' if native.isdigit() else '"forum",'
    return f"platform = {likely} a name of your own"
