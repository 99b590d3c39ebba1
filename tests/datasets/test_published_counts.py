"""The readers against the real files: the counts that the papers print."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from covmis_build import datasets
from covmis_build.errors import InputError


def counts(frame, by="label") -> dict:
    return frame[by].value_counts().to_dict()


def test_covmis_stance_has_the_totals_of_table_4(data_home) -> None:
    frame = datasets.read("covmis-stance", data_home)
    assert counts(frame) == {"favor": 1276, "against": 1047, "neither": 308}
    assert (len(frame), frame["target_id"].nunique()) == (2631, 111)
    assert (frame["time"].min()[:10], frame["time"].max()[:10]) == ("2012-08-05", "2021-04-08")


@pytest.mark.parametrize(
    ("version", "printed"),
    [("v0.1", (670, 343, 5748)), ("v0.2", (738, 366, 7833)), ("v1.0", (288, 154, 6149))],
)
def test_covidlies_has_the_counts_of_tables_6_and_8(data_home, version, printed) -> None:
    frame = datasets.map_labels(datasets.read(f"covidlies-{version}", data_home), "covmis")
    assert tuple(counts(frame)[label] for label in ("favor", "against", "neither")) == printed
    assert frame["id"].duplicated().any()
    assert not frame.duplicated(["id", "target_id"]).any()


@pytest.mark.parametrize("layout", ["posts", "keys"])
def test_rumoureval_2017_has_the_counts_of_scartons_table_1(data_home, layout) -> None:
    frame = datasets.read("rumoureval-2017", data_home, layout=layout)
    assert counts(frame) == {"support": 1004, "deny": 415, "query": 464, "comment": 3685}
    test = frame[frame["split"] == "test"]
    assert counts(test) == {"support": 94, "deny": 71, "query": 106, "comment": 778}


def test_the_two_layouts_of_rumoureval_2017_agree(data_home) -> None:
    posts = datasets.read("rumoureval-2017", data_home, layout="posts").set_index("id")
    keys = datasets.read("rumoureval-2017", data_home, layout="keys").set_index("id")
    assert posts.loc[keys.index, ["label", "split"]].equals(keys[["label", "split"]])
    apart = pd.to_datetime(posts.loc[keys.index, "time"]) - pd.to_datetime(keys["time"])
    assert apart.abs().max() <= pd.Timedelta(seconds=1)  # an id's milliseconds run ahead of what is printed


def test_rumoureval_without_replies_to_denying_sources(data_home) -> None:
    frame = datasets.map_labels(datasets.read("rumoureval-2017", data_home), "covmis")
    kept = datasets.without_replies_to_denying_sources(frame)
    assert counts(kept) == {"favor": 983, "against": 391, "neither": 3991}
    gone = frame[~frame["id"].isin(set(kept["id"]))]
    sources = frame.set_index("id").loc[gone["target_id"], "label"]
    assert set(sources) == {"against"}
    assert not (gone["id"] == gone["target_id"]).any()


def test_rumoureval_2019_twitter_test_gold(data_home) -> None:
    frame = datasets.read("rumoureval-2019", data_home)
    assert counts(frame) == {"support": 141, "deny": 92, "query": 62, "comment": 771}


def test_fnc1_has_its_gold(data_home) -> None:
    frame = datasets.read("fnc1", data_home)
    assert counts(frame) == {"agree": 1903, "disagree": 697, "discuss": 4464, "unrelated": 18349}
    assert counts(datasets.map_labels(frame, "covmis")) == {
        "favor": 1903, "against": 697, "neither": 22813,
    }  # fmt: skip


def test_semeval_has_every_target_and_split(data_home) -> None:
    frame = datasets.read("semeval2016-task6", data_home)
    assert counts(frame, "split") == {"train": 2620, "dev": 294, "test": 1249}
    abortion = frame[(frame["target"] == "Legalization of Abortion") & (frame["split"] == "test")]
    assert counts(abortion) == {"against": 189, "favor": 46, "none": 45}
    assert not frame["id"].duplicated().any()
    assert not frame["text"].str.contains("\n").any()


def test_coaid_pairs_posts_with_items(data_home) -> None:
    frame = datasets.read("coaid", data_home)
    assert (len(frame), frame["id"].nunique(), frame["target_id"].nunique()) == (10927, 10903, 166)
    assert set(frame["label"]) == {"fake"}
    assert (frame["target"] != "").all()


@pytest.mark.parametrize(("name", "printed"), [("twitter15", (372, 370)), ("twitter16", (207, 205))])
def test_one_is_a_true_rumour_in_twitter15_and_16(data_home, name, printed) -> None:
    """Mu et al.'s numbers, read as in the original list: 1 is `true`, not `rumour`."""
    frame = datasets.read(name, data_home).set_index("id")
    assert (sum(frame["label"] == "true"), sum(frame["label"] == "false")) == printed
    original = datasets.read(name, data_home, layout="labels").set_index("id")
    assert frame["label"].equals(original.loc[frame.index, "label"])
    assert set(datasets.map_labels(frame.reset_index(), "rumour")["label"]) == {"rumour"}


def test_one_is_a_rumour_in_pheme_and_none_in_weibo(data_home) -> None:
    pheme, weibo = datasets.read("pheme", data_home), datasets.read("weibo", data_home)
    assert counts(pheme) == {"rumour": 1972, "non-rumour": 3830}
    assert counts(weibo) == {"rumour": 2313, "non-rumour": 2350}
    assert weibo.attrs["without_text"] == 1
    assert (weibo["time"].min(), weibo["time"].max()) == ("2010-12-01T16:34:33Z", "2015-12-20T07:02:32Z")


@pytest.mark.parametrize(
    ("name", "labels", "cuts", "printed"),
    [
        ("twitter15", ("true", "false"), (519, 594), [(285, 234), (35, 40), (52, 96)]),
        ("pheme", ("rumour", "non-rumour"), (4061, 4641), [(1420, 2641), (72, 508), (480, 681)]),
    ],
)
def test_chronological_parts_are_those_of_mus_table_3(data_home, name, labels, cuts, printed) -> None:
    frame = datasets.read(name, data_home).sort_values(["time", "id"], ignore_index=True)
    bounds = (0, *cuts, len(frame))
    parts = [frame["label"].iloc[low:high] for low, high in itertools.pairwise(bounds)]
    assert [tuple(sum(part == label) for label in labels) for part in parts] == printed


@pytest.mark.parametrize(
    ("name", "label", "cuts", "printed"),
    [
        ("twitter15", "true", (260, 297), (260, 37, 75)),
        ("twitter15", "false", (259, 296), (259, 37, 74)),
        ("twitter16", "true", (144, 165), (144, 21, 42)),  # the paper prints 40
        ("twitter16", "false", (144, 165), (144, 21, 40)),
        ("pheme", "rumour", (1380, 1577), (1380, 197, 395)),  # the paper prints 394
        ("pheme", "non-rumour", (2681, 3064), (2681, 383, 766)),
        ("weibo", "rumour", (1619, 1850), (1619, 231, 463)),  # the paper swaps the two rows
        ("weibo", "non-rumour", (1645, 1880), (1645, 235, 470)),
    ],
)
def test_stratified_parts_are_those_of_mus_table_3(data_home, name, label, cuts, printed) -> None:
    size = sum(datasets.read(name, data_home)["label"] == label)
    assert (cuts[0], cuts[1] - cuts[0], size - cuts[1]) == printed


def test_a_changed_file_is_refused_unless_asked(data_home, tmp_path) -> None:
    (tmp_path / "covmis").mkdir()
    whole = (data_home / "covmis" / "covmis_stance.csv").read_bytes()
    (tmp_path / "covmis" / "covmis_stance.csv").write_bytes(whole[: whole.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(InputError, match="differs from the state"):
        datasets.read("covmis-stance", tmp_path)
    assert len(datasets.read("covmis-stance", tmp_path, check=False)) == 2630
