"""Forms of a study's own, [[retrieval.forms]]: recognised everywhere, refused with the key, and part of what `read` depends on."""

from __future__ import annotations

import json
import re
import tomllib
import zipfile

import pytest

from covmis_build import new_study, open_study
from covmis_build.archive import formats, reader, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.formats.filters import FILTERS
from covmis_build.archive.reader import ReadingOptions
from covmis_build.archive.taking_out import take_out
from covmis_build.errors import InputError
from covmis_build.options import Columns
from covmis_build.settings import parse, settings_toml
from tests.conftest import ROOT
from tests.program import covmis, shown

GUIDE = (ROOT / "docs" / "guides" / "forms.md").read_text("utf-8")
(EXPORT,), (FORM, BOARD), (LOOKED,) = (re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL) for kind in ("json", "toml", "console"))  # fmt: skip
LINE = '[[retrieval.forms]]\nname = "line"\nplatform = "forum"\nkeys = ["id", "text"]\nid = "id"\ntext = "text"\n'
TABLE = '[[retrieval.forms]]\nname = "line"\nplatform = "forum"\nheader = ["id", "text"]\nid = "id"\ntext = "text"\n'
FIRST = {"id": 1, "text": "masks"}


def settings(written):
    return parse({"title": "t", **tomllib.loads(written)})


def how(written):
    return ReadingOptions.of(settings(written).retrieval)


def reads(path, written):
    options = how(written)
    jobs = streams.jobs([(path, path.name)], options.own_forms)
    return [line for job in jobs for line in reader.read(job, how=options)]


@pytest.fixture
def study(tmp_path):
    made = new_study(tmp_path / "s", title="t")
    for path in made.places.archives[0].iterdir():
        path.unlink()
    (made.places.archives[0] / "board.json").write_text(EXPORT, "utf-8")
    return made


def add(study, written):
    path = study.folder / "study.toml"
    path.write_text(path.read_text("utf-8") + "\n" + written, "utf-8")
    return open_study(study.folder)


def test_the_example_of_the_guide(study):
    assert "nothing in it could be read" in study.look(study.folder / "data/archive/board.json").questions[0]
    add(study, FORM)
    command, _, printed = LOOKED.partition("\n")
    told = shown(study.folder, *command.removeprefix("$ covmis ").split())
    assert told.startswith(printed.rstrip())


def test_the_board_that_the_guide_names(tmp_path):
    thread = [
        {"no": 570368, "now": "04/22/20(Wed)06:00:00", "time": 1587549600, "resto": 0, "sub": "Masks", "com": "do <wbr>not<br>&gt;help"},
        {"no": 570370, "now": "04/22/20(Wed)06:01:00", "time": 1587549660, "resto": 570368,
         "com": '<a href="#p570368" class="quotelink">&gt;&gt;570368</a><br>they do'},
        {"no": 570371, "now": "04/22/20(Wed)06:02:00", "time": 1587549720, "resto": 570368, "filename": "a"},
    ]  # fmt: skip
    (tmp_path / "570368.json").write_text(json.dumps({"posts": thread}))
    ((line,)) = reads(tmp_path / "570368.json", BOARD)
    assert [
        (post.post_id, post.text, post.created_at, post.reply_to, post.conversation) for post in line.posts
    ] == [
        ("4chan:pol/570368", "Masks\n\ndo not\n>help", "2020-04-22T10:00:00Z", "", "4chan:pol/570368"),
        ("4chan:pol/570370", ">>570368\nthey do", "2020-04-22T10:01:00Z", "4chan:pol/570368", "4chan:pol/570368"),
        ("4chan:pol/570371", "", "2020-04-22T10:02:00Z", "4chan:pol/570368", "4chan:pol/570368"),
    ]  # fmt: skip


def test_the_guide_has_every_filter():
    for name, does in FILTERS.items():
        assert f"| `{name}` | {does.says} |" in GUIDE, name


@pytest.mark.parametrize("name", ["posts.json", "posts.jsonl", "list.json", "posts.zip", "posts.csv"])
def test_files_that_only_a_form_of_the_study_reads(tmp_path, name):
    """Also a list of flat objects, which would be a table, and in a packed file."""
    rows = [FIRST, {"id": 2, "text": "no masks"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path = tmp_path / name
    if name == "posts.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/posts.json", json.dumps(rows))
    elif name == "posts.csv":
        path.write_text("id,text\n1,masks\n2,no masks\n")
    else:
        path.write_text(json.dumps(rows) if name == "list.json" else lines)
    written = TABLE if name == "posts.csv" else LINE
    posts = [(line.form, post.post_id, post.text) for line in reads(path, written) for post in line.posts]
    assert posts == [("line", "forum:1", "masks"), ("line", "forum:2", "no masks")]


def test_two_tables_of_one_name_are_two_shapes(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,masks\n")
    (tmp_path / "a.json").write_text(json.dumps(FIRST))
    for name in ("a.csv", "a.json"):
        ((post,),) = [line.posts for line in reads(tmp_path / name, LINE + TABLE)]
        assert post.post_id == "forum:1"


def test_a_form_of_the_study_is_tried_before_those_of_tools_but_never_takes_covmis_own_lines():
    both = LINE.replace('["id", "text"]', '[["id", "created_utc"], ["post_id", "text"]]')
    forms = how(both).forms
    assert formats.KNOWN.form_of({"id": "a", "created_utc": 1, "subreddit": "s", "body": "b"}) == "reddit"
    assert forms.form_of({"id": "a", "created_utc": 1, "subreddit": "s", "body": "b"}) == "line"
    assert forms.form_of({"covmis_post": 1, "post_id": "forum:1", "text": "a"}) == "covmis"
    assert forms.form_of({"post_id": "forum:1", "text": "a"}) == "line"


def test_a_rule_for_columns_may_name_a_form_of_the_study(tmp_path):
    (tmp_path / "a.csv").write_text("id,words\n1,masks\n")
    options = how(
        TABLE.replace('["id", "text"]', '["id", "text", "rare"]').replace('text = "text"', 'text = "words"')
    )
    options = options._replace(rules=(Columns(format="line"),))
    (job,) = streams.jobs([(tmp_path / "a.csv", "a.csv")])
    ((post,),) = [line.posts for line in reader.read(job, how=options)]
    assert (post.post_id, post.text) == ("forum:1", "masks")


REFUSED = {
    'text = "text | striip"': "text: no filter is called 'striip'. Did you mean 'strip'?",
    'time = "at | date:%Q"': "time: '%Q' is no form of a date, like date:%d.%m.%Y. docs/guides/forms.md",
    'time = "at"\ntimezone = "Nowhere"': "time: the zone 'Nowhere' is unknown",
    'links = "text | urls"\nposts = "a[2]"': "posts: a place of posts is like",
    'language = "^lang"': "language: '^lang': there is no object so far around a post",
    'conversation = "text | urls"': "conversation: a list where a text was expected",
    'case = [{ if = "a ~ (", skip = "b" }]': "case 1, if: '(' is no regular expression",
    'case = [{ if = "a", skip = "b" }, { if = "b", text = "c | map:d" }]': "case 2, text: no map is called 'd'",
    'cards = { adress = "a" }': "cards: no part is called 'adress'",
    'where = "$id = 3"': "where: a line or document has no $ values",
    'within = "text[]"': "within: 'text' is read both as a value and as a place of posts",
}  # fmt: skip


@pytest.mark.parametrize("key", REFUSED)
def test_an_error_names_the_settings_the_form_and_the_key(key):
    without = LINE.replace('text = "text"\n', "") if key.startswith("text") else LINE
    with pytest.raises(InputError) as error:
        how(without + key)
    assert str(error.value).startswith(f"study.toml: [[retrieval.forms]] 'line', {REFUSED[key]}")


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (LINE.replace('"line"', '"reddit"'), "'reddit', name: covmis has a form of this name"),
        (LINE.replace('"line"', '"a b"'), "'a b', name: letters, digits, - and _ only"),
        (LINE.replace('id = "id"\n', ""), "'line', id: it is missing"),
        (LINE.replace('platform = "forum"\n', ""), "'line', id: platform is missing"),
        (LINE.replace('keys = ["id", "text"]', ""), "'line', keys: how is it recognised?"),
    ],
)
def test_a_form_that_cannot_be_used(form, problem):
    with pytest.raises(InputError, match=re.escape(problem)):
        how(form)


def test_a_wrong_key_names_the_form_that_has_it():
    with pytest.raises(InputError, match=r'unknown key \'txt\' in \[\[retrieval.forms\]\] \(name = "line"\)'):
        settings(LINE + 'txt = "text"')
    with pytest.raises(InputError, match=r'forms.case\]\] skip must be text in quotes \(name = "line"\)'):
        settings(LINE + "case = [{ if = 'a', skip = 3 }]")
    with pytest.raises(InputError, match="counts must be a list, each text in quotes"):
        settings(LINE + "counts = [1]")


def test_a_wrong_form_ends_look_and_run_with_one_line(study):
    add(study, FORM.replace("| unescape", "| unescap"))
    board = str(study.folder / "data/archive/board.json")
    for command in (("posts", "look", board), ("run",), ("posts", "add", "--convert", board)):
        code, _, err = covmis(*command, "--study", str(study.folder))
        assert code == 2, command
        assert "study.toml: [[retrieval.forms]] 'board', text: no filter is called 'unescap'" in err
        assert len(err.splitlines()) == 1


def test_a_changed_form_makes_the_tables_stale_and_the_files_are_read_again(study):
    changed = add(study, FORM)
    changed.run()
    assert sorted(changed.archive.to_pandas()["text"]) == ["Masks cause oxygen deficiency", "No & never"]
    assert all(changed.status().stages.values())
    other = FORM.replace("| unescape", "| lower")
    path = study.folder / "study.toml"
    path.write_text(path.read_text("utf-8").replace(FORM, other), "utf-8")
    again = open_study(study.folder)
    assert not again.status().stages["read"]
    again.run()
    assert sorted(again.archive.to_pandas()["text"]) == ["masks cause oxygen deficiency", "no &amp; never"]


def test_posts_that_are_added_are_read_with_the_form(study, tmp_path):
    (tmp_path / "other.json").write_text(EXPORT.replace('"id": 1', '"id": 7'), "utf-8")
    (tmp_path / "list.json").write_text(json.dumps([FIRST | {"id": 9}]), "utf-8")
    changed = add(study, FORM + LINE)
    changed.add_posts(tmp_path / "other.json")
    changed.import_posts(study.folder / "data/archive/board.json")
    changed.import_posts(tmp_path / "list.json")
    changed.run()
    assert set(changed.archive.to_pandas(["post_id"])["post_id"]) == {
        "forum:1", "forum:2", "forum:7", "forum:9",
    }  # fmt: skip


def test_a_purge_takes_out_whole_lines_of_a_form_of_the_study(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({**FIRST, "id": number}) + "\n" for number in (1, 2)))
    assert [*take_out([path], Forget(frozenset({"forum:1"})), how(LINE))] == [1]
    assert [json.loads(line) for line in path.read_text().split("\n") if line] == [{**FIRST, "id": 2}]


def test_forms_are_written_as_they_are_read():
    """As a release has them, whose settings must give the same corpus."""
    read = settings(FORM)
    assert parse(tomllib.loads(settings_toml(read))) == read
