"""Tables in a store: the same bytes, the same commands, and the old ones in force until the ledger says otherwise."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import addresses, storage
from covmis_build.addresses import place
from covmis_build.building.stages import STAGES
from covmis_build.cli import app
from covmis_build.errors import InputError, ServiceError
from covmis_build.settings import parse
from covmis_build.study.rebuild import rebuild
from covmis_build.study.study import open_study
from tests.sampling.test_strata import open_answer_and_seal
from tests.services import object_store
from tests.small_study import small_study

TABLES = [table for stage in STAGES for table in stage.makes]


def stored(test):
    """Of a store, which did not always begin to answer beside a whole suite."""
    return pytest.mark.long(pytest.mark.needs("object_store")(test))


@pytest.fixture(scope="module")
def bucket():
    with object_store.store("tables") as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        addresses._system.cache_clear()
        yield
    addresses._system.cache_clear()


@pytest.fixture(scope="module")
def near(bucket, tmp_path_factory):
    """A study whose tables lie in its folder."""
    study = small_study(tmp_path_factory.mktemp("near"), 1500)
    study.run(workers=1)
    return study


@pytest.fixture
def far(near, tmp_path, request):
    """The same study, run with its tables at an address."""
    folder = tmp_path / "far"
    shutil.copytree(near.places.folder, folder, ignore=shutil.ignore_patterns("build"))
    toml = folder / "study.toml"
    toml.write_text(toml.read_text().replace('build = ""', f'build = "s3://tables/{request.node.name}"'))
    study = open_study(folder)
    study.run(workers=1)
    return study


def hashes(study):
    return {name: hashlib.sha256(study.places.table(name).read_bytes()).hexdigest() for name in TABLES}


def names(study):
    return sorted(path.name for path in study.places.far.objects())


def covmis(study, *words):
    result = CliRunner().invoke(app, [*map(str, words), "--study", str(study.places.folder)])
    if result.exception:
        raise result.exception
    return result.stdout


def fewer(toml):
    """Settings that draw another sample."""
    return toml.replace("per_claim = 24", "per_claim = 4").replace("per_kind = 6", "per_kind = 1")


def fresh(study):
    """The study as on a machine that has its ledger and none of its tables."""
    for path in study.places.build.glob("*.parquet"):
        path.unlink()
    return open_study(study.places.folder)


@stored
def test_every_table_is_the_same_and_every_command_finds_it(near, far):
    assert hashes(far) == hashes(near)
    assert len(names(far)) == len(TABLES)
    study = fresh(far)
    assert study.status().to_dict()["flow"] == near.status().to_dict()["flow"]
    assert not any(outcome.made for outcome in study.run().stages)
    assert json.loads(covmis(fresh(far), "sample", "--json"))["drawn"] == len(near.sample)
    assert covmis(fresh(far), "explain", near.sample["post_id"].iloc[0])
    covmis(fresh(far), "round", "open", "--claims", 3)
    assert len(open_study(study.places.folder).rounds) == 1


@stored
def test_a_round_is_released_with_its_tables_and_verified(near, far, tmp_path):
    open_answer_and_seal(far)
    study = fresh(far)
    covmis(study, "release", "--bundle")
    bundle = next(study.places.release.glob("*.zip"))
    result = CliRunner().invoke(app, ["verify", str(bundle)])
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(bundle) as archive:
        built = {
            name: pd.read_parquet(io.BytesIO(archive.read(f"data/build/{name}.parquet")))
            for name in ("items", "sample")
        }
    assert len(built["items"]) == len(near.items)
    assert built["sample"]["item_id"].tolist() == near.sample["item_id"].tolist()
    # whoever rebuilds it, the author, too, leaves the author's store alone
    there = names(study)
    rebuild(bundle, tmp_path / "rebuilt")
    rebuilt = tmp_path / "rebuilt"
    shutil.copytree(study.places.archives[0], rebuilt / "data" / "archive")
    open_study(rebuilt).run(workers=1)
    assert names(study) == there
    assert open_study(rebuilt).places.far is None


@stored
def test_a_change_replaces_what_it_makes_and_removes_what_it_made(far):
    before = names(far)
    toml = far.places.study_toml
    toml.write_text(fewer(toml.read_text()))
    study = open_study(far.places.folder)
    study.run(workers=1)
    after = names(study)
    assert len(after) == len(before) == len(TABLES)
    assert {name.split(".")[0] for name in set(after) - set(before)} == {"sample", "dropped", "draws"}
    assert sorted(path.name for path in study.places.build.glob("*.parquet")) == after


KILLED = """
import os, sys
from covmis_build.building import ledger
from covmis_build.far_tables import FarTables
from covmis_build.study.study import open_study

at, function, put = int(sys.argv[2]), ledger.append, FarTables.put
done = 0

def counted(act):
    def wrapped(*given):
        global done
        if done == at:
            os._exit(9)
        done += 1
        return act(*given)
    return wrapped

ledger.append, FarTables.put = counted(function), counted(put)
open_study(sys.argv[1]).run(["sample"], workers=1)
"""


@stored
@pytest.mark.parametrize("moment", range(4))
def test_a_kill_leaves_the_old_tables_in_force(far, moment):
    """Before the start is told, before each of two tables is put, and before the end is told."""
    before, objects = hashes(far), names(far)
    toml = far.places.study_toml
    old = toml.read_text()
    toml.write_text(fewer(old))
    command = [sys.executable, "-c", KILLED, str(far.places.folder), str(moment)]
    assert subprocess.run(command, env=os.environ, check=False).returncode == 9
    assert set(names(far)) >= set(objects)
    toml.write_text(old)
    study = fresh(far)
    assert hashes(study) == before
    assert study.status().to_dict()["next"] == open_study(far.places.folder).status().to_dict()["next"]
    assert not any(outcome.made for outcome in study.run().stages)
    assert names(study) == objects  # what the killed run had put is gone


@stored
def test_a_study_moves_into_a_store_and_back(near, tmp_path):
    folder = tmp_path / "moved"
    shutil.copytree(near.places.folder, folder)
    toml = folder / "study.toml"
    plain = toml.read_text()
    toml.write_text(plain.replace('build = ""', 'build = "s3://tables/moved"'))
    study = open_study(folder)
    study.run(workers=1)
    assert hashes(study) == hashes(near)
    assert sorted(path.name for path in study.places.build.glob("*.parquet")) == names(study)
    toml.write_text(plain)
    study = open_study(folder)
    study.run(workers=1)
    assert hashes(study) == hashes(near)


@stored
def test_another_address_gets_the_tables_that_are_current(near, far):
    """And one that was emptied gets them again: whoever has the ledger has the tables."""
    toml = far.places.study_toml
    toml.write_text(toml.read_text().replace('build = "s3://tables/', 'build = "s3://tables/another/'))
    study = open_study(far.places.folder)
    made = [outcome.stage for outcome in study.run(workers=1).stages if outcome.made]
    assert made == ["read"], "the posts are read again, into the new place"
    assert names(study) == names(far)
    assert hashes(fresh(study)) == hashes(near)
    gone = study.places.far.objects()[0]
    gone.unlink()
    study.run(workers=1)
    assert gone.exists()


@stored
def test_nobody_else_s_tables_are_removed_and_damaged_ones_are_refused(near, far, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(far.places.folder, other, ignore=shutil.ignore_patterns("build"))
    toml = other / "study.toml"
    toml.write_text(fewer(toml.read_text()))
    open_study(other).run(workers=1)
    assert hashes(fresh(far)) == hashes(near)
    far = fresh(far)
    sample = next(path for path in far.places.far.objects() if path.name.startswith("items."))
    (tmp_path / "torn").write_bytes(sample.read_bytes()[:-1])
    sample.put(tmp_path / "torn")
    with pytest.raises(InputError, match="is not the file that was made"):
        far.places.table("items")


@stored
def test_a_purge_reaches_tables_that_lie_in_the_store_alone(far):
    post = far.sample["post_id"].iloc[0]
    study = fresh(far)
    assert list(study.places.far_store.rglob("*.parquet"))
    assert study.purge(posts=[post], outside=True).problems == []
    assert not list(study.places.far_store.glob("*.parquet"))
    assert not list(study.places.store.rglob("*.parquet"))
    native = post.partition(":")[2].encode()
    held = [path for path in place(str(study.places.far.address)).rglob() if native in path.read_bytes()]
    assert held == []
    assert not {name.split(".")[0] for name in names(study)} & {"posts", "hits", "items", "sample", "dropped"}
    study.run(workers=1)
    assert post not in set(study.posts["post_id"])


@stored
def test_posts_lie_in_the_store_and_a_copy_is_held_against_its_hash(near, far):
    shutil.rmtree(far.places.store)
    assert len(far.archive) == len(near.archive)
    shutil.rmtree(far.places.store)
    part = next(iter(far.places.far_store.glob("*.parquet")))
    whole = part.read_bytes()
    storage.write_bytes(part, whole[:20] + bytes([whole[20] ^ 1]) + whole[21:])
    with pytest.raises(InputError, match="is not the file that was made"):
        len(far.archive)
    part.unlink()
    assert [stage.stage for stage in far.run(workers=1).stages if stage.made] == ["read"]
    assert part.read_bytes() == whole


@stored
def test_a_store_that_is_gone_is_said(far, monkeypatch):
    study = fresh(far)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    addresses._system.cache_clear()
    try:
        with pytest.raises(ServiceError, match="s3://tables"):
            study.places.table("items")
    finally:
        addresses._system.cache_clear()


@pytest.mark.parametrize("value", ["data/elsewhere", 3, "ftp://host/x"], ids=["folder", "number", "kind"])
def test_only_an_address_will_do(value):
    with pytest.raises(InputError):
        parse({"title": "t", "build": value})
