"""Forms that are data: what each part of the grammar reads, what is refused, and which of covmis's own forms a file has."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.archive import formats, streams
from covmis_build.archive.formats.compiling import Compiler
from covmis_build.archive.formats.declared import FOLDER, Declared, ours
from covmis_build.archive.formats.filters import in_text
from covmis_build.archive.formats.grammar import FormError
from covmis_build.files.packed import Limits
from covmis_build.files.reading import open_table
from covmis_build.options import PostCase, PostForm
from tests.fuzz import samples

BASE = 'platform = "forum"\nwhere = "forum"\nid = "n"\n'


def form(written: str) -> Declared:
    table = tomllib.loads(BASE + written) | {"name": "f"}
    cases = tuple(PostCase(**{("if_" if key == "if" else key): value for key, value in case.items()})
                  for case in table.pop("case", ()))  # fmt: skip
    return Declared("f", [PostForm(**table, case=cases)])


def post_of(written: str, **post):
    (only,) = form(written).read(json.dumps({"n": 1, **post}).encode())
    return only


VALUES = [
    ("a", {"a": "x"}, "x"),
    ("a", {"a": None}, ""),
    ("a.b.c", {"a": {"b": {"c": "x"}}}, "x"),
    ("a.b.c", {"a": {}}, ""),
    ("a[1].b", {"a": [{"b": "x"}, {"b": "y"}]}, "y"),
    ("a[1].b", {"a": [{"b": "x"}]}, ""),
    ("a.`$b.c`", {"a": {"$b.c": "x"}}, "x"),
    ("`a b` ?? a | lower", {"a": "X"}, "x"),
    ("a ?? b", {"a": "", "b": "x"}, "x"),
    ("(a | strip) ?? 'none'", {"a": "  "}, "none"),
    ("a if b = yes, true & !c", {"a": "x", "b": True}, "x"),
    ("a if b = yes, true & !c", {"a": "x", "b": True, "c": "y"}, ""),
    (r"a if b ~ ^(x|y)\d$", {"a": "x", "b": "y2"}, "x"),
    ("a if b exists", {"a": "x", "b": ""}, "x"),
    ("a if b is list", {"a": "x", "b": []}, "x"),
    ("'{a}/{b.c}'", {"a": 1, "b": {"c": "x"}}, "1/x"),
    ("'{a}/{b.c}'", {"a": 1}, ""),
    ("(a | prefix:'t: ') ?? b", {"b": "x"}, "x"),
    ("a | replace:x:'y z' | strip", {"a": " x"}, "y z"),
    (r"a | find:(\d+)$", {"a": "a 12"}, "12"),
    (r"a | cut:\d+\s?", {"a": "1 a 2"}, "a "),
    ("a | before:/ | after:'-'", {"a": "x-y/z"}, "y"),
    ("a | html", {"a": '<p>a&amp;b <a href="https://e.test/x">e.te…</a><br>c</p><p>d</p>'}, "a&b https://e.test/x\nc\n\nd"),
    ("a | joined", {"a": ["x ", {"type": "bold", "text": "y"}]}, "x y"),
    ("a | mojibake", {"a": "FÃ¼r"}, "Für"),
    ("a | map:m", {"a": "1"}, "one"),
    ("a | match:m", {"a": "[21]"}, "one"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "post", "expected"), VALUES)
def test_a_value(value, post, expected):
    assert post_of(f"text = {json.dumps(value)}\nmaps.m = {{ 1 = 'one' }}", **post).text == expected


def test_the_other_columns_of_a_post():
    written = """
    text = ["head", "body"]
    time = "at | ms"
    language = "lang"
    links = ["$text | urls", "links[].url | not:https://own", "tags[] | only:http"]
    cards = { each = "previews[]", url = "u", title = "t" }
    media = { speech = "said", photo = "alt" }
    counts = ["a", "b.c"]
    reply_to = "up"
    quote_of = "'?' if quotes"
    repost_of = "of | as_id"
    conversation = "$own"
    gone = "gone | map:gone"
    maps.gone = { yes = "deleted" }
    """
    post = {
        "head": "T", "body": "see https://e.test/a.", "at": 1587549600123, "lang": "en", "said": "s", "up": 7, "quotes": True,
        "links": [{"url": "https://own/x"}, {"url": "https://e.test/b"}, {}], "tags": ["x", "http://c.test", "https://e.test/a"],
        "previews": [{"u": "https://e.test/a", "t": "Title"}, {"u": "https://e.test/c"}], "a": 3, "b": {"c": "1,200"},
        "of": "https://t.me/c/5/6",
    }  # fmt: skip
    read = post_of(written, **post)
    assert (read.post_id, read.native_id, read.platform, read.text) == (
        "forum:1",
        "1",
        "forum",
        "T\n\nsee https://e.test/a.",
    )
    assert (read.created_at, read.language, read.metrics) == (
        "2020-04-22T10:00:00Z",
        "en",
        (3, 1200, None, None),
    )
    assert read.urls == ["https://e.test/a", "https://e.test/b", "http://c.test"]
    assert (read.cards, read.media) == ([("https://e.test/a", "Title", "")], [("speech", "s")])
    assert (read.reply_to, read.quote_of, read.repost_of, read.conversation) == (
        "forum:7",
        "?",
        "telegram:5/6",
        "forum:1",
    )
    gone = post_of(written, **post, gone="yes")
    assert (gone.text, gone.availability) == ("", "deleted")


NESTED = """
posts = ["topics[].posts[]", "single"]
within = "answers[]"
text = "t"
reply_to = "^n"
conversation = "^^n ?? ^n"
[[case]]
if = "kind = poll"
skip = "poll"
[[case]]
if = "kind = bundle"
instead = "inside[]"
"""


def test_posts_in_posts_have_what_is_around_them():
    page = {"n": "d", "topics": [
        {"n": "t1", "posts": [
            {"n": 1, "t": "a", "answers": [{"n": 2, "t": "b", "answers": [{"n": 3, "t": "c"}]}]},
            {"n": 4, "kind": "poll", "answers": [{"n": 5, "t": "e"}]},
            {"n": 6, "kind": "bundle", "inside": [{"n": 7}, {"n": 8, "kind": "poll"}]}]},
        {"n": "t2", "posts": None}]}  # fmt: skip
    posts = form(NESTED).read(json.dumps(page).encode())
    seen = [(post.native_id, post.reply_to, post.conversation) for post in posts]
    assert seen == [
        ("1", "forum:t1", "forum:d"), ("2", "forum:1", "forum:t1"), ("3", "forum:2", "forum:1"), ("5", "forum:4", "forum:t1"),
        ("7", "forum:6", "forum:t1"),
    ]  # fmt: skip
    assert posts.skipped == {"poll": 2}
    (alone,) = form(NESTED).read(b'{"n": "d", "single": {"n": 9}}')
    assert (alone.native_id, alone.reply_to, alone.conversation) == ("9", "forum:d", "forum:d")


def plainly(value, keys):
    """What stands at a path, read step by step: the independent reading."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


KEY = st.sampled_from(["a", "b", "c d", "$e", "f.g", "ü", "id_"])
TREE = st.recursive(
    st.one_of(st.none(), st.text("xyz ", max_size=3)),
    lambda inner: st.dictionaries(KEY, inner, max_size=3),
    max_leaves=12,
)


@given(
    st.lists(st.lists(KEY, min_size=1, max_size=3), min_size=2, max_size=4),
    st.dictionaries(KEY, TREE, max_size=4),
)
def test_paths_that_use_the_same_keys_read_what_is_there(paths, tree):
    """One path may be the beginning of another: then both are there, as a text or as an object."""
    written = [".".join(f"`{key}`" for key in path) for path in paths]
    read = form(f"text = {json.dumps(written)}")
    expected = "\n\n".join(text for path in paths if (text := plainly(tree, path)))
    try:
        (post,) = read.read(json.dumps({"n": 1, **tree}).encode())
    except formats.UNREADABLE:
        ends = [tuple(path) for path in paths]
        assert any(isinstance(plain_value(tree, path), dict) for path in ends) or not well_typed(tree, paths)
        return
    assert post.text == expected


def plain_value(value, keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def well_typed(tree, paths):
    """Whether every value before the end of a path is an object, or lacks."""
    return all(
        isinstance(plain_value(tree, path[:at]), dict | None) for path in paths for at in range(1, len(path))
    )


FAULTS = [
    ('text = "a |"', "a filter is missing here: ''"),
    ('text = "a | unescpe"', "text: no filter is called 'unescpe'. Did you mean"),
    ('text = "(a ?? b"', "a bracket is not closed"),
    ("text = \"'a\"", "a quotation mark is not closed"),
    ('text = "a ?? "', "text: a name is missing here"),
    ('text = "$word"', "'$word' is not known; there are: $id, $own, $text, $platform"),
    ('text = "a | find:("', "is no regular expression"),
    ('text = "a | map:m"', "no map is called 'm'"),
    ('text = "a[].b"', "a list where a text was expected"),
    ('text = "^^a"', "there is no object so far around a post"),
    ('text = "a if ~ b"', "is no condition"),
    ('cards = { link = "a" }', "cards: no part is called 'link'"),
    ('reply_to = "(a | as_id) ?? b"', "a whole post id"),
    ('posts = "a[0]"', "posts: a place of posts is like"),
    ('posts = "a[]"\ntext = "^a"', "'a' is read both as a value and as a place of posts"),
    ("text = '`a\"b`'", "keys with quotation marks"),
    ('header = ["a"]', "make two forms of one name"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "message"), FAULTS)
def test_a_fault_of_a_form_is_named(written, message):
    with pytest.raises(FormError) as raised:
        form(written).compile()
    assert message in str(raised.value)


def test_texts_of_a_form_are_never_code():
    evil = "'}{__import__('os').abort()#{n}"
    value = f"`{evil} {evil}` ?? x | prefix:{evil} | cut:{evil} | replace:{evil}:'{evil}'"
    written = f"text = {json.dumps(value)}\nlinks = {json.dumps(f'`{evil}`[].`{evil}`')}\ntimezone = {json.dumps(evil)}"
    assert post_of(written, **{evil: [{evil: "https://e.test"}]}).urls == ["https://e.test"]
    columns = PostForm("f", "forum", header=[evil], id=f"`{evil}`", media={evil: "a"})
    assert Compiler(columns).of_rows([evil, "a"])(["5", "b"]).media == [(evil, "b")]


def own_tables():
    return {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))}


def test_our_forms_compile_and_have_no_key_that_is_not_read():
    known = {field.name for field in fields(PostForm)} - {"name"}
    of_case = {field.name.rstrip("_") for field in fields(PostCase)}
    for name, tables in own_tables().items():
        assert tables.keys() == {"form"}, name
        for table in tables["form"]:
            assert table.keys() <= known, name
            assert all(case.keys() <= of_case for case in table.get("case", ())), name
    for declared in ours().values():
        declared.compile()


def test_a_file_has_the_form_of_one_tool(data_home, tmp_path):
    """Whatever the order in which forms are tried."""
    files = {
        path.name: path.read_bytes()
        for path in (data_home / "formats").rglob("*.*")
        if path.suffix in {".csv", ".json", ".jsonl", ".ndjson"}
    }
    seen = set()
    for name, data in (samples.LINES | samples.TABLES | files).items():
        (tmp_path / name).write_bytes(data)
        for job in streams.jobs([(tmp_path / name, name)]):
            if job.kind == streams.TABLE:
                header = frozenset(open_table(partial(streams.open_whole, job, Limits())).header)
                knowing = [form.NAME for form in ours().values() if form.recognises_header(header)]
            else:
                row = formats.loads(next(iter(next(streams.blocks(job)).lines()))[2])
                knowing = [
                    form.NAME
                    for form in ours().values()
                    if isinstance(row, dict) and form.recognises_line(row)
                ]
            assert len(knowing) <= 1, name
            seen.update(knowing)
    assert seen == ours().keys()


def test_a_column_that_a_table_lacks_is_empty():
    written = PostForm(
        "f", "forum", header=["n"], id="n", text=["a", "b"], links="b | urls", reply_to="c", counts=["d"]
    )
    row = Compiler(written).of_rows(["n", "b"])(["5", "see https://e.test"])
    assert (row.post_id, row.text, row.urls, row.reply_to, row.metrics) == (
        "forum:5", "see https://e.test", in_text("https://e.test"), "", (None, None, None, None),
    )  # fmt: skip
