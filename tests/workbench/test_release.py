"""The release page: what it will contain, what is missing, its files and no other, and its checks."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from fnmatch import fnmatch

from covmis_build.corpus.publish import ALWAYS, SOMETIMES
from covmis_build.places import CHECKSUMS
from covmis_build.study.study import open_study
from covmis_build.workbench.release import GROUPS
from tests.annotation.small import covmis, forge
from tests.workbench.conftest import client_of, send
from tests.workbench.test_pages import press, wait_for
from tests.workbench.test_results import labelled  # noqa: F401 - a fixture


def test_the_checks_are_those_of_the_checklist(labelled):  # noqa: F811
    labelled = labelled.change(release={"contact": "a@example.org"})
    checks = {check.what: check.passed for check in labelled.check_release().checks}
    assert (checks["a contact"], checks["a licence"], checks["round 001 is sealed"]) == (True, False, False)
    client = client_of(labelled)
    assert "Round 001 is not sealed: <code>covmis round seal</code>" in client.get("/release").text
    labelled.round().seal()
    assert "Round 001 is sealed" in client.get("/release").text
    forge(labelled.round().folder, 9, "neither")
    assert not {check.what: check.passed for check in labelled.check_release().checks}[
        "no sealed round was changed"
    ]
    assert "Sealed rounds that changed: 001" in client.get("/release").text
    assert '<button class="main" disabled>Write the release' in client.get("/release").text


def test_only_offered_files_are_given_away(labelled):  # noqa: F811
    client = client_of(labelled)
    labelled.round().report()
    page = client.get("/release").text
    name = "annotation/rounds/001/report.html"
    assert f'href="/file/{name}"' in page
    answer = client.get(f"/file/{name}")
    assert answer.content == (labelled.places.folder / name).read_bytes()
    assert answer.headers["content-disposition"] == 'attachment; filename="report.html"'
    secret = labelled.places.folder.parent / "secret"
    secret.write_text("secret")
    labelled.places.release.mkdir(parents=True)
    (labelled.places.release / "out").symlink_to(secret)
    (labelled.places.release / "<b>&.csv").write_text("x")
    page = client.get("/release").text
    assert "release/out" not in page
    assert "&lt;b&gt;&amp;.csv" in page
    assert client.get("/file/data/release/%3Cb%3E&.csv").text == "x"
    for path in (
        "data/release/out",
        "annotation/rounds/001/labels.parquet",
        f"{name}/../labels.parquet",
        "study.toml",
    ):
        assert client.get(f"/file/{path}").status_code == 404


def test_it_says_what_a_release_would_contain_and_writes_that(labelled):  # noqa: F811
    client = client_of(labelled)
    page = client.get("/release").text
    assert (
        covmis(labelled.places.folder, "release", "--check", fails=1)["contents"]
        == labelled.check_release().contents
    )
    counts = labelled.gold()["label"].value_counts()
    assert f"Final labels: {', '.join(f'{label} {count}' for label, count in counts.items())}." in page
    assert f"{counts.sum()} posts on 2 claims, ids only" in page
    for name in ("text", "bundle", "deposit"):
        assert f'name="{name}"' in page, "its form has the parameters of `Study.release`"
    send(client, "/release", "/start/release", {"text": "yes", "bundle": "yes", "deposit": ""})
    assert wait_for(client.bench.jobs).state == "done"
    assert client.bench.jobs.last.command == "covmis release --text --bundle"
    assert open_study(labelled.places.folder).release().rows == counts.sum()
    assert "study.release(text=True, bundle=True)" in client.get("/session/session.py").text


def test_the_zip_is_the_release_and_stays_verifiable(labelled, tmp_path):  # noqa: F811
    client, folder = client_of(labelled), labelled.places.release
    assert client.get("/release.zip").status_code == 404
    labelled.release()
    with zipfile.ZipFile(io.BytesIO(client.get("/release.zip").content)) as packed:
        packed.extractall(tmp_path / "taken")
    taken = {
        path.relative_to(tmp_path / "taken/release"): path.read_bytes()
        for path in (tmp_path / "taken").rglob("*")
        if path.is_file()
    }
    assert taken == {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    page = client.get("/release").text
    assert "Every check passed" not in page
    assert press(client, "/release", "Verify the release").state == "done"
    page = client.get("/release").text
    assert "Every check passed" in page
    assert "written again since" not in page
    shutil.copyfile(folder / "methods.md", folder / "card.md")
    assert press(client, "/release", "Verify the release").state in {"problems", "failed"}
    page = client.get("/release").text
    assert "Not every check passed" in page
    assert re.search(r"card.md", page.partition("Not every check passed")[2])


def test_every_file_of_a_release_has_its_place_on_the_page():
    names = [*ALWAYS, *SOMETIMES, CHECKSUMS]
    for name in names:
        assert any(fnmatch(name, each) for _, _, kinds in GROUPS for each in kinds), name
