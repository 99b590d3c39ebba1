"""Matching thousands of queries over a stream of posts: ours against the named peers, in one run.

    python -m pip install --target peers polars pyahocorasick ahocorasick_rs orjson
    PYTHONPATH=peers .venv/bin/python benchmarks/matching.py --posts 1000000

Posts are made of the texts in $COVMIS_DATA_HOME/posts, drawn again and again, 4% of them with the words of a query, as
lines of X's interface 1.1 with all their fields (about 1.5 kB each). Queries are the 433 of the COVMis list. Every
measurement is a process of its own; CPU seconds are its user and system time, memory its largest. A peer is correct
if its hits, as pairs of query and post, are those of ours. `…_alone` is what a user of the library writes; `…_typed`,
`…_raw` and `…_decoded` are hybrids, with a part of ours behind their automaton. DuckDB and polars take part of the keyword queries, and
their time is scaled to all of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("COVMIS_DATA_HOME", ROOT.parent / "shared" / "data"))
FEW = 20
sys.path[0] = str(ROOT)  # not this folder, in which `coverage` is another module than the one numba looks for

PERSON = {
    "id_str": "12", "name": "A name", "screen_name": "somebody", "location": "somewhere", "description": "d" * 120,
    "followers_count": 1, "friends_count": 2, "listed_count": 0, "created_at": "Wed Apr 22 12:34:56 +0000 2015",
    "favourites_count": 1, "utc_offset": None, "verified": False, "statuses_count": 1, "lang": None,
    "profile_image_url_https": "https://pbs.twimg.com/profile_images/1/a_normal.jpg", "profile_link_color": "1DA1F2",
    "profile_banner_url": "https://pbs.twimg.com/profile_banners/1/2", "default_profile": True, "following": None,
}  # fmt: skip


def queries(times: int = 1):
    from covmis_build.claims.lists import read_claims
    from covmis_build.queries.build import build_queries
    from covmis_build.text.expression import parse

    made = build_queries(read_claims(DATA / "covmis/misinformation.csv"))
    rows = list(zip(made["query_id"], made["claim_id"], made["kind"], made["expression"], strict=True))
    if times == 1:
        return rows
    chance = random.Random(5)
    words = sorted(
        {
            word
            for text in texts(20_000)
            for word in text.lower().split()
            if word.isascii() and word.isalpha() and len(word) > 5
        }
    )
    more = []
    for copy in range(1, times):
        for one, claim, kind, text in rows:
            if kind.endswith("url"):
                other = text.replace('url:"', f'url:"mirror{copy}.')
            else:
                other = (
                    str(parse(f"{text} {chance.choice(words)}"))
                    if kind == "keywords"
                    else f'"{text.strip(chr(34))} {chance.choice(words)}"'
                )
            more.append((f"{one}:{copy}", claim, kind, other))
    return rows + more


def texts(most: int = 10**9) -> list[str]:
    with lzma.open(DATA / "posts/troll_500k.tsv.xz", "rt", encoding="utf-8", errors="replace") as file:
        lines = itertools.islice(file, most)
        return [cells[2] for line in lines if len(cells := line.rstrip("\n").split("\t")) > 2]


def generate(path: Path, posts: int) -> None:
    chance = random.Random(1)
    known, asked = texts(), queries()
    words = [
        text.replace("(", "").replace(")", "").replace("OR", "").replace('"', "")
        for _, _, kind, text in asked
        if kind == "keywords"
    ]
    links = [text[5:-1] for _, _, kind, text in asked if kind.endswith("url")]
    hosts = [
        "www.example.com",
        "news.example.org",
        "www.youtube.com",
        "youtu.be",
        "bit.ly",
        "www.cnn.com",
        "www.nytimes.com",
        "www.facebook.com",
    ]
    with path.open("w") as file:
        for number in range(posts):
            text = chance.choice(known)
            if chance.random() < 0.04:
                text += " " + chance.choice(words)
            urls = []
            if chance.random() < 0.4:
                page = f"{chance.choice(hosts)}/2020/{number}/a-story-of-{number % 997}.html?utm_source=x"
                urls = [
                    {
                        "url": "https://t.co/abcdefghij",
                        "expanded_url": "https://"
                        + (chance.choice(links) if chance.random() < 0.01 else page),
                        "indices": [0, 23],
                    }
                ]
            row = {
                "created_at": "Wed Apr 22 12:34:56 +0000 2020", "id": FIRST + number, "id_str": str(FIRST + number), "full_text": text, "truncated": False,
                "entities": {"hashtags": [], "symbols": [], "user_mentions": [], "urls": urls}, "source": '<a href="http://twitter.com">Web App</a>',
                "in_reply_to_status_id": None, "in_reply_to_status_id_str": None, "in_reply_to_user_id": None, "user": PERSON, "geo": None, "coordinates": None,
                "place": None, "contributors": None, "is_quote_status": False, "retweet_count": 0, "favorite_count": 0, "favorited": False, "retweeted": False, "lang": "en",
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")


FIRST = 1252934402983763968


def stream(path: Path, times: int) -> None:
    """The queries as the stage sends them to its processes; made in another one, whose memory is not the matcher's."""
    import pandas as pd

    from covmis_build.matching.stage import _stream

    names = ["query_id", "claim_id", "kind", "expression"]
    path.write_bytes(_stream(pd.DataFrame(queries(times), columns=names).assign(text="", language="")))


def ours(path: Path, times: int = 1):
    """Posts as rows of the store, and what matches in them, in one process; nothing is written."""
    from covmis_build.archive import store, streams
    from covmis_build.archive.reader import read
    from covmis_build.matching.find import asked_for, matches_of

    made = path.with_suffix(f".queries{times}")
    if not made.exists():
        asking = [sys.executable, __file__, "--one", "stream", "--path", made, "--times", str(times)]
        subprocess.run(asking, check=True)
    asked = asked_for(made.read_bytes(), (), compiled=True)
    started()
    for job in streams.jobs([(path, path.name)]):
        for lines in blocks(read(job)):
            posts = [post for line in lines for post in line.posts]
            block = store.rows(posts, [0] * len(posts), [("", "")] * len(posts)).combine_chunks()
            for at, matches in matches_of(block, asked):
                yield from ((match.query.query_id, posts[at].post_id) for match in matches)


def blocks(lines):
    """So many lines at a time as the stage matches together."""
    from itertools import islice

    lines = iter(lines)
    while block := list(islice(lines, 20_000)):
        yield block


def ours_44(path: Path):
    yield from ours(path, 44)


def standing_alone(path: Path, search, decode):
    """What a user of the named library writes: see `matched`."""

    def posts():
        with path.open("rb") as file:
            for line in file:
                yield decode(line)

    for query, post in matched(posts, search):
        yield query, f"x:{post}"


def matched(posts, search):
    """Decode, fold, an automaton names queries, plain tests settle them.

    Each query waits under its longest needed word, as long words are rare; one for a page under the longest part of its
    address. Of ours are only the parsed queries and the key of an address (`canonical_url`), of which no library has
    the like; it is asked where the automaton finds a part of an address that is looked for.
    """
    import re
    import unicodedata

    from covmis_build.text.urls import canonical_url

    plans, by_word, by_key = [], {}, {}
    for name, _, _, text in queries():
        needed, keys, test = _plan(text)
        plans.append((name, test))
        for word in needed:
            by_word.setdefault(word, []).append(len(plans) - 1)
        for key in keys:
            by_key.setdefault(key, []).append(len(plans) - 1)
    named_posts = {key.rsplit("/", 1)[1]: key for key in by_key if key.startswith("x.com/status/")}
    waiting = list(by_word.values())
    find, cut = search(list(by_word)), re.compile(r"[^\W_]+")
    parts = {max(re.findall(r"[\w-]+", key.partition("/")[2] or key), key=len).lower() for key in by_key}
    find_part = search(sorted(parts))
    started()
    for post, written, urls in posts():
        text = written.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").lower()
        if not text.isascii():
            folded = unicodedata.normalize("NFKD", text)
            text = "".join(one for one in folded if not unicodedata.combining(one))
        named = {number for place in find(text) for number in waiting[place]}
        keys = {canonical_url(url) for url in urls if find_part(url.lower())} if urls else set()
        if post in named_posts:
            keys.add(named_posts[post])
        for key in keys:
            named.update(by_key.get(key, ()))
        if named:
            words = cut.findall(text)
            spaced, words = f" {' '.join(words)} ", set(words)
            yield from ((plans[number][0], post) for number in named if plans[number][1](words, spaced, keys))


def _plan(text: str):
    """A query's needed words, the keys that it may ask for, and the test of a post's words and keys."""
    from covmis_build.text.expression import parse
    from covmis_build.text.nodes import Address, Not, Or, Term

    def made(node):
        match node:
            case Address(key):
                return [], [key], lambda *post: key in post[2]
            case Term((word,)):
                return [word], [], lambda *post: word in post[0]
            case Term(several):
                phrase = f" {' '.join(several)} "
                return [max(several, key=len)], [], lambda *post: phrase in post[1]
            case Not(part):
                test = made(part)[2]
                return None, [], lambda *post: not test(*post)
        inner = [made(part) for part in node.parts]
        tests = [test for _, _, test in inner]
        if isinstance(node, Or):
            words, keys = ([one for part in inner for one in part[at]] for at in (0, 1))
            return words, keys, lambda *post: any(test(*post) for test in tests)
        positive = [part for part in inner if part[0] is not None]
        words, keys, _ = max(positive, key=lambda part: min(map(len, part[0]), default=99))
        return words, keys, lambda *post: all(test(*post) for test in tests)

    return made(parse(text).node)


def _orjson():
    import orjson

    def decode(line):
        row = orjson.loads(line)
        urls = [one["expanded_url"] for one in row["entities"]["urls"]]
        return row["id_str"], row["full_text"], urls

    return decode


def _typed():
    """Only the fields that are needed: what ours does, too, and therefore not what one would expect of a peer."""
    import msgspec

    url = msgspec.defstruct("Url", [("expanded_url", str)])
    entities = msgspec.defstruct("Entities", [("urls", list[url])])
    row = msgspec.defstruct("Row", [("id_str", str), ("full_text", str), ("entities", entities)])
    decoder = msgspec.json.Decoder(row)

    def decode(line):
        row = decoder.decode(line)
        return row.id_str, row.full_text, [one.expanded_url for one in row.entities.urls]

    return decode


def _every_pyahocorasick(needles):
    import ahocorasick

    automaton = ahocorasick.Automaton()
    for place, needle in enumerate(needles):
        automaton.add_word(needle, place)
    automaton.make_automaton()
    return lambda text: {place for _, place in automaton.iter(text)}


def _every_ahocorasick_rs(needles):
    import ahocorasick_rs

    automaton = ahocorasick_rs.AhoCorasick(needles)
    return lambda text: {one[0] for one in automaton.find_matches_as_indexes(text, overlapping=True)}


def pyahocorasick_alone(path: Path):
    yield from standing_alone(path, _every_pyahocorasick, _orjson())


def ahocorasick_rs_alone(path: Path):
    yield from standing_alone(path, _every_ahocorasick_rs, _orjson())


def ahocorasick_rs_typed(path: Path):
    yield from standing_alone(path, _every_ahocorasick_rs, _typed())


def candidates(path: Path, search, *, raw: bool):
    """Lines in which an automaton sees a needed word of a query, then looked at in full by the same rules as ours."""
    from covmis_build.archive.formats import x_v1
    from covmis_build.matching.matcher import Matcher, read_queries

    compiled = read_queries(queries())
    matcher = Matcher(compiled)
    needles = sorted(
        {
            *matcher.by_word,
            *(core.lower() for core in matcher.cores),
            *(one.removeprefix("x:") for one in matcher.posts),
            *matcher.hosts,
        }
    )
    find = search(needles)
    started()
    with path.open(encoding="utf-8") as file:
        for line in file:
            if raw:
                if find(line.lower()):
                    for post in x_v1.read(line.encode()):
                        yield from ((one.query.query_id, post.post_id) for one in matcher.match(post))
            else:
                for post in x_v1.read(line.encode()):
                    if find(f"{post.text} {' '.join(post.urls)}".lower()):
                        yield from ((one.query.query_id, post.post_id) for one in matcher.match(post))


def _pyahocorasick(needles):
    import ahocorasick

    automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
    for needle in needles:
        automaton.add_word(needle)
    automaton.make_automaton()
    return lambda text: next(automaton.iter(text), None) is not None


def _ahocorasick_rs(needles):
    import ahocorasick_rs

    automaton = ahocorasick_rs.AhoCorasick(needles)
    return lambda text: bool(automaton.find_matches_as_indexes(text))


def pyahocorasick_raw(path: Path):
    yield from candidates(path, _pyahocorasick, raw=True)


def ahocorasick_rs_raw(path: Path):
    yield from candidates(path, _ahocorasick_rs, raw=True)


def ahocorasick_rs_decoded(path: Path):
    yield from candidates(path, _ahocorasick_rs, raw=False)


def _conditions(kind: str):
    """The first keyword queries without OR as conditions of whole words, lower case."""
    from covmis_build.text.expression import parse
    from covmis_build.text.nodes import And, Term

    chosen = []
    for name, _, what, text in queries():
        node = parse(text).node
        if what == kind and isinstance(node, And) and all(isinstance(one, Term) for one in node.parts):
            chosen.append((name, [" ".join(one.tokens) for one in node.parts]))
    return chosen[:FEW]


def duckdb_like(path: Path):
    import duckdb

    chosen = _conditions("keywords")
    started()
    duckdb.sql("SET threads = 1")
    spaced = "' ' || regexp_replace(lower(full_text), '[^a-z0-9]+', ' ', 'g') || ' '"
    duckdb.sql(
        f"CREATE TABLE posts AS SELECT id_str, {spaced} AS words FROM read_json('{path}', format = 'newline_delimited', columns = {{id_str: 'VARCHAR', full_text: 'VARCHAR'}})"
    )
    for name, parts in chosen:
        where = " AND ".join(f"words LIKE '% {part} %'" for part in parts)
        yield from (
            (name, f"x:{row[0]}") for row in duckdb.sql(f"SELECT id_str FROM posts WHERE {where}").fetchall()
        )


def polars_contains(path: Path):
    import polars as pl

    chosen = _conditions("keywords")
    started()
    frame = pl.scan_ndjson(
        path, schema={"id_str": pl.String, "full_text": pl.String}, ignore_errors=True
    ).collect()
    frame = frame.with_columns(
        (" " + pl.col("full_text").str.to_lowercase().str.replace_all("[^a-z0-9]+", " ") + " ").alias("words")
    )
    for name, parts in chosen:
        found = frame.filter(
            pl.all_horizontal(pl.col("words").str.contains(f" {part} ", literal=True) for part in parts)
        )
        yield from ((name, f"x:{one}") for one in found["id_str"])


PEERS = (
    ours,
    ours_44,
    pyahocorasick_alone,
    ahocorasick_rs_alone,
    ahocorasick_rs_typed,
    pyahocorasick_raw,
    ahocorasick_rs_raw,
    ahocorasick_rs_decoded,
    duckdb_like,
    polars_contains,
)
_began = [0.0, 0.0]


def started() -> None:
    """The clock runs from here: making queries is the same for all."""
    _began[:] = time.process_time(), time.perf_counter()


def one(name: str, path: Path) -> None:
    """Run one peer, print its facts."""
    wanted = (
        {row[0] for row in _conditions("keywords")} if name in {"duckdb_like", "polars_contains"} else None
    )
    with Path(f"{path}.{name}.hits").open("w") as file:  # as they come: none has to keep them
        file.writelines(
            f"{query}\t{post}\n" for query, post in {peer.__name__: peer for peer in PEERS}[name](path)
        )
    facts = {
        "name": name, "cpu": time.process_time() - _began[0], "wall": time.perf_counter() - _began[1],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "part": len(wanted or ()),
    }  # fmt: skip
    print(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--one", default="")
    parser.add_argument("--path", type=Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[peer.__name__ for peer in PEERS])
    asked = parser.parse_args()
    if asked.one == "generate":
        generate(asked.path, asked.posts)
        return
    if asked.one == "stream":
        stream(asked.path, asked.times)
        return
    if asked.one:
        one(asked.one, asked.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "posts.jsonl"
        generating = [
            sys.executable,
            __file__,
            "--one",
            "generate",
            "--path",
            path,
            "--posts",
            str(asked.posts),
        ]
        subprocess.run(
            generating, check=True
        )  # in a process of its own: a child inherits its parent's peak of memory
        print(f"{asked.posts:,} posts, {path.stat().st_size / 1e9:.2f} GB, {len(queries())} queries\n")
        print("| what | CPU s | of ours | wall s | MB | hits | as ours |\n|---|---|---|---|---|---|---|")
        base, right = 0.0, set()
        for name in asked.only:
            run = subprocess.run(
                [sys.executable, __file__, "--one", name, "--path", path],
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                print(f"| {name} | did not run: {run.stderr.strip().splitlines()[-1][:80]} | | | | | |")
                continue
            facts = json.loads(run.stdout)
            found = {tuple(line.split("\t")) for line in Path(f"{path}.{name}.hits").read_text().splitlines()}
            base, right = (facts["cpu"], found) if name == "ours" else (base, right)
            cpu = facts["cpu"] * (433 / facts["part"] if facts["part"] else 1)
            part = f" ({facts['part']} queries: {facts['cpu']:.1f})" if facts["part"] else ""
            some = {row[0] for row in _conditions("keywords")}
            expected = {pair for pair in right if pair[0] in some} if facts["part"] else right
            same = "yes" if found == expected else f"-{len(expected - found)} +{len(found - expected)}"
            print(
                f"| {name} | {cpu:.1f}{part} | {cpu / base:.2f} | {facts['wall']:.1f} | {facts['memory']:.0f} | {len(found):,} | {'' if name in {'ours', 'ours_44'} else same} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
