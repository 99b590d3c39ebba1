"""An operation is described once: its signature makes the command, the line of a session's script, and the reference."""

from __future__ import annotations

import ast
import gc
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path

import pytest

import covmis_build
from covmis_build import operations
from covmis_build.cli.renamed import RENAMED, renamed
from covmis_build.operations import REQUIRED, operation
from covmis_build.study.verbs import VERBS, python, words
from tests.program import covmis

PACKAGE = Path(covmis_build.__file__).parent


def descriptions(tree: ast.AST):
    """The lines of help in a file, of options and of described parameters."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in {"About", "Option", "Argument"}:
            texts = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "help")]
            yield from (
                text.value
                for text in texts
                if isinstance(text, ast.Constant)
                and isinstance(text.value, str)
                and len(text.value.split()) > 3
            )


def test_no_parameter_is_described_twice():
    said = Counter(
        line for path in PACKAGE.rglob("*.py") for line in descriptions(ast.parse(path.read_text("utf-8")))
    )
    assert len(said) > 150
    assert [line for line, times in said.items() if times > 1] == []


HOMES = sorted({home for verb in VERBS.values() for home in (verb.home, *(one.home for one in verb.choices))})


@pytest.mark.parametrize("home", HOMES)
def test_what_is_read_from_the_source_is_the_function_s_own_signature(home):
    asked = operation(home)
    own = {name: at for name, at in signature(asked.load()).parameters.items() if name != "self"}
    assert {at.name for at in asked.parameters} | asked.others == own.keys()
    for at in asked.parameters:
        assert own[at.name].default == (own[at.name].empty if at.default is REQUIRED else at.default), at.name
        assert at.about.help.endswith("."), at.name


class Unreachable:
    """Garbage in a circle: only the collector takes it away, in the middle of what a thread does."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        time.sleep(0)  # another thread goes on


@pytest.fixture
def restless():
    """Threads take turns, and garbage is collected, at nearly every step."""
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)


def test_operations_are_read_by_many_threads_at_once(restless):
    homes = sorted({home.partition(":")[0]: home for home in HOMES}.values())

    def read(at):
        garbage = [Unreachable() for _ in range(100)]
        return operation.__wrapped__(homes[at % len(homes)]), garbage

    for _ in range(3):
        operations._source.cache_clear()
        with ThreadPoolExecutor(8) as threads:
            assert len([*threads.map(read, range(8 * len(homes)))]) == 8 * len(homes)


def test_a_session_s_lines_say_what_was_done():
    item = {"item": "c1|x:1", "label": "favor", "discuss": False}
    assert words("round adjudicate", item, number="001") == [
        "round", "adjudicate", "c1|x:1", "--label", "favor", "--no-discussion", "--round", "001",
    ]  # fmt: skip
    assert python("round adjudicate", item, number="001") == (
        "study.round('001').decide('c1|x:1', 'favor', discuss=False)"
    )
    assert words("queries set", {"claim": "1", "keywords": ["-a b", "c"]}) == [
        "queries", "set", "--", "1", "-a b", "c",
    ]  # fmt: skip
    assert words("claims import", {"claims": "a.csv", "columns": {"text": "said"}}) == [
        "claims", "import", "a.csv", "--column", "text=said",
    ]  # fmt: skip
    assert words("sample", {}) == ["sample"]
    assert words("release", {"text": False}) == ["release", "--ids-only"]


def test_an_option_of_another_operation_is_refused(tmp_path):
    assert covmis("new", tmp_path / "s")[0] == 0
    for given, said in (
        (("status", "--reason", "x"), "--reason goes with --dropped. Add --dropped"),
        (("sample", "--share", "0.2"), "--share goes with --plan. Add --plan"),
        (
            ("estimate", "--between", "claim:1", "claim:2", "--model", "favor ~ kind"),
            "--between and --model do not go together",
        ),
        (("claims", "import", "--look"), "--look needs FILE. Name it"),
        (("claims", "import", "--look", "--search", "x"), "--search and --look do not go together"),
        (("round", "adjudicate", "a|x:1"), "ITEM needs --label. Name it"),
        (("round", "adjudicate", "--label", "favor"), "--label goes with ITEM. Add ITEM"),
    ):
        code, _, err = covmis(*given, "--study", tmp_path / "s")
        assert (code, said in err) == (2, True), err


def test_old_names_work_and_say_the_new_one(tmp_path):
    for old, new in RENAMED.items():
        said, line = renamed([*old, "--study", "s"])
        assert said[: len(new)] == [*new]
        assert line.startswith(f"`covmis {' '.join(old)}` is now `covmis {' '.join(new)}")
    assert renamed(["round", "decide", "c1|x:1", "--label", "favor"])[0][:3] == [
        "round",
        "adjudicate",
        "c1|x:1",
    ]
    assert renamed(["round", "decide", "--round", "1"])[0] == [
        "round",
        "adjudicate",
        "--list",
        "--round",
        "1",
    ]
    assert renamed(["round", "open"]) == (["round", "open"], "")
    code, _, err = covmis("round", "board", "--study", tmp_path)
    assert (code, "`covmis round board` is now `covmis export board`" in err) == (2, True)
