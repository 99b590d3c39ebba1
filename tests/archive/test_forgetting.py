"""Forgetting, in every form that platforms and tools write: the post goes, and what repeats it; the rest stays."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile

import pytest
import zstandard

from covmis_build.archive import formats, pages, rewriting
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.formats import bluesky as bluesky_format
from tests.servers import bluesky, mastodon, x

GONE = "1250000000000001013"  # number 1 of the server's posts
FORGET = Forget(frozenset({f"x:{GONE}"}))


def text_of(payload) -> str:
    return json.dumps(payload)


def test_a_page_loses_the_post_and_its_retweets_and_keeps_who_quotes_it():
    page = {
        "data": x.posts(4),
        "includes": {"tweets": [x.post(1, "secret words")]},
        "meta": {"result_count": 4},
    }
    page["data"][2] |= {
        "text": "RT @a: secret words",
        "referenced_tweets": [{"type": "retweeted", "id": GONE}],
    }
    page["data"][3] |= {"text": "look at this", "referenced_tweets": [{"type": "quoted", "id": GONE}]}
    page["errors"] = [{"resource_id": GONE, "type": "t"}]
    left = FORGET.without(page)
    assert [one["id"] for one in left["data"]] == [page["data"][0]["id"], page["data"][3]["id"]]
    assert GONE not in text_of(left)
    assert "secret" not in text_of(left)
    assert page["data"][1]["id"] == GONE, "what came in is not changed"


def test_version_1_quotations_become_empty_and_retweets_go():
    tweet = {
        "id": int(GONE),
        "id_str": GONE,
        "text": "secret words",
        "user": {"id_str": "9", "screen_name": "a"},
    }
    other = {"id_str": "1250000000000999999", "text": "mine", "user": {"id_str": "8", "screen_name": "b"}}
    quoting = {
        **other,
        "quoted_status": tweet,
        "quoted_status_id_str": GONE,
        "in_reply_to_status_id": int(GONE),
    }
    assert FORGET.without(quoting) == {
        **other, "quoted_status": None, "quoted_status_id_str": None, "in_reply_to_status_id": None
    }  # fmt: skip
    assert FORGET.without({**other, "text": "RT", "retweeted_status": tweet}) == {}
    assert FORGET.without(tweet) == {}
    assert FORGET.without(other) == other


def test_an_author_goes_with_all_posts_and_what_repeats_them():
    page = {
        "data": [
            x.post(1, "secret", author=9),
            x.post(2, "mine", author=8),
            x.post(3, "RT secret", author=7),
        ],
        "includes": {"users": [{"id": "9", "username": "a"}, {"id": "8", "username": "b"}]},
    }
    page["data"][2]["referenced_posts"] = [{"type": "retweeted", "id": GONE}]
    forget = Forget(authors=frozenset({"author:x:9"}))
    left = forget.without(page)
    assert [one["text"] for one in left["data"]] == ["mine"]
    assert left["includes"] == {"users": [{"id": "8", "username": "b"}]}
    assert forget.posts_of(page) == {f"x:{GONE}"}


def test_an_author_can_be_named_by_pseudonym(monkeypatch):
    monkeypatch.setenv("COVMIS_AUTHOR_KEY", "ab" * 32)
    from covmis_build.credentials import pseudonym

    forget = Forget(authors=frozenset({pseudonym("x:9")}))
    assert forget.touches(b"{}")
    assert forget.without({"data": [x.post(1, "secret", author=9)]}) == {"data": []}
    monkeypatch.setenv("COVMIS_AUTHOR_KEY", "cd" * 32)
    assert forget.without({"data": [x.post(1, "s", author=9)]})["data"]


def test_bluesky_pages_events_quotations_and_reposts():
    posts = bluesky.posts(3)
    name = f"bsky:{bluesky.DID}/3k{1:011d}"
    forget = Forget(frozenset({name}))
    assert bluesky_format.read(json.dumps({"posts": posts}).encode())[1].post_id == name
    assert forget.without({"posts": posts})["posts"] == [posts[0], posts[2]]
    event = {"did": bluesky.DID, "kind": "commit", "commit": {"rkey": f"3k{1:011d}", "record": {"text": "s"}}}
    assert forget.without(event) == {}
    repost = {
        "did": "did:plc:b",
        "commit": {"rkey": "z", "record": {"subject": {"uri": posts[1]["uri"], "cid": "c"}}},
    }
    assert "3k00000000001" not in text_of(forget.without(repost))
    quoting = {**posts[0], "embed": {"record": {"uri": posts[1]["uri"], "value": {"text": "secret"}}}}
    assert forget.without({"posts": [quoting]})["posts"][0]["embed"] == {"record": None}
    everything = Forget(authors=frozenset({f"author:bsky:{bluesky.DID}"}))
    assert everything.without({"posts": posts}) == {"posts": []}


def test_mastodon_pages_boosts_and_authors():
    posts = mastodon.posts(3)
    forget = Forget(frozenset({f"masto:social.test/{posts[1]['id']}"}))
    assert forget.without({"statuses": posts})["statuses"] == [posts[0], posts[2]]
    boost = {**posts[0], "content": "", "reblog": posts[1]}
    assert forget.without({"statuses": [boost]}) == {"statuses": []}
    everything = Forget(authors=frozenset({"author:masto:social.test/nobody"}))
    assert everything.without({"statuses": posts}) == {"statuses": []}


@pytest.mark.parametrize("platform", [x, bluesky, mastodon])
def test_a_line_that_is_not_touched_is_not_even_decoded(platform):
    for post in platform.posts(20):
        assert not FORGET.touches(json.dumps(post).encode()) or GONE in json.dumps(post)


def pack(kind: str, data: bytes) -> bytes:
    made = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "": bytes}
    return zstandard.ZstdCompressor().compress(data) if kind == "zst" else made[kind](data)


def unpack(kind: str, data: bytes) -> bytes:
    if kind == "zst":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True).read()
    return {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress, "": bytes}[kind](data)


LINES = b"".join(json.dumps(one).encode() + b"\n" for one in x.posts(5))


@pytest.mark.parametrize("kind", ["", "gz", "bz2", "xz", "zst"])
def test_archives_are_rewritten_as_they_are_packed(tmp_path, kind):
    path = tmp_path / f"posts.jsonl.{kind}".rstrip(".")
    path.write_bytes(pack(kind, LINES))
    assert rewriting.rewrite(path, FORGET) == 1
    left = unpack(kind, path.read_bytes()).splitlines(keepends=True)
    assert left == [line for line in LINES.splitlines(keepends=True) if GONE.encode() not in line]
    before = path.stat().st_mtime_ns
    assert rewriting.rewrite(path, FORGET) == 0
    assert path.stat().st_mtime_ns == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("ending", "kind"), [(".tar", ""), (".tar.gz", "gz")])
def test_tar_files_are_rewritten_member_by_member(tmp_path, ending, kind):
    path = tmp_path / f"grab{ending}"
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, packed in (("a/01.json.bz2", "bz2"), ("a/02.json", "")):
            data = pack(packed, LINES)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path.write_bytes(pack(kind, raw.getvalue()))
    assert rewriting.rewrite(path, FORGET) == 2
    with tarfile.open(path) as tar:
        members = {one.name: tar.extractfile(one).read() for one in tar}
    assert list(members) == ["a/01.json.bz2", "a/02.json"]
    for name, data in members.items():
        plain = unpack("bz2" if name.endswith("bz2") else "", data)
        assert plain.count(b"\n") == 4
        assert GONE.encode() not in plain


def test_tables_lose_rows_and_documents_lose_elements(tmp_path):
    sheet = tmp_path / "posts.csv"
    sheet.write_text(f'id,text\n{GONE},"a, secret"\n7,plain\n')
    assert rewriting.rewrite(sheet, FORGET) == 1
    assert sheet.read_text().splitlines() == ["id,text", "7,plain"]
    document = tmp_path / "posts.json"
    document.write_text(json.dumps(x.posts(3), indent=1))
    assert rewriting.rewrite(document, FORGET) == 1
    assert [one["id"] for one in json.loads(document.read_text())] == [
        x.posts(3)[0]["id"],
        x.posts(3)[2]["id"],
    ]


def test_a_row_goes_without_its_neighbours_where_quotation_marks_are_signs(tmp_path):
    path = tmp_path / "posts.tsv"
    path.write_text(f'id\ttext\n6\t"to be\n{GONE}\tor not to be"\n7\t"No!" she said\n')
    assert rewriting.rewrite(path, FORGET) == 1
    assert path.read_text().splitlines() == ["id\ttext", '6\t"to be', '7\t"No!" she said']
    loose = tmp_path / "other.csv"
    loose.write_text('tweet_id,text\n1,nothing to forget\n2,"Yes" he said\n')
    assert rewriting.rewrite(loose, FORGET) == 0
    bars = tmp_path / "posts.csv"
    bars.write_text(f"id|text\n{GONE}|secret\n7|plain\n")
    assert rewriting.rewrite(bars, FORGET) == 1
    assert bars.read_text().splitlines() == ["id|text", "7|plain"]


def test_collected_pages_stay_frames_that_a_crawl_can_resume(tmp_path):
    path = tmp_path / "q.jsonl.zst"
    for number in (1, 2):
        stamp = pages.Stamp(
            job="j", source="x", query_id="q", claim_id="c", kind="keywords", expression="e", search="s", since="",
            until="", page=number, next="t", url=f"https://api.test/2/tweets?ids=7,{GONE}", version="v",
            retrieved_at="2026-01-01T00:00:00Z",
        )  # fmt: skip
        pages.append(path, {"data": x.posts(number)}, stamp)
    path.write_bytes(path.read_bytes() + b"\x28\xb5\x2f\xfdtorn")
    assert rewriting.rewrite(path, FORGET) == 2
    assert pages.resume(path).page == 2
    assert [one.page for one in pages.stamps(path)] == [1, 2]
    assert all(GONE not in json.dumps(one) for one in pages.lines(path))
    assert formats.KNOWN.detect(json.dumps(next(pages.lines(path))).encode()) == "x_v2"
