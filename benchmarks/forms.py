"""Reading and matching posts in nine forms: ours against an automaton behind orjson, interleaved in one run.

    python -m pip install --target peers ahocorasick_rs orjson
    PYTHONPATH=peers .venv/bin/python benchmarks/forms.py --posts 100000 --repeat 3

The same posts as X 1.1, X 2 (flat, flat in gz, pages as `covmis collect` writes them), snscrape, Jetstream (plain and zst),
Mastodon and CSV: texts of $COVMIS_DATA_HOME/posts, a tenth of them of eight languages, 4% with the words of a query, 40%
with a link. Every measurement is a process of its own; of each way the least CPU (user and system) of several runs is
given, twice: of the first pass in the process, and of the second, when tables and compiled code are there. The peer does
what a user of it writes (benchmarks/matching.py), with each form's own fields, and titles and addresses in texts.
`--today FOLDER` adds the code of another checkout.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = os.environ.get("COVMIS_CHECKOUT", str(ROOT))
FIRST = 1252934402983763968
NAMES = ("v1.jsonl", "v2flat.jsonl", "v2flat.jsonl.gz", "v2pages.jsonl", "snscrape.jsonl", "jetstream.jsonl", "jetstream.jsonl.zst", "mastodon.jsonl", "sheet.csv")  # fmt: skip


def common():
    """benchmarks/matching.py, whichever checkout is measured."""
    import importlib.util

    its = Path(os.environ.get("COVMIS_CHECKOUT", str(ROOT))) / "benchmarks/matching.py"
    spec = importlib.util.spec_from_file_location("matching_benchmark", its)
    module = importlib.util.module_from_spec(spec)
    before = sys.path[0]
    spec.loader.exec_module(module)
    sys.path[0] = before
    module.started = lambda: _began.__setitem__(0, time.process_time())  # making queries is the same for all
    return module


def generate(folder: Path, posts: int) -> None:
    import zstandard

    shared = common()
    chance, known, asked = random.Random(1), shared.texts(), shared.queries()
    with gzip.open(shared.DATA / "posts/xlmt_umsab_8lang.tsv.gz", "rt", encoding="utf-8") as file:
        other = [cells[2] for line in file if len(cells := line.rstrip("\n").split("\t")) > 2]
    words = [re.sub('[()"]|OR', "", text) for _, _, kind, text in asked if kind == "keywords"]
    links = [text[5:-1] for _, _, kind, text in asked if kind.endswith("url")]
    hosts = ["www.example.com", "news.example.org", "www.youtube.com", "youtu.be", "bit.ly", "www.cnn.com"]
    person = {"id": "12", "name": "A name", "username": "somebody", "description": "d" * 120}
    forms = {name: (folder / name).open("w", encoding="utf-8") for name in NAMES if name.endswith("jsonl")}
    page = []
    with (folder / "sheet.csv").open("w", encoding="utf-8", newline="") as sheet:
        rows = csv.writer(sheet)
        rows.writerow(["tweet_id", "text", "created_at", "lang", "urls"])
        for number in range(posts):
            text = chance.choice(other if chance.random() < 0.1 else known).replace("\0", "")
            text += " " + chance.choice(words) if chance.random() < 0.04 else ""
            urls = []
            if chance.random() < 0.4:
                own = f"{chance.choice(hosts)}/2020/{number}/a-story-of-{number % 997}.html?utm_source=x"
                urls = ["https://" + (chance.choice(links) if chance.random() < 0.01 else own)]
            native = str(FIRST + number)
            short = [
                {"url": "https://t.co/abcdefghij", "expanded_url": url, "indices": [0, 23]} for url in urls
            ]
            card = (
                {"url": urls[0], "title": "A story about something", "description": "What happened"}
                if urls
                else None
            )
            v1 = {
                "created_at": "Wed Apr 22 12:34:56 +0000 2020",
                "id": FIRST + number,
                "id_str": native,
                "full_text": text,
                "truncated": False,
                "entities": {"hashtags": [], "user_mentions": [], "urls": short},
                "source": "x",
                "user": shared.PERSON,
                "in_reply_to_status_id": None,
                "geo": None,
                "place": None,
                "is_quote_status": False,
                "retweet_count": 0,
                "favorite_count": 0,
                "lang": "en",
            }
            v2 = {
                "id": native,
                "created_at": "2020-04-22T12:34:56.000Z",
                "author_id": "12",
                "conversation_id": native,
                "lang": "en",
                "text": text,
                "edit_history_tweet_ids": [native],
                "possibly_sensitive": False,
                "public_metrics": {"retweet_count": 0, "reply_count": 0, "like_count": 1, "quote_count": 0},
            }
            v2 |= {"entities": {"urls": short}} if urls else {}
            scraped = {
                "_type": "snscrape.modules.twitter.Tweet",
                "url": f"https://twitter.com/s/status/{native}",
                "date": "2020-04-22T12:34:56+00:00",
                "rawContent": text,
                "renderedContent": text,
                "id": FIRST + number,
                "user": person,
                "replyCount": 0,
                "conversationId": FIRST + number,
                "lang": "en",
                "links": [{"text": "t", "url": url} for url in urls] or None,
                "media": None,
                "retweetedTweet": None,
                "quotedTweet": None,
            }
            record = {
                "$type": "app.bsky.feed.post",
                "createdAt": "2024-09-09T19:46:02.102Z",
                "langs": ["en"],
                "text": text,
            }
            if urls:
                record |= {
                    "facets": [
                        {
                            "features": [{"$type": "app.bsky.richtext.facet#link", "uri": urls[0]}],
                            "index": {"byteStart": 0, "byteEnd": 1},
                        }
                    ],
                    "embed": {"$type": "app.bsky.embed.external", "external": {**card, "uri": card["url"]}},
                }
            event = {
                "did": f"did:plc:eygmaihciaxprqvxpfvl{number % 999:03d}",
                "time_us": number,
                "kind": "commit",
                "commit": {
                    "operation": "create",
                    "collection": "app.bsky.feed.post",
                    "rkey": f"3l{number:09d}",
                    "record": record,
                },
            }
            shown = "".join(
                f' <a href="{html.escape(url)}" target="_blank" rel="nofollow noopener" translate="no"><span class="invisible">https://</span><span class="ellipsis">{url[8:38]}</span><span class="invisible">{url[38:]}</span></a>'
                for url in urls
            )
            status = {"id": str(number), "created_at": "2020-04-22T12:34:56.000Z", "in_reply_to_id": None, "spoiler_text": "", "language": "en", "uri": f"https://mastodon.example/users/somebody/statuses/{number}", "url": f"https://mastodon.example/@somebody/{number}", "content": f"<p>{html.escape(text)}{shown}</p>", "reblog": None, "account": person, "media_attachments": [], "tags": [], "card": card if number % 2 else None}  # fmt: skip
            forms["v1.jsonl"].write(json.dumps(v1) + "\n")
            forms["v2flat.jsonl"].write(json.dumps(v2 | {"author": person}) + "\n")
            forms["snscrape.jsonl"].write(json.dumps(scraped, ensure_ascii=False) + "\n")
            forms["jetstream.jsonl"].write(json.dumps(event, ensure_ascii=False) + "\n")
            forms["mastodon.jsonl"].write(json.dumps(status, ensure_ascii=False) + "\n")
            rows.writerow([native, text, "2020-04-22", "en", " ".join(urls)])
            page.append(v2)
            if len(page) == 100:
                stamp = {
                    "retrieved_at": "2024-01-01T00:00:00Z",
                    "source": "x",
                    "query_id": "none",
                    "claim_id": "none",
                    "kind": "keywords",
                    "expression": "zzz",
                }
                forms["v2pages.jsonl"].write(
                    json.dumps(
                        {"data": page, "meta": {"result_count": 100}, "__covmis": stamp}, ensure_ascii=False
                    )
                    + "\n"
                )
                page = []  # fmt: skip
    for file in forms.values():
        file.close()
    (folder / "v2flat.jsonl.gz").write_bytes(gzip.compress((folder / "v2flat.jsonl").read_bytes(), 6))
    packed = zstandard.ZstdCompressor().compress((folder / "jetstream.jsonl").read_bytes())
    (folder / "jetstream.jsonl.zst").write_bytes(packed)


def automaton(path: Path):  # noqa: C901 - a reader for each form
    """ahocorasick_rs with orjson over each form's own fields; titles of links are texts of their own."""
    import ahocorasick_rs
    import orjson
    import zstandard

    shared = common()
    tag, href, bare = re.compile("<[^>]*>"), re.compile('<a href="([^"]*)"'), re.compile(r"https?://\S+")

    def v1(row):
        yield row["id_str"], row["full_text"], [url["expanded_url"] for url in row["entities"]["urls"]], ""

    def v2(row):
        for post in row.get("data", (row,)):
            urls = [url["expanded_url"] for url in post["entities"]["urls"]] if "entities" in post else []
            yield post["id"], post["text"], urls, ""

    def scraped(row):
        yield str(row["id"]), row["rawContent"], [link["url"] for link in row["links"] or ()], ""

    def jetstream(row):
        commit = row["commit"]
        record = commit["record"]
        urls = [one["uri"] for facet in record.get("facets", ()) for one in facet["features"] if "uri" in one]
        card = record["embed"]["external"] if "embed" in record else None
        yield (
            f"{row['did']}/{commit['rkey']}",
            record["text"],
            [*urls, card["uri"]] if card else urls,
            card["title"] if card else "",
        )

    def toots(row):
        content, card = row["content"], row["card"]
        urls = [html.unescape(url) for url in href.findall(content)]
        text = html.unescape(tag.sub("", content.replace("<br />", "\n").replace("</p><p>", "\n\n")))
        yield (
            f"mastodon.example/{row['id']}",
            text,
            [*urls, card["url"]] if card else urls,
            card["title"] if card else "",
        )

    readers = {
        "v1": v1,
        "v2flat": v2,
        "v2pages": v2,
        "snscrape": scraped,
        "jetstream": jetstream,
        "mastodon": toots,
    }
    prefix = {"jetstream": "bsky:", "mastodon": "masto:"}.get(path.name.partition(".")[0], "x:")

    def posts():
        if path.suffix == ".csv":
            with path.open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file)
                next(rows)
                for row in rows:
                    yield row[0], row[1], row[4].split(), ""
            return
        read, loads = readers[path.name.partition(".")[0]], orjson.loads
        with path.open("rb") as raw:
            stream = {".gz": gzip.open, ".zst": lambda file: io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file), 1 << 18)}.get(path.suffix, lambda file: file)(raw)  # fmt: skip
            for line in stream:
                yield from read(loads(line))

    def search(needles):
        known = ahocorasick_rs.AhoCorasick(needles)
        return lambda text: {one[0] for one in known.find_matches_as_indexes(text, overlapping=True)}

    def each():
        for post, text, urls, title in posts():
            if "/" in text:
                urls += [url for url in bare.findall(text) if not url.startswith("https://t.co/")]
            yield post, f"{text} \uffff {title}" if title else text, urls

    for query, post in shared.matched(each, search):
        yield query, prefix + post


def ours(path: Path):
    yield from common().ours(path)


_began = [0.0]


def measure(way: str, path: Path) -> None:
    """CPU of the first and of the second pass in this process; what is made once is there then."""
    spent = []
    for _ in range(2):
        _began[:] = [time.process_time()]
        found = set({"ours": ours, "automaton": automaton, "today": ours}[way](path))
        spent.append(time.process_time() - _began[0])
    Path(f"{path}.{way}.hits").write_text("\n".join(sorted(f"{query}\t{post}" for query, post in found)))
    print(json.dumps(spent))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--today", default="")
    parser.add_argument("--one", nargs=2)
    asked = parser.parse_args()
    if asked.one:
        measure(asked.one[0], Path(asked.one[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), asked.posts)
        ways = ["ours", "automaton"] + ["today"] * bool(asked.today)
        print(
            "| file | "
            + " | ".join(f"{way} (first)" for way in ways)
            + " | automaton / ours | first | hits of ours, in common |"
        )
        print("|---" * (len(ways) + 4) + "|")
        for name in asked.only:
            path, spent = Path(folder) / name, {way: [] for way in ways}
            for _ in range(asked.repeat):
                for way in ways:  # in turn, so that other work on the machine meets all
                    checkout = {"COVMIS_CHECKOUT": asked.today} if way == "today" else {}
                    command = [sys.executable, __file__, "--one", way, str(path)]
                    run = subprocess.run(
                        command, capture_output=True, text=True, check=True, env={**os.environ, **checkout}
                    )
                    spent[way].append(json.loads(run.stdout.splitlines()[-1]))
            least = {way: [min(one[at] for one in spent[way]) for at in (0, 1)] for way in ways}
            hits = {way: set(Path(f"{path}.{way}.hits").read_text().splitlines()) for way in ways}
            ratio = [least["automaton"][at] / least["ours"][at] for at in (1, 0)]
            cells = " | ".join(f"{least[way][1]:.2f} ({least[way][0]:.2f})" for way in ways)
            common_hits = [len(hits["ours"] & hits[way]) for way in ways[1:]]
            print(
                f"| {name} | {cells} | {ratio[0]:.2f} | {ratio[1]:.2f} | {len(hits['ours'])}, {common_hits} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
