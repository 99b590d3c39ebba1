"""A whole release with hostile text in every place, opened again in every format."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.cli import app
from covmis_build.corpus.convert import check_ids, read_corpus, write_corpus
from covmis_build.corpus.hugging_face import header as hugging_face_header
from covmis_build.corpus.publish import ALWAYS, BUNDLE, HUGGING_FACE, SOMETIMES
from covmis_build.corpus.release import make_corpus
from covmis_build.corpus.release_facts import Audit
from covmis_build.corpus.statistics import statistics
from covmis_build.errors import InputError
from covmis_build.options import Labels, Release
from covmis_build.places import CHECKSUMS
from tests.corpus.conftest import HOSTILE, TEXT, TITLE, made_facts, made_frozen, write_release


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_format_gives_the_same_corpus_back(released, suffix) -> None:
    folder, corpus = released
    pd.testing.assert_frame_equal(read_corpus(folder / f"corpus.{suffix}"), corpus)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_doubled_rows_are_not_hydrated_and_nul_is_damage(released, tmp_path, suffix) -> None:
    _, corpus = released
    path = tmp_path / f"corpus.{suffix}"
    write_corpus(path, pd.concat([corpus, corpus.head(2)], ignore_index=True), text=False)
    done = CliRunner().invoke(
        app, ["hydrate", str(path), "--archive", str(tmp_path), "--into", str(tmp_path / "out")]
    )
    told = str(done.exception)
    assert f"row {len(corpus) + 2}: has 2 rows for items that stand above them" in told
    assert not (tmp_path / "out").exists()
    write_corpus(path, corpus.assign(claim="a\0b"), text=False)
    with pytest.raises(InputError, match=r"NUL|is not a text file"):
        read_corpus(path)


def test_without_text_no_text_is_anywhere(tmp_path) -> None:
    gold, frozen = made_frozen()
    frozen["text"] = [f"secret{at}" for at in range(len(frozen))]
    corpus = make_corpus(gold, frozen, Release())
    write_release(tmp_path, corpus, made_facts(), frozen.set_index("item_id")["text"])
    for name in ALWAYS:
        data = (tmp_path / name).read_bytes()
        assert b"secret" not in data, name
    assert "text" not in pd.read_parquet(tmp_path / "corpus.parquet")
    assert (pd.read_json(tmp_path / "statistics.json", typ="series")["lengths"])[0]["texts"] > 0


def test_no_cell_of_the_csv_is_a_formula(released) -> None:
    folder, _ = released
    data = (folder / "corpus.csv").read_bytes().decode("utf-8-sig")
    cells = [cell for row in csv.reader(io.StringIO(data, newline="")) for cell in row]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)
    assert not [cell for cell in cells if cell.startswith(storage.DANGEROUS)]


def test_json_lines_are_lines_for_every_reader(released) -> None:
    folder, corpus = released
    text = (folder / "corpus.jsonl").read_text("utf-8")
    assert len(text.splitlines()) == len(corpus)
    assert any("\u2028" in json.loads(line)["text"] for line in text.splitlines())


class Page(HTMLParser):
    """Tags and words of a page, as a browser would see them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        self.words.append(data)


@pytest.mark.parametrize("name", ["card.html", "statistics.html"])
def test_pages_show_hostile_text_and_run_none(released, name) -> None:
    folder, _ = released
    page = Page()
    page.feed((folder / name).read_text("utf-8"))
    assert not {"script", "img", "iframe", "object", "link", "b"} & {tag for tag, _ in page.tags}
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert TITLE in "".join(page.words)
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", (folder / name).read_text("utf-8"))


def test_latex_escapes_everything(released) -> None:
    folder, _ = released
    tex = (folder / "statistics.tex").read_text("utf-8")
    assert "\\input{" not in tex
    bare = re.sub(r"\\(?:text\w+\{\}|[\\{}$&%#_])", "", tex)
    rows = [line for line in bare.splitlines() if "alert(" in line or "input" in line]
    assert rows
    for line in rows:
        assert not re.search(r"[$#_~^<>]", line.removeprefix(r"\caption{")), line


@pytest.mark.parametrize("name", ["card.md", "methods.md", "huggingface/README.md"])
def test_markdown_has_no_html_and_no_markup_of_others(released, name) -> None:
    folder, _ = released
    text = (folder / name).read_text("utf-8")
    body = text.split("---\n", 2)[2] if name.startswith("hugging") else text
    assert "<" not in body.replace("```bibtex", "")
    assert "\\textless{}script" in body or "&lt;script&gt;" in body


def test_a_claim_in_a_markdown_table_stays_in_its_cell() -> None:
    from covmis_build.corpus.markdown import markdown_table

    frame = pd.DataFrame({"claim": HOSTILE, "posts": range(len(HOSTILE))})
    lines = markdown_table(frame, str).splitlines()
    assert len(lines) == 2 + len(HOSTILE)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {3}
    assert not [line for line in lines if re.search(r"(?<!\\)[*`\[<]", line)]


@pytest.mark.parametrize("said", ["released", "stated"])
def test_checksums_are_those_of_sha256sum_and_nothing_is_left_out(request, said) -> None:
    folder, _ = request.getfixturevalue(said)
    whole = f"{HUGGING_FACE}/corpus.parquet"
    stated = set(SOMETIMES) - {BUNDLE, "pairs_drawn.csv", whole}
    names = {*ALWAYS, *(stated if said == "stated" else {whole})}
    lines = (folder / CHECKSUMS).read_text().splitlines()
    assert sorted(line[66:] for line in lines) == sorted(names)
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == {*names, CHECKSUMS}
    for line in lines:
        assert hashlib.sha256((folder / line[66:]).read_bytes()).hexdigest() == line[:64]


def test_the_same_release_has_the_same_bytes(released, tmp_path) -> None:
    folder, _ = released
    gold, frozen = made_frozen(7, 14)
    corpus = make_corpus(gold.iloc[::-1], frozen.iloc[::-1], TEXT)
    write_release(tmp_path, corpus, made_facts(TITLE, release=TEXT), frozen.set_index("item_id")["text"])
    assert (tmp_path / CHECKSUMS).read_bytes() == (folder / CHECKSUMS).read_bytes()


def test_a_release_that_was_killed_has_no_checksums(tmp_path, monkeypatch) -> None:
    gold, frozen = made_frozen()
    corpus = make_corpus(gold, frozen, Release())
    write_release(tmp_path, corpus, made_facts())
    monkeypatch.setattr("covmis_build.corpus.publish.methods", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_release(tmp_path, corpus, made_facts())
    assert not (tmp_path / CHECKSUMS).exists()


@pytest.mark.parametrize("rows", [0, 1])
def test_a_release_of_nothing_or_next_to_nothing_is_still_whole(tmp_path, rows) -> None:
    gold, frozen = made_frozen(1, 2)
    corpus = make_corpus(gold.iloc[:rows], frozen, Release())
    facts = made_facts(
        "One | study", flow=(), rounds=(), kappa=None, audit=Audit(), platforms={}, period=("", "")
    )
    earlier = [tmp_path / name for name in ("bundle.zip", "annotations.csv", "huggingface/train.parquet")]
    for path in earlier:
        storage.write_text(path, "of an earlier release")
    numbers = write_release(tmp_path, corpus, facts)
    assert not any(path.exists() for path in earlier)
    assert numbers.rows == rows
    assert len(read_corpus(tmp_path / "corpus.csv")) == rows
    assert "NaN" not in (tmp_path / "statistics.json").read_text()


def test_a_setting_says_that_posts_are_simulated_not_the_title(tmp_path) -> None:
    gold, frozen = made_frozen(2, 5)
    corpus = make_corpus(gold, frozen, Release())
    told = ("card.md", "card.html", "methods.md", "croissant.json", "huggingface/README.md")
    for simulated in (False, True):
        facts = made_facts("Climate simulators", release=Release(simulated=simulated))
        write_release(tmp_path, corpus, facts)
        assert {"simulated" in (tmp_path / name).read_text("utf-8") for name in told} == {simulated}


def test_the_card_says_that_nobody_can_fetch_posts_without_ids(tmp_path) -> None:
    gold, frozen = made_frozen(2, 5)
    corpus = make_corpus(gold, frozen, Release())
    deleted, again = "Posts are deleted continually", "cannot be fetched again"
    for platforms, made, told in (
        ({"X": 9}, 0, {deleted}),
        ({"X": 5, "forum": 4}, 4, {deleted, "4 posts cannot be fetched"}),
        ({"forum": 9}, 0, set()),
        ({"forum": 9}, 9, {again}),
    ):
        write_release(tmp_path, corpus, made_facts(platforms=platforms, made_ids=made))
        card = (tmp_path / "card.md").read_text("utf-8")
        assert {words for words in (deleted, again, "4 posts cannot be fetched") if words in card} == told


def test_other_labels_than_the_papers(tmp_path) -> None:
    gold, frozen = made_frozen(3, 8)
    names = {"favor": "pro & <con>", "against": "50%", "neither": "_x_"}
    gold["label"] = gold["label"].map(names)
    labels = Labels(
        values=("_x_", "pro & <con>", "50%", "never"), poles=(), keys=("1", "2", "3", "4"), automatic={}
    )
    numbers = write_release(tmp_path, make_corpus(gold, frozen, Release()), made_facts(labels=labels))
    assert list(numbers.by_kind.columns[1:5]) == list(labels.values)
    assert numbers.by_kind["never"].sum() == 0
    assert "pro &amp; &lt;con&gt;" in (tmp_path / "card.html").read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(",100000000000000000,", ",1.25E+18,", 1), "scientific notation"),
        (lambda text: text.replace("weight", "wait", 1), "lacks the columns weight"),
        (lambda text: text.replace("\r\n", ",x\r\n").replace(",x", "", 1), "is beyond the last column"),
        (lambda text: re.sub(r"(\r\n.*?),\d\.\d+,", r"\1,much,", text, count=1), "not a number"),
    ],
)
def test_a_damaged_corpus_is_refused_in_one_line(tmp_path, change, message) -> None:
    gold, frozen = made_frozen()
    frozen["claim"] = "A plain claim"
    path = tmp_path / "corpus.csv"
    write_corpus(path, make_corpus(gold, frozen, Release()), text=False)
    path.write_bytes(change(path.read_bytes().decode("utf-8-sig")).encode())
    with pytest.raises(InputError, match=message) as caught:
        read_corpus(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("licence", "header"),
    [
        ("CC-BY-4.0", 'license: "cc-by-4.0"'),
        ("CC BY 4.0", 'license: "cc-by-4.0"'),
        ('Ask us\nfirst: "please"', 'license: "other"\nlicense_name: "Ask us\\nfirst: \\"please\\""'),
        ("", 'license: "unknown"'),
    ],
)
def test_the_header_for_hugging_face_names_the_licence(licence, header) -> None:
    gold, frozen = made_frozen(1, 3)
    numbers = statistics(make_corpus(gold, frozen, Release()), Labels().values)
    assert header in hugging_face_header(made_facts(release=Release(licence=licence)), numbers)


def test_an_id_of_reddit_may_look_like_a_number_with_an_exponent(tmp_path):
    check_ids(pd.Series(["45e1234", "d02u4j6"]), tmp_path / "corpus.csv")
    with pytest.raises(InputError, match=r"row 3: the id 4,5E\+17 is in scientific notation"):
        check_ids(pd.Series(["45e1234", "4,5E+17"]), tmp_path / "corpus.csv")
