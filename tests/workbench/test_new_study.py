"""From an empty folder, without a terminal: the study, its posts, claims and settings; each with the command that does the same."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from markupsafe import escape

import covmis_build as covmis
from covmis_build import workbench
from covmis_build.claims.lists import claim_texts
from covmis_build.workbench import posts
from covmis_build.workbench.app import application
from covmis_build.workbench.bench import WRITTEN
from tests.own_posts import write_own
from tests.workbench.conftest import HOSTILE, OURS, PORT, TestClient, client_of, opening, send
from tests.workbench.test_pages import wait_for


@pytest.fixture
def own(tmp_path):
    (tmp_path / "given").mkdir()
    write_own(tmp_path / "given")
    return tmp_path / "given"


@pytest.fixture
def client(tmp_path):
    """A browser at an empty folder."""
    guard = application(tmp_path / "my study", PORT)
    client = TestClient(guard, base_url=OURS, headers={"origin": OURS})
    client.bench = guard.bench
    client.get(guard.entrance.address())
    return client


def test_whatever_people_write_at_length_is_shown_again_when_it_is_refused():
    fields = set()
    for template in (Path(workbench.__file__).parent / "templates").glob("*.html"):
        boxes = re.findall(r"<textarea\b[^>]*", template.read_text("utf-8"))
        fields |= {name[1] for box in boxes if (name := re.search(r' name="(\w+)"', box))}
    assert fields <= set(WRITTEN)


def test_a_new_study_speaks_the_language_that_its_annotators_read(client, tmp_path):
    assert '<option value="ar" lang="ar">العربية</option>' in client.get("/").text
    assert client.post("/new", data={"title": "Rumores", "language": "xx"}).status_code == 400
    client.post("/new", data={"title": "Rumores", "language": "es"})
    study = covmis.open_study(tmp_path / "my study")
    assert study.settings.annotation.language == "es"
    assert "Cómo" in study.places.guideline.read_text("utf-8")
    assert "--title Rumores --language es" in client.get("/session/session.sh").text
    assert "title='Rumores', language='es')" in client.get("/session/session.py").text


def test_an_empty_folder_becomes_a_sample_and_the_script_does_the_same(client, own, tmp_path):
    assert "A new study" in client.get("/").text
    assert "no study.toml here" in client.get("/posts").text
    assert (
        client.post("/new", data={"title": "It's new"}, follow_redirects=False).headers["location"]
        == "/posts"
    )
    assert client.post("/new", data={}).status_code == 400, "a study is never made over"
    sent = client.put("/posts/..%2F..%2Fposts.csv", content=(own / "posts.csv").read_bytes())
    assert sent.text == "/posts?file=data%2Farchive%2Fposts.csv"
    assert "can be read" in client.get(sent.text).text
    assert client.put("/claims/claims.csv", content=(own / "claims.csv").read_bytes()).text == "/claims"
    seen = client.get("/claims").text
    assert "<b>2 claims</b>" in seen
    assert "covmis claims import ../claims.csv" in seen
    assert "moon" in seen, "nothing is imported yet"
    imported = send(client, "/claims", "/claims", {"as:claim": "text"}).text
    assert "2 claims added, 0 already there" in imported
    assert "How to label a post</h1>" in client.get("/rounds").text, "the guideline, before a round keeps it"
    assert '<span class="k">Claims</span><div class="v">2</div>' in client.get("/").text
    claims = client.get("/claims").text
    assert "2 claims added" not in claims
    assert "Garlic keeps the virus away." in claims
    assert "moon" not in claims
    assert not client.bench.dropped
    form = {"cleaning.minimum_posts": "3", "annotation.annotators": "a1\na2", "title": "It's new"}
    send(client, "/settings", "/settings", form)
    client.post("/start/run")
    assert wait_for(client.bench.jobs).state == "done"
    study = covmis.open_study(client.bench.folder)
    assert study.settings.cleaning.minimum_posts == 3
    assert len(study.sample) > 20
    text = client.get("/session/session.sh").text
    assert [shlex.split(line)[:3] for line in text.splitlines()[4:]] == [
        ["covmis", "new", "my study"], ["cd", "my study"], ["covmis", "posts", "add"], ["covmis", "claims", "import"],
        ["python", "-c", "import covmis_build as covmis; study = covmis.open_study(); study.change(cleaning={'minimum_posts': 3})"],
        ["covmis", "run"],
    ]  # fmt: skip
    here = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name, program in (("session.sh", "sh"), ("session.py", sys.executable)):
        elsewhere = tmp_path / name.replace(".", "-")
        elsewhere.mkdir()
        for file in own.iterdir():
            (elsewhere / file.name).write_bytes(file.read_bytes())
        (elsewhere / name).write_text(client.get(f"/session/{name}").text)
        subprocess.run([program, name], cwd=elsewhere, env=here, check=True, capture_output=True)
        for table in ("posts", "hits", "items", "dropped", "sample"):
            there = elsewhere / f"my study/data/build/{table}.parquet"
            assert there.read_bytes() == study.places.table(table).read_bytes(), table


def test_a_dropped_file_is_never_lost_nor_doubled_and_says_what_is_wrong(study, monkeypatch):
    client = client_of(study)
    archive = study.places.folder / "data/archive"
    before = {path.name: path.read_bytes() for path in archive.iterdir()}
    again = client.put("/posts/posts.jsonl", content=b"{}", headers={"x-part": "file"})
    assert again.status_code == 400
    assert again.text.startswith(
        "data/archive/posts.jsonl: is in the archive already, with other content. Give "
    )
    same = client.put("/posts/renamed.jsonl", content=before["posts.jsonl"], headers={"x-part": "file"})
    assert same.text == "/posts?file=data%2Farchive%2Fposts.jsonl"
    assert "Already there: data/archive/posts.jsonl" in client.get(same.text).text
    assert client.put("/posts/empty.csv", content=b"").status_code == 400

    assert {path.name: path.read_bytes() for path in archive.iterdir()} == before
    page = client.get(client.put(f"/posts/{HOSTILE}.gz", content=b"no gzip at all").text).text
    assert HOSTILE not in page
    assert "gz" in page
    assert "warning" in page
    monkeypatch.setattr(posts, "LARGE", 5)
    page = client.get("/posts?file=data/archive/posts.jsonl").text
    assert "Look at it" in page
    assert "can be read" not in page
    assert "can be read" in client.get("/posts?file=data/archive/posts.jsonl&look=yes").text
    assert (
        client.put("/posts/x.csv", content=b"a", headers={"origin": "https://evil.example"}).status_code
        == 403
    )
    assert client_of(study, read_only=True).put("/posts/x.csv", content=b"a").status_code == 403


def test_a_list_of_claims_is_mended_by_choosing(study, tmp_path):
    client = client_of(study)
    client.put(
        "/claims/list.csv", content=f"statement,note,who\n{HOSTILE} is true,Lemons cure it,x\n".encode()
    )
    page = client.get("/claims").text
    assert HOSTILE not in page
    live = client.get(
        "/claims", params={"as:statement": "text", "as:note": "text"}, headers={"x-part": "live"}
    ).text
    assert "Lemons cure it" in live
    assert "--column text=note" in live
    assert "garlic" in client.get("/queries").text
    send(client, "/claims", "/claims", {"as:statement": "", "as:note": "text", "as:who": ""})
    rows = study.places.claims_csv.read_text("utf-8-sig")
    assert "Lemons cure it" in rows
    assert "Garlic cures the virus" in rows
    assert "Lemons cure it" in client.get("/queries").text, "the posts need not be read again by hand"
    assert client.post("/claims", data={}).status_code == 400


def test_a_list_whose_columns_are_not_recognised_offers_them(study):
    client = client_of(study)
    rows = "".join(f"{at},大蒜可以治愈新冠病毒{at}{HOSTILE},真\n" for at in range(4))
    client.put("/claims/list.csv", content=f"编号,说法,判断\n{rows}".encode())
    page = client.get("/claims").text
    assert "Say above which column holds the claims" in page
    assert str(client.bench.dropped["claims"].parent) not in page, "no path of the machine"
    for column in ("编号", "说法", "判断"):
        assert f'name="as:{column}"' in page
    chosen = {"as:编号": "", "as:说法": "text", "as:判断": ""}
    live = client.get("/claims", params=chosen, headers={"x-part": "live"}).text
    assert "<b>4 claims</b>" in live
    assert HOSTILE not in live
    send(client, "/claims", "/claims", chosen)
    assert study.places.claims_csv.read_text("utf-8-sig").count("大蒜可以治愈新冠病毒") == 4
    assert "text=说法" in client.get("/session").text


def test_a_list_without_names_of_columns_is_read_by_saying_so(study):
    client = client_of(study)
    rows = "".join(f"{at};Tea number {at} cures it for good\n" for at in range(3))
    client.put("/claims/list.txt", content=rows.encode())
    said = {"header": "0", "separator": ";"}
    page = client.get("/claims", params=said)
    assert 'name="as:2"' in page.text
    assert client.get("/claims", params={"header": "first"}).status_code == 400
    at = f"/claims?{page.url.query.decode()}"
    send(client, at, "/claims", {"as:2": "text"})
    assert study.places.claims_csv.read_text("utf-8-sig").count("Tea number") == 3
    assert "--separator ';' --header 0" in client.get("/session/session.sh").text


def test_claims_are_typed_and_edited_and_two_tabs_take_nothing_back(study):
    client = client_of(study)
    assert (
        "2 claims added"
        in client.post("/claim", data={"texts": f"Lemons{HOSTILE}\r\n\r\n Tea  cures it. "}).text
    )
    assert list(claim_texts(study.places.claims_csv).items())[2:] == [
        ("claim-0001", f"Lemons{HOSTILE}"),
        ("claim-0002", "Tea cures it."),
    ]
    again = client.post("/claim", data={"texts": "Tea cures it."})
    assert "0 claims added, 1 already there" in again.text
    assert client.post("/claim", data={"texts": " \n"}).status_code == 400
    form = {"text": "Tea cures the virus.", "shown": "Tea cures it."}
    assert (
        "claim-0002: Tea cures the virus. (was Tea cures it.)"
        in client.post("/claim/claim-0002", data=form).text
    )
    late = client.post("/claim/claim-0002", data={"text": f"Tea heals{HOSTILE}", "shown": "Tea cures it."})
    assert (late.status_code, "has changed since: Tea cures the virus." in late.text) == (400, True)
    assert f">Tea heals{escape(HOSTILE)}</textarea>" in late.text  # nobody writes it twice
    assert claim_texts(study.places.claims_csv)["claim-0002"] == "Tea cures the virus."
    assert "text: was Tea cures it." in study.places.claims_csv.read_text("utf-8-sig")
    assert client.post("/claim/nobody", data=form).status_code == 404
    assert client.post("/claim/a", data={"text": "Tea cures the virus."}).status_code == 400, (
        "another claim has it"
    )
    script = client.get("/session/session.sh").text
    assert "covmis claims edit claim-0002 'Tea cures the virus.'" in script
    study.run(workers=1)
    study.open_round()
    page = client_of(study).get("/queries/a").text
    count = (study.round().items["claim_id"] == "a").sum()
    assert f"Posts of this claim in rounds: 001 ({count})" in page


def test_settings_are_written_one_by_one_and_wrong_ones_refused(study):
    client = client_of(study)
    page = client.get("/settings").text
    assert HOSTILE not in page
    assert 'name="cleaning.similarity"' in page
    before = study.places.study_toml.read_text()
    for name, text in (("cleaning.similarity", "0.9\n[release]\ntext = true"), ("cleaning.minimum_posts", "many"),
                       ("annotation.annotators", "<b>\na2"), ("labels.keys", "1")):  # fmt: skip
        answer = send(client, "/settings", "/settings", {name: text})
        assert answer.status_code == 400, name
        assert study.places.study_toml.read_text() == before
    labels = {
        "labels.values": "a, b\nc",
        "labels.keys": "1\n2",
        "labels.poles": "",
        "labels.automatic": "",
    }
    send(
        client,
        "/settings",
        "/settings",
        {"cleaning.similarity": "0.9", "cleaning.languages": "en\nde", **labels},
    )
    now = covmis.open_study(study.places.folder).settings
    assert (now.cleaning.similarity, now.cleaning.languages, now.labels.values) == (
        0.9,
        ("en", "de"),
        ("a, b", "c"),
    )
    assert ">\na, b\nc</textarea>" in client.get("/settings").text
    assert client.get("/session/session.py").text.count("study.change(") == 1


def test_a_file_that_breaks_off_is_not_added(study):
    """Half of it has come when the connection ends: nothing of it stays, and it can be dropped in again."""
    archive = study.places.folder / "data/archive"
    before = {path.name for path in archive.iterdir()}
    with opening(study.places.folder) as (address, _):
        host, port = address.split("/")[2].split(":")
        with httpx.Client(base_url=f"http://{host}:{port}", trust_env=False, timeout=120) as browser:
            browser.get(address)
            cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
            with socket.create_connection((host, int(port))) as line:
                head = (
                    f"PUT /posts/half.csv HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: http://{host}:{port}\r\n"
                )
                line.sendall(f"{head}Cookie: {cookie}\r\nContent-Length: 9000000\r\n\r\n".encode())
                line.sendall(b"text\n" * 500_000)
                while not any("half.csv" in path.name for path in archive.iterdir()):
                    time.sleep(0.01)
            put = {"content": b"text\n" * 20, "headers": {"origin": f"http://{host}:{port}"}}
            while (answer := browser.put("/posts/half.csv", **put)).status_code == 400:
                assert "in use" in answer.text
            assert answer.status_code == 200
    assert {path.name for path in archive.iterdir()} == {*before, "half.csv"}
    assert (archive / "half.csv").read_bytes() == b"text\n" * 20
