"""Files of shared tasks as they are, whole and spoilt: each pair is scored as the official scorer does, or refused.

The figures of official scorers are those of FNC-1's scorer.py, RumourEval 2019's home_scorer_macro.py, SemEval-2016's
eval.pl and CLEF CheckThat! 2018's scorer/task2.py, run on the files that are written here (the last, as its repository
prints them). docs/guides/evaluation.md sums them up.
"""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import covmis_build as covmis
from covmis_build.errors import InputError
from tests.conftest import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

HOME = Path(DATA)


@dataclass(frozen=True)
class Pair:
    """Gold and a system's file, how they are scored, and what is expected: measures, or why they are refused."""

    task: str
    what: str
    gold: Callable[[], tuple[str, bytes]]
    system: Callable[[], tuple[str, bytes]]
    expected: dict[str, float] | str
    official: str = ""
    """What the official scorer does, where that is something else."""
    how: dict[str, Any] = field(default_factory=dict)


def as_csv(table: pd.DataFrame, separator: str = ",", **how: Any) -> bytes:
    return table.to_csv(index=False, sep=separator, **how).encode()


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    return table.sample(frac=1, random_state=1)


# FNC-1: a row is a pair of a headline and a body, and pairs repeat. The headlines are made up.
@cache
def fnc() -> pd.DataFrame:
    table = pd.read_csv(HOME / "fnc1" / "fnc1_test_predictions.csv.gz", dtype=str)
    table["Headline"] = ["It’s headline " + str(int(row) % 700) for row in table["row"]]
    return table.rename(columns={"body_id": "Body ID"})


def of_fnc(column: str, name: str = "Stance") -> pd.DataFrame:
    return fnc()[["Headline", "Body ID", column]].rename(columns={column: name})


def fnc_shares() -> pd.DataFrame:
    shares = {
        label: f"talos_cnn_p_{label.lower()}" for label in ("Agree", "Disagree", "Discuss", "Unrelated")
    }
    return fnc()[["Headline", "Body ID", *shares.values()]].set_axis(["Headline", "Body ID", *shares], axis=1)


TALOS = "talos_ensemble_averaged_2models_cor4"
FNC = {"fnc": 9556.5 / 11651.25}
FNC_GOLD = lambda: ("gold.csv", as_csv(of_fnc("gold")))  # noqa: E731 - a table of them follows


def fnc_pair(what: str, system: Callable[[], bytes], expected: Any, official: str = "", **how: Any) -> Pair:
    name = how.pop("name", "system.csv")
    return Pair("FNC-1", what, how.pop("gold", FNC_GOLD), lambda: (name, system()), expected, official, how)


def talos() -> pd.DataFrame:
    return of_fnc(TALOS)


MISMATCH = r"row \d+: has another (headline|body_id) here"
NO_ENTRY = "refuses"
FNC_PAIRS = [
    fnc_pair("as published", lambda: as_csv(talos()), FNC),
    fnc_pair("saved as Windows-1252", lambda: as_csv(talos()).decode().encode("cp1252"), FNC, NO_ENTRY),
    fnc_pair("packed", lambda: gzip.compress(as_csv(talos())), FNC, NO_ENTRY, name="system.csv.gz"),
    fnc_pair("lines end as on Windows", lambda: as_csv(talos(), lineterminator="\r\n"), FNC),
    fnc_pair("shuffled", lambda: as_csv(shuffled(talos())), MISMATCH),
    fnc_pair("two rows exchanged", lambda: as_csv(talos().iloc[[1, 0, *range(2, 25413)]]), MISMATCH),
    fnc_pair("truncated", lambda: as_csv(talos()[:20000]), "20,000 predictions for 25,413 items", "scores what is there: 7490.75"),
    fnc_pair("a row twice", lambda: as_csv(pd.concat([talos()[:1], talos()])), "25,414 predictions"),
    fnc_pair("a headline altered", lambda: as_csv(talos().replace("It’s headline 7", "Its headline 7")), MISMATCH),
    fnc_pair("Stance called prediction", lambda: as_csv(of_fnc(TALOS, "prediction")), FNC, NO_ENTRY),
    fnc_pair("a share for each label", lambda: as_csv(fnc_shares()), {"fnc": 7093.75 / 11651.25}, NO_ENTRY),
    fnc_pair("labels alone", lambda: as_csv(talos()[["Stance"]]), "can only be paired by position"),
    fnc_pair("labels alone, --by-position", lambda: as_csv(talos()[["Stance"]]), FNC, NO_ENTRY, by_position=True),
    fnc_pair("shuffled, --by-position", lambda: as_csv(shuffled(talos())), MISMATCH, by_position=True),
    fnc_pair(
        "ids in both, shuffled", lambda: as_csv(shuffled(talos().assign(id=fnc()["row"]))), FNC, NO_ENTRY,
        gold=lambda: ("gold.csv", as_csv(of_fnc("gold").assign(id=fnc()["row"]))),
    ),
    fnc_pair("ids in one alone", lambda: as_csv(talos().assign(id=fnc()["row"])), r"gold\.csv: has no ids"),
]  # fmt: skip


# RumourEval: labels by id in JSON.
@cache
def rumour(name: str) -> dict[str, str]:
    read = json.loads((HOME / "rumoureval" / name).read_text("utf-8"))
    return dict(read.get("subtaskaenglish", read))


GOLD_2019, W0LGAST = "2019_test_gold_twitter_only_Fengshawn.json", "2019_W0lgast_answer.json"
OFFICIAL_2019 = {"accuracy": 0.7345215759849906, "macro_f1": 0.44565995880402864}


def answer(labels: dict[str, str], task: str = "subtaskaenglish", **more: Any) -> tuple[str, bytes]:
    return "answer.json", json.dumps({task: labels, **more} if task else labels).encode()


def on_twitter() -> dict[str, str]:
    return {item: label for item, label in rumour(W0LGAST).items() if item in rumour(GOLD_2019)}


def mixed(labels: dict[str, str]) -> dict[str, str]:
    keys = list(labels)
    random.Random(1).shuffle(keys)
    return {key: labels[key] for key in keys}


def first(labels: dict[str, str], part: float) -> dict[str, str]:
    return dict(list(labels.items())[: int(part * len(labels))])


def doubled() -> tuple[str, bytes]:
    name, content = answer(on_twitter())
    item = next(iter(on_twitter())).encode()
    return name, content.replace(b'{"' + item, b'{"' + item + b'": "query", "' + item, 1)


def in_csv(ids: list[Any]) -> bytes:
    return as_csv(pd.DataFrame({"tweet_id": ids, "label": list(on_twitter().values())}))


def rumour_pair(what: str, system: Callable[[], tuple[str, bytes]], expected: Any, official: str = "", **how: Any) -> Pair:  # fmt: skip
    gold = how.pop("gold", lambda: ("key.json", (HOME / "rumoureval" / GOLD_2019).read_bytes()))
    return Pair("RumourEval", what, gold, system, expected, official, how)


IGNORES = "ignores them"
GOLD_2017 = "2017_test_gold_subtaska.json"
RUMOUR_PAIRS = [
    rumour_pair("2019, posts of Twitter and Reddit", lambda: answer(rumour(W0LGAST)), "761 items .* gold lacks", IGNORES),
    rumour_pair("the same, --extra ignore", lambda: answer(rumour(W0LGAST)), OFFICIAL_2019, extra="ignore"),
    rumour_pair("2019, posts of Twitter", lambda: answer(on_twitter()), OFFICIAL_2019),
    rumour_pair("keys shuffled", lambda: answer(mixed(on_twitter())), OFFICIAL_2019),
    rumour_pair("with task B", lambda: answer(on_twitter(), subtaskbenglish={"1": ["true", 0.5]}), OFFICIAL_2019),
    rumour_pair("as CSV", lambda: ("answer.csv", in_csv(list(on_twitter()))), OFFICIAL_2019, NO_ENTRY),
    rumour_pair("ids rounded by a spreadsheet", lambda: ("answer.csv", in_csv([f"{int(item):.14e}" for item in on_twitter()])), "broken by a spreadsheet", NO_ENTRY),
    rumour_pair("truncated", lambda: answer(first(on_twitter(), 0.5)), "no prediction for 533 of 1066 items", "F1 of those answered: 0.4832"),
    rumour_pair("truncated, --missing wrong", lambda: answer(first(on_twitter(), 0.5)), {"accuracy": 0.3714821763602251}, "F1 of those answered: 0.4832", missing="wrong"),
    rumour_pair("an item twice, with two labels", doubled, "twice in one object", "takes the last"),
    rumour_pair("an unknown label", lambda: answer(on_twitter() | {next(iter(on_twitter())): "denying"}), "unknown label 'denying'. .*deny", "a fifth class: F1 0.3568"),
    rumour_pair("answers of two languages", lambda: answer(on_twitter(), subtaskadanish={"1": "deny"}), "Keep those of one language", "scores each"),
    rumour_pair("2017, against itself", lambda: answer(rumour(GOLD_2017), ""), {"accuracy": 1.0, "macro_f1": 1.0}, gold=lambda: answer(rumour(GOLD_2017), "")),
    rumour_pair("2017, the key of another part", lambda: answer(rumour("2017_dev_subtaskA.json"), ""), "gold lacks", gold=lambda: answer(rumour(GOLD_2017), "")),
]  # fmt: skip


# SemEval-2016 task 6: text with tabs and a header; gold is real, every third guess is AGAINST.
STANCES = {"0": "NONE", "1": "AGAINST", "2": "FAVOR"}
OFFICIAL_2016 = {"f_avg": 0.8343}


@cache
def semeval() -> pd.DataFrame:
    folder, rows = HOME / "semeval2016_task6", []
    for target in ("atheism", "climate", "feminist", "hillary", "abortion"):
        labels = (folder / f"{target}_test_labels.txt").read_text("utf-8").split()
        rows += [(target, STANCES[label]) for label in labels]
    table = pd.DataFrame(rows, columns=["Target", "Stance"])
    table.insert(0, "ID", range(10001, 10001 + len(table)))
    table.insert(2, "Tweet", [f"he said “{at}” #SemST" for at in table["ID"]])
    return table


def guess() -> pd.DataFrame:
    table = semeval().copy()
    table.loc[table["ID"] % 3 == 0, "Stance"] = "AGAINST"
    return table


def tabs(table: pd.DataFrame, encoding: str = "utf-8", end: str = "\r\n") -> bytes:
    return table.to_csv(index=False, sep="\t", quoting=3, lineterminator=end).encode(encoding)


def lines(table: pd.DataFrame) -> bytes:
    return "".join(f"{label}\n" for label in table["Stance"]).encode()


def semeval_pair(
    what: str, system: Callable[[], bytes], expected: Any, official: str = "", **how: Any
) -> Pair:
    gold = how.pop("gold", lambda: tabs(semeval()))
    how |= {"poles": ["FAVOR", "AGAINST"]}
    return Pair("SemEval-2016 6", what, lambda: ("gold.txt", gold()), lambda: ("guess.txt", system()), expected, official, how)  # fmt: skip


SEMEVAL_PAIRS = [
    semeval_pair("as the task has it", lambda: tabs(guess()), OFFICIAL_2016),
    semeval_pair("other line ends, UTF-16", lambda: tabs(guess(), "utf-16", "\n"), OFFICIAL_2016, NO_ENTRY),
    semeval_pair("shuffled", lambda: tabs(shuffled(guess())), OFFICIAL_2016, "0.4030, without a word"),
    semeval_pair("truncated", lambda: tabs(guess()[:1000]), "no prediction for 249 of 1249 items", NO_ENTRY),
    semeval_pair("a row twice", lambda: tabs(pd.concat([guess(), guess()[:1]])), "row 1251: the id 10001 occurs again", NO_ENTRY),
    semeval_pair("the ids of another part", lambda: tabs(guess().assign(ID=range(1, 1250))), "which gold lacks", "pairs by line"),
    semeval_pair("gold not published yet", lambda: tabs(guess()), "unknown label 'AGAINST'|unknown label 'NONE'|unknown label 'FAVOR'", NO_ENTRY, gold=lambda: tabs(semeval().assign(Stance="UNKNOWN"))),
    semeval_pair("a label a line", lambda: lines(guess()), "can only be paired by position", NO_ENTRY, gold=lambda: lines(semeval())),
    semeval_pair("a label a line, --by-position", lambda: lines(guess()), OFFICIAL_2016, NO_ENTRY, gold=lambda: lines(semeval()), by_position=True),
    semeval_pair("the same, with an empty line", lambda: lines(guess()).replace(b"\n", b"\n\n", 1), "empty line between others", NO_ENTRY, gold=lambda: lines(semeval()), by_position=True),
]  # fmt: skip


# CheckThat!: runs with and without a header. Made up from the confusion matrix that the scorer of 2018 prints.
MATRIX = {"true": (12, 1, 3), "false": (3, 20, 3), "half-true": (2, 0, 16)}
OFFICIAL_2018 = {
    "accuracy": 0.8, "macro_f1": 0.7928, "macro_recall": 0.8027, "mae_micro": 0.2667, "mae_macro": 0.2566
}  # fmt: skip


def checkthat() -> pd.DataFrame:
    cells = [(gold, said) for gold, row in MATRIX.items() for said, times in zip(MATRIX, row, strict=True) for _ in range(times)]  # fmt: skip
    table = pd.DataFrame(cells, columns=["class_label", "said"])
    table.insert(0, "tweet_id", [str(1237160250513522688 + 7919 * at) for at in range(len(table))])
    table.insert(0, "topic", "covid-19")
    return table


def run(*columns: str) -> pd.DataFrame:
    table = checkthat().assign(
        run_id="mine", score=[f"0.{at:03d}1" for at in range(60)], q0="Q0", rank=range(1, 61)
    )
    return table[list(columns)].rename(columns={"said": "class_label"})


def bare(table: pd.DataFrame) -> bytes:
    return as_csv(table, "\t", header=False)


def checkthat_pair(
    what: str, system: Callable[[], bytes], expected: Any, official: str = "", **how: Any
) -> Pair:
    gold = how.pop("gold", lambda: as_csv(checkthat()[["topic", "tweet_id", "class_label"]], "\t"))
    how |= {"order": ["false", "half-true", "true"]}
    return Pair("CheckThat!", what, lambda: ("gold.tsv", gold()), lambda: ("run.tsv", system()), expected, official, how)  # fmt: skip


RUN = ("topic", "tweet_id", "said", "run_id")


def debate(*, worth: bool = False, first: int = 1) -> bytes:
    """A debate of 2018: lines with claims, some on two lines, and lines without; or whether each line is worth a check."""
    lines = []
    for at, label in enumerate(checkthat()["class_label"], first):
        claim = [str(at), f"Claim {at}.", label]
        lines += [claim] * (1 + at % 2) + [["N/A", "-", "-"]]
    says = [f'"Quoted, line {at} " of a speech.' for at in range(1, len(lines) + 1)]
    cells = [[str(int(line[0] != "N/A"))] if worth else line for line in lines]
    rows = (["HOLT", text, *rest] for text, rest in zip(says, cells, strict=True))
    return "".join("\t".join([str(at), *row]) + "\r\n" for at, row in enumerate(rows, 1)).encode()


def worth() -> bytes:
    return debate(worth=True)


def of_claims() -> bytes:
    return bare(run("tweet_id", "said").assign(tweet_id=range(1, 61)))


CHECKTHAT_PAIRS = [
    checkthat_pair("id, label; no header", lambda: bare(run("tweet_id", "said")), OFFICIAL_2018, gold=lambda: bare(checkthat()[["tweet_id", "class_label"]])),
    checkthat_pair("topic, id, label, run", lambda: as_csv(run(*RUN), "\t"), OFFICIAL_2018),
    checkthat_pair("the same without a header", lambda: bare(run(*RUN)), OFFICIAL_2018),
    checkthat_pair("without a header, shuffled", lambda: bare(shuffled(run(*RUN))), OFFICIAL_2018),
    checkthat_pair("an item is missing", lambda: bare(run(*RUN)[1:]), "no prediction for 1 of 60 items", NO_ENTRY),
    checkthat_pair("an item of another part", lambda: bare(pd.concat([run(*RUN), run(*RUN)[:1].assign(tweet_id="31")])), r"1 item \(31\), which gold lacks", NO_ENTRY),
    checkthat_pair("labels in capitals", lambda: bare(run(*RUN).assign(class_label="TRUE")), "unknown label 'TRUE'. .*true", "takes them"),
    checkthat_pair("a ranking: topic, id, score, run", lambda: bare(run("topic", "tweet_id", "score", "run_id")), "a score for each item", "ranks"),
    checkthat_pair("a ranking of TREC", lambda: bare(run("topic", "q0", "tweet_id", "rank", "score", "run_id")), "6 columns and no header", "ranks"),
    checkthat_pair("a debate of 2018, task 2", of_claims, OFFICIAL_2018, gold=debate),
    Pair("CheckThat!", "a debate of 2018, task 1", lambda: ("gold.txt", worth()), lambda: ("run.txt", b"".join(b"%d\t1\n" % at for at in range(1, 151))), {"accuracy": 0.6}, "ranks"),
    checkthat_pair("its claims, shuffled", lambda: bare(shuffled(run("tweet_id", "said").assign(tweet_id=range(1, 61)))), OFFICIAL_2018, gold=debate),
    checkthat_pair("a claim of another debate", of_claims, r"1 item \(1\), which gold lacks", NO_ENTRY, gold=lambda: debate(first=2)),
    checkthat_pair("two labels for a claim", of_claims, "the id 60 occurs again", "takes the last", gold=lambda: debate() + b"999\tHOLT\tAgain.\t60\tClaim 60.\tfalse\r\n"),
    checkthat_pair("shares with a tie", lambda: as_csv(run("tweet_id").assign(true=0.4, false=0.4, **{"half-true": 0.2})), "row 2: gives 2 labels the same largest share", NO_ENTRY),
    checkthat_pair("shares that are none", lambda: as_csv(run("tweet_id").assign(true=4, false=1, **{"half-true": 0})), "row 2: has no shares of the labels with the sum 1", NO_ENTRY),
]  # fmt: skip

PAIRS = [*FNC_PAIRS, *RUMOUR_PAIRS, *SEMEVAL_PAIRS, *CHECKTHAT_PAIRS]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.task}, {pair.what}")
def test_a_pair_is_scored_as_the_official_scorer_does_or_refused(data_home, tmp_path, pair) -> None:
    paths = []
    for side, (name, content) in (("gold", pair.gold()), ("system", pair.system())):
        (tmp_path / side).mkdir()
        paths.append(tmp_path / side / name)
        paths[-1].write_bytes(content)
    gold, system = paths
    measures = list(pair.expected) if isinstance(pair.expected, dict) else ["accuracy"]
    if isinstance(pair.expected, str):
        with pytest.raises(InputError, match=pair.expected) as refused:
            covmis.score(gold, {"m": system}, measures=measures, **pair.how)
        assert "\n" not in str(refused.value)
        return
    table = covmis.score(gold, {"m": system}, measures=measures, **pair.how).to_frame()
    found = dict(zip(table["measure"], table["value"], strict=True))
    assert found == pytest.approx(pair.expected, abs=5e-5)
