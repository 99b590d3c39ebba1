"""Annotators in other languages than English: every message in every catalogue, pages, and sheets that go out and come back."""

from __future__ import annotations

import json
import re
import shutil
from itertools import chain
from pathlib import Path

import pytest

import covmis_build
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.channels.headings import COLUMNS, titles
from covmis_build.annotation.channels.sheets import read_rows
from covmis_build.annotation.guideline import mentioned, undefined
from covmis_build.annotation.languages import ENGLISH, built_in, language_of, places
from covmis_build.errors import InputError
from covmis_build.options import LANGUAGES, Labels
from covmis_build.report.direction import direction
from covmis_build.study.new import new_study
from covmis_build.study.study import open_study
from covmis_build.text.shown import HEADINGS
from tests.annotation.small import covmis, rows_of, write_rows
from tests.annotation.test_offline_page import ANSWERED, DATA, MESSAGE, exported, opened
from tests.annotation.test_pages import folder, look_everywhere  # noqa: F401 - a fixture
from tests.workbench.test_label import answer
from tests.workbench.test_team_attacks import browser as visitor
from tests.workbench.test_team_attacks import team  # noqa: F401 - a fixture

CODE = Path(covmis_build.__file__).parent
_, *CODES = LANGUAGES
TEXT = r'"((?:[^"\\]|\\.)*)"'
USES = (
    re.compile(rf"(?<![\w.])(?:self\._)?t\(\s*{TEXT}"),
    re.compile(rf"(?<!\w)counted\([^,\"]+,\s*{TEXT},\s*{TEXT}"),
    re.compile(r'"(round \{number\} [^"]*)"'),  # of NoWork, which says it in English, too
)


def used() -> set[str]:
    """Every message for annotators in templates, scripts and Python."""
    sources = [
        *CODE.glob("report/templates/offline.*"),
        *CODE.glob("workbench/templates/*.html"),
        *(CODE / name for name in ("workbench/team.py", "study/links.py", "study/round.py")),
        *(CODE / "annotation/channels").glob("*.py"),
    ]
    texts = [path.read_text("utf-8") for path in sources]
    uses = chain.from_iterable(use.findall(text) for use in USES for text in texts)
    return {*HEADINGS, *chain.from_iterable([each] if isinstance(each, str) else each for each in uses)}


@pytest.mark.parametrize("code", CODES)
def test_a_catalogue_has_each_message_and_no_other(code):
    language = built_in(code)
    assert len(used()) > 100
    assert set(language.messages) == used()
    assert {
        message for message, said in language.messages.items() if places(message) != places(said)
    } == set()
    assert language.code == code
    assert language.direction == ("rtl" if code == "ar" else "ltr")
    headings = [titles(language).get(name, name) for name in COLUMNS]
    assert len(set(headings)) == len(headings)
    hints = [
        said for message, said in language.messages.items() if message.startswith(("The order", "Made of"))
    ]
    assert max(map(len, hints)) <= 255, "Excel opens no workbook with a longer hint"


def set_language(folder: Path, name: str) -> None:  # noqa: F811
    text = (folder / "study.toml").read_text("utf-8")
    without = re.sub(r"language = .*\n", "", text)
    (folder / "study.toml").write_text(
        without.replace("[annotation]\n", f'[annotation]\nlanguage = "{name}"\n'), "utf-8"
    )


@pytest.mark.needs("chromium")
def test_a_spanish_page_is_answered_and_comes_back(folder, browser):  # noqa: F811
    set_language(folder, "es")
    covmis(folder, "round", "push", "--channel", "html")
    page = folder / "annotation/rounds/001/sheets/a1.html"
    opened(browser, page)
    count = browser.run(f"{DATA} return data.items.length")
    assert browser.run("return [document.documentElement.lang, document.dir]") == ["es", "ltr"]
    assert browser.run("return document.title").startswith("Ronda 001, a1 ·")
    heads = "return [...document.querySelectorAll('#parts h2')].map((one) => one.firstChild.textContent)"
    assert {"Afirmación", "Publicación", "Fecha", "Enlace"} <= set(browser.run(heads))
    assert "22 de abril de 2020" in browser.run("return document.getElementById('parts').innerText")
    buttons = "return [...document.querySelectorAll('#choices button')].map((one) => one.textContent)"
    assert browser.run(buttons) == ["favor", "against", "neither", "omitir", "afirmación poco clara"]
    browser.press("1", "f", "0")
    assert browser.run(MESSAGE) == "Publicación anterior: omitir. Retroceso la deshace."
    assert browser.run(ANSWERED) == "Respondidas: 2"
    look_everywhere(browser, "spanish")
    browser.press("l")
    shown = browser.run("return document.getElementById('list').innerText")
    assert f"todas ({count})" in shown
    assert "2. omitir, marcadas" in shown
    assert not re.search(
        r"\b(post|label|answers?|claim)s?\b", browser.run("return document.getElementById('work').innerText")
    )
    browser.press("l", *"2" * (count - 2))
    shutil.move(exported(browser), page.with_name("a1-001.json"))
    assert covmis(folder, "round", "pull")["added"] == count
    labels = record.find(folder / "annotation" / "rounds").labels()
    assert labels["label"].value_counts().to_dict() == {"against": count - 2, "favor": 1, "": 1}
    assert labels["comment"].value_counts()["flagged"] == 1, "what is stored stays as it is"


@pytest.mark.needs("chromium")
def test_an_arabic_page_runs_from_right_to_left(folder, browser):  # noqa: F811
    set_language(folder, "ar")
    covmis(folder, "round", "push", "--channel", "html")
    opened(browser, folder / "annotation/rounds/001/sheets/a1.html")
    assert browser.run("return getComputedStyle(document.body).direction") == "rtl"
    keys = "return ['back', 'next'].map((id) => document.getElementById(id).dataset.key)"
    assert browser.run(keys) == ["→", "←"]
    left = "return ['back', 'next'].map((id) => document.getElementById(id).getBoundingClientRect().left)"
    back, forth = browser.run(left)
    assert back > forth
    place = "return document.getElementById('place').textContent"
    browser.press("ArrowLeft")
    assert browser.run(place).startswith("المنشور 2 من")
    browser.press("ArrowRight")
    assert browser.run(place).startswith("المنشور 1 من")
    claim = "return getComputedStyle(document.querySelector('.claim p')).direction"
    assert browser.run(claim) == "ltr", "an English claim keeps its own direction"
    look_everywhere(browser, "arabic")
    browser.press("g")
    guideline = "return getComputedStyle(document.querySelector('.guideline p')).direction"
    assert browser.run(guideline) == "ltr"
    look_everywhere(browser, "arabic-guideline")


def filled(folder: Path, at: slice) -> list[dict[str, str]]:  # noqa: F811
    """Fill in these rows of a1's German sheet, as its headings stand there."""
    path = folder / "annotation/rounds/001/sheets/a1.csv"
    rows = rows_of(path)
    for row in rows[at]:
        row |= {"Kategorie (label)": "against", "Kommentar (comment)": "hm", "meine Spalte": "für mich"}
    write_rows(path, [{"meine Spalte": "", **row} for row in rows])
    return rows


def test_a_german_sheet_goes_out_and_comes_back_also_when_the_language_changed(folder):  # noqa: F811
    set_language(folder, "de")
    covmis(folder, "round", "push")
    sheets = folder / "annotation/rounds/001/sheets"
    header = ["item_id", "Behauptung (claim)", "Beitrag (post)", "Kontext (context)", "Kategorie (label)",
              "Prüfwort (check)", "Unterkategorie (sub_label)", "Kommentar (comment)"]  # fmt: skip
    rows = rows_of(sheets / "a1.csv")
    assert list(rows[0]) == header
    assert "Datum: 2020-04-22" in rows[0]["Kontext (context)"]
    filled(folder, slice(2))
    set_language(folder, "es")
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["problems"]) == (2, [])
    # more work for a1: the sheet is written again, in Spanish, with all that was in it
    write_rows(sheets / "a1.csv", rows_of(sheets / "a1.csv")[:-1])
    covmis(folder, "round", "push")
    again = rows_of(sheets / "a1.csv")
    assert len(again) == len(rows)
    assert [row["etiqueta (label)"] for row in again[:3]] == ["against", "against", ""]
    assert [row["comentario (comment)"] for row in again[:2]] == ["hm", "hm"]
    assert again[0]["meine spalte"] == "für mich"
    assert "Beitrag (post)" not in again[0]
    assert covmis(folder, "round", "pull")["added"] == 0


def test_a_german_workbook_comes_back_with_its_checks(folder):  # noqa: F811
    import openpyxl

    set_language(folder, "de")
    covmis(folder, "round", "push", "--channel", "xlsx")
    path = folder / "annotation/rounds/001/sheets/a1.xlsx"
    book = openpyxl.load_workbook(path)
    page = book.active
    heads = [cell.value for cell in page[1]]
    label = heads.index("Kategorie (label)") + 1
    rules = {rule.promptTitle: rule.prompt for rule in page.data_validations.dataValidation if rule.prompt}
    assert rules["Prüfwort (check)"].startswith("Aus Ihrem Kürzel")
    for row in range(2, page.max_row + 1):
        assert page.cell(row, label).protection.locked is False
        page.cell(row, label).value = "neither"
    book.save(path)
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["problems"], pulled["notes"]) == (page.max_row - 1, [], [])


def test_a_discarded_round_knows_what_is_filled_in_in_any_language(folder):  # noqa: F811
    set_language(folder, "de")
    covmis(folder, "round", "push")
    filled(folder, slice(1))
    assert "answers in a1.csv" in covmis(folder, "round", "discard", "1", fails=2)["error"]


def test_a_purge_keeps_the_headings(folder):  # noqa: F811
    from covmis_build.annotation.channels.sheets import without_items

    set_language(folder, "ar")
    covmis(folder, "round", "push")
    path = folder / "annotation/rounds/001/sheets/a1.csv"
    rows = rows_of(path)
    (content,) = without_items(path, [rows[0]["item_id"]]).values()
    path.write_bytes(content)
    assert rows_of(path) == rows[1:]
    assert set(read_rows(path, ("label", "claim", "post")).columns) == set(COLUMNS)


def test_another_language_is_a_file_whose_gaps_are_english(folder):  # noqa: F811
    own = folder / "nl.toml"
    own.write_text('[language]\ncode = "nl"\n[messages]\n"label" = "etiket"\n"Date" = "Datum"\n', "utf-8")
    set_language(folder, "nl.toml")
    covmis(folder, "round", "push")
    row, *_ = rows_of(folder / "annotation/rounds/001/sheets/a1.csv")
    assert {"etiket (label)", "claim", "comment"} <= set(row)
    assert "Datum: " in row["context"]
    for text, why in (
        ('[language]\ncode = "nl"\n[messages]\n"labels" = "x"', "no message is 'labels'"),
        ('[language]\ncode = "nl"\n[messages]\n"{count} min" = "{n} min"', r"other \{names\}"),
        ('[language]\ncode = "nl"\n[messages]\n"{count} min" = "{count:9999999999}"', r"other \{names\}"),
        ('[messages]\n"label" = "etiket"', "is no catalogue"),
        ('[language]\ncode = "nl"\ndirection = "up"', "is no catalogue"),
        ("[language", "is not TOML"),
    ):
        own.write_text(text, "utf-8")
        with pytest.raises(InputError, match=why):
            language_of("nl.toml", folder)
    own.unlink()
    assert "is not there" in covmis(folder, "round", "push", "--channel", "html", fails=2)["error"]
    set_language(folder, "xx")
    assert "es, pt" in covmis(folder, "round", "push", fails=2)["error"]


def test_pages_of_links_and_what_they_refuse_are_in_the_language(team):  # noqa: F811
    place = team.bench.study.folder
    set_language(place, "de")
    with visitor(team) as stranger:
        assert 'lang="de" dir="ltr"' in (entry := stranger.get("/").text)
        assert "Ihr Link wird geöffnet" in entry
        assert "Keine Verbindung. Versuchen" in json.loads(re.search(r'stop\(("Kein.*?")\)', entry)[1])
        assert stranger.post("/enter", content="x").text.startswith("Dieser Link ist nicht bekannt.")
        assert "weiß nicht, wem er gehört" in stranger.get("/work").text
    with visitor(team, "a1") as client:
        page = client.get("/work/a1/001").text
        assert 'lang="de"' in page
        item, *_ = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])["items"]
        sent = client.post("/work/a1/001", json={"answers": [answer(item, "favour?")]}).json()
        assert sent["refused"] == {item["id"]: "'favour?' ist keine Kategorie der Runde 001"}
        gone = client.post("/work/a1/077", json={"answers": [answer(item, "favor")]})
        assert (gone.status_code, gone.text) == (
            409,
            "Runde 077 wurde zurückgenommen, ihre Antworten zählen nirgends",
        )
        set_language(place, "nl.toml")
        assert client.get("/work/a1/001").text.startswith("the study cannot record answers now")
    assert "nl.toml" in team.troubles[-1], "the lead hears what is wrong with the file"


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_new_study_has_its_guideline_in_the_language(tmp_path, code):
    new_study(tmp_path / "usual", "", language=code)
    settings = open_study(tmp_path / "usual").settings
    guideline = (tmp_path / "usual/annotation/guideline.md").read_text("utf-8")
    assert settings.annotation.language == code
    english = (CODE / "template/annotation/guideline.md").read_text("utf-8")
    assert (
        guideline == english
        if code == "en"
        else set(guideline.split("\n")).isdisjoint({*english.split("\n")} - {"", "|---|---|"})
    )
    assert direction(guideline) == built_in(code).direction
    assert undefined(Labels().values, guideline) == []
    assert re.findall(r"^\d+\.", guideline, re.MULTILINE) == [f"{number}." for number in range(1, 8)]
    new_study(tmp_path / "own", "", language=code, labels="true,false")
    own = (tmp_path / "own/annotation/guideline.md").read_text("utf-8")
    assert undefined(["true", "false"], own) == ["true", "false"]
    assert not any(mentioned(label, [own]) for label in Labels().values)
    with pytest.raises(InputError, match="'xx'"):
        new_study(tmp_path / "strange", "", language="xx")


def test_english_stays_as_it_was():
    assert titles(ENGLISH) == {}
    assert ENGLISH("Post {post} of {posts}", post=1, posts=2) == "Post 1 of 2"
    assert json.loads(json.dumps(ENGLISH.words_of('t("All posts")'))) == {}
