from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build import datasets
from covmis_build.datasets.labels import REFUSED, SCHEMES, TO_STANCE
from covmis_build.errors import InputError

LABELS = ("favor", "against", "neither")


def frame(counts: dict[str, int], dataset: str = "covmis-stance", start: int = 0) -> pd.DataFrame:
    labels = [label for label, count in counts.items() for _ in range(count)]
    rows = [(dataset, str(start + at), "c1", "", "", label, "", "", "") for at, label in enumerate(labels)]
    return pd.DataFrame(rows, columns=list(datasets.COLUMNS))


def test_against_stays_whole_and_the_others_come_down_to_what_is_expected() -> None:
    """The paper's Table 10 has (416, 366, 403) of COVIDLies' (738, 366, 7833), expecting 400."""
    kept = datasets.undersample(frame({"favor": 738, "against": 366, "neither": 7833}), expected=400, seed=1)
    counts = kept["label"].value_counts()
    assert counts["against"] == 366
    assert abs(counts["favor"] - 400) < 4 * (738 * 0.542 * 0.458) ** 0.5
    assert abs(counts["neither"] - 400) < 4 * 400**0.5


def test_the_expected_size_is_met_on_average() -> None:
    whole = frame({"favor": 300, "against": 10})
    sizes = [
        sum(datasets.undersample(whole, expected=60, seed=seed)["label"] == "favor") for seed in range(60)
    ]
    assert abs(sum(sizes) / 60 - 60) < 4 * (300 * 0.2 * 0.8 / 60) ** 0.5


def test_a_row_has_its_own_luck() -> None:
    """With the class' size unchanged, other rows decide nothing; order does not matter either."""
    whole = frame({"favor": 200, "against": 20})
    other = whole.copy()
    other.loc[:99, "id"] = [f"new-{at}" for at in range(100)]
    here = set(datasets.undersample(whole, expected=50, seed=3)["id"])
    there = set(datasets.undersample(other.sample(frac=1, random_state=1), expected=50, seed=3)["id"])
    stayed = set(whole.loc[100:, "id"])
    assert here & stayed == there & stayed
    assert here != set(datasets.undersample(whole, expected=50, seed=4)["id"])


def test_a_post_has_its_own_luck_with_each_target_and_corpus() -> None:
    """Otherwise the same posts would stay with every claim that they take up."""
    first = frame({"favor": 200, "against": 20})
    kept = set(datasets.undersample(first, expected=100, seed=3)["id"])
    for column in ("target_id", "dataset"):
        other = datasets.undersample(first.assign(**{column: "other"}), expected=100, seed=3)
        assert 50 < len(kept & set(other["id"])) < 90, "a quarter of 200, and the 20 of Against"


def test_a_class_smaller_than_expected_stays_whole() -> None:
    assert len(datasets.undersample(frame({"favor": 5, "against": 9}), expected=50, seed=0)) == 14


def test_undersampling_refuses_what_makes_no_sense() -> None:
    with pytest.raises(InputError, match="above 0"):
        datasets.undersample(frame({"favor": 5, "against": 1}), expected=0, seed=0)
    with pytest.raises(InputError, match="'against', which is to be kept"):
        datasets.undersample(frame({"pos": 5}), expected=3, seed=0)


@given(st.lists(st.integers(1, 60), min_size=3, max_size=3))
def test_class_weights_are_the_largest_count_over_each(counts) -> None:
    labels = [label for label, count in zip(LABELS, counts, strict=True) for _ in range(count)]
    weights = datasets.class_weights(labels, LABELS)
    assert list(weights) == list(LABELS)
    assert min(weights.values()) == 1
    assert all(
        abs(weights[label] * count - max(counts)) < 1e-9 for label, count in zip(LABELS, counts, strict=True)
    )


def test_class_weights_of_an_absent_or_unknown_class_are_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        datasets.class_weights(["favor"], LABELS)
    with pytest.raises(InputError, match="'maybe' is not declared"):
        datasets.class_weights(["favor", "maybe"], ["favor"])


def test_combining_keeps_provenance_and_counts_shared_posts() -> None:
    parts = {"a": frame({"favor": 3}), "b": frame({"against": 3}, "covidlies-v0.2", start=2)}
    made = datasets.combine(parts, LABELS)
    assert made["part"].tolist() == ["a"] * 3 + ["b"] * 3
    assert made["dataset"].unique().tolist() == ["covmis-stance", "covidlies-v0.2"]
    assert made.attrs == {"shared": 1}
    with pytest.raises(InputError, match="b has the label 'pos'"):
        datasets.combine({"b": frame({"pos": 1})}, LABELS)
    with pytest.raises(InputError, match="lacks the column 'split'"):
        datasets.combine({"b": frame({"favor": 1}).drop(columns="split")}, LABELS)


def test_replies_can_only_be_judged_where_sources_are_known() -> None:
    with pytest.raises(InputError, match="layout with threads"):
        datasets.without_replies_to_denying_sources(frame({"deny": 2}))


@pytest.mark.parametrize("source", sorted(SCHEMES))
@pytest.mark.parametrize("target", sorted(SCHEMES))
def test_every_pair_of_schemes_maps_wholly_or_is_refused_with_a_reason(source, target) -> None:
    refused = (source in REFUSED and source not in TO_STANCE) or target in REFUSED
    if source == target or (source, target) == ("veracity", "rumour") or not refused:
        mapping = datasets.label_map(source, target)
        assert tuple(mapping) == SCHEMES[source]
        assert set(mapping.values()) <= set(SCHEMES[target])
    else:
        with pytest.raises(InputError, match="|".join(REFUSED.values())):
            datasets.label_map(source, target)


def test_a_rumour_label_is_never_a_stance() -> None:
    for scheme in ("rumour", "veracity", "news"):
        for stance in TO_STANCE:
            with pytest.raises(InputError):
                datasets.label_map(scheme, stance)
            with pytest.raises(InputError):
                datasets.label_map(stance, scheme)


def test_a_map_of_ones_own_must_name_every_label() -> None:
    rows = frame({"favor": 2, "neither": 1})
    own = datasets.map_labels(rows, {"favor": "yes", "neither": "no"})
    assert own["label"].tolist() == ["yes", "yes", "no"]
    with pytest.raises(InputError, match="'neither', which the map does not name"):
        datasets.map_labels(rows, {"favor": "yes"})
    with pytest.raises(InputError, match="Did you mean 'covmis'"):
        datasets.map_labels(rows, "covmi")
