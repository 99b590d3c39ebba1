"""The pages of a release in a real browser: what posts and claims say is text, nothing runs, nothing is fetched."""

from __future__ import annotations

import html
import http.server
import subprocess
import threading

import pytest

from covmis_build.corpus.release import make_corpus
from covmis_build.options import Release
from tests.corpus.conftest import made_facts, made_frozen, write_release

RUNS = '<script>document.title="hacked"</script><img src="{address}/stolen" onerror="document.title=1">'


@pytest.fixture
def listener():
    """A server that notes every request."""
    asked = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("name", ["card.html", "statistics.html"])
def test_a_browser_shows_hostile_text_as_text(tmp_path, listener, name) -> None:
    address, asked = listener
    attack = RUNS.format(address=address)
    gold, frozen = made_frozen(3, 8)
    frozen["claim"], frozen["text"] = attack, attack
    corpus = make_corpus(gold, frozen, Release(text=True))
    write_release(tmp_path, corpus, made_facts(f"Study {attack}"))
    done = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", (tmp_path / name).as_uri()],
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    seen = done.stdout
    assert html.escape(attack, quote=False) in seen
    assert "<title>hacked" not in seen
    assert "<img" not in seen
    assert "<script" not in seen
    assert not asked
