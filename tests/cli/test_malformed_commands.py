"""Every command with damaged rounds, tables, bundles and files: one line, the right exit code, nothing lost."""

import io
import json
import shutil
import zipfile

import pytest

from covmis_build import storage, tables
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.frozen_items import FROZEN
from covmis_build.options import Annotation, Labels
from covmis_build.report.terminal import as_json
from tests.cli.test_malformed import snapshot
from tests.program import covmis

EVIL = "\x1b[2J\u202eevil"
ROUND = "annotation/rounds/001"


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """A study with one opened round of three posts, and sheets filled in by two people."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("malformed") / "study"
    (folder / "queries").mkdir(parents=True)
    (folder / "study.toml").write_text(
        "title = 't'\n[annotation]\nchannel = 'csv'\nannotators = ['a1', 'a2']"
    )
    (folder / "queries" / "claims.csv").write_text("claim_id,text,keywords\n1,Garlic cures.,garlic\n")
    (folder / "annotation").mkdir()
    (folder / "annotation" / "guideline.md").write_text("Label with care.\n")
    plain = {name: FROZEN.empty_table().schema.field(name).type for name in FROZEN.names}
    rows = [{name: _blank(str(kind)) for name, kind in plain.items()} for _ in range(3)]
    for at, row in enumerate(rows):
        row |= {"item_id": f"1|x:{at}", "round": "001", "claim_id": "1", "claim": "Garlic cures.",
                "post_id": f"x:{at}", "text": f"garlic {at}", "kind": "keywords", "p_claim": 1.0, "p_sample": 1.0,
                "group": f"x:{at}", "salt": "s", "created_at": "2020-01-01T00:00:00Z"}  # fmt: skip
    record.create(
        folder / "annotation" / "rounds", pd.DataFrame(rows, columns=FROZEN.names),
        Annotation(annotators=("a1", "a2")), Labels(), "Label with care.\n", now="2026-01-01T00:00:00Z",
    )  # fmt: skip
    assert covmis("round", "push", "--study", folder)[0] == 0
    for name in ("a1", "a2"):
        sheet = folder / ROUND / "sheets" / f"{name}.csv"
        sheet.write_text(sheet.read_text("utf-8-sig").replace(",,,", ",,favor,"), "utf-8-sig")
    return folder


def _blank(kind):
    if kind.startswith("list"):
        return []
    return {"bool": False, "double": 0.0, "float": 0.0, "int64": 0, "int32": 0}.get(kind, "")


@pytest.fixture
def study(opened, tmp_path):
    return shutil.copytree(opened, tmp_path / "study")


def kept(study):
    return {name: data for name, data in snapshot(study).items() if not name.endswith(".lock")}


def ended(code, *arguments, study=None):
    """The command ends with this code and one line, and changes nothing if the input was wrong."""
    before = kept(study) if study else {}
    found, out, err = covmis(*arguments, *(("--study", study) if study else ()))
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (found, len(errors)) == (code, 1), err
    assert not set("\x1b\u202e\x07") & set(out + err)
    if code == 2 and study:
        assert kept(study) == before
    return errors[0]


def put(path, data):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)


def other_table():
    out = io.BytesIO()
    import pyarrow.parquet as pq

    pq.write_table(tables.SCHEMAS["claims"].empty_table(), out)
    return out.getvalue()


STEPS = (("push",), ("pull",), ("status",), ("report",), ("adjudicate",), ("seal",))


@pytest.mark.parametrize("step", STEPS, ids=" ".join)
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("items.parquet", b"PAR1junk"), ("items.parquet", b""), ("items.parquet", None),
        ("items.parquet", other_table()), ("labels.parquet", b"junk"), ("labels.parquet", None),
        ("labels.a1.jsonl", b"junk"), ("labels.a1.jsonl", None), ("decisions.ana.jsonl", b"{}"),
        ("labels.parquet", other_table()), ("round.json", b"{"), ("round.json", b"[]"), ("round.json", b"{}"),
        ("round.json", None), pytest.param("round.json", b"\xff", id="round.json-Latin-1"),
    ],
)  # fmt: skip
def test_a_damaged_round(study, step, name, data):
    put(study / ROUND / name, data)
    line = ended(2, "round", *step, study=study)
    assert name in line
    assert "Restore" in line or "JSON object" in line
    assert "covmis run" not in line  # labels cannot be made again


@pytest.mark.parametrize("data", [None, b"Ger\xfccht"], ids=["a folder", "Latin-1"])
@pytest.mark.parametrize("command", [("round", "push"), ("guideline", "check")], ids=" ".join)
def test_a_broken_guideline(study, command, data):
    put(study / "annotation" / "guideline.md", data)
    assert "guideline.md" in ended(2, *command, study=study)


def test_a_wrong_channel_sends_no_guideline(study):
    (study / "annotation" / "guideline.md").write_text("Another one.\n")
    ended(2, "round", "push", "--channel", "pigeon", study=study)


def test_a_missing_round_never_costs_a_later_one(study):
    items = record.find(study / "annotation" / "rounds").items()
    with pytest.raises(Exception, match="an earlier round is missing"):
        record.create(study / "annotation" / "rounds", items, Annotation(), Labels(), "", now="")


def test_a_folder_in_place_of_a_sheet(study):
    put(study / ROUND / "sheets" / "a1.csv", None)
    code, _, err = covmis("round", "pull", "--study", study)
    assert (code, "a1.csv: is a folder" in err) == (1, True), err


@pytest.mark.parametrize(
    "data",
    [b"key\n\xfc\n", "key\nx:1\n".encode("utf-16"), b"key\nnonsense\n", None],
    ids=["Latin-1", "UTF-16", "nonsense", "a folder"],
)
def test_a_broken_purge_list(study, data):
    put(study / "queries" / "purge.csv", data)
    assert "purge.csv" in ended(2, "purge", study=study)


GOOD = "item_id,label\n" + "".join(f"i{at},{'ab'[at % 2]}\n" for at in range(6))


@pytest.mark.parametrize("where", ["gold.csv/x.html", "x.doc"])
def test_a_page_that_cannot_be_written(tmp_path, where):
    (tmp_path / "gold.csv").write_text(GOOD)
    ended(2, "evaluate", "score", *[tmp_path / "gold.csv"] * 2, "--out", tmp_path / where)
    assert [path.name for path in tmp_path.iterdir()] == ["gold.csv"]


@pytest.mark.parametrize("query", ["(" * 5000, "(", ")", "OR OR", "a -" + "-(" * 3000, '""'])
def test_a_query_that_cannot_be_read(study, query):
    ended(2, "queries", "try", query, study=study)


@pytest.mark.parametrize(
    "names", [["../evil.txt"], ["/abs"], [], [EVIL]], ids=["upwards", "absolute", "nothing", "hostile"]
)
def test_a_hostile_bundle(tmp_path, names):
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as bundle:
        for name in names:
            bundle.writestr(name, b"x")
    ended(2, "verify", tmp_path / "b.zip")
    ended(2, "hydrate", tmp_path / "b.zip", "--into", tmp_path / "into")
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]


@pytest.mark.parametrize("folder", ["nowhere", "study.toml"])
def test_a_study_that_is_none(study, folder):
    line = covmis("status", "--study", study / folder)
    assert (line[0], line[2].count("error: ")) == (2, 1)


def test_json_holds_nothing_that_a_terminal_obeys():
    out = as_json({"text": EVIL + "\n\x9b\U000e0001"})
    assert out.isprintable()
    assert json.loads(out) == {"text": EVIL + "\n\x9b\U000e0001"}


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(Exception, match="is a folder"):
        storage.read_table(tmp_path, "labels")


def test_shares_that_are_no_numbers(tmp_path):
    (tmp_path / "gold.csv").write_text(GOOD)
    ended(
        2, "evaluate", "split", tmp_path / "gold.csv", "--out", tmp_path / "p.csv", "--fractions", "nan,0,1"
    )


def test_an_order_without_the_labels(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\n1,a,x\n1,b,x\n2,a,y\n2,b,x\n")
    ended(2, "agreement", tmp_path / "labels.csv", "--order", "x,z")


def test_a_hostile_name_of_a_system(tmp_path):
    (tmp_path / "gold.csv").write_text(GOOD)
    arguments = (
        "evaluate",
        "score",
        tmp_path / "gold.csv",
        f"{EVIL}={tmp_path / 'gold.csv'}",
    )
    code, out, err = covmis(*arguments)
    assert code == 0
    assert not set("\x1b\u202e") & set(out + err)
