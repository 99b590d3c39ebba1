"""Invented posts about the claims of queries/claims.csv, and what each of them means.

Every text is put together from claims.toml and phrases.toml; nobody wrote or said it. A story is one message and
the copies that others make of it. The ids have the form of the platform's, from invented times in 2020 and 2021;
their last 12 bits, which count posts within a millisecond, lie in a range that the platform never reaches.
"""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.demonstration.words import CLAIMS, HERE, PHRASES, Chance, clause, framed, say

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20220405
ROOT = HERE.parents[1]
EPOCH = 1288834974657
DAY = 86_400_000
LAST = int(dt.datetime(2021, 6, 30, tzinfo=dt.UTC).timestamp() * 1000)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
TRACKING = (
    "",
    "",
    "",
    "?utm_source=sim&utm_medium=social",
    "?fbclid=IwSIMULATED0001",
    "#comments",
    "?utm_campaign=x",
)
WITH_CLAIM = 0.5
"""The share of stories that are about a claim; the others are noise."""
UNFOUND = 12
"""To so many posts comes one about a claim that no query finds."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the generator takes from queries/claims.csv."""

    claim_id: str
    titles: tuple[str, ...]
    news: tuple[str, ...]
    checks: tuple[str, ...]
    first_seen: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link as the platform shortens it, with the card of the page behind it."""

    short: str
    page: str
    url: str
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """One post; `stances` is what it means, by claim: known to the generator alone."""

    id: int
    time: int
    author: int
    text: str
    language: str
    links: tuple[Link, ...] = ()
    stances: dict[str, str] = field(default_factory=dict)
    reply_to: Post | None = None
    quotes: Post | None = None
    repost_of: Post | None = None
    availability: str = "available"


def read_claims() -> list[Claim]:
    """The claims of the study at the repository's root that people post about."""
    with (ROOT / "queries" / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["claim_id"] in CLAIMS]
    return [
        Claim(
            row["claim_id"],
            tuple(row["titles"].splitlines()),
            tuple(row["news_urls"].splitlines()),
            tuple(row["fact_check_urls"].splitlines()),
            int(dt.datetime.fromisoformat(row["first_seen"] + "T00:00:00+00:00").timestamp() * 1000),
        )
        for row in rows
    ]


class World:
    """What one run of the generator remembers: its chance, a counter for ids, and recent posts to answer."""

    def __init__(self, seed: int) -> None:
        self.claims = read_claims()
        self.weights = list(itertools.accumulate(CLAIMS[one.claim_id]["weight"] for one in self.claims))
        self.chance = Chance(random.Random(seed).random)
        self.numbers = itertools.count()
        self.recent: dict[str, Post] = {}
        hostile = PHRASES["hostile"]
        self.hostile = itertools.cycle(
            [*((one, "") for one in hostile["before"]), *(("", f" {one}") for one in hostile["after"])]
        )

    def identity(self, time: int) -> int:
        """An id for a post of this millisecond, unlike every other."""
        number = next(self.numbers)
        return ((time - EPOCH) << 22) | ((number // 255 % 1024) << 12) | 0xF00 | (number % 255)

    def post(self, time: int, text: str, language: str = "en", **more: object) -> Post:
        """A post by somebody; few people write much."""
        author = int(5000 * self.chance.random() ** 3)
        return Post(self.identity(time), time, author, text, language, **more)  # type: ignore[arg-type]

    def lost(self, time: int) -> Post:
        """A post that was deleted before anybody collected it."""
        return self.post(time, "", availability="deleted")

    def link(self, page: str, title: str = "") -> Link:
        """A shortened link to this page, as people meet it: with tracking, from a phone, through an archive."""
        short = "https://t.co/" + "".join(self.chance.pick(ALPHABET) for _ in range(10))
        if "/status/" in page:
            return Link(short, page, page)
        fate, url = self.chance.random(), page
        if fate < 0.06:
            url = "https://web.archive.org/web/20210301120000/" + page
        elif fate < 0.12:
            url = page.replace("https://www.", "http://m.").rstrip("/")
        elif "?" not in page:
            url += self.chance.pick(TRACKING)
        return Link(short, page, url, title, f"A page about {title or 'something else'}" if title else "")


def posts(count: int, seed: int = SEED) -> Iterator[Post]:
    """So many posts, story after story, in the order in which they were made up."""
    world = World(seed)
    yield from itertools.islice(
        itertools.chain(special(world), itertools.chain.from_iterable(stories(world, count))), count
    )


def unfound(count: int, seed: int = SEED) -> Iterator[Post]:
    """The posts that come to so many others: about the claims, in words that no query asks for.

    They have a chance of their own, so the others are the same with and without them.
    """
    world = World(seed + 2)
    world.numbers = itertools.count(count)
    largest = max(20, count // 200)
    many = itertools.chain.from_iterable(story(world, largest, elsewise(world)) for _ in itertools.count())
    yield from itertools.islice(many, count // UNFOUND)


def elsewise(world: World) -> Post:
    """A message about a claim without the words of its query, and more often against it than those that have them."""
    chance = world.chance
    claim = world.claims[chance.weighted(world.weights)]
    stance = "against" if chance.happens(0.4) else drawn_stance(claim.claim_id, chance)
    time = LAST - 25 * DAY - int((LAST - 25 * DAY - claim.first_seen) * chance.random())
    core = framed(claim.claim_id, stance, chance, "elsewise")
    front = say(chance.pick(PHRASES["any"]["openers"]), chance)
    text = assembled(world, front, core, stance, ())
    return world.post(time, text, stances={claim.claim_id: stance})


def stories(world: World, count: int) -> Iterator[Iterator[Post]]:
    """Stories without end; no message has more copies than one post in a hundred."""
    largest = max(20, count // 200)
    while True:
        yield story(world, largest, about_claim(world) if world.chance.happens(WITH_CLAIM) else noise(world))


def story(world: World, largest: int, root: Post) -> Iterator[Post]:
    """A message and its copies."""
    chance = world.chance
    yield root
    size = min(largest, int((1 - chance.random()) ** -0.8))
    made = [root]
    for _ in range(size - 1):
        parent = root if chance.happens(0.7) else chance.pick(made)
        copy = copied(world, root, parent)
        if copy.repost_of is None:
            made.append(copy)
        yield copy


def special(world: World) -> Iterator[Post]:
    """The post that is itself the news of a claim, with the id that stands in queries/claims.csv."""
    for claim in world.claims:
        for url in claim.news:
            if "/status/" in url:
                native = int(url.rsplit("/", 1)[1])
                text = f"{claim.titles[0]}! {framed(claim.claim_id, 'favor', world.chance)}"
                stances = {claim.claim_id: "favor"}
                yield Post(native, (native >> 22) + EPOCH, 1, text, "en", (), stances)


def noise(world: World) -> Post:
    """A post about daily life in the pandemic."""
    chance = world.chance
    parts = [say(chance.pick(PHRASES["noise"]["texts"]), chance)]
    if chance.happens(0.5):
        parts.append(say(chance.pick(PHRASES["any"]["details"]), chance))
    language = "en"
    if chance.happens(0.15):
        language = chance.pick([*PHRASES["languages"]])
        template = chance.pick(PHRASES["languages"][language])
        parts = [say(template, chance, news=say("{town} 2020 #{tag}", chance))]
    links: tuple[Link, ...] = ()
    if chance.happens(0.15):
        links = (
            world.link(
                f"https://www.example.org/local/{chance.between(1, 90000)}", say("News from {town}", chance)
            ),
        )
        parts.append(links[0].short)
    time = LAST - 25 * DAY - int(470 * DAY * chance.random())
    return world.post(time, " ".join(" ".join(parts).split()), language, links=links)


def about_claim(world: World) -> Post:
    """The message of a story about a claim, or about two."""
    chance = world.chance
    claim = world.claims[chance.weighted(world.weights)]
    stance = drawn_stance(claim.claim_id, chance)
    time = min(
        LAST - 25 * DAY - chance.between(0, DAY), claim.first_seen + int(DAY * (chance.random() ** 3) * 420)
    )
    fate = chance.random()
    if fate < 0.07:
        made = foreign(world, claim, stance, time)
    elif fate < 0.13:
        made = short(world, claim, stance, time)
    elif fate < 0.17:
        made = about_two(world, claim, stance, time)
    else:
        made = message(world, claim, stance, time)
    if chance.happens(0.05):
        before, after = next(world.hostile)
        made = replace(made, text=f"{before}{made.text}{after}")
    if chance.happens(0.4):
        world.recent[claim.claim_id] = made
    return made


def drawn_stance(claim_id: str, chance: Chance) -> str:
    drawn, about = chance.random(), CLAIMS[claim_id]
    return (
        "favor"
        if drawn < about["favor"]
        else "against"
        if drawn < about["favor"] + about["against"]
        else "neither"
    )


def message(world: World, claim: Claim, stance: str, time: int) -> Post:
    """An English post: words of its own, a link to the news or to a check, a title, an answer, a quotation."""
    chance, more = world.chance, {}
    links: tuple[Link, ...] = ()
    claims = [claim.claim_id]
    fate = chance.random()
    beside = CLAIMS[claim.claim_id]["beside"]
    if fate < 0.2:
        stance = "against" if chance.happens(0.95) else "favor"
        page = chance.pick(claim.checks)
        links = (world.link(page, "Checked: " + clause(claim.claim_id, chance)),)
        claims = [one.claim_id for one in world.claims if page in one.checks]
        core = say(chance.pick(PHRASES["against"]["checks"]), chance)
        if stance == "favor":
            core = "[Paid|Bought] checkers say no, so it must be true"
            core = say(core, chance)
    elif fate < 0.36 and claim.news:
        title = chance.pick(claim.titles) if claim.titles and chance.happens(0.5) else ""
        links = (world.link(chance.pick(claim.news), title),)
        core = say(chance.pick(PHRASES[stance]["news"]), chance)
        if chance.happens(0.3):
            core = f"{core}: {framed(claim.claim_id, stance, chance)}"
    elif fate < 0.45 and claim.titles:
        core = f"{chance.pick(claim.titles)}. {say(chance.pick(PHRASES[stance]['news']), chance)}"
    elif fate < 0.5 and beside:
        stance, core = "neither", say(chance.pick(beside), chance)
    else:
        core = framed(claim.claim_id, stance, chance)
    other = world.recent.get(claim.claim_id)
    front = say(chance.pick(PHRASES["any"]["openers"]), chance)
    if other and fate > 0.5 and other.time < time:
        if fate < 0.62:
            parent = other if chance.happens(0.8) else world.lost(time - 1000 * chance.between(60, 90000))
            more, front = {"reply_to": parent}, f"@{username(parent.author)}"
        elif fate < 0.68:
            status = world.link(f"https://twitter.com/{username(other.author)}/status/{other.id}")
            more, links = {"quotes": other}, (*links, status)
    text = assembled(world, front, core, stance, links)
    language = "und" if chance.happens(0.01) else "en"
    return world.post(time, text, language, links=links, stances=dict.fromkeys(claims, stance), **more)


def assembled(world: World, front: str, core: str, stance: str, links: tuple[Link, ...]) -> str:
    """Opener, message, details, closer and links, within 280 characters but for one post in fifty."""
    chance = world.chance
    room = 280 if chance.happens(0.98) else 900
    text = f"{front} {core}".strip()
    end = " ".join(
        [say(chance.pick(PHRASES["any"]["closers"]), chance), *(link.short for link in links)]
    ).strip()
    wanted = chance.pick((1, 2, 2, 3, 3)) if room == 280 else 9
    for _ in range(wanted):
        source = stance if chance.happens(0.4) else "any"
        detail = say(chance.pick(PHRASES[source]["details"]), chance)
        if len(text) + len(detail) + len(end) + 2 <= room and detail not in text:
            text = f"{text} {detail}" if text[-1] in ".!?" else f"{text}. {detail}"
    return " ".join(f"{text} {end}".split())


def short(world: World, claim: Claim, stance: str, time: int) -> Post:
    """Fewer than ten words: a clause, or a link and a grunt."""
    chance = world.chance
    text, links = " ".join(clause(claim.claim_id, chance).split()[:9]), ()
    if chance.happens(0.5) and claim.news:
        links = (world.link(chance.pick(claim.news)),)
        text = f"{say(chance.pick(PHRASES['short']['texts']), chance)} {links[0].short}"
    return world.post(time, text, links=links, stances={claim.claim_id: stance})


def foreign(world: World, claim: Claim, stance: str, time: int) -> Post:
    """A post in another language that is found by its link or by the English words in it; some are mistagged."""
    chance = world.chance
    language = chance.pick([*PHRASES["languages"]])
    link = world.link(chance.pick([*claim.checks, *claim.news]))
    template = chance.pick([one for one in PHRASES["languages"][language] if "{news}" in one])
    text = say(template, chance, news=f'"{clause(claim.claim_id, chance)}" {link.short}')
    tag = chance.pick(("en", "und")) if chance.happens(0.1) else language
    return world.post(time, text, tag, links=(link,), stances={claim.claim_id: stance})


def about_two(world: World, claim: Claim, stance: str, time: int) -> Post:
    """One post on two claims, with a stance on each."""
    chance = world.chance
    second = world.claims[chance.weighted(world.weights)]
    other = drawn_stance(second.claim_id, chance)
    text = f"{framed(claim.claim_id, stance, chance)} And then: {framed(second.claim_id, other, chance)}"
    detail = say(chance.pick(PHRASES["any"]["details"]), chance)
    return world.post(time, f"{text} {detail}", stances={second.claim_id: other, claim.claim_id: stance})


def copied(world: World, root: Post, parent: Post) -> Post:
    """Another post with the same message: reposted, copied, or copied with a change; it means the same."""
    chance = world.chance
    time = min(LAST, parent.time + 1000 + int(DAY * 20 * chance.random() ** 4))
    fate = chance.random()
    if fate < 0.12:
        text = f"RT @{username(root.author)}: {root.text}"
        return world.post(
            time,
            text if len(text) <= 140 else text[:139] + "…",
            root.language,
            links=root.links,
            stances=root.stances,
            repost_of=root,
        )
    text, links = parent.text, parent.links
    if fate > 0.4:
        text, links = edited(world, parent)
    return world.post(time, text, parent.language, links=links, stances=parent.stances, quotes=parent.quotes)


def edited(world: World, parent: Post) -> tuple[str, tuple[Link, ...]]:
    """The parent's text with a small change."""
    chance, text, words = world.chance, parent.text, parent.text.split(" ")
    fate = chance.random()
    if parent.links and fate < 0.45:
        first = parent.links[0]
        new = world.link(first.page, first.title)
        return text.replace(first.short, new.short), (new, *parent.links[1:])
    if fate < 0.6:
        return f"RT @{username(parent.author)}: {text}", parent.links
    if fate < 0.75:
        return f"{text} {say('#{tag}', chance)}", parent.links
    if fate < 0.85:
        return f"{say('@{handle}', chance)} {text}", parent.links
    if fate < 0.93 and len(words) > 14:
        return " ".join(words[: max(12, int(len(words) * 0.85))]) + "…", parent.links
    return text.replace(".", "!").replace(",", ""), parent.links


def username(author: int) -> str:
    """The invented name of an invented author."""
    return f"sim_author_{author:04d}"
