"""What the pages say is what the library says, as new as the files; what they start are commands."""

from __future__ import annotations

import csv
import html
import io
import re
import shlex
import subprocess
import sys
import time

import pytest

import covmis_build as covmis
from covmis_build.errors import InputError
from tests.workbench.conftest import HOSTILE, client_of, forms_of, send


def wait_for(jobs):
    until = time.monotonic() + 600
    while jobs.last.state == "running" and time.monotonic() < until:
        time.sleep(0.05)
    return jobs.last


def pressed(page, text):
    """What the form with this button would send, and where to."""
    (form,) = [
        form for form in re.findall(r"<form.*?</form>", page, re.DOTALL) if f">{text}</button>" in form
    ]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    return re.search(r'action="([^"]*)"', form)[1], fields


def press(client, at, text):
    place, fields = pressed(client.get(at).text, text)
    client.post(place, data=fields)
    return wait_for(client.bench.jobs)


def test_the_overview_says_what_is_next_and_is_as_new_as_the_files(client, study):
    page = client.get("/").text
    assert "covmis round open" in page
    assert 'href="/rounds">Go to the rounds' in page
    assert "data/archive/posts.jsonl" in page or "archive/posts.jsonl" in page
    study = study.change(cleaning={"minimum_words": 3})
    page = client.get("/").text
    assert 'action="/start/run"' in page
    assert "to be made" in page
    study.run(workers=1)
    study.open_round()
    study.run(workers=1)
    assert 'href="/rounds/001">Go on with round 001' in client.get("/").text


def test_each_step_opens_to_what_it_dropped_with_the_reason(client, study):
    page = client.get("/flow").text
    assert "/flow?step=language&amp;reason=language%20fr#posts" in page
    opened = client.get("/flow", params={"step": "language", "reason": "language fr", "claim": "a"})
    assert "est une plante" in opened.text
    assert "covmis status --dropped language --reason &#39;language fr&#39; --claim a" in opened.text
    assert "1 dropped" in opened.text
    assert "[cleaning] languages" in opened.text
    assert client.get("/flow?step=nonsense").status_code == 400


def test_the_largest_groups_of_copies_lead_to_their_least_similar_posts(client, study):
    study = study.change(cleaning={"similarity": 0.5})
    study.run(workers=1)
    chain = study.status().chains[0]
    page = client.get("/flow").text
    assert f"{chain.size} posts<br>" in page
    for post in (chain.weakest_a, chain.weakest_b):
        assert f'/story/{post.replace(":", "%3A")}"' in page
    assert "Largest groups" not in client.get("/flow?step=words").text


def test_a_story_is_what_explain_says(client, study):
    dropped = study.dropped_posts("language").posts[0]
    page = client.get(f"/story/{dropped.claim_id}|{dropped.post_id}").text
    assert "language fr" in page
    assert client.get("/story/nobody").status_code == 400


def test_dropped_posts_counts_all_and_shows_the_same_few(study):
    dropped = study.dropped_posts("words", limit=1)
    assert dropped.total == len(study.dropped.query("step == 'words' and unit == 'pair'")) == 2
    assert len(dropped.posts) == 1
    assert dropped.posts == study.dropped_posts("words", limit=1).posts
    assert study.dropped_posts("long enough", limit=1).posts == dropped.posts
    assert study.dropped_posts("near duplicates").step == "near_duplicates"
    assert dropped.of_claims == {"a": 2}
    assert "minimum_words" in dropped.advice
    assert study.dropped_posts("words", claim="b").total == 0
    with pytest.raises(InputError, match="no step is called"):
        study.dropped_posts("nonsense")


def test_keywords_are_counted_as_run_counts_them_and_posts_are_marked(client, study):
    page = client.get("/queries/a").text
    found = study.try_queries("garlic", samples=0).queries[0].posts
    assert f'<b role="status">{found}</b>' in page
    assert "<mark>garlic</mark>" in page
    live = client.get(
        "/queries/a", params={"q": "garlic number -yes", "show": "lost"}, headers={"x-part": "live"}
    )
    assert "<html" not in live.text
    assert "against the saved keywords" in live.text
    assert '<span class="down">−3</span>' in live.text
    assert "l&#39;ail <mark>garlic</mark> est une plante" in live.text
    assert "onion" in client.get("/queries/a?show=nearest").text
    assert "parenthesis" in client.get("/queries/a", params={"q": "(garlic"}).text
    assert client.get("/queries/nobody").status_code == 404


def test_saving_writes_one_claim_s_cell_and_what_was_there_before(client, study):
    form = {"q": "garlic (cure OR cures)\n\n  garlic   virus ", "shown": "garlic"}
    assert client.post("/queries/a", data=form, follow_redirects=False).headers["location"] == "/queries/a"
    lines = io.StringIO(study.places.claims_csv.read_text("utf-8-sig"), newline="")
    rows = {row["claim_id"]: row for row in csv.DictReader(lines)}
    assert rows["a"]["keywords"] == "garlic (cure OR cures)\ngarlic virus"
    assert rows["a"]["edits"] == "keywords: was garlic"
    assert rows["b"]["keywords"] == "onion"
    assert (
        "covmis queries set a &#39;garlic (cure OR cures)&#39; &#39;garlic virus&#39;"
        in client.get("/session").text
    )
    late = client.post("/queries/a", data={"q": "garlic tea", "shown": "garlic"})
    assert late.status_code == 400
    assert "have changed since" in late.text
    wrong = client.post("/queries/a", data={"q": "(garlic", "shown": form["q"]})
    assert wrong.status_code == 400
    assert study.set_keywords("a", ["garlic (cure OR cures)", "garlic virus"]).summary[0].endswith("already.")


def test_a_plan_is_that_of_the_terminal_and_is_written_into_the_settings(client, study):
    page = client.get("/plan", params={"posts": "36", "people": "3", "seconds": "30", "share": "0.3"}).text
    planned = study.plan_sample(targets=[36], seconds=30, share=0.3, per_item=3)
    own = planned.plans.query("per_claim == 36").iloc[0]
    assert f'<div class="big">{own["hours"]:.1f}</div>' in page
    assert f'<div class="big">± {100 * own["half_width_pool"]:.0f}</div>' in page
    assert own["hours"] == 3 * study.plan_sample(targets=[36], seconds=30, per_item=1).plans["hours"].iloc[-1]
    assert "covmis sample --plan --targets 36 --per-item 3 --seconds 30 --share 0.3" in page
    assert client.get("/plan", params={"posts": "36"}, headers={"x-part": "live"}).text.startswith(
        "<div data-cli"
    )
    assert "annotators" in send(client, "/plan", "/plan", {"posts": "36", "people": "3"}).text, (
        "there are two"
    )
    send(client, "/plan", "/plan", {"posts": "36", "people": "1"})
    settings = covmis.open_study(study.places.folder).settings
    assert (settings.sampling.per_claim, settings.annotation.per_item) == (36, 1)
    script = client.get("/session/session.sh").text.splitlines()[-1]
    study.change(sampling={"per_claim": 24}, annotation={"per_item": 2})
    words = shlex.split(script)
    assert words[0] == "python"
    subprocess.run([sys.executable, *words[1:]], cwd=study.places.folder, check=True)
    assert covmis.open_study(study.places.folder).settings == settings
    assert send(client, "/plan", "/plan", {"posts": "many"}).status_code == 400


FORUM = f"""nr,posted,user,<i>title,body
1,14.04.2020 10:05,anna,Garlic,Does garlic help? {HOSTILE}
2,15.04.2020 11:00,ben,Re: Garlic,No it does not
"""


def test_a_column_is_mended_by_choosing_and_the_file_is_read_so(client, study):
    path = study.places.folder / "data/archive/forum.csv"
    path.write_text(FORUM)
    at = "/posts?file=data/archive/forum.csv"
    page = client.get(at).text
    assert "No column of post ids" in page
    assert "&lt;i&gt;title" in page
    assert "<i>title" not in page
    form = {"file": "data/archive/forum.csv", "files": "forum.csv", "platform": "forum", "as:nr": "id",
            "as:<i>title": "text", "as:body": "text", "as:posted": "created_at", "as:user": ""}  # fmt: skip
    assert send(client, at, "/posts", form | {"files": "other.csv"}).status_code == 400
    send(client, at, "/posts", form)
    page = client.get(at).text
    assert "forum:1" in page
    assert "2020-04-14 10:05" in page
    assert HOSTILE not in page
    (rule,) = covmis.open_study(study.places.folder).settings.retrieval.columns
    assert (rule.id, tuple(rule.text), rule.author) == ("nr", ("<i>title", "body"), "")
    send(client, at, "/posts", form | {"as:user": "author"})
    (rule,) = covmis.open_study(study.places.folder).settings.retrieval.columns
    assert rule.author == "user", "the table for the same files was replaced"
    assert "Read the files" in client.get("/posts?q=garlic").text, "a search reads nothing by itself"
    assert client.get("/posts", params={"file": "data/archive/../../study.toml"}).status_code == 400


def test_a_file_whose_first_line_is_a_post_is_read_by_choosing(client, study):
    """And rows stay numbered when something else of the table is changed."""
    path, form = (
        study.places.folder / "data/archive/plain.txt",
        {"file": "data/archive/plain.txt", "files": "plain.txt"},
    )
    path.write_text(
        "garlic cures, as all people say who have ever tasted it at home or abroad\tOTHER\tOTHER\nonions\tYES\tNO\n"
    )
    at = "/posts?file=data/archive/plain.txt"
    page = client.get(at).text
    assert "the first line is no header" in page
    assert '<option value="no" selected>a post' in page
    saved = send(
        client,
        at,
        "/posts",
        form | {"header": "no", "without_ids": "row", "platform": "plain", "as:1": "text"},
    )
    assert "Saved." in saved.text
    assert "plain:row:" in saved.text
    (rule,) = covmis.open_study(study.places.folder).settings.retrieval.columns
    assert (rule.header, rule.id, rule.text, rule.platform) == (False, "row", "1", "plain")
    assert '<option value="row" selected>' in saved.text
    send(
        client, at, "/posts", form | {"header": "no", "without_ids": "", "platform": "plain", "as:1": "text"}
    )
    page = client.get(at).text
    assert '<option value="" selected>made of text' in page
    send(
        client,
        at,
        "/posts",
        form | {"header": "yes", "without_ids": "row", "platform": "plain", "as:1": "text"},
    )
    (rule,) = covmis.open_study(study.places.folder).settings.retrieval.columns
    assert (rule.header, rule.text) == (True, ""), "with a header columns have other names"


def test_settings_that_are_refused_stay_as_they_were_typed(client, study):
    typed = {"title": "Onions", "release.doi": "Muster", "cleaning.minimum_words": "4"}
    page = send(client, "/settings", "/settings", typed)
    assert page.status_code == 400
    assert "Nothing was saved" in page.text
    assert all(f'value="{text}"' in page.text for text in typed.values())
    assert covmis.open_study(study.places.folder).settings.title == study.settings.title
    assert "Saved." in send(client, "/settings", "/settings", {"title": "Onions"}).text
    assert "Saved." not in send(client, "/settings", "/settings", {"title": "Onions"}).text, (
        "nothing was changed"
    )


def test_settings_are_asked_for_as_what_they_are(client, study):
    """Lists by lines, tables by key = value, words by choosing, authors a line each; what does not fit in lines stays as it is."""
    study.change(labels={"aliases": {"favor": ["yes, it does"]}}, annotation={"show": ["date", "card"]})
    page = client.get("/settings").text
    assert re.search(r'type="number" step="any" min="0" max="1"[^>]*name="annotation.audit"', page)
    assert '<option value="drop" selected>' in page
    assert "yes, it does&#34;] }" in page
    assert "changes tables from “clean” on" in page
    send(client, "/settings", "/settings", {})
    assert "Saved." not in client.get("/settings").text, "a form sent untouched changes nothing"
    typed = {"release.authors": "Curie, Marie; 0000-0002-1825-0097; Paris; Warsaw\r\nNoether, Emmy", "annotation.workload": "a1 = 0.5",
             "labels.sub_labels": "neither = unrelated, questions", "release.splits": "scheme = grouped\nfractions = .8, .1, .1",
             "annotation.show": "card, media", "release.text": "true", "cleaning.against": "", "seed": "7"}  # fmt: skip
    assert "Saved." in send(client, "/settings", "/settings", typed).text
    settings = covmis.open_study(study.places.folder).settings
    assert [(author.name, author.orcid, author.affiliation) for author in settings.release.authors] == [
        ("Curie, Marie", "0000-0002-1825-0097", "Paris; Warsaw"), ("Noether, Emmy", "", ""),
    ]  # fmt: skip
    assert (settings.annotation.workload, settings.labels.sub_labels) == (
        {"a1": 0.5},
        {"neither": ("unrelated", "questions")},
    )
    assert (settings.release.splits.fractions, settings.annotation.show) == (
        (0.8, 0.1, 0.1),
        ("card", "media"),
    )
    assert (settings.release.text, settings.seed, settings.labels.aliases) == (
        True,
        7,
        {"favor": ("yes, it does",)},
    )
    for name, text in (
        ("annotation.workload", "a1"),
        ("annotation.workload", "a1 = half"),
        ("annotation.workload", "a1 = 1\na1 = 2"),
        ("release.splits", "scheme = odd"),
    ):
        refused = send(client, "/settings", "/settings", {name: text})
        assert (refused.status_code, name.rpartition(".")[2] in refused.text) == (400, True)


def test_two_tabs_with_the_same_settings_take_nothing_back(client, study):
    def shown():
        ((_, fields, _),) = forms_of(client.get("/settings").text)
        return fields

    def now():
        settings = covmis.open_study(study.places.folder).settings
        return settings.title, settings.cleaning.minimum_words, settings.seed

    title, words, seed = now()
    one, two = shown(), shown()
    assert len(one) > 100
    client.post("/settings", data=one | {"title": "Of the first tab"})
    client.post("/settings", data=two | {"cleaning.minimum_words": str(words + 1)})
    assert now() == ("Of the first tab", words + 1, seed)
    page = client.post("/settings", data=one | {"title": "Of the second", "seed": str(seed + 1)})
    assert page.status_code == 400
    assert now() == ("Of the first tab", words + 1, seed)
    assert "it is &#39;Of the first tab&#39; now" in page.text
    # the refused page has what was typed, and what others changed: to send it again takes nothing else back
    for name, text in (("title", "Of the second"), ("seed", seed + 1), ("cleaning.minimum_words", words + 1)):
        assert f'name="{name}" value="{text}"' in page.text
    ((_, again, _),) = forms_of(page.text)
    client.post("/settings", data=again)
    assert now() == ("Of the second", words + 1, seed + 1)
    study.change(title=title, seed=seed, cleaning={"minimum_words": words})


def test_two_tabs_with_the_same_guideline_take_nothing_back(client, study):
    def shown():
        return re.search(r'name="shown" value="([^"]*)"', client.get("/guideline").text)[1]

    path, text = study.places.guideline, f"favor: {HOSTILE}\nagainst: denies it\nneither: all else\n"
    first, second = shown(), shown()
    assert (
        "Saved." in client.post("/guideline", data={"text": text.replace("\n", "\r\n"), "shown": first}).text
    )
    assert path.read_text("utf-8") == text
    page = client.post("/guideline", data={"text": f"{text}asks: a question", "shown": second})
    assert (page.status_code, path.read_text("utf-8")) == (400, text)
    assert "was changed elsewhere" in page.text
    assert "+asks: a question" in page.text
    assert HOSTILE not in page.text
    again = re.search(r'name="shown" value="([^"]*)"', page.text)[1]
    path.write_text("neither: edited in an editor\n")
    assert client.post("/guideline", data={"text": text, "shown": again}).status_code == 400
    assert path.read_text() == "neither: edited in an editor\n"
    page = client.get("/guideline").text
    assert "until each label is defined: favor, against" in page
    assert list(study.check_guideline().undefined) == ["favor", "against"]
    assert client.post("/guideline", data={"text": " ", "shown": shown()}).status_code == 400
    client.post("/guideline", data={"text": text, "shown": shown()})
    assert f"study.set_guideline({text!r})" in client.get("/session/session.py").text


def test_words_are_searched_in_what_was_read(client, study):
    found = study.try_queries("garlic -yes", samples=0).queries[0].posts
    page = client.get("/posts", params={"q": "garlic -yes"}).text
    assert f"<b>{found}</b>" in page
    assert "<mark>garlic</mark>" in page
    assert "covmis queries try &#39;garlic -yes&#39;" in page
    assert "parenthesis" in client.get("/posts", params={"q": "(garlic"}).text


def test_posts_that_were_not_read_are_read_first(client, study):
    (study.places.folder / "data/archive/more.jsonl").write_text("{}\n")
    page = client.get("/queries").text
    assert 'action="/start/run-read"' in page
    assert "have to be read again" in page


def test_a_button_is_a_command_whose_progress_and_end_a_page_shows(client, study):
    study.change(cleaning={"minimum_words": 3})
    assert (
        client.post("/start/run", data={"back": "/flow"}, follow_redirects=False).headers["location"]
        == "/flow"
    )
    with pytest.raises(InputError, match="is at work"):
        client.bench.jobs.start("run")
    assert wait_for(client.bench.jobs).state == "done"
    study = covmis.open_study(study.places.folder)
    assert all(study.stages().values())
    assert study.stages() == study.status().stages
    first, again = client.get("/").text, client.get("/").text
    assert 'data-state="done"' in first
    assert 'class="work"' not in again
    assert client.get("/events").text.startswith('data: {"command": "covmis run", "state": "done"')
    assert client.get("/session/session.sh").text.endswith("set -e\ncovmis run\n")
    assert client.get("/session/session.py").text.endswith("study = covmis.open_study()\nstudy.run()\n")


def test_what_fails_says_why(client, study):
    study.places.claims_csv.write_text("nonsense\n1\n")
    client.post("/start/run")
    job = wait_for(client.bench.jobs)
    assert job.state == "failed"
    assert "covmis run" not in client.get("/session/session.sh").text, "what failed is no part of a script"
    assert "claims.csv" in " ".join(job.lines)
    assert "Failed" in client.get("/").text


def test_work_ends_when_asked(client, monkeypatch, study):
    monkeypatch.setattr(sys, "executable", str(study.places.folder / "sleeps"))
    sleeper = study.places.folder / "sleeps"
    sleeper.write_text('#!/bin/sh\necho \'{"step": "reading", "done": 1, "of": 9}\' >&2\nsleep 300\n')
    sleeper.chmod(0o700)
    client.post("/start/run")
    until = time.monotonic() + 600
    while client.bench.jobs.last.step != "reading" and time.monotonic() < until:
        time.sleep(0.02)
    assert 'max="9" value="1"' in client.get("/").text
    client.post("/end")
    assert client.bench.jobs.last.process.wait(600) != 0
    assert client.bench.jobs.last.state == "ended"


def test_an_empty_study_and_one_in_the_middle_of_a_purge_have_pages(tmp_path):
    study = covmis.new_study(tmp_path / "new", title="New")
    client = client_of(study)
    assert "osts into data/archive and claims into" in client.get("/").text
    assert "Nothing has been built yet" in client.get("/flow").text
    study.places.purge_journal.write_text('{"posts": [], "authors": []}\n')
    assert client.get("/").status_code == 400


def test_files_and_claims_are_taken_out_where_they_are_shown(client, study):
    claim = str(study.claims["claim_id"].iloc[0])
    assert press(client, f"/queries/{claim}", "Take the claim out").state == "done"
    assert claim not in {each.claim_id for each in client.bench.claims}
    assert press(client, "/posts", "Remove the file").state == "done"
    assert not (study.places.folder / "data/archive/posts.jsonl").exists()
    assert "covmis posts remove" in client.get("/session").text


def test_a_purge_says_what_is_left_until_nothing_is(client, study):
    post, own = study.posts["post_id"].iloc[0], study.places.folder / "notes.txt"
    own.write_text(f"about {post}")
    assert "The list is empty" in client.get("/purge").text
    send(client, "/purge", "/start/purge", {"posts": f"{post}\r\n"})
    assert wait_for(client.bench.jobs).state == "problems"
    assert client.bench.jobs.last.command == f"covmis purge {post}"
    page = client.get("/purge").text
    assert "something is left to do" in page
    assert "notes.txt" in page
    assert "1 on the list" in page
    own.unlink()
    assert press(client, "/purge", "Delete").state == "done"
    page = client.get("/purge").text
    assert "something is left to do" not in page
    assert (
        f'"{post.removeprefix("x:")}"' not in (study.places.folder / "data/archive/posts.jsonl").read_text()
    )


def test_recall_is_planned_with_the_command_s_own_fields(client, study):
    page = client.get("/recall").text
    for name, least in (("labels", 1), ("depth", 1)):
        assert re.search(rf'type="number" step="1" min="{least}" id="recall-plan-{name}"', page)
    assert client.post("/start/recall-plan", data={"labels": "many"}).status_code == 400
    client.post("/start/recall-plan", data={"labels": "20", "back": "/recall"})
    job = wait_for(client.bench.jobs)
    assert job.command == "covmis recall plan --labels 20"
    page = client.get("/recall").text
    assert all(line in html.unescape(page) for line in job.lines)
    assert "What it said" in page
    assert "study.recall().plan(labels=20)" in client.get("/session/session.py").text
