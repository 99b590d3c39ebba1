"""Whatever reads something that others wrote: what it is given whole, and what is done with it.

A target takes a seed and a folder of its own; it raises only if something else came out than an answer or one line that
names the file.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import random
import shutil
import time
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from covmis_build.annotation import adjudication, label_lines, pull
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Phase
from covmis_build.annotation.channels.check_words import Owner
from covmis_build.annotation.channels.label_studio import client, projects
from covmis_build.annotation.channels.sheets import sheet
from covmis_build.archive import pages, reader, rewriting, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.store import rows
from covmis_build.building.purge import read_list
from covmis_build.claims.fact_check import search_fact_checks
from covmis_build.claims.lists import read_claims
from covmis_build.claims.lists import read_list as read_claim_list
from covmis_build.collecting.crawl import Crawl, Job, crawl
from covmis_build.collecting.prices import Budget, read_prices
from covmis_build.collecting.retries import Clock
from covmis_build.collecting.sources import bluesky, mastodon, x
from covmis_build.collecting.sources.ids import read_ids
from covmis_build.corpus.bundle import bundle_files, make_bundle
from covmis_build.corpus.convert import write_corpus
from covmis_build.corpus.release_facts import ReleaseFacts, to_json
from covmis_build.credentials import Secret
from covmis_build.errors import CovmisError
from covmis_build.evaluation.label_files import read_labels
from covmis_build.models.prompt import read_answers
from covmis_build.settings import Settings, read_settings
from covmis_build.study.hydrate import hydrate
from covmis_build.study.look import look
from covmis_build.study.study import open_study
from covmis_build.study.verify import verify
from tests.annotation.small import label_both, study
from tests.fuzz import samples
from tests.fuzz.mutation import PACKED, damaged, mutated
from tests.servers import bluesky as bluesky_server
from tests.servers import mastodon as mastodon_server
from tests.servers.label_studio import LabelStudio
from tests.servers.loopback import Answer, encoded
from tests.servers.x import X
from tests.servers.x import posts as tweets

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Target = "Callable[[int, Path], None]"
FORGET = Forget(frozenset({"x:1250000000000005065", "x:125", "telegram:123/5"}), frozenset({"author:x:5"}))
LABELS = ("favor", "against", "neither")
NOW = "2026-12-01T00:00:00Z"


def told(act: Callable[[Path], object], path: Path) -> None:
    """Do it; an error is one line that names the file, and nothing else comes out."""
    problem = path.name
    try:
        act(path)
    except CovmisError as error:
        problem = str(error)
    except Exception as error:
        raise AssertionError(f"{path}: {type(error).__name__}: {error}") from error
    assert len(problem.splitlines()) == 1
    assert path.name in problem, problem


def of_file(name: str, whole: bytes, act: Callable[[Path], object]) -> Callable[[int, Path], None]:
    def target(seed: int, folder: Path) -> None:
        path = folder / name
        path.write_bytes(mutated(whole, seed))
        told(act, path)

    return target


def look_at(path: Path) -> None:
    """Every post of a file, as the stage takes it: a row, written down, forgotten."""
    named = set()
    for job in streams.jobs([(path, path.name)]):
        for line in reader.read(job, FORGET):
            named.add(line.file.partition("!")[0])
            assert not line.problem or len(line.problem.splitlines()) == 1
            for post in line.posts:
                rows([post], [line.place], [(line.file, line.form)])
                assert all(count is None or abs(count) < 2**63 for count in post.metrics or ())
    assert named <= {path.name}


def look_and_forget(path: Path) -> None:
    look_at(path)
    str(look(path))
    rewriting.posts_of_authors(path, FORGET)
    rewriting.rewrite(path, FORGET)


def in_packing(packing: str) -> Callable[[int, Path], None]:
    names = [*samples.LINES, "frame.csv", "frame.parquet"]

    def target(seed: int, folder: Path) -> None:
        name = names[seed % len(names)]
        whole = {**samples.LINES, **samples.TABLES}[name]
        path = folder / f"{name}{packing}"
        if seed % 2:
            path.write_bytes(PACKED[packing](mutated(whole, seed)))
        else:
            path.write_bytes(damaged(PACKED[packing](whole), random.Random(seed)))
        told(look_and_forget, path)

    return target


CLAIMS = b"claim_id,text,language,keywords,titles,news_urls\nc1,Masts spread it.,en,mast virus,The masts,https://a.test/b\nc2,Two.,de,a OR b,,\n"
GOOGLE = json.dumps(
    {"claims": [{"text": "Masts spread it.", "claimDate": "2020-04-01T00:00:00Z",
                 "claimReview": [{"url": "https://check.org/1", "languageCode": "en", "textualRating": "False"}]}] * 2}
).encode()  # fmt: skip
REVIEW = json.dumps(
    {"@graph": [{"@type": "ClaimReview", "claimReviewed": "Masts spread it.", "url": "https://check.org/1", "datePublished": "2020-04-01",
                 "itemReviewed": {"@type": "Claim", "appearance": [{"url": "https://a.test", "headline": "H"}]},
                 "reviewRating": {"alternateName": "False"}}]}
).encode()  # fmt: skip
SCORES = b"item_id,label,confidence\nc1|x:1,favor,0.5\nc1|x:2,against,0.1\n"
CHAT = json.dumps({"item_id": "c1|x:1", "answer": '{"label": "favor"}', "model": "m"}).encode() + b"\n"
BATCH = (
    json.dumps(
        {"custom_id": "c1|x:1", "response": {"body": {"choices": [{"message": {"content": "favor"}}]}}}
    ).encode()
    + b"\n"
)
TOML = b"""title = "t"
[cleaning]
words = { ja = { minimum = 5 } }
[labels]
values = ["a", "b"]
[[retrieval.columns]]
files = "a/*.csv"
text = ["title", "body"]
"""


def score_file(path: Path) -> None:
    read_labels(path).labels()


def claims_look(path: Path) -> None:
    read_claim_list(path, "", {})


@functools.cache
def corpus_files() -> dict[str, bytes]:
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    for suffix in ("csv", "jsonl", "parquet"):
        write_corpus(folder / f"corpus.{suffix}", samples.corpus_frame(), text=False)
    facts = to_json(ReleaseFacts("t", "", "1")).encode()
    inside = bundle_files(folder, Settings("t"), {}, {}, samples.corpus_frame(), facts)
    bundle, _ = make_bundle(inside, release={}, rows=1, purged=(), versions={"covmis": "1"})
    files = {
        f"corpus.{suffix}": (folder / f"corpus.{suffix}").read_bytes()
        for suffix in ("csv", "jsonl", "parquet")
    }
    shutil.rmtree(folder)
    return files | {"bundle.zip": bundle}


def verified(path: Path) -> None:
    verify(path)


def hydrated(path: Path) -> None:
    archive = path.parent / "mine.jsonl"
    archive.write_bytes(samples.LINES["x_v1.jsonl"])
    hydrate(path, [archive], into=path.parent / "hydrated")


def resealed(seed: int, folder: Path) -> None:
    """The zip and the manifest are right; what is inside is not."""
    with zipfile.ZipFile(io.BytesIO(released_files()["bundle.zip"])) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    chance = random.Random(seed)
    name = chance.choice(sorted(files))
    changed = files | {name: mutated(files[name], seed)}
    if name != "manifest.json":
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = hashlib.sha256(changed[name]).hexdigest()
        changed["manifest.json"] = json.dumps(manifest).encode()
    path = folder / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, data in changed.items():
            archive.writestr(inside, data)
    told(verify, path)


@functools.cache
def released_files() -> dict[str, bytes]:
    """A release with its bundle, of a study with a sealed round."""
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    study(folder)
    opened = open_study(folder)
    round_ = opened.open_round()
    round_.push()
    label_both(folder)
    round_.pull()
    round_.seal()
    opened.release(bundle=True)
    files = {
        path.relative_to(folder / "data/release").as_posix(): path.read_bytes()
        for path in (folder / "data/release").rglob("*")
        if path.is_file()
    }
    shutil.rmtree(folder)
    return files


def release_folder(seed: int, folder: Path) -> None:
    """One file of a release is damaged; with checksums that say so, or that fit."""
    files = dict(released_files())
    chance = random.Random(seed)
    name = chance.choice(sorted(files))
    files[name] = mutated(files[name], seed)
    if chance.randrange(2) and name != "checksums.txt":
        lines = [
            f"{hashlib.sha256(data).hexdigest()}  {one}\n"
            for one, data in sorted(files.items())
            if one != "checksums.txt"
        ]
        files["checksums.txt"] = "".join(lines).encode()
    place = folder / "release"
    for one, data in files.items():
        (place / one).parent.mkdir(parents=True, exist_ok=True)
        (place / one).write_bytes(data)
    told(verify, place)


@functools.cache
def round_on_disk() -> tuple[Path, dict[str, bytes]]:
    """An open round, and filled sheets of every kind, exports, and decisions, for it."""
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    study(folder)
    opened = open_study(folder)
    round_ = opened.open_round()
    frozen, scheme = round_.items, round_.folder.scheme
    items = [row["item_id"] for row in frozen.to_dict("records")][1:6]
    before = [{"item_id": item, "label": LABELS[at % 3], "comment": "why"} for at, item in enumerate(items)]
    kinds = {
        f"a1.{kind}": sheet(frozen, items, scheme, before, owner=Owner("001", "a1"), channel=kind)
        for kind in ("csv", "xlsx", "ods")
    }
    rows = frozen.set_index("item_id")
    answers = [
        {"id": item, "label": "favor", "sub": "", "comment": "", "at": "2026-11-21T12:00:00.000Z", "shown": rows.loc[item, "shown"],
         "seconds": 3.5}
        for item in items
    ]  # fmt: skip
    export = {"format": "covmis answers 1", "round": "001", "annotator": "a1", "answers": answers}
    kinds["a1-001.json"] = json.dumps(export).encode()
    round_.push()
    label_both(folder, differ=lambda item: True)
    round_.pull()
    round_.adjudicate()
    kinds["discussion.csv"] = (
        round_.folder.sheets.joinpath("discussion.csv").read_bytes().replace(b",,,\r\n", b",favor,,\r\n")
    )
    kinds |= {path.name: path.read_bytes() for path in label_lines.files(round_.folder.folder)}
    return folder, kinds


def sheet_back(name: str) -> Callable[[int, Path], None]:
    def target(seed: int, folder: Path) -> None:
        place, kinds = round_on_disk()
        round_ = record.find(place / "annotation/rounds")
        for lines in label_lines.files(round_.folder):
            lines.write_bytes(kinds[lines.name])
        path = folder / name
        path.write_bytes(mutated(kinds[name], seed))

        def back(path: Path) -> None:
            if name == "discussion.csv":
                adjudication.read_decisions(
                    [path],
                    Phase.DISCUSSION,
                    "together",
                    round_.items(),
                    round_.scheme,
                    {},
                    set(round_.items()["item_id"]),
                    (),
                )
            else:
                pulled = pull.pull_files(round_, ["a1", "a2"], [path], now=NOW)
                assert all(len(str(problem).splitlines()) == 1 for problem in pulled.problems)

        told(back, path)

    return target


def lines_of_a_round(seed: int, folder: Path) -> None:
    """Damaged lines of labels: what counts is what was written, or the file and the row are named."""
    place, kinds = round_on_disk()
    round_ = record.find(place / "annotation/rounds")
    path = folder / "001/labels.a1.jsonl"
    path.parent.mkdir()
    shutil.copy(round_.folder / "items.parquet", path.parent)
    path.write_bytes(mutated(kinds[path.name], seed))

    def read(path: Path) -> None:
        purged = label_lines.without_remarks  # an empty comment may be what a purge has left
        assert {*map(purged, label_lines.read(path.parent))} <= {*map(purged, round_.lines())}

    told(read, path)


def of_label_studio(seed: int, folder: Path) -> None:
    """A Label Studio whose answers are damaged, some of them or all."""
    place, _ = round_on_disk()
    study_folder = folder / "study"
    shutil.copytree(place, study_folder)
    round_ = record.find(study_folder / "annotation/rounds")
    chance = random.Random(seed)
    with LabelStudio() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "PATIENCE", 0.0)
        patch.setattr(time, "sleep", lambda seconds: None)
        connection = client.LabelStudio(server.address, "token")
        work = {"a1": [row["item_id"] for row in round_.items().to_dict("records")][1:4]}
        if chance.randrange(2):
            projects.push_round(connection, round_, work, study="s", config="<View/>", guideline="g")
            server.label(1, "a1", "favor")
        share, right = chance.choice((0.2, 1.0)), server.answer

        def answer(request):
            found = right(request)
            assert len(server.requests) < 500, "asked without end"
            if found.body is None or chance.random() > share:
                return found
            return Answer(found.status, mutated(encoded(found.body), seed + len(server.requests)))

        server.answer = answer

        def use(path: Path) -> None:
            try:
                projects.push_round(connection, round_, work, study="s", config="<View/>", guideline="g")
                projects.pull_round(connection, round_, {}, now=NOW)
            except CovmisError as error:
                raise CovmisError(f"{path.name}: {error}") from None

        try:
            told(use, study_folder)
        finally:
            connection.close()
    assert round_.label_rows()


UNTIL = "2025-01-01T00:00:00Z"


def of_platform(source: str, ids: bool) -> Callable[[int, Path], None]:
    """A platform whose answers are damaged: the crawl ends, with a reason, or with pages that are ours."""

    def target(seed: int, folder: Path) -> None:
        chance = random.Random(seed)
        servers = {
            "x": lambda: X(tweets(25)),
            "bluesky": lambda: bluesky_server.Bluesky(bluesky_server.posts(25)),
            "mastodon": lambda: mastodon_server.Mastodon(mastodon_server.posts(25)),
        }
        with servers[source]() as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv(x.ADDRESS, server.address)
            patch.setenv(bluesky.ADDRESS, server.address)
            session, fetch, platform = _session(source, server, ids)
            share = chance.choice((0.2, 1.0))
            right = server.answer

            def answer(request):
                found = right(request)
                assert len(server.requests) < 500, "asked without end"
                if found.body is None or chance.random() > share:
                    return found
                return Answer(
                    found.status, mutated(encoded(found.body), seed + len(server.requests)), found.headers
                )

            server.answer = answer
            job = Job(
                source,
                "q",
                "c",
                "keywords",
                "mast",
                "mast",
                "2019-01-01T00:00:00Z" if not ids else "",
                UNTIL,
                "ids" if ids else "all",
            )
            waited: list[float] = []
            clock = Clock(lambda: 1_780_000_000.0 + sum(waited), waited.append)
            how = Crawl(fetch, platform, read_prices(source), Budget(), clock)
            try:
                told(lambda path: _crawled(job, path, how), folder)
            finally:
                session.close()
            assert sum(waited) < 20 * 3600

    return target


def _crawled(job: Job, folder: Path, how: Crawl) -> None:
    done = crawl([job], folder, how, lambda *_: None)
    assert done.finished == 1 or done.stopped or done.gaps
    for path in folder.rglob("*.zst"):
        assert all(stamp.job == job.id for stamp in pages.stamps(path))
        for line in pages.lines(path):
            {"x": x, "bluesky": bluesky, "mastodon": mastodon}[job.source].outcomes(line)
        look_at(path)


def _session(source: str, server, ids: bool):
    if source == "x":
        session = x.connect(Secret("token-of-nobody"))
        wanted = [one["id"] for one in server.corpus]
        return (
            session,
            x.looker(session, wanted) if ids else x.searcher(session),
            x.platform("ids" if ids else "all"),
        )
    if source == "bluesky":
        session = bluesky.connect("nobody.test", Secret("password-of-nobody"))
        session.log_in()
        wanted = [one["uri"] for one in server.corpus]
        return (
            session,
            bluesky.looker(session, wanted) if ids else bluesky.searcher(session),
            bluesky.platform(ids=ids),
        )
    session = mastodon.connect(server.address, Secret("token-of-nobody"))
    wanted = [one["id"] for one in server.corpus]
    return (
        session,
        mastodon.looker(session, wanted) if ids else mastodon.searcher(session),
        mastodon.platform(ids=ids),
    )


def of_fact_checks(seed: int, folder: Path) -> None:
    asked = []

    def answer(request):
        asked.append(request)
        assert len(asked) < 500, "asked without end"
        page = json.loads(GOOGLE) | {"nextPageToken": "more"}
        return httpx.Response(200, content=mutated(json.dumps(page).encode(), seed + len(asked)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_FACT_CHECK_KEY", "key")

        def search(path: Path) -> None:
            try:
                search_fact_checks("mast", client=httpx.Client(transport=httpx.MockTransport(answer)))
            except CovmisError as error:
                raise CovmisError(f"{path.name}: {error}") from None

        told(search, folder)


def of_pages(seed: int, folder: Path) -> None:
    stamp = pages.Stamp(
        job="j", source="x", query_id="q", claim_id="c", kind="keywords", expression="e", search="s", since="",
        until="", page=1, next="t", url="", version="v", retrieved_at="t",
    )  # fmt: skip
    path = folder / "pages.jsonl.zst"
    for number in range(3):
        pages.append(path, {"data": tweets(2), "number": number}, stamp)
    path.write_bytes(mutated(path.read_bytes(), seed))
    told(pages.resume, path)


class WholeFile(NamedTuple):
    """A file that is read: its name, what a whole one holds, and what is done with it."""

    name: str
    content: bytes
    act: Callable[[Path], object]


FILES = {
    **{name: WholeFile(name, whole, look_and_forget) for name, whole in {**samples.LINES, **samples.TABLES}.items()},
    "claims.csv": WholeFile("claims.csv", CLAIMS, read_claims),
    "a list of claims": WholeFile("list.csv", CLAIMS.replace(b"claim_id,text", b"nr,claim"), claims_look),
    "google.json": WholeFile("google.json", GOOGLE, claims_look),
    "review.jsonld": WholeFile("review.jsonld", REVIEW, claims_look),
    "claims.xlsx": WholeFile("claims.xlsx", samples.TABLES["frame.xlsx"], claims_look),
    "purge.csv": WholeFile("purge.csv", b"id,on\nx:1255,2026\nauthor:x:9,\n", read_list),
    "ids.txt": WholeFile("ids.txt", b"1250000000000005065\n1250000000000006078\n", read_ids),
    "ids of a list": WholeFile("ids.csv", samples.TABLES["ids.csv"], read_ids),
    "study.toml": WholeFile("study.toml", TOML, read_settings),
    "prices.toml": WholeFile("prices.toml", b'date = "2026-01-01"\n[x]\npost = 0.005\n', lambda path: read_prices("x", path)),
    "scores.csv": WholeFile("scores.csv", SCORES, score_file),
    "scores.jsonl": WholeFile("scores.jsonl", samples.lines({"item_id": "a", "label": "favor"}, {"item_id": "b", "label": "x"}), score_file),
    "scores.parquet": WholeFile("scores.parquet", samples.TABLES["frame.parquet"], score_file),
    "scores.json": WholeFile("scores.json", b'{"a": "favor", "b": "against"}', score_file),
    "answers.jsonl": WholeFile("answers.jsonl", CHAT * 2, lambda path: read_answers(path, LABELS)),
    "batch.jsonl": WholeFile("batch.jsonl", BATCH * 2, lambda path: read_answers(path, LABELS)),
    **{name: WholeFile(name, whole, verified) for name, whole in corpus_files().items()},
    "other types": WholeFile("corpus.parquet", samples.other_types(), verified),
    **{f"hydrate {name}": WholeFile(name, whole, hydrated) for name, whole in corpus_files().items() if name != "bundle.zip"},
}  # fmt: skip

TARGETS: dict[str, Callable[[int, Path], None]] = {
    **{name: of_file(*file) for name, file in FILES.items()},
    **{f"packed{packing}": in_packing(packing) for packing in PACKED},
    "pages": of_pages,
    "a bundle sealed anew": resealed,
    "a release": release_folder,
    "lines of a round": lines_of_a_round,
    **{f"sheet {name}": sheet_back(name) for name in ("a1.csv", "a1.xlsx", "a1.ods", "a1-001.json", "discussion.csv")},
    "label studio": of_label_studio,
    **{f"{source}{', ids' if ids else ''}": of_platform(source, ids) for source in ("x", "bluesky", "mastodon") for ids in (False, True)},
    "fact checks": of_fact_checks,
}  # fmt: skip
