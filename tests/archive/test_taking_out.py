"""A post is taken out of a file of any form, or the file is refused by name: never left in silence, nothing else lost."""

from __future__ import annotations

import gzip
import json
import tarfile
import zipfile

import pytest

from covmis_build.archive import reader, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.taking_out import take_out
from covmis_build.archive.traces import Traces
from covmis_build.errors import InputError
from tests.fuzz import samples

LAYOUTS = {
    "": lambda rows: b"".join(json.dumps(row).encode() + b"\n" for row in rows),
    ".list": lambda rows: json.dumps(rows).encode(),
    ".indented": lambda rows: b"\xef\xbb\xbf \n" + json.dumps(rows, indent=1).encode(),
    ".single": lambda rows: json.dumps(rows[0], indent=1).encode(),
}


def packed(path, data, packing):
    if packing == "zip":
        with zipfile.ZipFile(path, "w") as archive:  # stored: its bytes look like lines
            archive.writestr(path.name.removesuffix(".zip"), data)
    elif packing == "tar":
        (whole := path.with_name(path.name.removesuffix(".tar"))).write_bytes(data)
        with tarfile.open(path, "w") as tar:
            tar.add(whole, whole.name)
        whole.unlink()
    else:
        path.write_bytes(gzip.compress(data) if packing == "gz" else data)


def posts(path):
    reads = [line for job in streams.jobs([(path, path.name)]) for line in reader.read(job)]
    return [post for line in reads for post in line.posts], sum(bool(line.problem) for line in reads)


def forms():
    for name, data in samples.LINES.items():
        if name == "tweets.js":
            yield name, data
            continue
        try:
            rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        except ValueError:
            whole = json.loads(data)
            rows = whole if isinstance(whole, list) else [whole]
        yield from (
            (f"{name.partition('.')[0]}{layout}.json", write(rows)) for layout, write in LAYOUTS.items()
        )
    yield from samples.TABLES.items()


FORMS = dict(forms())


@pytest.mark.parametrize("packing", ["", "gz", "zip", "tar"])
@pytest.mark.parametrize("name", FORMS)
def test_taken_out_or_refused(tmp_path, name, packing):
    path = tmp_path / f"{name}{'.' * bool(packing)}{packing}"
    packed(path, FORMS[name], packing)
    before, problems = posts(path)
    if not before:
        return
    gone = before[-1].post_id
    forget = Forget(frozenset({gone}), frozenset())
    data = path.read_bytes()
    (answer,) = take_out([path], forget)
    if isinstance(answer, InputError):
        refusal = str(answer)
        assert path.read_bytes() == data
        assert path.name in refusal
        return
    after, problems_now = posts(path)
    assert gone not in {post.post_id for post in after}
    assert not Traces([gone]).of_file(path).ids
    assert problems_now <= problems
    lost = {post.post_id for post in before} - {post.post_id for post in after} - {gone}
    inside = {post.quote_of for post in before if post.post_id == gone}  # stood in the forgotten one alone
    assert lost <= inside


def test_most_forms_are_rewritten_and_not_refused(tmp_path):
    refused = set()
    for name, data in FORMS.items():
        path = tmp_path / name
        path.write_bytes(data)
        post, *_ = posts(path)[0]
        (answer,) = take_out([path], Forget(frozenset({post.post_id}), frozenset()))
        if isinstance(answer, InputError):
            refused.add(name)
    assert {"x_v1.json", "x_v2.list.json", "bluesky.indented.json", "mastodon.json", "frame.csv"}.isdisjoint(
        refused
    )
