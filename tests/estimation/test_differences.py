"""Differences of shares: what is compared, that p and interval agree, and a difference by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.estimation.differences import compared_parts, sentences
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling

VALUES = ["favor", "against", "neither"]


def corpus(n=300, seed=3):
    rng = np.random.default_rng(seed)
    claims = np.arange(n) % 6
    label = np.where(rng.random(n) < 0.25 + 0.1 * claims, "favor", rng.choice(VALUES[1:], n))
    return pd.DataFrame(
        {
            "item_id": [f"{claim}|x:{at}" for at, claim in enumerate(claims)], "claim_id": claims.astype(str),
            "post_id": [f"x:{at}" for at in range(n)], "kind": rng.choice(["title", "keywords"], n), "label": label,
            "how": "agreed", "p_claim": 1.0, "p_sample": rng.uniform(0.2, 0.9, n).round(3), "group_size": 1,
            "created_at": [f"2020-0{4 + at % 3}-10T00:00:00Z" for at in range(n)],
        }
    )  # fmt: skip


def compared(*two, before="", after="", level=0.95):
    between = compared_parts(two or None, before, after, labels=VALUES)
    found = estimates(corpus(), VALUES, Sampling(), between=between, level=level)
    rows = found.differences[found.differences["estimand"] == "unique_posts"]
    return rows.set_index("label"), found


@pytest.mark.parametrize(
    ("two", "days"),
    [
        (("claim:0", "claim:5"), {}), (("kind:title", "kind:keywords"), {}), (("label:favor", "label:against"), {}),
        ((), {"before": pd.Timestamp("2020-05-10", tz="UTC")}), ((), {"before": "2020-05-10", "after": "2020-06-10"}),
    ],
)  # fmt: skip
def test_p_and_interval_agree_and_the_difference_is_that_of_the_shares(two, days):
    rows, found = compared(*two, **days)
    if days:
        day, months = str(days["before"])[:10], corpus()["created_at"]
        counts = (months < day).sum(), (months >= days.get("after", day)).sum()
        assert set(zip(rows["n_first"], rows["n_second"], strict=True)) == {counts}
    for row in rows.to_dict("records"):
        assert row["difference"] == pytest.approx(row["share_first"] - row["share_second"])
        assert row["low"] < row["difference"] < row["high"]
        assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)
    said = sentences(found.differences, found.level)
    assert said[0].startswith("Of unique posts, the share")
    assert said[0] in found.sentences


def test_several_labels_are_adjusted_by_holm_and_one_is_not():
    rows, found = compared("kind:title", "kind:keywords")
    p = rows["p"].to_numpy()
    order = np.argsort(p)
    by_hand = np.empty(3)
    by_hand[order] = np.minimum(1, np.maximum.accumulate(p[order] * [3, 2, 1]))
    assert rows["p_adjusted"].to_numpy() == pytest.approx(by_hand)
    wide, _ = compared("kind:title", "kind:keywords", level=1 - 0.05 / 3)
    assert rows["low_together"].tolist() == pytest.approx(wide["low"].tolist())
    assert rows["high_together"].tolist() == pytest.approx(wide["high"].tolist())
    assert "3 labels are compared at once" in sentences(found.differences, 0.95)[-1]
    assert f"after Holm's adjustment, alone p = {rows['p'].iloc[0]:.3f}" in " ".join(found.sentences)
    one, found = compared("label:favor", "label:against")
    assert (one["p_adjusted"] == one["p"]).all()
    assert one["low_together"].tolist() == one["low"].tolist()
    assert "Holm" not in " ".join(found.sentences)
    two = corpus().assign(label=lambda rows: rows["label"].replace("neither", "against"))
    between = compared_parts(["kind:title", "kind:keywords"], labels=VALUES[:2])
    rows = estimates(two, VALUES[:2], Sampling(), between=between).differences
    assert (rows["p_adjusted"] == rows["p"]).all(), (
        "what one of two labels gains, the other loses: that is one comparison"
    )


def test_two_claims_by_hand():
    rows, _ = compared("claim:5", "claim:0")
    frame = corpus()
    ends = []
    for claim in ("5", "0"):
        of = frame[frame["claim_id"] == claim]
        y, pi = (of["label"] == "favor").to_numpy(float), of["p_sample"].to_numpy()
        s = 1 / pi / (1 / pi).sum()
        value = float(s @ y)
        ends.append((value, float(np.sum((1 - pi) * s**2 * (y - value) ** 2))))
    (first, v), (second, w) = ends
    row = rows.loc["favor"]
    assert row["difference"] == pytest.approx(first - second)
    plain = 1.96 * math.sqrt(v + w)
    assert row["high"] - row["low"] == pytest.approx(2 * plain, rel=0.2)
    assert row["p"] < 0.05


def test_two_labels_of_the_same_posts_go_against_each_other():
    """Shares of one whole are negatively correlated: the difference is wider than of independent ones."""
    rows, found = compared("label:favor", "label:against")
    row = rows.iloc[0]
    pool = found.shares.query("scope == 'pool' and estimand == 'unique_posts'").set_index("label")
    apart = math.hypot(*(pool.loc[label, "high"] - pool.loc[label, "low"] for label in ("favor", "against")))
    assert row["high"] - row["low"] > apart


@pytest.mark.parametrize(
    ("two", "days", "words"),
    [
        (("claim:1",), {}, "of two parts"), (("claim:1", "claim:1"), {}, "with itself"),
        (("claim:1", "label:favor"), {}, "no two of a kind"), (("claims:1", "claim:2"), {}, "names no part"),
        (("label:favour", "label:against"), {}, "Did you mean .favor."), ((), {"before": "May"}, "is no day"),
        ((), {"after": "2020-05-01"}, "needs before"), ((), {"before": pd.Timestamp("2020-05-01 13:00")}, "is no day"), (("claim:1", "claim:99"), {}, "no labelled item is in claim 99"),
        ((), {"before": "2020-05-02", "after": "2020-05-01"}, "overlap"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_named(two, days, words):
    with pytest.raises(InputError, match=words):
        compared(*two, **days)
