"""Release, hydrate, bundle, rebuild: through the commands, on a study with sealed rounds."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import socket
import zipfile

import msgspec
import pandas as pd
import pytest

from covmis_build.annotation import label_lines
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.frozen_items import write_items
from covmis_build.annotation.seal import verify_chain
from covmis_build.corpus.bundle import read_bundle, zipped
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.recount import WRITTEN_AGAIN
from covmis_build.corpus.verify import check_bundle
from covmis_build.errors import BrokenSeal, InputError, StaleTables
from covmis_build.study.study import open_study
from tests.annotation.small import forge
from tests.corpus import checkers
from tests.corpus.studies import covmis, ran

ROOT_HASH = re.compile(rb"Root hash: `[0-9a-f]{64}`")
SAME = ("claims", "queries", "hits", "items", "dropped", "sample")


@pytest.fixture(scope="module")
def study(annotated, tmp_path_factory):
    """A copy for this module."""
    return open_study(shutil.copytree(annotated, tmp_path_factory.mktemp("copy") / "study"))


def texts_of(study) -> list[str]:
    frozen = pd.concat([pd.read_parquet(path) for path in study.places.rounds.glob("*/items.parquet")])
    return [text for text in frozen["text"] if len(text) > 40]


def test_the_release_is_that_of_its_rounds(study) -> None:
    corpus = read_corpus(study.places.release / "corpus.csv")
    frozen = pd.concat([pd.read_parquet(path) for path in study.places.rounds.glob("*/items.parquet")])
    gold = pd.concat([pd.read_parquet(path) for path in study.places.rounds.glob("*/decisions.parquet")])
    assert set(corpus["item_id"]) == set(frozen["item_id"]) == set(gold["item_id"])
    assert corpus.set_index("item_id")["label"].to_dict() == gold.set_index("item_id")["label"].to_dict()
    card = (study.places.release / "card.md").read_text()
    assert f"{len(corpus):,} posts labelled" in card
    assert "simulated" in card.splitlines()[0]
    seals = [json.loads(path.read_text())["seal"] for path in sorted(study.places.rounds.glob("*/seal.json"))]
    assert all(seal[:12] in card for seal in seals)


STATED = {
    "licence": "CC-BY-4.0", "contact": "corpus@example.org", "version": "1.0.0", "doi": "10.5281/zenodo.1234567",
    "authors": [{"name": "Curie, Marie", "orcid": "0000-0002-1825-0097", "affiliation": "An institute"}, {"name": "Ada"}],
    "url": "https://example.org/corpus", "funding": "A fund", "splits": {"scheme": "grouped", "fractions": [0.7, 0.1, 0.2]},
}  # fmt: skip


@pytest.mark.needs("croissant", "metadata")
def test_what_a_study_states_is_released_and_passes_every_check(annotated, tmp_path) -> None:
    study = open_study(shutil.copytree(annotated, tmp_path / "study")).change(release=STATED)
    covmis("release", "--bundle", "--study", study.places.folder)
    assert covmis("verify", study.places.release)["passed"]
    for name in ("card.md", "CITATION.cff", "datacite.json", "croissant.json", "ro-crate-metadata.json"):
        assert "Curie" in (study.places.release / name).read_text("utf-8"), name
    rows = [len(pd.read_csv(study.places.release / f"{name}.csv")) for name in ("corpus", "annotations")]
    assert checkers.croissant_records(study.places.release)[-7:-5] == rows
    assert min(checkers.frictionless(study.places.release)) > 0
    assert checkers.crate_issues(study.places.release, tmp_path) == ""


def test_a_release_passes_its_own_checks_and_a_changed_one_does_not(study, tmp_path) -> None:
    assert covmis("verify", study.places.release)["passed"]
    copy = shutil.copytree(study.places.release, tmp_path / "copy")
    path = copy / "corpus.csv"
    path.write_bytes(path.read_bytes().replace(b",favor,", b",against,", 1))
    (copy / "more.txt").write_text("added")
    result = covmis("verify", copy, code=1)
    failed = {one["check"]: one["detail"] for one in result["checks"] if not one["passed"]}
    assert [*failed][:2] == ["files are as they were released", "there are no other files and folders"]
    assert failed[WRITTEN_AGAIN] == "corpus.csv, more.txt"


@pytest.mark.parametrize("words", [("release",), ("release", "--bundle"), ("release", "--run")])
@pytest.mark.parametrize(
    "change",
    [
        lambda round_: forge(round_, 50, "against"),
        lambda round_: label_lines.files(round_.folder)[0].unlink(),
        lambda round_: write_items(
            round_.folder, round_.items().assign(p_sample=round_.items()["p_sample"] * 0.5)
        ),
    ],
    ids=["labels", "a file less", "items"],
)
def test_a_round_that_is_not_as_it_was_sealed_is_not_published(study, tmp_path, words, change) -> None:
    copy = shutil.copytree(study.places.folder, tmp_path / "copy")
    before = (copy / "data" / "release" / "checksums.txt").read_bytes()
    change(open_study(copy).round("2").folder)
    done = ran(*words, "--study", copy)
    assert isinstance(done.exception, BrokenSeal)
    assert "round 002 was changed after sealing" in str(done.exception)
    assert done.exception.exit_code == 1
    assert (copy / "data" / "release" / "checksums.txt").read_bytes() == before


def test_stale_tables_are_refused_or_made_first(study, tmp_path) -> None:
    copy = shutil.copytree(study.places.folder, tmp_path / "copy")
    settings = (copy / "study.toml").read_text()
    (copy / "study.toml").write_text(settings.replace("minimum_words = 10", "minimum_words = 11"))
    done = ran("release", "--study", copy)
    assert isinstance(done.exception, StaleTables)
    assert "clean" in str(done.exception)
    assert covmis("release", "--run", "--study", copy)["rows"] > 100
    assert open_study(copy).release().folder == copy / "data" / "release"


def test_release_then_hydrate_gives_the_corpus_with_texts(study, tmp_path) -> None:
    result = covmis(
        "hydrate", study.places.release / "corpus.jsonl", "--study", study.places.folder, "--into", tmp_path
    )
    assert (result["found"], result["gone"]) == (result["rows"], 0)
    whole = shutil.copytree(study.places.folder, tmp_path / "study")
    covmis("release", "--text", "--study", whole)
    pd.testing.assert_frame_equal(
        read_corpus(tmp_path / "corpus.jsonl"), read_corpus(whole / "data" / "release" / "corpus.jsonl")
    )


def test_a_folder_is_no_corpus(study) -> None:
    with pytest.raises(InputError, match=r"is a folder\. Name corpus\.csv in it"):
        read_corpus(study.places.release)


def test_what_is_gone_is_listed_with_the_reason(study, tmp_path) -> None:
    corpus = read_corpus(study.places.release / "corpus.parquet")
    ids = corpus.loc[corpus["post_id"].str.startswith("x:"), "native_id"].head(3).tolist()
    problem = {"resource_type": "tweet", "parameter": "ids", "resource_id": ids[1], "value": ids[1]}
    kind = "https://api.twitter.com/2/problems/resource-not-found"
    text = "Still here @someone"
    post = {"id": ids[0], "text": text, "created_at": "2020-04-16T15:54:40.000Z", "author_id": "1"}
    page = {"data": [post], "errors": [{**problem, "title": "Not Found Error", "type": kind}]}
    (tmp_path / "posts.jsonl").write_text(json.dumps(page) + "\n")
    result = covmis(
        "hydrate",
        study.places.release / "corpus.csv",
        "--archive",
        tmp_path / "posts.jsonl",
        "--into",
        tmp_path,
    )
    assert result["found"] == 1
    made = read_corpus(tmp_path / "corpus.csv").set_index("native_id")
    assert made.loc[ids[0], "text"] == "Still here @user"
    gone = pd.read_csv(tmp_path / "gone.csv", dtype=str).set_index("native_id")
    assert len(gone) == result["gone"] == len(corpus) - 1
    assert gone.loc[ids[1], "reason"] == "deleted"
    assert gone.loc[ids[2], "reason"] == "not in the archive"
    assert result["reasons"] == [
        {"reason": "deleted", "count": 1},
        {"reason": "not in the archive", "count": len(corpus) - 2},
    ]


def test_a_plain_table_of_ids_gets_its_texts(study, tmp_path) -> None:
    """As COVMis-Stance, COVIDLies and others are published: tweet_id, label, and whatever else."""
    corpus = read_corpus(study.places.release / "corpus.parquet")
    rows = corpus[corpus["post_id"].str.startswith("x:")].head(5)
    (tmp_path / "theirs.csv").write_text(
        "tweet_id,label,note\n"
        + "".join(f'{row.native_id},{row.label},"a, b"\n' for row in rows.itertuples())
        + "1,favor,\n"
    )
    archive = study.places.folder / "data" / "archive"
    result = covmis("hydrate", tmp_path / "theirs.csv", "--archive", archive, "--into", tmp_path / "out")
    assert (result["rows"], result["found"], result["gone"]) == (6, 5, 1)
    table = pd.read_csv(tmp_path / "out" / "theirs.csv", dtype=str, keep_default_na=False)
    assert list(table.columns) == ["tweet_id", "label", "note", "text"]
    assert table["tweet_id"].tolist() == [*rows["native_id"], "1"]
    assert (table["text"] != "").tolist() == [True] * 5 + [False]
    assert pd.read_csv(tmp_path / "out" / "gone.csv")["reason"].tolist() == ["not in the archive"]
    given = study.places.release / "covmis_stance.csv"
    assert covmis("hydrate", given, "--archive", archive, "--into", tmp_path / "shape")["gone"] == 0
    for text, problem in (
        ("a,b\n1,2\n", "no column of ids"),
        ("tweet_id,label\n1.25E+18,favor\n", "scientific notation"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        assert (
            problem
            in covmis(
                "hydrate", tmp_path / "bad.csv", "--archive", archive, "--into", tmp_path / "bad", code=2
            )["error"]
        )


def test_the_bundle_says_nothing_that_posts_say(study) -> None:
    words = [text.encode() for text in texts_of(study)]
    bundle = study.places.release / "bundle.zip"
    with zipfile.ZipFile(bundle) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith(".parquet"):
                data = (
                    pd.read_parquet(archive.open(name))
                    .to_json(force_ascii=False)
                    .replace("\\/", "/")
                    .encode()
                )
            assert not any(text in data for text in words), name
    result = covmis("verify", bundle)
    assert {f"round {number} is as it was sealed" for number in ("001", "002")} <= {
        one["check"] for one in result["checks"]
    }


def test_what_a_post_says_is_found_in_a_bundles_rounds(study) -> None:
    manifest, files = read_bundle(study.places.release / "bundle.zip")
    name = next(name for name in files if name.endswith("/items.parquet"))

    def is_empty(**cells):
        rows = pd.read_parquet(io.BytesIO(files[name]))
        written = io.BytesIO()
        rows.assign(
            **{column: [cell, *rows[column].tolist()[1:]] for column, cell in cells.items()}
        ).to_parquet(written)
        data = written.getvalue()
        told = msgspec.structs.replace(
            manifest, files=manifest.files | {name: hashlib.sha256(data).hexdigest()}
        )
        checks = {check.what: check.passed for check in check_bundle(told, files | {name: data})}
        return checks["rounds hold no text of a post"]

    assert is_empty()
    for left in (
        {"text": "x"},
        {"quoted": "x"},
        {"salt": "x"},
        {"cards": [{"title": "x"}]},
        {"media": [{"type": "photo"}]},
    ):
        assert not is_empty(**left), left


def test_a_release_without_a_bundle_has_no_old_one(study, tmp_path) -> None:
    copy = shutil.copytree(study.places.folder, tmp_path / "copy")
    covmis("release", "--study", copy)
    assert not (copy / "data" / "release" / "bundle.zip").exists()
    assert covmis("verify", "--study", copy)["passed"]


def test_the_same_study_has_the_same_bundle(study) -> None:
    bundle = study.places.release / "bundle.zip"
    before = bundle.read_bytes()
    covmis("release", "--bundle", "--study", study.places.folder)
    assert bundle.read_bytes() == before


def test_a_bundle_rebuilds_the_same_tables_and_corpus_elsewhere(study, tmp_path) -> None:
    bundle, there = study.places.release / "bundle.zip", tmp_path / "there"
    before = covmis("hydrate", bundle, "--into", there)
    assert before["without_text"] == before["frozen"] > 0
    shutil.copytree(study.places.folder / "data" / "archive", there / "data" / "archive")
    assert covmis("hydrate", bundle, "--into", there)["without_text"] == 0
    open_study(there).run(workers=1)
    covmis("release", "--text", "--study", there)
    whole = open_study(shutil.copytree(study.places.folder, tmp_path / "whole"))
    covmis("release", "--text", "--study", whole.places.folder)
    for name in SAME:
        here = (study.places.build / f"{name}.parquet").read_bytes()
        assert (there / "data" / "build" / f"{name}.parquet").read_bytes() == here, name
    for name in ("corpus.csv", "corpus.jsonl", "corpus.parquet", "statistics.json", "card.md", "methods.md"):
        again, first = ((home / name).read_bytes() for home in (there / "data/release", whole.places.release))
        # the order of people's codes is a secret of the study, so annotations and with them the root hash are others
        assert ROOT_HASH.sub(b"", again) == ROOT_HASH.sub(b"", first), name
    assert [one.stands for one in verify_chain(record.all_rounds(there / "annotation" / "rounds"))] == [
        True,
        True,
    ]


def test_purged_posts_are_missing_and_counted(study, tmp_path) -> None:
    copy = shutil.copytree(study.places.folder, tmp_path / "copy")
    before = read_corpus(study.places.release / "corpus.csv")
    audited = before[before["how"] == "audited"]["post_id"].head(1).tolist()
    gone = [*audited, *before[before["how"] != "audited"]["post_id"].head(1)]
    assert len(audited) == 1
    (copy / "queries" / "purge.csv").write_text("id\n" + "\n".join(gone) + "\n")
    result = covmis("release", "--bundle", "--run", "--study", copy)
    assert result["left_out"]["purged"] == 2
    corpus = read_corpus(copy / "data" / "release" / "corpus.csv")
    assert not corpus["post_id"].isin(gone).any()
    assert covmis("verify", copy / "data" / "release")["passed"], (
        "facts count the audited posts that are left"
    )
    assert "2 posts were removed" in (copy / "data" / "release" / "card.md").read_text()
    assert covmis("verify", copy / "data" / "release" / "bundle.zip")["passed"]
    with zipfile.ZipFile(copy / "data" / "release" / "bundle.zip") as archive:
        hits = pd.read_parquet(archive.open("data/build/hits.parquet"))
    assert not hits["post_id"].isin(gone).any()
    there = tmp_path / "there"
    covmis(
        "hydrate",
        copy / "data" / "release" / "bundle.zip",
        "--into",
        there,
        "--archive",
        study.places.folder / "data" / "archive",
    )
    assert covmis("release", "--study", there)["left_out"]["purged"] == 2


def test_nothing_is_sent_unasked(study, tmp_path, monkeypatch) -> None:
    """From the archive to a rebuilt study no command looks up a name or connects to anything."""

    def asked(*words):
        raise AssertionError(f"asks {words}")

    monkeypatch.setattr(socket.socket, "connect", asked)
    monkeypatch.setattr(socket, "getaddrinfo", asked)
    copy = shutil.copytree(study.places.folder, tmp_path / "copy")
    for words in (
        ["run", "--force"], ["release", "--bundle"], ["verify"], ["status"], ["estimate"], ["round", "report"],
        ["sample", "--plan"], ["claims", "lint"], ["queries", "show"],
    ):  # fmt: skip
        done = ran(*words, "--study", copy)
        assert done.exit_code == 0, (words, done.exception)
    covmis("hydrate", copy / "data/release/bundle.zip", "--into", tmp_path / "there")


def test_an_estimate_of_an_unfinished_round_says_what_it_leans_on(study, tmp_path) -> None:
    """What the rule labels is there when a round opens: taken for a sample it moves every share, in silence."""
    copy = open_study(shutil.copytree(study.places.folder, tmp_path / "copy"))
    assert not [told for told in copy.estimate(run=True).warnings if "no final label" in told]
    first, *_ = copy.rounds
    automatic = int(((first.items["automatic_label"] != "") & ~first.items["audited"]).sum())
    for round_ in copy.rounds:
        (round_.folder.folder / "seal.json").unlink()
    for path in [*label_lines.files(first.folder.folder), first.folder.folder / "labels.parquet"]:
        path.unlink()
    (told,) = (told for told in copy.estimate(run=True).warnings if "no final label" in told)
    waiting = len(first.items) - automatic
    assert told.startswith(
        f"{waiting} of {len(first.items)} posts of round {first.number} have no final label. "
    )


def test_text_takes_a_word_and_comes_with_a_warning(study, tmp_path) -> None:
    copy = shutil.copytree(
        study.places.folder, tmp_path / "copy", ignore=shutil.ignore_patterns("archive", "build")
    )
    done = ran("release", "--text", "--study", copy)
    assert done.stderr.startswith("warning: this release contains posts' texts")
    assert "text" in pd.read_parquet(copy / "data" / "release" / "corpus.parquet")
    done = ran("release", "--study", copy)
    assert not done.stderr
    assert "text" not in pd.read_parquet(copy / "data" / "release" / "corpus.parquet")


def repacked(bundle, target, change):
    with zipfile.ZipFile(bundle) as old:
        target.write_bytes(zipped(change({name: old.read(name) for name in old.namelist()})))
    return target


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda files: {**files, "study.toml": files["study.toml"] + b"# more"}, 1),
        (lambda files: {name: data for name, data in files.items() if name != "study.toml"}, 1),
        (lambda files: {**files, "../outside.txt": b"x"}, 2),
        (lambda files: {**files, "/tmp/outside.txt": b"x"}, 2),
        (lambda files: {**files, "C:\\outside.txt": b"x"}, 2),
        (lambda files: {name: data for name, data in files.items() if name != "manifest.json"}, 2),
        (lambda files: {**files, "manifest.json": b"[1]"}, 2),
    ],
)
def test_a_bundle_that_somebody_changed_is_refused(study, tmp_path, change, code) -> None:
    changed = repacked(study.places.release / "bundle.zip", tmp_path / "changed.zip", change)
    covmis("verify", changed, code=code)
    covmis("hydrate", changed, "--into", tmp_path / "into", code=2)
    assert not (tmp_path / "into").exists()
    assert not (tmp_path / "outside.txt").exists()


def test_a_torn_zip_is_refused(study, tmp_path) -> None:
    whole = (study.places.release / "bundle.zip").read_bytes()
    for size in (0, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "torn.zip").write_bytes(whole[:size])
        assert "not a whole zip" in covmis("verify", tmp_path / "torn.zip", code=2)["error"]


def test_a_study_without_rounds_says_what_to_do(tmp_path) -> None:
    (tmp_path / "study.toml").write_text('title = "New"\n')
    assert "covmis round open" in covmis("release", "--study", tmp_path, code=2)["error"]
    assert "covmis release" in covmis("verify", "--study", tmp_path, code=2)["error"]
    assert not (tmp_path / "data").exists()
