"""The lead's page of links: made, shown, printed, replaced, closed, served and ended, with everybody's progress."""

from __future__ import annotations

import re
import sys

import httpx
import pytest

from covmis_build.study.study import open_study
from tests.workbench.conftest import client_of, send
from tests.workbench.team import shown
from tests.workbench.test_label import answer


@pytest.fixture
def client(folder):
    client = client_of(open_study(folder))
    yield client
    if client.bench.team:
        client.bench.team.stop()


def of_person(act, code):
    """What the form of a person's button has in its HTML."""
    return f'name="act" value="{act}"><input type="hidden" name="of" value="{code}"'


def test_a_lead_serves_replaces_prints_and_closes_links_and_sees_who_is_how_far(folder, client, monkeypatch):
    assert "Links are not served now" in client.get("/links").text
    assert 'href="/links"' in client.get("/rounds").text
    assert send(client, "/links", "/links", {}, having=of_person("new", "a1")).status_code == 400, (
        "nothing serves them yet"
    )
    page = client.post("/links", data={"act": "serve", "address": "127.0.0.1", "port": ""}).text
    links = dict(re.findall(r"<dt>(\w+)</dt><dd><code>(http[^<]+)</code>", page))
    assert set(links) == {"a1", "a2"}
    base, secret = links["a1"].split("/#")
    assert f"Links are served at <code>{base}</code>" in page
    again = client.post("/links", data={"act": "serve", "address": "127.0.0.1", "port": ""})
    assert again.status_code == 400
    with httpx.Client(base_url=base, headers={"origin": base}, trust_env=False, timeout=60) as person:
        assert person.post("/enter", content=secret).status_code == 200
        items = shown(person)
        for item in items[:3]:
            person.post("/work/a1/001", json={"answers": [answer(item, "favor")]})
        seen = client.get("/links").text
        assert f"3 of {len(items)}" in seen
        assert "from 127.0.0.1" in seen
        sheet = client.get("/links/sheet").text
        assert links["a1"] in sheet
        assert links["a2"] in sheet
        drawings = re.findall(r"<svg[^>]*>.*?</svg>", sheet, re.DOTALL)
        assert [re.search("<title>(.*?)</title>", svg)[1] for svg in drawings] == ["Link of a1", "Link of a2"]
        monkeypatch.setitem(sys.modules, "segno", None)
        assert "covmis[qr]" in client.get("/links/sheet").text
        changed = send(client, "/links", "/links", {}, having=of_person("new", "a1")).text
        assert links["a1"] not in changed
        assert links["a2"] in changed
        assert person.post("/work/a1/001", json={"answers": []}).status_code == 410
        closed = send(client, "/links", "/links", {}, having=of_person("close", "a2")).text
        assert links["a2"] not in closed
        assert "link closed" in closed
        script = client.get("/session/session.sh").text
        assert "covmis round links --new a1\ncovmis round links --close a2" in script
        assert not re.search("|".join(link.split("#")[1] for link in links.values()), script)
        client.post("/links", data={"act": "end"})
        with pytest.raises(httpx.TransportError):
            person.get("/work")
    assert (
        client_of(open_study(folder), read_only=True).post("/links", data={"act": "serve"}).status_code == 403
    )
    fresh = client_of(open_study(folder)).get("/links").text
    assert "New links" not in fresh, "shown as long as the workbench that made them is open"


def test_what_cannot_be_served_is_refused_with_a_way_out(folder, client):
    for data, said in (
        ({"address": "0.0.0.0"}, "people cannot open 0.0.0.0"),
        ({"address": "192.0.2.7"}, "Cannot listen at 192.0.2.7"),
        ({"address": "127.0.0.1", "port": "x"}, "is no port"),
        ({"address": "127.0.0.1", "of": "9"}, "There is no round 9"),
    ):
        answer = client.post("/links", data={"act": "serve", **data})
        assert answer.status_code == 400
        assert said.casefold() in answer.text.casefold()
    for options, said in (
        (("--address", "192.168.1.5"), "Add --team"),
        (("--team", "--read-only"), "Leave one out"),
        (("--team", "--certificate", "cert.pem"), "belong together"),
        (("--team", "--public", "label.example.org"), "is no address of a server"),
    ):
        assert said in covmis_open(folder, *options)


def covmis_open(folder, *options) -> str:
    from typer.testing import CliRunner

    from covmis_build.cli import app

    result = CliRunner().invoke(app, ["open", "--no-browser", *options, "--study", str(folder)])
    assert result.exception.exit_code == 2
    return str(result.exception)
