"""The HTML of a status is read by expressions where servers wrote it, and by a parser otherwise, with the same result."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covmis_build.archive.formats import mastodon

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


@settings(max_examples=500)
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
