"""A glance holds what the whole post holds, and perhaps more: nothing that decides about a post is left out."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from covmis_build.archive import formats, streams
from covmis_build.archive.formats import mastodon
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.post import Glances
from covmis_build.archive.reader import How, glance, read
from covmis_build.errors import BrokenIds
from covmis_build.text.tokens import tokens
from tests.archive.test_formats import RECORD, STATUS, VIEW
from tests.archive.test_tools import FOLDERS

X1 = {
    "id_str": "9", "full_text": "garlic &amp; more", "created_at": "x", "lang": "en", "quoted_status_id_str": "5",
    "entities": {"urls": [{"expanded_url": "https://a.org/b", "unwound": {"url": "https://a.org/c", "title": "garlic"}}]},
}  # fmt: skip
X2 = {
    "id": "9", "text": "garlic &amp; more", "created_at": "x", "lang": "en", "conversation_id": "9",
    "entities": {"urls": [{"expanded_url": "https://a.org/b", "unwound_url": "https://a.org/c", "title": "garlic"}]},
    "referenced_tweets": [{"id": "5", "type": "quoted"}, {"id": "6", "type": "retweeted", "text": "the other"}],
}  # fmt: skip
SNSCRAPED = {
    "_type": "snscrape.modules.twitter.Tweet", "id": 9, "date": "x", "rawContent": "garlic &amp; more",
    "links": [{"url": "https://a.org/b"}], "outlinks": ["https://a.org/b", "https://a.org/c"],
    "card": {"title": "garlic", "url": "https://a.org/d"}, "quotedTweet": {"id": 5, "content": "quoted"},
}  # fmt: skip
EVENT = {
    "did": "did:plc:a", "kind": "commit",
    "commit": {"operation": "create", "collection": "app.bsky.feed.post", "rkey": "3k", "record": RECORD},
}  # fmt: skip
STAMP = {"retrieved_at": "2024-01-01T00:00:00Z", "query_id": "q", "claim_id": "c", "kind": "keywords", "expression": "e", "url": "https://home.example/api"}  # fmt: skip
ROWS = {
    "x_v1": [X1, X1 | {"retweeted_status": X1}, X1 | {"quoted_status": X1, "extended_tweet": X1}, {"statuses": [X1, X1]}, {"delete": {"status": {"id_str": "9"}}}],
    "x_v2": [X2, {"data": [X2, X2 | {"id": "5"}], "includes": {"tweets": [X2 | {"id": "6"}]}, "errors": [{"value": "7"}]}, {"data": X2, "__covmis": STAMP}],
    "snscrape": [SNSCRAPED, SNSCRAPED | {"retweetedTweet": SNSCRAPED}, {"_type": "a.Tombstone", "id": 5}],
    "bluesky": [EVENT, VIEW, {"posts": [VIEW, VIEW], "__covmis": STAMP}, {"feed": [{"post": VIEW}]}],
    "mastodon": [STATUS, STATUS | {"reblog": STATUS | {"id": "7", "uri": "https://h/users/a/statuses/7"}}, {"statuses": [STATUS, STATUS], "__covmis": STAMP}],
}  # fmt: skip
ODD = st.one_of(
    st.none(), st.just(""), st.just(" "), st.just("é &amp;lt; <p>x"), st.integers(0, 9), st.just([]), st.just({}),
    st.just("https://b.example/users/b/statuses/1/activity"), st.just("a\ud83d"),
)  # fmt: skip


@st.composite
def changed(draw, row):
    """A row in which some fields, however deep, are of another value, or gone."""
    if isinstance(row, dict):
        return {name: draw(changed(value)) for name, value in row.items() if draw(st.integers(0, 19))}
    if isinstance(row, list):
        return [draw(changed(value)) for value in row]
    return row if draw(st.integers(0, 19)) else draw(ODD)


CASES = st.sampled_from([(form, row) for form, listed in ROWS.items() for row in listed])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CASES.flatmap(lambda case: st.tuples(st.just(case[0]), changed(case[1]))))
def test_a_glance_holds_at_least_what_the_post_holds(case):
    form, row = case
    line, glancing, seen = json.dumps(row).encode(), formats.GLANCING[form], Glances()
    try:
        glancing.glances([(3, decoded(glancing.decoder, line))], seen)
    except formats.UNREADABLE as error:
        with pytest.raises(type(error)):
            glancing.read(line)
        return
    whole = glancing.read(line)
    assert seen.ids == [post.post_id for post in whole]
    assert seen.places == [3] * len(whole)
    for number, post in enumerate(whole):
        assert tokens(seen.texts[number]) == tokens(post.text)
        links, titles = owned(number, seen.linking, seen.links), owned(number, seen.titling, seen.titles)
        assert links >= {*post.urls, *(card[0] for card in post.cards)}
        assert titles >= {card[1] for card in post.cards}
        few = (seen.quotes, seen.reposts, seen.claimed)
        assert [column.get(number) or "" for column in few] == [
            post.quote_of,
            post.repost_of,
            post.claimed or "",
        ]
    shorter = len(whole) // 2
    seen.shorten(shorter)
    assert len(seen) == len(seen.texts) == len(seen.more) == len(seen.places) == shorter
    assert all(
        number < shorter for few in (seen.linking, seen.titling, seen.quotes, seen.claimed) for number in few
    )


def owned(number, owners, values):
    """Those of the values that belong to this post."""
    return {value for owner, value in zip(owners, values, strict=True) if owner == number}


def test_the_rows_are_posts_of_their_forms():
    assert ROWS.keys() == formats.GLANCING.keys()
    for form, listed in ROWS.items():
        assert all(formats.READERS[form](json.dumps(row).encode()) for row in listed)


LINK = (
    '<a href="https://a.org/b?x=1&amp;y=2" target="_blank" rel="nofollow noopener" translate="no">'
    '<span class="invisible">https://</span><span class="ellipsis">a.org/b?x=1</span><span class="invisible">&amp;y=2</span></a>'
)  # fmt: skip
MARKUP = st.lists(
    st.sampled_from([
        "<p>", "</p>", "<br>", "<br />", '<a href="https://a.org/b?x=1&amp;y=2" rel="nofollow">', "</a>", "garlic", "é",
        '<a href="https://h/@a" class="mention u-url">', '<span class="invisible">', "</span>", "https://", "&amp;", "&lt;",
        "&am", "p;", "<", ">", '"', "<!-- x -->", "<script>", "</script>", "<P>", "<img alt='<p>'>", "&#39;", " ", "\n",
        '<a href="https://one.org" href="https://two.org">', "<strong>", "</strong>", "<a", "&notanything", LINK, LINK,
        '<a href="https://h/tags/b" class="mention hashtag" rel="tag">', '<a href="ftp://h/c">', '<p title="', "<pre>",
        '<a href="https://a.org/?a=1&copy=2">', "<br/>", '<p class="quote-inline">', "</br>", "&nbsp;", "&am<br>p;",
    ]),
    max_size=14,
).map("".join)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(MARKUP)
@example("x &am<strong>p; y")
@example('<a href="https://a.org/?a=1&copy=2">')
@example(f'<p title="{LINK}">')
def test_markup_is_read_as_the_parser_reads_it(content):
    assert mastodon.plain(content) == mastodon.parsed(content)


@pytest.mark.parametrize("opened", ["<![foo[", "<![CDAT&A[", "<![ ", "<![&["])
def test_a_section_of_no_known_kind_is_a_comment(opened):
    assert mastodon.parsed(f"<p>one {opened} x> two</p>") == ("one  two", [])
    assert mastodon.plain(f"<p>one {opened} x> two</p>") == ("one  two", [])
    assert mastodon.parsed(f"<p>one {opened} x")[0].startswith("one")


def test_markup_as_servers_write_it_needs_no_parser(monkeypatch):
    monkeypatch.setattr(mastodon, "parsed", None)
    person = '<span class="h-card" translate="no"><a href="https://h/@a" class="u-url mention">@<span>a</span></a></span>'
    tag = '<a href="https://h/tags/b" class="mention hashtag" rel="tag">#<span>b</span></a>'
    other = '<a href="https://c.org/d?e=1&amp;f" rel="nofollow">c.org</a>'
    written = f"<p>{person} see {LINK}<br />{other}</p><p>Ben &amp; Jerry&#39;s {tag}</p>"
    text = "@a see https://a.org/b?x=1&y=2\nc.org\n\nBen & Jerry's #b"
    assert mastodon.plain(written) == (text, ["https://a.org/b?x=1&y=2", "https://c.org/d?e=1&f"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_are_the_same_line_by_line_and_at_a_glance(folder, data_home):
    for path in sorted((data_home / "formats" / folder).iterdir()):
        for job in streams.jobs([(path, path.name)]):
            try:
                lines = list(read(job, how=How()))
            except BrokenIds:
                continue
            blocks = list(glance(job, how=How()))
            seen = [
                (block.file, block.form, place, block.whole(number))
                for block in blocks
                for number, place in enumerate(block.seen.places)
            ]
            assert sorted(seen, key=str) == sorted(
                ((line.file, line.form, line.place, post) for line in lines for post in line.posts), key=str
            )
            assert sum(block.lines for block in blocks) == sum(
                bool(line.posts or not line.note) for line in lines
            )
            for what in ("problem", "note"):
                told = [getattr(line, what) for block in blocks for line in block.told if getattr(line, what)]
                assert sorted(told) == sorted(getattr(line, what) for line in lines if getattr(line, what))
            skipped = [
                sum(count for line in some for count in line.skipped.values())
                for some in (lines, [line for block in blocks for line in block.told])
            ]
            assert skipped[0] == skipped[1]
