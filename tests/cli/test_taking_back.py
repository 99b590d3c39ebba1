"""What was added can be added again without being there twice, and be taken out again; what depends on it is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from covmis_build.errors import InputError
from covmis_build.study.intents import until_told
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, sealed
from tests.annotation.small import study as opening
from tests.servers.x import post
from tests.small_study import small_study

if TYPE_CHECKING:
    from collections.abc import Callable

CLAIM = "planted,Somebody planted words.,en,planted words,,,,,yes,\n"


def planted(numbers: range) -> str:
    texts = [
        f"Look, somebody planted words: {' '.join(f'w{number}x{at}' for at in range(12))}"
        for number in numbers
    ]
    posts = [
        {**post(number, text), "id": str(1255000000000001000 + number)}
        for number, text in zip(numbers, texts, strict=True)
    ]
    return "".join(json.dumps({"data": [each]}) + "\n" for each in posts)


@pytest.fixture
def study(tmp_path):
    """A claim whose posts come from two files."""
    study = small_study(tmp_path / "study", 60)
    study.change(cleaning={"minimum_posts": 1, "languages": []})
    with study.places.claims_csv.open("a") as file:
        file.write(CLAIM)
    (tmp_path / "theirs.jsonl").write_text(planted(range(6)))
    (tmp_path / "more.jsonl").write_text(planted(range(4, 8)))
    for name in ("theirs.jsonl", "more.jsonl"):
        assert study.add_posts(tmp_path / name).added
    return study


def killed_before_it_tells(act: Callable[[], object]) -> None:
    """Do it as the command line does, and end before a word is printed."""
    waits = until_told()
    waits.__enter__()
    act()
    assert not waits.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)


def test_a_round_that_nobody_was_told_of_is_not_opened_twice(tmp_path):
    folder = opening(tmp_path)
    killed_before_it_tells(open_study(folder).open_round)
    again = covmis(folder, "round", "open")
    assert (again["round"], again["done_before"]) == ("001", True)
    assert open_study(folder).open_round().number == "002", "the first was told of: this is another"
    killed_before_it_tells(lambda: open_study(folder).discard_round(2))
    open_study(folder).round().push()
    assert covmis(folder, "round", "discard", "2")["done_before"]
    assert not list((folder / "data/intents").iterdir())


def test_a_file_of_posts_is_there_once_under_whatever_name(study, tmp_path):
    (tmp_path / "again.jsonl").write_bytes((tmp_path / "theirs.jsonl").read_bytes())
    archive = sorted(path.name for path in (study.folder / "data/archive").iterdir())
    for name in ("theirs.jsonl", "again.jsonl"):
        told = covmis(study.folder, "posts", "add", str(tmp_path / name))
        assert (told["file"], told["added"]) == ("data/archive/theirs.jsonl", False)
    assert not study.add_posts([planted(range(6)).encode()], "dropped.jsonl").added
    assert sorted(path.name for path in (study.folder / "data/archive").iterdir()) == archive
    (tmp_path / "theirs.jsonl").write_text(planted(range(9)))
    refused = covmis(study.folder, "posts", "add", str(tmp_path / "theirs.jsonl"), fails=2)["error"]
    assert "is in the archive already, with other content" in refused
    assert "covmis posts remove" in refused
    converted = study.import_posts(tmp_path / "again.jsonl")
    (tmp_path / "third.jsonl").write_bytes((tmp_path / "again.jsonl").read_bytes())
    once_more = study.import_posts(tmp_path / "third.jsonl")
    assert (once_more.file, once_more.posts, once_more.added) == (converted.file, 6, False)
    covmis(study.folder, "posts", "remove", converted.file)
    assert not (study.folder / converted.report).exists()


def test_a_file_is_taken_out_and_what_depends_on_it_is_named(study):
    study.run(workers=1)
    before = study.hits.query("claim_id == 'planted'")["post_id"].nunique()
    study.open_round(["planted"])
    frozen = set(study.round().items["post_id"])
    told = covmis(study.folder, "posts", "remove", "theirs.jsonl")
    assert (before, told["posts"], told["claims"], told["rounds"]) == (8, 4, ["planted"], ["001"])
    assert not (study.folder / "data/archive/theirs.jsonl").exists()
    study.run(workers=1)
    assert study.hits.query("claim_id == 'planted'")["post_id"].nunique() == 4
    assert set(study.round().items["post_id"]) == frozen
    refused = covmis(study.folder, "posts", "remove", "theirs.jsonl", fails=2)["error"]
    assert "no file of the archive is called 'theirs.jsonl'" in refused


def test_what_collecting_fetched_is_not_taken_out(study):
    (study.folder / "data/archive/x").mkdir()
    (study.folder / "data/archive/x/page.jsonl").write_text(planted(range(1)))
    (study.folder / "data/collect/x").mkdir(parents=True)
    (study.folder / "data/collect/x/plan.json").write_text("{}")
    with pytest.raises(InputError, match="would not fetch it again"):
        study.remove_posts("data/archive/x/page.jsonl")


def test_a_claim_is_taken_out_with_the_posts_that_lists_gave_it(tmp_path):
    sealed(tmp_path)
    given = tmp_path / "data/archive/given-posts.csv"
    given.write_text("post_id,claim_id,kind\nx:1,c1,title\nx:2,c2,title\n")
    rows = "".join(f"c{number},Claim {number} <i>says</i>\n" for number in range(4))
    (tmp_path / "queries/claims.csv").write_text(f"claim_id,text\n{rows}")
    labels = open_study(tmp_path).round().labels
    told = covmis(tmp_path, "claims", "remove", "c1", "c3")
    assert (told["left"], told["given_posts"], told["labelled"]) == (2, 1, {"001": 6})
    assert "c1" not in (tmp_path / "queries/claims.csv").read_text()
    assert given.read_text("utf-8-sig").splitlines() == ["post_id,claim_id,kind", "x:2,c2,title"]
    assert open_study(tmp_path).round().labels.equals(labels)
    assert "no claim" in covmis(tmp_path, "claims", "remove", "c1", fails=2)["error"].lower()
