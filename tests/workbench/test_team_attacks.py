"""Strangers, and annotators who try more: nobody gets in, nobody holds the server up, and people at work notice nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections import Counter
from pathlib import Path

import httpx
import pytest

from covmis_build.study.study import open_study
from covmis_build.workbench import team_server
from covmis_build.workbench.bench import Bench
from covmis_build.workbench.reach import Reach
from covmis_build.workbench.team import Team
from tests.annotation.small import HOSTILE
from tests.workbench.conftest import TestClient, wait_for
from tests.workbench.team import serving, shown
from tests.workbench.test_attacks import many_files  # noqa: F401 - a fixture
from tests.workbench.test_label import answer

WORK = "/work/a1/001"
DOCS = Path(__file__).parents[2] / "docs"
BASE = "http://127.0.0.1:8555"


@pytest.fixture
def team(folder):
    """The application without a server, at this port; `.links` has the secrets, `.person` a browser that opened one."""
    opened = open_study(folder)
    opened.round().send_by_links()
    team = Team(Bench(folder), Reach(port=8555))
    made = team_server.links_to_serve(opened, BASE).new
    team.secrets = {code: url.partition("#")[2] for code, url in made.items()}
    return team


def browser(team, who="", address="127.0.0.1", **more):
    client = TestClient(
        team, base_url=more.pop("base", BASE), headers={"origin": BASE} | more, client=(address, 50000)
    )
    if who:
        assert client.post("/enter", content=team.secrets[who]).status_code == 200
    return client


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("GET", "/", {"host": "evil.example"}, 421),
        ("GET", WORK, {"host": "127.0.0.1:80"}, 421),
        ("GET", WORK, {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/work", {"sec-fetch-site": "same-site"}, 403),
        ("POST", WORK, {"origin": "https://evil.example"}, 403),
        ("POST", WORK, {"origin": "null"}, 403),
        ("POST", WORK, {"origin": ""}, 403),
        ("POST", "/enter", {"origin": "http://127.0.0.1:9"}, 403),
        ("POST", "/enter", {"sec-fetch-site": "cross-site"}, 403),
        ("PUT", WORK, {}, 405),
        ("DELETE", WORK, {}, 405),
        ("GET", "/work/a2/001", {}, 403),
        ("POST", "/work/a2/001", {}, 403),
        ("GET", "/work/%61%32/001", {}, 403),
        ("GET", "/work/a1/../a2/001", {}, 403),
        ("POST", "/work/a1/c001", {}, 409),
        ("POST", "/work/a1/1", {}, 409),
        ("POST", "/work/a1/..%2f..%2f001", {}, 404),
        *[("GET", path, {}, 404) for path in (
            "/rounds", "/rounds/001", "/links", "/settings", "/flow", "/posts", "/results", "/session", "/events", "/end",
            "/start/run", "/static/bench.js", "/study.toml", "/file/study.toml", "/file//etc/passwd", "/work/a1",
            "/work/a1/001/x", "/annotation/links/links.json", "/..%2fstudy.toml", "/enter/x", "/openapi.json",
        )],
    ],
)  # fmt: skip
def test_only_a_person_s_own_pages_are_there(team, method, path, headers, code):
    client = browser(team, "a1")
    body = {"answers": []} if method in {"POST", "PUT"} else None
    asked = client.request(method, path, headers=headers, json=body, follow_redirects=False)
    assert asked.status_code == code
    assert (asked.headers["cache-control"], asked.headers["referrer-policy"]) == ("no-store", "same-origin")
    assert not len(open_study(team.bench.folder).round().labels)


def test_a_page_has_this_person_s_posts_alone_escaped_and_without_traces_of_the_study(team, folder):
    page = browser(team, "a1").get(WORK).text
    assert HOSTILE not in page
    own = open_study(folder).round().open_items()
    assert {item["id"] for item in shown(browser(team, "a1"))} == set(own["a1"])
    assert not re.search(rf"{re.escape(str(folder))}|sheets/|\"a2\"|a2-001|covmis (open|round)", page)
    policy = browser(team, "a1").get(WORK).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_guesses_are_locked_out_and_people_at_work_go_on(team, folder):
    at_work = browser(team, "a1")
    items = shown(at_work)

    async def guess():
        far = httpx.ASGITransport(team, client=("198.51.100.7", 50000))
        async with httpx.AsyncClient(transport=far, base_url=BASE, headers={"origin": BASE}) as client:
            tries = (
                await client.post("/enter", content=f"{at:032}")
                if at % 2
                else await client.get("/work", headers={"cookie": f"covmis-link-8555={at:032}"})
                for at in range(10_000)
            )
            return Counter([answer.status_code async for answer in tries])

    codes = asyncio.run(guess())
    guesser = browser(team, address="198.51.100.7")
    assert codes == {403: 20, 429: 9_980}
    assert guesser.post("/enter", content=team.secrets["a1"]).status_code == 429, "not even the right one now"
    guesser.cookies.set("covmis-link-8555", team.secrets["a1"])
    assert guesser.get(WORK).status_code == 429
    assert at_work.post(WORK, json={"answers": [answer(items[0], "favor")]}).status_code == 200
    for _ in range(30):
        browser(team).post("/enter", content="wrong")
    assert at_work.post(WORK, json={"answers": [answer(items[1], "favor")]}).status_code == 200, (
        "same network"
    )
    visits = [
        json.loads(line) for line in (folder / "annotation/links/visits.jsonl").read_text().splitlines()
    ]
    assert [(row["annotator"], row["address"], row.get("what", "")) for row in visits] == [
        ("a1", "127.0.0.1", ""),
        ("", "198.51.100.7", "locked out after wrong links"),
        ("", "127.0.0.1", "locked out after wrong links"),
    ]


def test_wrong_bodies_and_a_broken_record_are_refused_and_the_lead_hears_of_it(team, folder):
    client = browser(team, "a1")
    item, *_ = shown(client)
    for body in ("", "[]", '{"answers": 3}', "[" * 5000, '{"answers": [{"id": 1}]}', "a" * (1 << 21)):
        assert client.post(WORK, content=body).status_code == 400
    assert client.post("/enter", content="a" * (1 << 21)).status_code == 400
    client.post(WORK, json={"answers": [answer(item, "favor")]})
    lines = folder / "annotation/rounds/001/labels.a1.jsonl"
    lines.write_text(lines.read_text().replace("favor", "against"))
    refused = client.post(WORK, json={"answers": [answer(item, "neither", "2031-01-01T10:00:00.000Z")]})
    assert refused.status_code == 500, "the page keeps it, and tries again"
    assert str(folder) not in refused.text
    assert "was changed after it was written" in team.troubles[-1]


def test_a_proxy_s_word_counts_only_where_there_is_one(folder):
    said = {"x-forwarded-for": "203.0.113.9"}
    visits, links = folder / "annotation/links/visits.jsonl", None
    for options, address in (((), "127.0.0.1"), (("--public", "https://label.example.org"), "203.0.113.9")):
        with serving(folder, *options, links=links) as team:
            links = team.links
            here = re.findall(r"http://127\.0\.0\.1:\d+", "\n".join(team.said[2:]))[0]
            own = {"origin": options[1], "host": "label.example.org"} if options else {"origin": here}
            with httpx.Client(base_url=here, headers=own | said, trust_env=False) as client:
                entered = client.post("/enter", content=team.secret("a1"))
                assert entered.status_code == 200
                assert ("Secure" in entered.headers["set-cookie"]) == bool(options)
                assert client.get("/", headers={"host": here.partition("//")[2]}).status_code == (
                    421 if options else 200
                )
        assert json.loads(visits.read_text().splitlines()[-1])["address"] == address
    proxied = Reach(port=8500, public="https://label.example.org/")
    assert (proxied.base, proxied.hosts) == ("https://label.example.org", frozenset({"label.example.org"}))
    assert (proxied.is_secure, proxied.warning, proxied.origin_of("label.example.org")) == (
        True,
        "",
        proxied.base,
    )
    assert "not encrypted" in Reach("192.168.1.5", 8500).warning
    assert Reach(port=8500).warning == ""
    assert Reach("2001:db8::1", 80).hosts >= {"[2001:db8::1]"}


def test_slow_and_idle_connections_are_ended_and_others_are_served_meanwhile(team, monkeypatch):
    monkeypatch.setattr(team_server, "ARRIVING", 1.0)
    server = team_server.TeamServer(team.bench, Reach())
    server.start()
    host, port = "127.0.0.1", server.reach.port
    try:
        beginnings = (
            b"",
            b"GET / HTTP/1.1\r\nHost: x",
            b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 900\r\n\r\nabc" % port,
        )
        slow = [socket.create_connection((host, port)) for _ in range(60)]
        for at, connection in enumerate(slow):
            connection.settimeout(30)
            connection.sendall(beginnings[at % 3])
        with httpx.Client(base_url=server.reach.base, trust_env=False, timeout=60) as client:
            assert client.get("/").status_code == 200
        for connection in slow:
            with connection:
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass  # an end, too
    finally:
        server.stop()


def test_five_hundred_at_once_are_recorded_each_once(folder, many_files):  # noqa: F811
    with serving(folder) as team, team.person("a1") as first, team.person("a2") as second:
        items = {"a1": shown(first), "a2": shown(second, "a2")}
        cookies = {who: dict(client.cookies) for who, client in (("a1", first), ("a2", second))}

        async def all_at_once():
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            settings = {
                "headers": {"origin": team.base},
                "trust_env": False,
                "timeout": 600,
                "limits": limits,
            }
            async with httpx.AsyncClient(base_url=team.base, **settings) as client:

                def save(at):
                    who = ("a1", "a2")[at % 2]
                    item = items[who][at // 2 % len(items[who])]
                    row = answer(item, "favor", f"2030-01-01T10:00:00.{at:03}Z")
                    headers = {"cookie": "; ".join("=".join(pair) for pair in cookies[who].items())}
                    return client.post(f"/work/{who}/001", json={"answers": [row]}, headers=headers)

                return await asyncio.gather(*(save(at) for at in range(500)))

        codes = Counter(asked.status_code for asked in asyncio.run(all_at_once()))
        assert codes == {200: 500}
    labels = open_study(folder).round().labels
    assert len(labels) == len(items["a1"]) + len(items["a2"]), "the same answer at later times is one"


@pytest.fixture
def certificate(tmp_path):
    """A certificate of this machine and of label.example.org, and its key."""
    path, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", path, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:label.example.org"],
        check=True, capture_output=True,
    )  # fmt: skip
    return path, key


@pytest.mark.starts("openssl")
def test_a_certificate_makes_links_secure(folder, certificate):
    path, key = certificate
    with serving(folder, "--certificate", path, "--key", key) as team:
        assert team.base.startswith("https://127.0.0.1:")
        with team.client(verify=ssl.create_default_context(cafile=str(path))) as client:
            entered = client.post("/enter", content=team.secret("a1"))
            assert "Secure" in entered.headers["set-cookie"].split("; ")
            assert shown(client)
    key.write_text("no key")
    command = covmis_refuses(folder, "--certificate", path, "--key", key)
    assert "is no certificate with the key" in command


PUBLIC = "https://label.example.org"
NGINX = """daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
server {{ listen 127.0.0.1:{port} ssl; server_name label.example.org; ssl_certificate {certificate}; ssl_certificate_key {key};
{documented}
}} }}
"""
CADDY = """{{
    admin off
    auto_https disable_redirects
    https_port {port}
}}
{documented}
"""


@pytest.mark.starts("openssl")
@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_a_reverse_proxy_set_up_as_documented_leads_people_in_and_others_not(
    folder, tmp_path, certificate, proxy
):
    if shutil.which(proxy) is None:
        pytest.skip(f"needs {proxy}")
    blocks = re.findall(r"```\n# (\w+).*?\n(.*?)```", (DOCS / "security.md").read_text(), re.DOTALL)
    documented = {name.lower(): block for name, block in blocks}[proxy]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(folder, "--public", PUBLIC) as team:
        assert team.base == PUBLIC
        here = re.search(r"http://(127\.0\.0\.1:\d+)", "\n".join(team.said[2:]))[1]
        documented = documented.replace("127.0.0.1:8500", here)
        own = {"folder": tmp_path, "port": port, "certificate": certificate[0], "key": certificate[1]}
        path = tmp_path / proxy
        if proxy == "nginx":
            path.write_text(NGINX.format(documented=documented, **own))
            command = ["nginx", "-c", path, "-p", tmp_path]
        else:
            served = "label.example.org {{\n    tls {certificate} {key}".format(**own)
            path.write_text(CADDY.format(documented=documented.replace("label.example.org {", served), **own))
            command = ["caddy", "run", "--adapter", "caddyfile", "--config", path]
        with subprocess.Popen(
            command, stderr=subprocess.DEVNULL, env=os.environ | {"HOME": str(tmp_path)}
        ) as running:
            try:
                verify = ssl.create_default_context(cafile=str(certificate[0]))
                at = {"base_url": f"https://127.0.0.1:{port}", "verify": verify}
                named = {"host": "label.example.org", "origin": PUBLIC, "x-forwarded-for": "198.51.100.7"}
                known = {"extensions": {"sni_hostname": "label.example.org"}}
                with team.client(**at, headers=named) as client:
                    wait_for(lambda: answers_at(port))
                    entered = client.post("/enter", content=team.secret("a1"), **known)
                    assert entered.status_code == 200, entered.text
                    assert "Secure" in entered.headers["set-cookie"]
                    cookie = {"cookie": entered.headers["set-cookie"].partition(";")[0]}
                    page = client.get(WORK, headers=cookie, **known)
                    assert page.status_code == 200
                    item = json.loads(re.search(r'id="data">(.*?)</script>', page.text)[1])["items"][0]
                    row = {"answers": [answer(item, "favor", "2031-01-01T10:00:00.000Z")]}
                    assert client.post(WORK, json=row, headers=cookie, **known).status_code == 200
                    foreign = {**cookie, "origin": "https://evil.example"}
                    assert client.post(WORK, json=row, headers=foreign, **known).status_code == 403
                    assert client.get("/settings", headers=cookie, **known).status_code == 404
            finally:
                running.terminate()
    assert len(open_study(folder).round().labels) == 1
    visits = (folder / "annotation/links/visits.jsonl").read_text()
    assert "198.51.100.7" not in visits, "what a visitor says of their address is not believed"


def answers_at(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def covmis_refuses(folder, *options) -> str:
    from typer.testing import CliRunner

    from covmis_build.cli import app

    words = ["open", "--team", "--no-browser", *map(str, options), "--study", str(folder)]
    result = CliRunner().invoke(app, words)
    assert result.exception.exit_code == 2
    return str(result.exception)
