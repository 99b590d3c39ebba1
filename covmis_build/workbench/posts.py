"""The files of posts as they are read, column by column, and a search in what was read."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from covmis_build import storage
from covmis_build.errors import CovmisError, UnknownName
from covmis_build.study.keywords import Claim, marked_posts, tuned
from covmis_build.workbench.bench import STORE, Bench, back_to, bench_of, blocks_of, form_of
from covmis_build.workbench.shown import shown_in

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.study.look import Look

READ_AS = {
    "id": "post id", "text": "text", "created_at": "time", "language": "language", "author": "author", "urls": "links",
    "claim": "claim",
}  # fmt: skip
"""What a column may be read as."""
LARGE = 300_000_000
"""Bytes of a file beyond which it is looked at only when asked: of a table all rows are read."""
WRITTEN = ("platform", "date_format", "timezone", "escapes")
"""What else of a table [[retrieval.columns]] the page asks for."""
WITHOUT_IDS = {"row": "the row's number", "": "made of text, time and author"}
"""What posts are called whose table has no column of ids."""


def posts(request: Request) -> Response:
    """The files, one of them as it is read; or the posts that some words find."""
    bench, asked = bench_of(request), request.query_params
    study, files = bench.study, files_of(bench)
    current = study.stages()["read"]
    shown: dict[str, Any] = dict.fromkeys(("problem", "found", "look", "large"))
    shown |= {"q": asked.get("q", ""), "marked": []}
    words = ["posts", "look", "FILE"]
    name = asked.get("file", "" if shown["q"] else next(iter(files), ""))
    if name:
        path = _known(files, name)
        words, about = ["posts", "look", name], path.stat()
        if about.st_size > LARGE and not asked.get("look"):
            shown["large"] = about.st_size
        else:
            same = f"look {name} {storage.state_of(path)}"
            try:
                shown["look"] = bench.keep(same, (), lambda: study.look(path))
            except CovmisError as error:
                shown["problem"] = str(error)
    elif shown["q"] and current:
        words = ["queries", "try", shown["q"]]
        try:
            known = bench.keep("words", STORE, study.words)
            shown["found"] = tuned(known, [shown["q"]], [])
            shown["marked"] = marked_posts(known, Claim("", "", "", []), [shown["q"]])
        except CovmisError as error:
            shown["problem"] = str(error)
    rules = [_rule(seen.settings) for seen in shown["look"].files] if shown["look"] else []
    return bench.page(
        request,
        "posts.html",
        *words,
        files=list(files),
        name=name,
        read_as=READ_AS,
        without_ids=WITHOUT_IDS,
        rules=rules,
        current=current,
        **shown,
    )


def files_of(bench: Bench) -> dict[str, Path]:
    """The files of the archive that are on this machine, by their paths in the study."""
    places = bench.study.places
    found = (
        path
        for place in places.archives
        for path in ([place] if place.is_file() else sorted(place.rglob("*")))
    )
    return {places.relative(path): path for path in found if path.is_file() and not path.name.startswith(".")}


def _known(files: dict[str, Path], name: str) -> Path:
    if name not in files:
        raise UnknownName(f"no file of the archive is called '{name}'")
    return files[name]


def _rule(settings: str) -> dict[str, Any]:
    """A table [[retrieval.columns]], as `look` proposes it; empty for a file that needs none."""
    return tomllib.loads(settings)["retrieval"]["columns"][0] if settings else {}


async def add(request: Request) -> Response:
    """Add a file to the archive as it comes; the answer is the page that shows it."""
    bench, name = bench_of(request), request.path_params["name"]
    added = await run_in_threadpool(bench.study.add_posts, blocks_of(request), name)
    if not added.added:
        bench.said = added.sentences[0]
    given = added.file.rpartition("/")[2]
    bench.did("posts add", {"file": given}, dropped="file")
    return PlainTextResponse(f"/posts?file={quote(added.file, safe='')}")


async def save(request: Request) -> Response:
    """Write how a file's columns are read."""
    bench, form = bench_of(request), await form_of(request)
    name = form.get("file", "")
    study, path = bench.study, _known(files_of(bench), name)
    look: Look = await run_in_threadpool(study.look, path)
    rules = {rule["files"]: (rule, seen) for seen in look.files if (rule := _rule(seen.settings))}
    if form.get("files") not in rules:
        raise UnknownName(f"the columns of '{name}' are read in one way only")
    rule, seen = rules[form["files"]]
    in_order = [column for row in seen.rows_as_they_are[:1] for column in row.cells]
    kept = {key: value for key, value in rule.items() if key not in {"files", "header", *READ_AS, *WRITTEN}}
    has_header, had_header = form.get("header") != "no", rule.get("header", True)
    kept |= {"id": form.get("without_ids", "row"), "text": ""} | ({} if has_header else {"header": False})
    for read_as in READ_AS if has_header == had_header else ():  # without a header columns have other names
        chosen = [
            key.removeprefix("as:")
            for key, value in form.items()
            if key.startswith("as:") and value == read_as
        ]
        columns = sorted(chosen, key=lambda column: in_order.index(column) if column in in_order else -1)
        if columns:
            kept[read_as] = columns[0] if len(columns) == 1 else columns
    kept |= {key: form[key].strip() for key in WRITTEN if form.get(key, "").strip()}
    await bench.write(study.set_columns, form["files"], shown=shown_in(form, "columns", name), **kept)
    said = "".join(f", {key}={value!r}" for key, value in kept.items())
    bench.note(python=f"study.set_columns({form['files']!r}{said})")
    bench.said = "Saved."
    return back_to(f"/posts?file={quote(name, safe='')}")
