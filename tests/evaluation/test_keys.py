"""What parts share besides words: found by `leakage`, and kept in one part by `split`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import leakage, splits
from covmis_build.errors import InputError
from covmis_build.evaluation.keys import keys_of, known_keys, values_of
from covmis_build.study.evaluate import leakage_of_files, split_file
from covmis_build.text.near_duplicates import near_duplicate_pairs

KEYS = ("claim_id", "author", "conversation_id", "urls", "event", "day")


def posts(items: int, seed: int) -> pd.DataFrame:
    """Items that share claims, authors, threads, addresses, events and days, each in a way of its own."""
    rng = np.random.default_rng(seed)

    def some(name, many):
        return [f"{name}{at}" if at else "" for at in rng.integers(0, many, items)]

    return pd.DataFrame(
        {
            "post_id": [f"p:{at}" for at in range(items)],
            "text": [" ".join(f"w{word}" for word in rng.integers(0, 5000, 12)) for _ in range(items)],
            "label": rng.choice(["favor", "against"], items),
            "claim_id": some("c", items),
            "author": some("a", items),
            "conversation_id": some("t", items),
            "urls": [f"https://example.org/{at}?utm_source={row}" if at else "" for row, at in enumerate(rng.integers(0, items, items))],
            "event": some("e", items),
            "created_at": [f"2021-{1 + at % 12:02}-{1 + at // 12 % 28:02}T{at % 24:02}:00:00Z" for at in rng.integers(0, 10 * items, items)],
        }
    )  # fmt: skip


def crossing(frame, parts, key) -> int:
    """By brute force: how many pairs of items in two parts have a value of the key in common."""
    values = [set(several) for several in keys_of(frame, [key])[key]]
    part = list(parts)
    return sum(
        part[one] != part[other] and not values[one].isdisjoint(values[other])
        for one in range(len(part))
        for other in range(one)
    )


@given(
    st.integers(20, 60), st.integers(0, 10**6), st.sets(st.sampled_from(KEYS), min_size=1),
    st.sampled_from(["random", "grouped", "chronological"]),
)  # fmt: skip
@settings(max_examples=40)
def test_no_value_of_any_key_is_in_two_parts(items, seed, keys, scheme) -> None:
    frame = posts(items, seed)
    names = sorted(keys)
    try:
        parts = splits(frame, scheme=scheme, folds=1, group=names, similarity=0.6)
    except InputError as error:
        assert "leaves no item for" in str(error)  # noqa: PT017 - few items, in one or two groups
        return
    assert all(crossing(frame, parts, key) == 0 for key in names)
    first, second, _ = near_duplicate_pairs(frame["text"].tolist(), threshold=0.6)
    assert (parts.to_numpy()[first] == parts.to_numpy()[second]).all()


@pytest.mark.parametrize("key", KEYS)
def test_a_planted_leak_is_found_by_its_key_and_gone_after_the_split(key, tmp_path) -> None:
    frame = posts(300, 7)
    for name in ("claim_id", "author", "conversation_id", "urls", "event"):
        frame[name] = [
            f"https://{at}.example.org/x" if name == "urls" else f"{name}-{at}" for at in range(300)
        ]
    frame["created_at"] = pd.date_range("2020-01-01", periods=300).strftime("%Y-%m-%dT%H:%M:%SZ")
    source = "created_at" if key == "day" else key
    frame.loc[[3, 250], source] = frame.loc[3, source]
    frame.to_csv(tmp_path / "items.csv", index=False)
    part = ["test" if at >= 240 else "dev" if at >= 210 else "train" for at in range(300)]
    frame[["post_id"]].assign(part=part).to_csv(tmp_path / "parts.csv", index=False)
    found, _ = leakage_of_files(tmp_path / "items.csv", str(tmp_path / "parts.csv"), group=KEYS)
    table = found.keys.set_index(["key", "part", "against"])
    for other in KEYS:
        row = table.loc[(other, "test", "train")]
        assert (row["items_shared"], row["values_shared"]) == ((1, 1) if other == key else (0, 0)), other
    assert (
        f"1 of 60 test items (1.7%) share their {key} with an item of train and dev (1 of 60 values)."
        in found.findings
    )
    out = tmp_path / "better.csv"
    divided = split_file(str(tmp_path / "items.csv"), out, scheme="grouped", group=KEYS)
    together = pd.read_csv(out).set_index("post_id")["part"]
    assert together["p:3"] == together["p:250"]
    groups = divided.groups.set_index("key")
    assert groups.loc[key, "items"] == groups.loc["all together", "items"] == 2
    assert json.loads(divided.to_json())["groups"]


def test_leakage_looks_at_the_columns_that_it_knows(tmp_path) -> None:
    frame = posts(40, 1).rename(columns={"author": "Author"})
    frame.to_csv(tmp_path / "items.csv", index=False)
    frame[["post_id"]].assign(part=["train", "test"] * 20).to_csv(tmp_path / "parts.csv", index=False)
    found, _ = leakage_of_files(tmp_path / "items.csv", str(tmp_path / "parts.csv"))
    assert list(dict.fromkeys(found.keys["key"])) == [
        "claim_id",
        "Author",
        "conversation_id",
        "urls",
        "event",
    ]
    assert known_keys(["text", "label"]) == []
    none, _ = leakage_of_files(tmp_path / "items.csv", str(tmp_path / "parts.csv"), group=["none"])
    assert none.keys is None


def test_groups_too_large_for_the_parts_are_refused_or_said(tmp_path) -> None:
    frame = posts(100, 2).assign(author="one")
    frame.to_csv(tmp_path / "items.csv", index=False)
    with pytest.raises(InputError, match="leaves no item for dev"):
        split_file(str(tmp_path / "items.csv"), tmp_path / "parts.csv", scheme="grouped", group=["author"])
    assert not (tmp_path / "parts.csv").exists()
    frame.loc[85:, "author"] = [f"a{at}" for at in range(15)]
    frame.to_csv(tmp_path / "items.csv", index=False)
    divided = split_file(
        str(tmp_path / "items.csv"), tmp_path / "parts.csv", scheme="grouped", group=["author"]
    )
    assert any(line.startswith("train has 85.0% of the items instead of 70%") for line in divided.findings)
    assert divided.groups["largest"].tolist() == ["85.00%"]


def test_cells_with_several_values() -> None:
    assert values_of([["a", "b", "a"], '["x", "y"]', None, float("nan"), " z ", 7, "[not json"]) == [
        ("a", "b"), ("x", "y"), (), (), ("z",), ("7",), ("[not json",),
    ]  # fmt: skip
    assert values_of(["https://www.example.org/a/|http://example.org/b#top"]) == [
        ("example.org/a", "example.org/b")
    ]


def test_addresses_without_a_page_are_compared_as_they_are_written() -> None:
    """Short links name no page: two of them are alike only if they are the same, and never alike because they are empty."""
    one, other, same = values_of(["https://t.co/abc", "https://t.co/def", "https://t.co/abc"])
    assert one == same != other
    assert "" not in (*one, *other, *values_of(["https://", "x://"])[0])


def test_keys_of_frames_and_dicts_in_python() -> None:
    frame = pd.DataFrame(
        {
            "text": ["one two", "three four"],
            "part": ["train", "test"],
            "author": ["anna", "anna"],
            "label": ["a", "a"],
        }
    )
    by_name = leakage(frame, "part", keys=["author"]).keys
    by_value = leakage(["one two", "three four"], ["train", "test"], keys={"author": ["anna", "anna"]}).keys
    pd.testing.assert_frame_equal(by_name, by_value)
    assert by_name["items_shared"].tolist() == [1]
    with pytest.raises(InputError, match="no column 'autor'"):
        leakage(frame, "part", keys=["autor"])
