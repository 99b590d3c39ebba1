"""Canonical addresses: what is the same page, and what must never be taken for the same."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.text.urls import addresses, canonical_url, spellings

BASE = "https://www.example.org/news/2020/04/a-story"
STATUS = "https://twitter.com/someone/status/1250000000000003847"
VIDEO = "https://www.youtube.com/watch?v=E95qChF-MOo"
SAME: dict[str, list[str]] = {
    BASE: [
        "http://www.example.org/news/2020/04/a-story", "https://example.org/news/2020/04/a-story",
        "https://m.example.org/news/2020/04/a-story", "https://mobile.example.org/news/2020/04/a-story",
        "https://amp.example.org/news/2020/04/a-story", "HTTPS://WWW.EXAMPLE.ORG/news/2020/04/a-story",
        f"{BASE}/", f"{BASE}#comments", f"{BASE}?utm_source=a&utm_medium=b", f"{BASE}?fbclid=IwAR3m", f"{BASE}?gclid=1",
        f"{BASE}?igshid=1", f"{BASE}?mc_cid=1&mc_eid=2", f"{BASE}?ref_src=twsrc", f"{BASE}?__twitter_impression=true",
        f"{BASE}?ocid=1", f"{BASE}?ncid=x", f"{BASE}?smid=tw-share", f"{BASE}?cmpid=1", f"{BASE}?_ga=1.2", f"{BASE}?msclkid=1",
        f"{BASE}?yclid=1", f"{BASE}?dclid=1", f"{BASE}?guccounter=1&guce_referrer=x", f"{BASE}?at_medium=1&at_campaign=64",
        f"{BASE}?ns_mchannel=social", f"{BASE}?xtor=AL-1", f"{BASE}?amp", f"{BASE}?amp=1", f"{BASE}?outputType=amp", f"{BASE}?amp_js_v=a2",
        f"{BASE}?utm_source=x#top", f"{BASE}?", "https://www.example.org:443/news/2020/04/a-story", "http://www.example.org:80/news/2020/04/a-story",
        f"{BASE}/amp", f"{BASE}/amp/", f"{BASE}.amp", "https://www.example.org/amp/news/2020/04/a-story",
        f"{BASE}/index.html", f"{BASE}/index.php", "https://www.example.org/news//2020/04/a-story", "https://www.example.org/news/x/../2020/04/a-story",
        "https://www.example.org/news/./2020/04/a-story", "https://www.example.org/n%65ws/2020/04/a%2Dstory", "www.example.org/news/2020/04/a-story",
        "example.org/news/2020/04/a-story", "//example.org/news/2020/04/a-story", f" {BASE} ", f"<{BASE}>", "https://www.example.org./news/2020/04/a-story",
        f"https://web.archive.org/web/20200422010203/{BASE}", f"http://web.archive.org/web/2020*/{BASE}", f"https://web.archive.org/web/20200422010203if_/{BASE}",
        "https://web.archive.org/web/20200422/example.org/news/2020/04/a-story", f"https://web.archive.org/web/{BASE}".replace("web/h", "web/2020/h"),
        f"https://archive.is/2020.04.22-010203/{BASE}", f"http://archive.today/20200422010203/{BASE}", f"https://archive.ph/o/AbCdE/{BASE}", f"https://archive.fo/newest/{BASE}",
        f"https://archive.md/?url={BASE}", "https://www.google.com/amp/s/www.example.org/news/2020/04/a-story", "https://www.google.co.uk/amp/s/amp.example.org/news/2020/04/a-story",
        "https://www.google.com/amp/www.example.org/news/2020/04/a-story", "https://www-example-org.cdn.ampproject.org/c/s/www.example.org/news/2020/04/a-story",
        "https://www-example-org.cdn.ampproject.org/v/s/www.example.org/news/2020/04/a-story?amp_js_v=0.1&usqp=mq331", "https://cdn.ampproject.org/c/www.example.org/news/2020/04/a-story",
        "https://l.facebook.com/l.php?u=https%3A%2F%2Fwww.example.org%2Fnews%2F2020%2F04%2Fa-story%3Ffbclid%3DIwAR&h=AT1", "https://lm.facebook.com/l.php?u=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story",
        "https://www.facebook.com/flx/warn/?u=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story", "https://l.instagram.com/?u=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story&e=1",
        "https://www.google.com/url?q=https://www.example.org/news/2020/04/a-story&sa=D&ust=1", "https://www.google.de/url?sa=t&url=https%3A%2F%2Fwww.example.org%2Fnews%2F2020%2F04%2Fa-story",
        "https://out.reddit.com/t3_x?url=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story", "https://t.umblr.com/redirect?z=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story&t=1",
        "https://vk.com/away.php?to=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story", "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story",
        "https://www.youtube.com/redirect?q=https%3A%2F%2Fexample.org%2Fnews%2F2020%2F04%2Fa-story&event=x", f"https://outline.com/{BASE}", f"https://12ft.io/{BASE}",
        f"https://webcache.googleusercontent.com/search?q=cache:AbCdEfGhIjKl:{BASE}+&cd=1", "https://www-example-org.translate.goog/news/2020/04/a-story?_x_tr_sl=en&_x_tr_tl=de",
        f"https://translate.google.com/translate?sl=en&tl=de&u={BASE}", f"https://web.archive.org/web/2020/https://l.facebook.com/l.php?u={BASE}", f"{BASE};jsessionid=0A1B2C",
        f"https://archive.ph/{BASE}", f"https://archive.today/{BASE}?utm_source=x", f"https://web.archive.org/web/{BASE}", f"https://web.archive.org/save/{BASE}",
        "https://www.facebook.com/sharer/sharer.php?u=https%3A%2F%2Fwww.example.org%2Fnews%2F2020%2F04%2Fa-story&t=x", f"https://m.facebook.com/sharer.php?u={BASE}",
        f"https://www.facebook.com/dialog/share?app_id=1&href={BASE}", f"https://twitter.com/intent/tweet?text=a&url={BASE}&via=b", f"https://twitter.com/share?url={BASE}",
        f"https://www.linkedin.com/sharing/share-offsite/?url={BASE}", f"https://t.me/share/url?url={BASE}&text=a", f"https://www.reddit.com/submit?url={BASE}&title=a",
        f"https://www.pinterest.com/pin/create/button/?url={BASE}&media=x",
        f"{BASE}?mibextid=Zxz2cZ", f"{BASE}?s_kwcid=AL", f"{BASE}?wt_mc=1", f"{BASE}?vero_id=1", f"{BASE}?_hsenc=1&_hsmi=2", f"{BASE}?mkt_tok=1", f"{BASE}?twclid=1", f"{BASE}?ttclid=2",
    ],
    STATUS: [
        "https://x.com/someone/status/1250000000000003847", "http://twitter.com/someone/status/1250000000000003847?s=20", "https://mobile.twitter.com/someone/status/1250000000000003847",
        "https://twitter.com/someone/status/1250000000000003847/photo/1", "https://twitter.com/i/web/status/1250000000000003847", "https://twitter.com/i/status/1250000000000003847",
        "https://twitter.com/SomeOne/statuses/1250000000000003847", "https://twitter.com/renamed/status/1250000000000003847", "https://twitter.com/#!/someone/status/1250000000000003847",
        "https://x.com/someone/status/1250000000000003847?t=abc&s=19", "https://nitter.net/someone/status/1250000000000003847#m", "https://fxtwitter.com/someone/status/1250000000000003847",
        "https://vxtwitter.com/someone/status/1250000000000003847", "https://m.twitter.com/someone/status/1250000000000003847", "https://web.archive.org/web/2020/https://twitter.com/someone/status/1250000000000003847",
    ],
    VIDEO: [
        "https://youtu.be/E95qChF-MOo", "https://youtu.be/E95qChF-MOo?t=42", "https://m.youtube.com/watch?v=E95qChF-MOo", "http://youtube.com/watch?v=E95qChF-MOo&feature=youtu.be",
        "https://www.youtube.com/watch?app=desktop&v=E95qChF-MOo", "https://www.youtube.com/embed/E95qChF-MOo", "https://www.youtube-nocookie.com/embed/E95qChF-MOo", "https://www.youtube.com/v/E95qChF-MOo",
        "https://www.youtube.com/watch?v=E95qChF-MOo&list=PL1&index=2", "https://www.youtube.com/shorts/E95qChF-MOo", "https://www.youtube.com/live/E95qChF-MOo?si=x", "https://music.youtube.com/watch?v=E95qChF-MOo",
        "https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3DE95qChF-MOo%26feature%3Dshare", "https://www.youtube.com/watch?v=E95qChF-MOo#t=10",
    ],
    "https://leadstories.com/hoax-alert/2020/04/fact-check-flags.html": [
        "https://hoax-alert.leadstories.com/2020/04/fact-check-flags.html", "https://leadstories.com/hoax-alert/2020/04/fact-check-flags.html?x=1", "https://amp.leadstories.com/hoax-alert/2020/04/fact-check-flags.html",
    ],
    "https://www.wsj.com/articles/a-b-c-d-11587500000": ["https://www.wsj.com/articles/a-b-c-d-11587500000?mod=hp_lead_pos1"],
    "https://www.facebook.com/10000/posts/134": ["https://m.facebook.com/10000/posts/134?app=fbl"],
    "https://www.marketwatch.com/story/x": ["https://www.marketwatch.com/story/x?mod=home-page"],
    "https://open.spotify.com/episode/4": ["https://open.spotify.com/episode/4?si=AbC"],
    "https://www.facebook.com/someone/videos/620000000000397/": [
        "https://www.facebook.com/watch/?v=620000000000397", "https://m.facebook.com/watch/?v=620000000000397&ref=sharing", "https://www.facebook.com/someone/videos/vb.100/620000000000397/?type=2&theater",
        "https://www.facebook.com/video.php?v=620000000000397", "https://web.facebook.com/someone/videos/620000000000397", "https://de-de.facebook.com/someone/videos/620000000000397/",
    ],
    "https://www.facebook.com/photo.php?fbid=510000000000167&set=a.1&type=3": [
        "https://www.facebook.com/photo/?fbid=510000000000167", "https://www.facebook.com/someone/photos/a.110000000000574/510000000000167/?type=3&theater", "https://mbasic.facebook.com/photo.php?fbid=510000000000167",
    ],
    "https://www.facebook.com/groups/150000000000274/permalink/1560000000000364/": ["https://m.facebook.com/groups/150000000000274/posts/1560000000000364/?__tn__=R"],
    "https://www.facebook.com/story.php?story_fbid=10&id=20": ["https://m.facebook.com/story.php?id=20&story_fbid=10&_rdr=1", "https://www.facebook.com/permalink.php?story_fbid=10&id=20"],
    "https://www.instagram.com/p/B0a1b2c3d4e/": ["https://instagram.com/p/B0a1b2c3d4e?igshid=1", "https://www.instagram.com/someone/p/B0a1b2c3d4e/", "https://www.instagram.com/reel/B0a1b2c3d4e/", "https://www.instagram.com/tv/B0a1b2c3d4e/"],
    "https://www.reddit.com/r/news/comments/fx1abc/some_title/": ["https://old.reddit.com/r/news/comments/fx1abc/some_title/", "https://redd.it/fx1abc", "https://www.reddit.com/comments/fx1abc", "https://np.reddit.com/r/news/comments/fx1abc"],
    "https://www.tiktok.com/@someone/video/6812345678901234567": ["https://m.tiktok.com/v/6812345678901234567.html", "https://www.tiktok.com/@renamed/video/6812345678901234567?lang=en", "https://www.tiktok.com/embed/v2/6812345678901234567"],
    "https://en.wikipedia.org/wiki/Foo_(bar)": ["https://en.m.wikipedia.org/wiki/Foo_(bar)", "https://en.wikipedia.org/wiki/Foo_%28bar%29#History"],
    "https://www.example.org/caf%C3%A9": ["https://www.example.org/café", "https://www.example.org/caf%c3%a9"],
    "https://münchen.example.org/a": ["https://xn--mnchen-3ya.example.org/a"],
    "https://www.example.org/s?b=2&a=1": ["https://www.example.org/s?a=1&b=2", "https://www.example.org/s/?a=1&amp;b=2", "https://www.example.org/s?a=1&b=2&utm_campaign=x"],
    "https://doi.org/10.1000/182": ["https://dx.doi.org/10.1000/182", "http://doi.org/10.1000/182"],
    "https://t.me/channel/123": ["https://t.me/s/channel/123", "https://telegram.me/channel/123"],
    "https://pubmed.ncbi.nlm.nih.gov/32017984/": ["https://www.ncbi.nlm.nih.gov/pubmed/32017984"],
    "https://someblog.blogspot.com/2020/04/a.html": ["https://someblog.blogspot.co.uk/2020/04/a.html?m=1", "http://someblog.blogspot.de/2020/04/a.html"],
    "https://www.cnn.com/2020/04/22/health/a/index.html": ["https://edition.cnn.com/2020/04/22/health/a/index.html", "https://us.cnn.com/2020/04/22/health/a/"],
    "https://www.bbc.com/news/world-52382919": ["https://www.bbc.co.uk/news/world-52382919", "https://www.bbc.co.uk/news/amp/world-52382919".replace("/amp", "")],
    "https://www.nytimes.com/2020/04/22/us/a-b-c.html": ["https://www.nytimes.com/2020/04/22/us/a-b-c.html?smid=tw-nytimes&searchResultPosition=1", "https://mobile.nytimes.com/2020/04/22/us/a-b-c.html"],
    "https://www.dailymotion.com/video/x7t1abc": ["https://dai.ly/x7t1abc", "https://www.dailymotion.com/video/x7t1abc_a-title", "https://www.dailymotion.com/embed/video/x7t1abc"],
    "https://vimeo.com/406289456": ["https://player.vimeo.com/video/406289456"],
    "https://www.bitchute.com/video/AbC123/": ["https://www.bitchute.com/embed/AbC123/"],
    "https://bsky.app/profile/did:plc:abc/post/3k": ["at://did:plc:abc/app.bsky.feed.post/3k"],
    "https://www.amazon.com/Some-Book/dp/0123456789/ref=sr_1_1": ["https://www.amazon.com/dp/0123456789", "https://amazon.com/gp/product/0123456789?psc=1"],
}  # fmt: skip
"""A page, and its other addresses."""

DIFFERENT = [
    ("https://youtu.be/E95qChF-MOo", "https://youtu.be/e95qChF-MOo"), ("https://www.youtube.com/watch?v=AAAAAAAAAAA", "https://www.youtube.com/watch?v=AAAAAAAAAAB"),
    ("https://www.youtube.com/watch?v=AAAAAAAAAAA", "https://www.youtube.com/playlist?list=AAAAAAAAAAA"), ("https://www.youtube.com/channel/UC1", "https://www.youtube.com/channel/UC2"),
    ("https://x.com/a/status/1250000000000003847", "https://x.com/a/status/1250000000000003848"), ("https://x.com/a", "https://x.com/a/status/1250000000000003847"), ("https://x.com/a", "https://x.com/b"),
    ("https://example.org/a?id=1", "https://example.org/a?id=2"), ("https://example.org/a?page=1", "https://example.org/a?page=2"), ("https://example.org/a", "https://example.org/b"),
    ("https://example.org/A", "https://example.org/a"), ("https://example.org/a", "https://example.com/a"), ("https://news.example.org/a", "https://example.org/a"), ("https://example.org:8080/a", "https://example.org/a"),
    ("https://example.org/a", "https://example.org/a/b"), ("https://example.org/?p=10", "https://example.org/?p=11"), ("https://example.org/a?q=x", "https://example.org/a"), ("https://example.org/#/one", "https://example.org/#/two"),
    ("https://example.org/#!one", "https://example.org/#!two"), ("https://example.org/a%2Fb", "https://example.org/a/b"), ("https://example.org/a?x=1%262", "https://example.org/a?x=1&2"), ("https://example.org/a%3Fb", "https://example.org/a?b"),
    ("https://www.facebook.com/photo.php?fbid=1", "https://www.facebook.com/photo.php?fbid=2"), ("https://www.facebook.com/a/posts/1", "https://www.facebook.com/b/posts/1"), ("https://www.facebook.com/a/posts/1", "https://www.facebook.com/a/posts/2"),
    ("https://www.facebook.com/watch/?v=1", "https://www.facebook.com/photo/?fbid=1"), ("https://www.facebook.com/story.php?story_fbid=1&id=2", "https://www.facebook.com/story.php?story_fbid=2&id=2"),
    ("https://www.instagram.com/p/AbC/", "https://www.instagram.com/p/abc/"), ("https://www.reddit.com/r/a/comments/x1/t/", "https://www.reddit.com/r/a/comments/x2/t/"), ("https://www.reddit.com/r/a/comments/x1/t/", "https://www.reddit.com/r/a/comments/x1/t/c9/"),
    ("https://www.tiktok.com/@a/video/1", "https://www.tiktok.com/@a/video/2"), ("https://en.wikipedia.org/wiki/A", "https://de.wikipedia.org/wiki/A"), ("https://en.wikipedia.org/w/index.php?title=A&oldid=1", "https://en.wikipedia.org/w/index.php?title=A&oldid=2"),
    ("https://web.archive.org/web/2020/https://a.org/x", "https://web.archive.org/web/2020/https://a.org/y"), ("https://archive.is/AbCdE", "https://archive.is/AbCdF"), ("https://archive.is/AbCdE", "https://archive.is/abcde"),
    ("https://twitter.com/intent/tweet?text=a", "https://twitter.com/intent/tweet?text=b"), ("https://www.reddit.com/submit?title=a", "https://www.reddit.com/submit?title=b"),
    ("https://web.archive.org/", "https://archive.org/details/a"),
    ("https://www.google.com/search?q=a", "https://www.google.com/search?q=b"), ("https://bit.ly/AbC", "https://bit.ly/aBc"), ("https://t.co/AbC", "https://t.co/abC"), ("https://a.blogspot.com/x.html", "https://b.blogspot.com/x.html"),
    ("https://a.wordpress.com/x", "https://b.wordpress.com/x"), ("https://docs.google.com/document/d/1", "https://docs.google.com/document/d/2"), ("https://drive.google.com/open?id=1", "https://drive.google.com/open?id=2"),
    ("https://doi.org/10.1000/182", "https://doi.org/10.1000/183"), ("https://arxiv.org/abs/2004.00001", "https://arxiv.org/abs/2004.00002"), ("https://t.me/a/1", "https://t.me/a/2"), ("https://www.amazon.com/dp/0123456789", "https://www.amazon.com/dp/0123456780"),
    ("https://www.nytimes.com/2020/04/22/us/a.html", "https://www.nytimes.com/2020/04/22/us/b.html"), ("https://www.nytimes.com/search?query=a", "https://www.nytimes.com/search?query=b"), ("https://www.bbc.com/news/world-1", "https://www.bbc.com/news/world-2"),
    ("https://www.cnn.com/2020/04/22/a/index.html", "https://www.cnn.com/2020/04/23/a/index.html"), ("https://leadstories.com/hoax-alert/2020/04/a.html", "https://leadstories.com/hoax-alert/2020/05/a.html"),
    ("https://www.snopes.com/fact-check/one-two-three/", "https://www.snopes.com/fact-check/one-two-four/"), ("https://www.factcheck.org/?p=1", "https://www.factcheck.org/?p=2"), ("https://amp.dev/a", "https://web.dev/a"), ("https://m.me/a", "https://me.org/a"),
    ("https://vimeo.com/1", "https://vimeo.com/2"), ("https://www.bitchute.com/video/AbC/", "https://www.bitchute.com/video/Abc/"), ("https://medium.com/@a/x-1a2b3c4d5e6f", "https://medium.com/@a/x-1a2b3c4d5e60"),
    ("https://example.org/story?ref=a", "https://example.org/story?ref=b"), ("https://github.com/a/b/blob/x", "https://github.com/a/b/blob/y"), ("https://example.org/2020/amp-guide", "https://example.org/2020/guide"), ("https://example.org/camp", "https://example.org/c"),
    ("https://bbs.example.cn/forum.php?mod=viewthread&tid=1", "https://bbs.example.cn/forum.php?mod=post&tid=1"), ("https://get.example.org/?app=signal", "https://get.example.org/?app=threema"),
    ("https://example.org/map?feature=school", "https://example.org/map?feature=clinic"), ("https://example.org/list?si=20", "https://example.org/list?si=40"),
    ("https://bsky.app/profile/a.b/post/1", "https://bsky.app/profile/a.b/post/2"), ("https://mastodon.social/@a/1", "https://mastodon.social/@a/2"), ("https://news.google.com/a", "https://www.google.com/a"),
]  # fmt: skip


def test_the_suite_is_large_enough():
    assert sum(map(len, SAME.values())) + len(DIFFERENT) >= 200


@pytest.mark.parametrize("page", SAME)
def test_one_page_has_one_key(page):
    keys = {address: canonical_url(address) for address in [page, *SAME[page]]}
    assert len(set(keys.values())) == 1, keys


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_pages_have_different_keys(one, other):
    assert canonical_url(one) != canonical_url(other)


def test_different_pages_of_the_suite_never_merge():
    keys = {page: canonical_url(page) for page in SAME}
    for one, other in itertools.combinations(keys, 2):
        assert keys[one] != keys[other]


ALL = [address for page, others in SAME.items() for address in (page, *others)] + [
    one for pair in DIFFERENT for one in pair
]


def test_a_key_is_its_own_key():
    for address in ALL:
        key = canonical_url(address)
        assert key
        assert canonical_url(key) == key, address


@given(st.text(max_size=60))
def test_any_text_has_a_stable_key(text):
    key = canonical_url("https://example.org/" + text)
    assert canonical_url(key) == key
    canonical_url(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "not an address",
        "mailto:a@b.org",
        "ftp://a.org/x",
        "http://",
        "http://[",
        "javascript:alert(1)",
    ],
)
def test_what_is_no_address_has_no_key(text):
    assert canonical_url(text) == ""
    assert spellings(text) == ()


def test_a_wrapper_around_nothing_is_a_page_itself():
    assert canonical_url("https://www.google.com/url?q=") == "google.com/url?q"
    assert canonical_url("https://l.facebook.com/l.php") == "l.facebook.com/l.php"


def test_addresses_in_a_text():
    text = "See (https://example.org/a_(b)), www.example.org/c. Not t.co: https://t.co/abc, and/or a@b.org/x “http://e.org/d”"
    assert list(addresses(text)) == ["https://example.org/a_(b)", "www.example.org/c", "http://e.org/d"]


def test_all_addresses_of_the_covmis_list(data_home):
    from covmis_build.claims.lists import read_claims

    claims = read_claims(data_home / "covmis/misinformation.csv")
    urls = [url for column in ("news_urls", "fact_check_urls") for row in claims[column] for url in row]
    keys = [canonical_url(url) for url in urls]
    assert len(urls) == 245
    assert all(keys)
    assert [canonical_url(key) for key in keys] == keys
