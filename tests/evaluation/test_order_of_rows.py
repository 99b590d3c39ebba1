"""The order of rows decides nothing: with the rows of any file in another order the result is the same, or a refusal."""

from __future__ import annotations

from functools import partial

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import covmis_build as covmis
from covmis_build.errors import InputError
from covmis_build.study.evaluate import (
    files_to_score,
    leakage_of_files,
    score_files,
    score_soft_files,
    split_file,
)

SIZE = 24
LABELS = ["favor", "against", "neither"]
AT = range(SIZE)
GOLD = pd.DataFrame(
    {
        "item_id": [f"c{at % 5}|x:{at}" for at in AT], "claim_id": [f"c{at % 5}" for at in AT], "text": [" ".join(f"w{(at // 2) ** 2 + step}" for step in range(9)) for at in AT],
        "created_at": [f"2020-03-{1 + at % 9:02}" for at in AT], "author": [f"a{at % 11}" for at in AT], "label": [LABELS[at * at % 7 % 3] for at in AT],
        "p_claim": 1.0, "p_sample": [1 / (1 + at % 3) for at in AT],
    }
)  # fmt: skip
SAID = pd.DataFrame({"item_id": GOLD["item_id"], "prediction": [LABELS[at % 3] for at in AT]})
OTHER = SAID.assign(prediction=[LABELS[at * 7 % 5 % 3] for at in AT])
THIRD = SAID.assign(prediction=[LABELS[at * 5 % 7 % 3] for at in AT])
SHARES = SAID[["item_id"]].assign(favor=[0.2 + at / 50 for at in AT], against=0.1, neither=[0.7 - at / 50 for at in AT])  # fmt: skip
PEOPLE = pd.concat(
    GOLD[["item_id", "claim_id"]].assign(annotator=who, label=[LABELS[(at + at // step) % 3] for at in AT])
    for who, step in (("ann", 1), ("bo", 4), ("cy", 2))
)
PARTS = GOLD[["item_id"]].assign(part=["train", "train", "dev", "test"] * 6)
BY_TEXT = GOLD[["text", "author", "label"]].assign(text=[f"post {at}" for at in AT])
FNC = pd.DataFrame({"Headline": [f"h{at % 4}" for at in AT], "Body ID": [at % 3 for at in AT], "Stance": ["agree", "discuss", "unrelated"] * 8})  # fmt: skip
HOW = {"clusters": "", "probabilities": "", "by": ["author", "month"], "people": "none", "seed": 3}


def scored(gold, *said, **how):
    files = files_to_score(str(gold), [f"s{at}={path}" for at, path in enumerate(said)])
    how = HOW | ({} if files.gold.id_column else {"by": [], "clusters": None}) | how
    return score_files(files, how.pop("over", "items"), **how).to_dict()


def compared(gold, *said, test):
    systems = {str(at): path for at, path in enumerate(said)}
    return covmis.compare(gold, systems, test=test, replicates=200, seed=3).to_dict()


def judged(gold, *said):
    systems = {str(at): path for at, path in enumerate(said)}
    return covmis.meta(
        gold, systems, measures=["accuracy", "macro_f1"], trials=20, replicates=50, seed=3
    ).to_dict()


def soft(people, shares):
    return score_soft_files(str(people), [f"s={shares}"], labels=[], order=[], folder=None, clusters="", probabilities="").to_dict()  # fmt: skip


def leaks(items, parts):
    shared, notes = leakage_of_files(items, str(parts))
    return shared.to_dict(), notes


def divided(scheme, **how):
    def of(items):
        out = items.with_name("parts.csv")
        said = split_file(str(items), out, scheme=scheme, seed=3, text="text", **how).to_dict()
        return said, sorted(pd.read_csv(out).to_csv(index=False).splitlines()[1:])

    return of


def agreed(people):
    return covmis.agreement(pd.read_csv(people), item="item_id", claim="claim_id").to_dict()


CASES = {
    "score by id": (scored, GOLD, SAID, OTHER),
    "score over posts": (lambda *files: scored(*files, over="posts", by=[]), GOLD, SAID),
    "score of shares": (scored, GOLD, SHARES),
    "score by text": (scored, BY_TEXT, BY_TEXT.rename(columns={"label": "prediction"})),
    "score by position": (scored, FNC, FNC.assign(Stance="agree")),
    "score with people": (lambda gold, said, people: scored(gold, said, people=str(people)), GOLD, SAID, PEOPLE),
    "meta-evaluation": (judged, GOLD, SAID, OTHER, THIRD),
    "compare by intervals": (partial(compared, test="interval"), GOLD, SAID, OTHER),
    "compare by randomisation": (partial(compared, test="randomisation"), GOLD, SAID, OTHER),
    "compare by Tukey's test": (partial(compared, test="tukey"), GOLD, SAID, OTHER, THIRD),
    "soft labels": (soft, PEOPLE, SHARES),
    "leakage": (leaks, GOLD, PARTS),
    "agreement": (agreed, PEOPLE),
    "random split": (divided("random"), GOLD),
    "split of groups": (divided("grouped", group=["claim_id"]), GOLD),
    "split of similar texts": (divided("random", similarity=0.95, folds=1), GOLD),
    "chronological split": (divided("chronological"), GOLD),
    "stratified split": (divided("stratified_chronological"), GOLD),
    "split that leaves out each claim": (divided("leave_one_out", group=["claim_id"]), GOLD),
}  # fmt: skip


def written(folder, name, table):
    path = folder / name
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=3)
@given(data=st.data())
def test_the_order_of_rows_decides_nothing(tmp_path_factory, case, data) -> None:
    of, *tables = CASES[case]
    folder = tmp_path_factory.mktemp("order")
    wanted = of(*(written(folder, f"{at}.csv", table) for at, table in enumerate(tables)))
    moved = [table.iloc[data.draw(st.permutations(range(len(table))))] for table in tables]
    paths = [written(folder, f"{at}.csv", table) for at, table in enumerate(moved)]
    if (
        case != "score by position"
        or moved[0].iloc[:, :2].to_numpy().tolist() == moved[1].iloc[:, :2].to_numpy().tolist()
    ):
        assert alike(of(*paths), wanted)
    else:
        with pytest.raises(InputError, match="has another"):
            of(*paths)


def alike(found, wanted) -> bool:
    """The same but for the last digits of sums."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, pd.DataFrame):
        return alike(found.to_dict("list"), wanted.to_dict("list"))
    if isinstance(wanted, list | tuple):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)
    return bool(found == wanted)
