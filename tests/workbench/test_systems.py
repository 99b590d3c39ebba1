"""Asking a language model in the browser, and what its answers are worth."""

from __future__ import annotations

from covmis_build.study.study import open_study
from tests.annotation.small import covmis, label_both, pushed
from tests.servers.openai import OpenAI
from tests.workbench.conftest import client_of, send, wait_for


def test_a_prompt_is_written_seen_sent_and_its_answers_are_a_system(tmp_path):
    pushed(tmp_path)
    label_both(tmp_path)
    covmis(tmp_path, "round", "pull")
    study = open_study(tmp_path)
    client = client_of(study)
    page = client.get("/prompt").text
    first = study.questions().requests()[0]
    assert first.content.splitlines()[0] in page
    assert f"The first of {len(study.questions().items)} requests" in page

    refused = send(client, "/prompt", "/prompt", {"text": "Judge {claim}"})
    assert refused.status_code == 400
    assert "the template has no {post}" in refused.text.replace("The template", "the template")
    ours = "Say one of {labels}. Claim: {claim} Post: {post}"
    send(client, "/prompt", "/prompt", {"text": ours})
    assert (tmp_path / "annotation/prompt.md").read_text() == f"{ours}\n"
    assert study.questions().requests()[0].content.startswith("Say one of favor,")

    with OpenAI() as server:
        asked = {"url": f"{server.address}/v1", "model": "org/toy:7b"}
        send(client, "/prompt", "/start/model-ask", asked)
        wait_for(lambda: client.bench.jobs.last.state != "running")
        assert client.bench.jobs.last.state == "done", client.bench.jobs.last.lines
        assert server.contents == [request.content for request in study.questions().requests()]
    assert "12 answers name one label" in client.get("/prompt").text
    page = client.get("/systems").text
    assert "org-toy-7b.csv" in page
    assert "in data/models" in page
    assert "evaluate score data/release/corpus.csv data/models/org-toy-7b.csv" in page, (
        "as a terminal finds it"
    )
    assert '<h2 id="scores">' in page
    send(client, "/systems", "/start/model-admit", {"name": "toy", "epsilon": "0.1"}, having="org-toy")
    assert client.bench.acts[-1].command == (
        "covmis model admit data/models/org-toy-7b.csv --epsilon 0.1 --name toy"
    )
    wait_for(lambda: client.bench.jobs.last.state != "running")
