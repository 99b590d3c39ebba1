"""A run does what is stale and nothing else, and ends the same whatever happens on the way."""

import dataclasses
import hashlib
import random
import shutil
import signal
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from covmis_build import storage
from covmis_build.building.flow import ask, flow
from covmis_build.building.run import current, run
from covmis_build.building.stages import STAGES
from covmis_build.engine import duck
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.small_study import pages_of, small_study

OUTSIDE_THE_PROMISE = {
    "provenance.parquet",
    "unreadable.parquet",
    "intake.parquet",
    "parts.parquet",
    "older_copies.parquet",
}
"""They say where things were found, which does depend on the files."""


def tables_of(study):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(study.places.build.glob("*.parquet"))
        if path.name not in OUTSIDE_THE_PROMISE
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    study = small_study(tmp_path_factory.mktemp("built"))
    run(study.places, study.settings, workers=1)
    return study


@pytest.fixture
def copied(built, tmp_path):
    shutil.copytree(built.places.folder, tmp_path / "study")
    return open_study(tmp_path / "study")


def made(outcomes):
    return [one.stage for one in outcomes if one.made]


def test_the_second_run_does_nothing(copied):
    assert made(run(copied.places, copied.settings, workers=1)) == []
    with pytest.raises(InputError, match="no engine is called 'duck'"):
        run(copied.places, copied.settings, engine="duck")
    assert all(current(copied.places, copied.settings).values())
    assert not any(current(copied.places, dataclasses.replace(copied.settings, seed=1)).values())


def test_only_what_depends_on_a_setting_is_made_again(copied):
    gentler = dataclasses.replace(
        copied.settings, cleaning=dataclasses.replace(copied.settings.cleaning, minimum_words=8)
    )
    assert current(copied.places, gentler) == {
        "read": True,
        "claims": True,
        "queries": True,
        "retrieve": True,
        "clean": False,
        "sample": False,
    }
    assert made(run(copied.places, gentler, workers=1)) == ["clean", "sample"]
    louder = dataclasses.replace(
        copied.settings, annotation=dataclasses.replace(copied.settings.annotation, per_item=3)
    )
    assert made(run(copied.places, louder, ["claims", "queries"], workers=1)) == []


def test_a_lost_table_and_a_forced_stage_are_made_again(copied):
    before = tables_of(copied)
    copied.places.table("items").unlink()
    assert made(run(copied.places, copied.settings, workers=1)) == ["clean"]
    assert made(run(copied.places, copied.settings, ["sample"], force=True, workers=1)) == ["sample"]
    assert tables_of(copied) == before


def parts_of(study):
    return {path.name: path.stat().st_ino for path in study.places.store.glob("*.parquet")}


def test_a_changed_query_reads_no_file_again(copied, monkeypatch):
    claims = copied.places.claims_csv
    before, parts = tables_of(copied), parts_of(copied)
    claims.write_text(claims.read_text("utf-8").replace("covid-19 OR virus", "covid-19"), "utf-8")
    monkeypatch.setattr(
        "covmis_build.archive.stage.read_archive", lambda *_, **__: pytest.fail("the archive is read")
    )
    assert made(run(copied.places, copied.settings, workers=1))[:3] == ["claims", "queries", "retrieve"]
    assert parts_of(copied) == parts
    assert tables_of(copied) != before


def test_a_lost_part_of_the_store_is_made_again(copied):
    before, parts = tables_of(copied), parts_of(copied)
    lost = copied.places.store / next(iter(parts))
    whole = lost.read_bytes()
    lost.unlink()
    assert made(run(copied.places, copied.settings, workers=1)) == ["read"]
    assert lost.read_bytes() == whole
    assert {name: parts[name] for name in parts if name != lost.name}.items() <= parts_of(copied).items()
    assert tables_of(copied) == before


def test_reading_again_by_force_makes_every_part_anew(copied):
    before, parts = tables_of(copied), parts_of(copied)
    for name in parts:  # a second name, so that no new file gets the number of one that went
        copied.places.store.joinpath(f"{name}.before").hardlink_to(copied.places.store / name)
    assert made(run(copied.places, copied.settings, ["read"], force=True, workers=1)) == ["read"]
    assert parts_of(copied).keys() == parts.keys()
    assert not parts_of(copied).items() & parts.items()
    assert tables_of(copied) == before


def test_what_was_noted_before_an_interrupted_replacement_does_not_count(copied):
    lines = (copied.places.build / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (copied.places.build / "ledger.jsonl").write_bytes(
        b"".join(line for line in lines if b'"done"' not in line or b'"sample"' not in line)
    )
    assert made(run(copied.places, copied.settings, workers=1)) == ["sample"]


def test_the_study_is_locked_while_it_runs(copied):
    with (
        storage.locked(copied.places.build / ".lock", "covmis run"),
        pytest.raises(InputError, match="the study is in use by `covmis run`"),
    ):
        run(copied.places, copied.settings)


def test_an_unknown_stage_is_refused(copied):
    with pytest.raises(InputError, match=r"no stage is called 'cleaning'\. Did you mean 'clean'\?"):
        run(copied.places, copied.settings, ["cleaning"])


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chance=st.randoms(use_true_random=False), files=st.integers(1, 4), block=st.sampled_from([97, 1000, 50_000]),
       workers=st.integers(1, 2))  # fmt: skip
def test_order_chunks_and_threads_change_nothing(built, tmp_path_factory, chance, files, block, workers):
    folder = tmp_path_factory.mktemp("shuffled")
    shutil.copytree(
        built.places.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", "archive")
    )
    archive = folder / "data" / "archive"
    archive.mkdir(parents=True)
    for suffix, lines in pages_of(built).items():
        chance.shuffle(lines)
        for at in range(files):
            (archive / f"{chance.random()}-{at}{suffix}").write_bytes(b"".join(lines[at::files]))
    study = open_study(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duck, "BLOCK", block)
        run(study.places, study.settings, workers=workers)
    assert tables_of(study) == tables_of(built)


def test_kept_and_dropped_are_what_came_in(built):
    table = built.places.table
    clashes = ask(
        "SELECT count(*) FROM sample JOIN dropped USING (claim_id, post_id) WHERE unit = 'pair'",
        sample=table("sample"), dropped=table("dropped"),
    )  # fmt: skip
    assert clashes == [(0,)]
    lost = ask(
        "SELECT count(*) FROM (SELECT DISTINCT claim_id, post_id FROM hits) AS hits "
        "LEFT JOIN sample USING (claim_id, post_id) LEFT JOIN (SELECT * FROM dropped WHERE unit = 'pair') AS dropped "
        "USING (claim_id, post_id) WHERE sample.item_id IS NULL AND dropped.step IS NULL",
        hits=table("hits"), sample=table("sample"), dropped=table("dropped"),
    )  # fmt: skip
    assert lost == [(0,)]
    twice = ask(
        "SELECT count(*) FROM (SELECT claim_id, post_id FROM dropped WHERE unit = 'pair' GROUP BY ALL HAVING count(*) > 1)",
        dropped=table("dropped"),
    )
    assert twice == [(0,)]


def test_the_flow_ends_with_the_sample(built):
    steps = flow(built.places)
    sampled = ask(
        "SELECT count(*), count(DISTINCT claim_id) FROM sample", sample=built.places.table("sample")
    )
    assert [(steps[-1].pairs, steps[-1].claims)] == sampled
    pairs = [step.pairs for step in steps if step.pairs is not None]
    assert pairs == sorted(pairs, reverse=True)
    reasons = {
        row[0] for row in ask("SELECT DISTINCT step FROM dropped", dropped=built.places.table("dropped"))
    }
    assert reasons <= {step.name for step in steps}, "every step that drops is a row of the flow"


COUNTED = """
import atexit, os, signal, sys
from covmis_build.cli import main
last, command, calls = int(sys.argv.pop(1)), os.getpid(), 0
def at_call(frame, event, argument):
    global calls
    calls += event == "call"
    if calls == last and os.getpid() == command:
        os.killpg(command, signal.SIGKILL)
if not last:
    atexit.register(lambda: print(calls, file=sys.stderr))
sys.setprofile(at_call)
main()
"""
"""A command that is killed at its n-th call of a Python function, with all that it has started; 0: says how many there are."""


def run_counted(folder, last):
    return subprocess.run(
        [sys.executable, "-c", COUNTED, str(last), "run", "--study", str(folder)],
        capture_output=True, text=True, start_new_session=True, check=False,
    )  # fmt: skip


def killed_and_finished(built, folder, moments, calls):
    """Kill a run again and again, each time at another of its calls, and sometimes what follows, too; then let one end."""
    shutil.copytree(built.places.folder, folder, ignore=shutil.ignore_patterns("build"))
    for moment in moments:
        shutil.rmtree(folder / "data" / "build", ignore_errors=True)
        assert run_counted(folder, 1 + int(0.95 * moment * calls)).returncode == -signal.SIGKILL
        chance = random.Random(moment)
        if chance.random() < 0.5:
            run_counted(folder, 1 + int(chance.random() * calls))  # the rest of a run may have fewer calls
        study = open_study(folder)
        run(study.places, study.settings, workers=1)
        yield tables_of(open_study(folder))


def _kill(built, tmp_path, count):
    expected = tables_of(built)
    shutil.copytree(built.places.folder, tmp_path / "counted", ignore=shutil.ignore_patterns("build"))
    whole = run_counted(tmp_path / "counted", 0)
    assert whole.returncode == 0, whole.stderr
    chance = random.Random(20220405)
    moments = [chance.random() for _ in range(count)]
    calls = int(whole.stderr.split()[-1])
    for tables in killed_and_finished(built, tmp_path / "killed", moments, calls):
        assert tables == expected
    build = tmp_path / "killed" / "data" / "build"
    assert {path.name for path in build.glob(".*")} <= {".lock", ".files.json"}, "leftovers are swept"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_killed_at_fifty_moments_and_finished_the_tables_are_identical(built, tmp_path):
    _kill(built, tmp_path, 50)


def test_stages_come_in_the_order_of_their_needs():
    seen = set()
    for stage in STAGES:
        assert set(stage.after) <= seen
        seen.add(stage.name)


def test_a_table_of_the_same_size_that_says_something_else_is_not_current(copied):
    path = copied.places.table("queries")
    assert current(copied.places, copied.settings)["queries"]
    whole = path.read_bytes()
    path.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    assert not current(copied.places, copied.settings)["queries"]


def test_claims_that_posts_name_are_known_from_a_list_of_any_separator(tmp_path):
    """Spreadsheets in German write semicolons."""
    for folder, separator in (("comma", ","), ("semicolon", ";")):
        (tmp_path / folder / "queries").mkdir(parents=True)
        (tmp_path / folder / "data/archive").mkdir(parents=True)
        (tmp_path / folder / "study.toml").write_text('title = "t"\n')
        rows = [["claim_id", "text", "keywords"], ["c1", "Garlic cures it.", "garlic"]]
        (tmp_path / folder / "queries/claims.csv").write_text(
            "".join(separator.join(row) + "\n" for row in rows)
        )
        (tmp_path / folder / "data/archive/posts.csv").write_text("tweet_id,text,claim_id\n5,anything,c1\n")
        study = open_study(tmp_path / folder)
        run(study.places, study.settings, ["retrieve"], workers=1)
        assert study.hits[["claim_id", "post_id", "verified"]].to_numpy().tolist() == [
            ["c1", "x:5", "not_applicable"]
        ]
        assert made(run(study.places, study.settings, ["retrieve"], workers=1)) == []
