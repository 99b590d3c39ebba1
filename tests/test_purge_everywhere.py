"""Thirty copies of a purged post, in every form and place: a purge names exactly the files that another search finds."""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import html
import io
import json
import lzma
import quopri
import re
import shutil
import sqlite3
import tarfile
import unicodedata
import urllib.parse
import zipfile
from contextlib import closing
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import zstandard

from covmis_build.archive.stretches import Finder, stretches_of
from covmis_build.archive.traces import Traces
from covmis_build.study.study import open_study
from tests.annotation.small import covmis
from tests.forgettable import GONE, OTHER, SECRET, forgettable, tarred, zipped

TEXT, ID = f"Look, {SECRET}", GONE[2:]
PART = SECRET[4:]
ENTITIES = "".join(f"&#{ord(letter)};" for letter in TEXT)


def workbook(value: object) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["seen", value])
    book.save(out)
    return out.getvalue()


def document(xml: str) -> bytes:
    """As LibreOffice and Word write it: words of a text in several elements."""
    return zipped(
        **{"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": xml.encode()}
    )


def columns(write: object, **values: list) -> bytes:
    out = io.BytesIO()
    write(pa.table(values), out)
    return out.getvalue()


def database(folder: Path, value: str) -> bytes:
    path = folder / "planting.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (id TEXT, said TEXT)")
        base.execute("INSERT INTO t VALUES ('1', ?)", (value,))
    data = path.read_bytes()
    path.unlink()
    return data


def planted(folder: Path) -> dict[str, bytes]:
    plain = TEXT.encode()
    return {
        "notes.txt": plain,
        "other case.md": TEXT.upper().encode(),
        "wrapped.txt": TEXT.replace(" ", "\r\n> ").encode(),
        "docs/a part.txt": f"He wrote: {PART}!".encode(),
        "json.json": json.dumps({"t": "".join(f"\\u{ord(letter):04x}" for letter in TEXT)}).replace("\\\\", "\\").encode(),
        "json in json.json": json.dumps(json.dumps({"t": TEXT.replace(" ", "\n")})).encode(),
        "page.html": f"<p>{ENTITIES}</p>".encode(),
        "tags.html": f"<p>{TEXT.replace('o', '<b>o</b>')}</p>".encode(),
        "cells.csv": f'a,"{TEXT.replace(" ", chr(34) * 2)}"\n'.encode(),
        "address.txt": f"https://x.com/intent/tweet?text={urllib.parse.quote(TEXT, safe='')}".encode(),
        "mail.eml": quopri.encodestring(TEXT.replace("o", "\u00f6").encode()),
        "utf-16.txt": TEXT.encode("utf-16"),
        "utf-16 without mark.txt": TEXT.encode("utf-16-le"),
        "big-endian.csv": TEXT.encode("utf-16-be"),
        "latin.txt": TEXT.replace("o", "\u00f6").encode("latin-1"),
        "utf-32.txt": TEXT.encode("utf-32"),
        "a.gz": gzip.compress(plain),
        "a.zst": zstandard.compress(plain),
        "a.bz2": bz2.compress(plain),
        "a.xz": lzma.compress(plain),
        "a.zip": zipped(inner=zipped(a=gzip.compress(plain))),
        "a.tar.gz": gzip.compress(tarred(zstandard.compress(plain))),
        "members.zip": zipped(**{f"{ID}.txt": b"nothing"}),
        "book.xlsx": workbook(TEXT),
        "ids.xlsx": workbook(f"see {GONE}"),
        "sheet.ods": document(f"<t><s>{TEXT[:9]}</s><s>{TEXT[9:]}</s></t>"),
        "a.parquet": columns(pq.write_table, said=[TEXT]),
        "numbers.parquet": columns(pq.write_table, id=[int(ID)]),
        "nested.parquet": columns(pq.write_table, posts=[[{"id": 1, "text": TEXT}]]),
        "a.feather": columns(pyarrow.feather.write_feather, said=[TEXT] * 100),
        "a.sqlite": database(folder, TEXT),
        "packed.sqlite.gz": gzip.compress(database(folder, GONE)),
        "grouped.txt": f"post {int(ID):,}".encode(),
        f"pictures of {ID}/readme.txt": b"nothing",
        f"shot {ID}.txt": b"nothing",
        "queries/notes of mine.txt": plain,
        "data/archive/README.md": plain,
        "annotation/notes.txt": plain,
        "annotation/rounds/001/discussion.txt": plain,
        "annotation/discarded/copy.csv.gz": gzip.compress(plain),
    }  # fmt: skip


UNREAD = {
    "paper.pdf": b"%PDF-1.7 \x00\x01\x02",
    "shot.png": b"\x89PNG\r\n\x1a\n",
    "locked.zip": b"",
    "deep.gz": b"",
    "numbers.npy": b"\x93NUMPY" + bytes(range(32)) * 9,
    "broken.gz": gzip.compress(b"nothing at all" * 99)[:40],
}
INNOCENT = {
    "mine.txt": f"Words that nobody may say. {OTHER} said so, and {SECRET[:20]}.".encode(),
    "longer.txt": f"x:{ID}7 and {ID[:-1]}".encode(),
    "a claim.txt": b"Claim 3 says",
}


def locked() -> bytes:
    """A zip file whose member is encrypted, by its flag."""
    data = bytearray(zipped(a=TEXT.encode()))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def deep(times: int = 7) -> bytes:
    data = TEXT.encode()
    for _ in range(times):
        data = gzip.compress(data)
    return data


def texts_in(data: bytes) -> list[str]:  # noqa: PLR0911 - a form each
    """Everything that bytes may say. Written apart from the product: other libraries, whole files, no limits."""
    if data[:2] == b"\x1f\x8b":
        return texts_in(gzip.decompress(data))
    if data[:3] == b"BZh":
        return texts_in(bz2.decompress(data))
    if data[:6] == b"\xfd7zXZ\x00":
        return texts_in(lzma.decompress(data))
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return texts_in(zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read())
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as whole:
            return [text for name in whole.namelist() for text in (name, *texts_in(whole.read(name)))]
    if data[:4] == b"PAR1":
        return [str(pq.read_table(io.BytesIO(data)).to_pydict())]
    if data[:6] == b"ARROW1":
        return [str(pyarrow.feather.read_table(io.BytesIO(data)).to_pydict())]
    if data[:6] == b"SQLite":
        with closing(sqlite3.connect(":memory:")) as base:
            base.deserialize(data)
            return ["\n".join(base.iterdump())]
    if data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            return [text for each in tar.getmembers() for text in texts_in(tar.extractfile(each).read())]
    return _decodings(data)


def _decodings(data: bytes) -> list[str]:
    texts = [data.decode(name, "ignore") for name in ("utf-8", "latin-1", "utf-16", "utf-16-le", "utf-16-be")]
    if data.startswith(codecs.BOM_UTF32_LE):
        texts.append(data.decode("utf-32"))
    texts.append(quopri.decodestring(data).decode("utf-8", "ignore"))
    for text in list(texts):
        plain = re.sub(r"\\+u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text)
        plain = re.sub(r"\\+[nrt]", " ", plain)
        texts += [plain, re.sub("<[^>]*>", "", html.unescape(plain)), urllib.parse.unquote(text)]
    return texts


def says_it(text: str) -> bool:
    def letters(of: str) -> str:
        return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", of))).lower()

    whole, wanted = letters(text), letters(TEXT)
    if any(wanted[at : at + 27] in whole for at in range(len(wanted) - 26)):
        return True
    return bool(re.search(rf"(?<!\d){ID}(?!\d)", text) or re.search(rf"(?<!\d){int(ID):,}(?!\d)", text))


def holding(folder: Path) -> set[str]:
    named = set()
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        own = {"queries/purge.csv", "queries/purge-journal.jsonl", *UNREAD}
        content = texts_in(path.read_bytes()) if path.is_file() and name not in own else []
        if any(map(says_it, (path.name, *content))):
            named.add(name)
    return named


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("everywhere")
    forgettable(folder)
    covmis(folder, "round", "open")
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "study"))


def plant(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_every_copy_is_named_and_nothing_else(folder, tmp_path):
    copies = planted(tmp_path)
    assert len(copies) >= 30
    plant(folder, {**copies, **UNREAD, "locked.zip": locked(), "deep.gz": deep(), **INNOCENT})
    plant(
        folder,
        {"data/build/copy.csv": TEXT.encode(), "data/release/copy.txt.gz": gzip.compress(TEXT.encode())},
    )
    told = covmis(folder, "purge", GONE, fails=1)
    assert not told["problems"]
    named = {line.rpartition(": ")[0] for line in told["left"]}
    kept_ids = {
        name for name in holding(folder) if re.fullmatch(r"annotation/rounds/001/\w+\.(parquet|json)", name)
    }
    assert named == holding(folder) - kept_ids
    assert named >= set(copies) - {f"pictures of {ID}/readme.txt"} | {f"pictures of {ID}"}
    assert {line.partition(": ")[0] for line in told["not_searched"]} == set(UNREAD)
    why = dict(line.split(": ", 1) for line in told["not_searched"])
    assert (why["paper.pdf"], why["shot.png"]) == ("a PDF", "a picture")
    assert "encrypted" in why["locked.zip"]
    assert "packed more than" in why["deep.gz"]


def test_what_is_left_is_asked_about_until_it_is_gone_or_was_looked_at(folder):
    """Other commands work meanwhile; a file that was looked at is named again when it changes."""
    plant(folder, {"a.txt": TEXT.encode(), "b.txt": f"see {GONE}".encode()})
    covmis(folder, "purge", GONE, fails=1)
    assert open_study(folder).status().notes
    (folder / "a.txt").unlink()
    assert covmis(folder, "purge", fails=1)["left"] == ["b.txt: holds words of it, or names it"]
    assert covmis(folder, "purge", "--leave", folder / "b.txt")["left"] == []
    assert not (folder / "queries/purge-journal.jsonl").exists()
    (folder / "b.txt").write_text(f"see {GONE} again")
    assert covmis(folder, "purge", fails=1)["left"]


def test_words_that_other_posts_have_are_no_trace(folder):
    """The same words of another person stay, in the archive and elsewhere, and the purge says so."""
    archive = folder / "data/archive/mine.jsonl"
    theirs = [json.loads(line) for line in archive.read_text().splitlines()]
    other = {**theirs[1], "id": "1255000000000000077", "text": TEXT}
    archive.write_text("".join(json.dumps(line) + "\n" for line in (*theirs, other)))
    plant(folder, {"a.txt": TEXT.encode()})
    told = covmis(folder, "purge", GONE)
    assert not told["left"]
    assert any("x:1255000000000000077" in note for note in told["notes"])
    assert TEXT in archive.read_text()


@pytest.mark.parametrize(
    ("text", "encodings"),
    [
        ("Größe ist nicht alles, sagte Frau Müller über Äpfel", ("cp1252", "utf-16-le", "utf-8")),
        ("Чеснок не лечит новый вирус, говорят врачи", ("cp1251", "utf-16-be", "utf-8")),
        ("大蒜不能治疗新型冠状病毒,医生这样说", ("gb18030", "utf-16-le", "utf-16", "utf-8")),
        ("الثوم لا يشفي من الفيروس الجديد كما يقول الأطباء", ("cp1256", "utf-16-le", "utf-8")),
    ],
)
def test_texts_of_all_scripts_in_all_encodings(tmp_path, text, encodings):
    traces = Traces(words=stretches_of([text]))
    for encoding in encodings:
        path = tmp_path / encoding
        path.write_bytes(f"row\n1, {text}\n".encode(encoding))
        assert traces.of_file(path).texts, encoding
    (tmp_path / "escaped").write_text(json.dumps({"a": text}) + urllib.parse.quote(text))
    assert traces.of_file(tmp_path / "escaped").texts
    (tmp_path / "other").write_text(text[:7])
    assert not traces.of_file(tmp_path / "other").texts


def test_a_short_text_is_found_alone_and_names_no_sentence_that_contains_it():
    finder = Finder(stretches_of(["Yes, exactly so!"]))
    for text in (
        "yes exactly so",
        'x;"Yes, exactly so";3',
        "<td>YES, exactly so!</td>",
        '{"a": "yes, exactly so!"}',
    ):
        assert finder.within(text), text
    for text in ("oh yes exactly so it is", "yes exactly", "He said yes, exactly so"):
        assert not finder.within(text), text
    assert not stretches_of(["Yes!", "vaccines work"]), "they are searched for by their ids only"


def test_a_trace_across_two_pieces_is_found(tmp_path):
    path, traces = tmp_path / "long.txt", Traces(["x:1255000000000000003"], words=stretches_of([TEXT]))
    for at in ((1 << 20) - 20, (1 << 20) - 3, (1 << 20) + 1):
        path.write_bytes(b"-" * at + TEXT.encode() + b"-" * 99)
        assert traces.of_file(path).texts
        path.write_bytes(b"-" * at + GONE.encode() + b"-" * 99)
        assert traces.of_file(path).ids


def test_base64_is_not_read(tmp_path):
    """As docs/security.md says."""
    (tmp_path / "a.eml").write_bytes(base64.b64encode(TEXT.encode()))
    assert not Traces(words=stretches_of([TEXT])).of_file(tmp_path / "a.eml").holds
