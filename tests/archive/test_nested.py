"""JSON with posts nested in other things is refused with a command that takes them out, and that works when pasted."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from covmis_build.archive.formats.nested import for_file, key_of, way_out
from covmis_build.study.look import look

POSTS = [
    {"tweet_id": str(1255380427016777233 + at), "text": f'"masks" {at} é', "created_at": f"2020-04-29T06:13:2{at}Z"}
    for at in range(3)
]  # fmt: skip
CLAIM = {"claim": "Masks harm", "sources": [{"name": "a paper"}], "tweets": POSTS}
SHAPES = {
    "by claim": json.dumps({"c1": CLAIM | {"sources": []}, "c2": {"claim": "none", "tweets": []}}),
    "a list": json.dumps([CLAIM | {"sources": []}]),
    "lines": "\n".join(json.dumps({"claim": str(at), "tweets": [post]}) for at, post in enumerate(POSTS)),
    "deep, indented": json.dumps({"meta": {"n": 1}, "data": {"claims": [{"tweets": POSTS}]}}, indent=1),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_printed_command_takes_the_posts_out(tmp_path, shape):
    file = tmp_path / "nested file.json"
    file.write_text(SHAPES[shape], "utf-8")
    (seen,) = look(file).files
    command = re.search(r"python3 -c .*", seen.questions[0])[0]
    subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path)
    written = tmp_path / "nested file.json.posts.json"
    assert json.loads(written.read_text()) == POSTS
    (read,) = look(written).files
    assert [post.text for post in read.posts] == [post["text"] for post in POSTS]


def test_what_is_not_nested_has_no_such_list():
    assert key_of({"id": "1", "text": "a post"}) == ""
    assert key_of([1, {"a": [1, 2]}, None]) == ""
    assert key_of({"a'; import os": [{"text": "x"}]}) == ""
    assert key_of({"text": "a post", "urls": [{"url": "https://a.org"}]}) == ""
    assert key_of({"text": "a claim", "posts": [{"text": "a post"}]}) == "posts"
    assert key_of({"claims": [{"sources": [{"name": "x"}]}]}) == "sources"


def test_a_name_that_a_shell_would_change_is_not_filled_in():
    said = way_out("tweets")
    assert "open('/a/b.json'" in for_file(said, "/a/b.json")
    for name in ("/a/$(rm x).json", "/a/'.json", '/a/".json', "/a/`x`.json"):
        assert for_file(said, name) == said
