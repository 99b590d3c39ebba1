"""Every form says what it showed, and does nothing once that has changed: two tabs, two leads, a terminal beside them."""

from __future__ import annotations

import pytest

from covmis_build.workbench import shown
from covmis_build.workbench.commands import STARTS
from tests.annotation.small import label_both
from tests.workbench.conftest import client_of, forms_of

PAGES = ("/", "/posts", "/posts?file=data/archive/forum.csv", "/claims", "/queries", "/flow", "/plan", "/guideline", "/rounds/001", "/results", "/systems", "/prompt", "/release",
         "/recall", "/purge", "/links", "/settings", "/rounds")  # fmt: skip
WHATEVER_CHANGED = {
    "/start/run": "it makes what the files say when it runs", "/start/run-read": "so does reading",
    "/start/verify": "it compares, and changes nothing", "/start/recall-plan": "it computes, and changes nothing",
    "/start/recall-report": "it reports on the labels of then", "/start/round-report": "so does the report",
    "/start/round-push": "a round is pushed once; again, it adds nothing", "/rounds/001/label": "so is it for who labels here",
    "/start/round-pull": "answers are added to those that are there", "/start/round-adjudicate": "so are decisions, which know what they replace",
    "/claim": "claims are added; one that is there is not added again", "/new": "a study is never made over",
}  # fmt: skip
"""Forms that need not say what they showed, and why."""
OF_OTHER_STATES = {
    "round open",
    "round open pilot",
    "round discard",
    "round reopen",
    "round relabel",
    "recall draw",
}
"""Forms that pages show in other states of a study."""
TYPED = {
    "q": "tea",
    "text": "other {claim} {post} {labels}",
    "label": "favor",
    "title": "Other",
    "posts": "30",
    "do": "record",
    "items": "a",
    "reason": "b",
    "epsilon": "0.1",
    "name": "mine",
    "url": "http://127.0.0.1:9/v1",
    "model": "toy",
}


@pytest.fixture
def labelled(study):
    """A study with a file of posts, claims, and a round that has disagreements."""
    round_ = study.open_round()
    round_.push("csv")
    label_both(study.places.folder, differ=lambda item: item.startswith("a"))
    round_.pull()
    return study


def files_of(folder):
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {"lock", "words"} & {*path.parts, path.suffix[1:], path.name[-4:]}
    }


def test_no_form_does_anything_once_what_it_showed_has_changed(labelled):
    client, made = client_of(labelled), labelled.places.folder
    sheet = made / "annotation/rounds/001/sheets/a1.csv"
    client.put("/claims/list.csv", content=b"claim\nTea cures it for good\n")
    client.put("/rounds/001/answers/a1.csv", content=sheet.read_bytes())
    items = "".join(f"{item},favor\n" for item in labelled.round().folder.items()["item_id"])
    client.put("/systems/mine.csv", content=f"item_id,label\n{items}".encode())
    client.put("/posts/forum.csv", content=b"nr,posted,body\n1,14.04.2020 10:05,Garlic helps\n")
    labelled.run(workers=1)
    before, seen, tried = files_of(made), set(), set()
    for page in PAGES:
        for action, fields, _ in forms_of(client.get(page).text):
            carried = {name for name in fields if name.startswith(shown.FIELD)}
            is_free = action in WHATEVER_CHANGED or fields.get("act") in {"serve", "end", "send"}
            assert is_free != bool(carried), (page, action, fields)
            if not is_free and action not in tried:
                typed = {name: text for name, text in TYPED.items() if name in fields or name != "title"}
                stale = fields | typed | dict.fromkeys(carried, "what nobody showed")
                answer = client.post(action, data=stale)
                assert answer.status_code == 400, (page, action, answer.text)
                assert "chang" in answer.text, (page, action, answer.text)
                tried.add(action)
            seen.add(action.removeprefix("/start/").lstrip("/").replace("-", " "))
    now = files_of(made)
    assert {path for path in {*before, *now} if before.get(path) != now.get(path)} == set()
    assert client.bench.jobs.last is None
    assert {
        "claims",
        "guideline",
        "links",
        "plan",
        "posts",
        "settings",
        "claim/a",
        "queries/a",
        "rounds/001/answers",
    } <= seen
    assert {name for name, start in STARTS.items() if start.shows and name not in OF_OTHER_STATES} <= seen


def test_what_forms_are_about_is_known_to_have_changed(labelled):
    """Each subject's digest is another one after the change that matters to its form, and the same as long as nothing happens."""
    client, study, folder = client_of(labelled), labelled, labelled.places.folder
    file, post = "data/archive/posts.jsonl", study.posts["post_id"].iloc[0]
    item = study.round().cases().rows[0].item_id

    def drop():
        client.put("/claims/list.csv", content=b"claim\nTea cures it for good\n")

    def serve():
        client.post("/links", data={"act": "serve", "address": "127.0.0.1", "port": ""})
        client.post("/links", data={"act": "end"})

    changes = {
        "round": ("001", lambda: study.round().decide(item, "favor")),
        "link": ("a1", serve),
        "prompt": ("", lambda: study.set_prompt("{claim} {post} {labels}")),
        "predictions": ("mine.csv", lambda: client.put("/systems/mine.csv", content=b"item_id,label\n")),
        "rounds": ("", lambda: study.discard_round("001", archive=True)),
        "claim": ("a", lambda: study.edit_claim("a", "Something else cures it")),
        "dropped": ("claims", drop),
        "file": (file, lambda: append(folder / file)),
        "columns": (file, lambda: append(folder / file)),
        "purge": ("", lambda: study.places.purge_csv.write_text(f"key,kind\n{post},post\n")),
        "release": ("", lambda: study.change(title="Another")),
    }
    assert set(changes) == set(shown.SUBJECTS)
    for subject, (of, change) in changes.items():
        before = shown.digest(client.bench, subject, of)
        assert shown.digest(client.bench, subject, of) == before
        change()
        assert shown.digest(client.bench, subject, of) != before, subject


def append(path):
    with path.open("a") as file:
        file.write("\n")
