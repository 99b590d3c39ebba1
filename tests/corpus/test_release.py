from __future__ import annotations

import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.corpus.people_labels import TOGETHER, labels_of_people
from covmis_build.corpus.release import left_out, make_corpus, mask_mentions
from covmis_build.errors import InputError
from covmis_build.options import Release


def test_every_frozen_item_is_a_row_or_counted(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    purged = {"x:100000000000000003", "100000000000000004"}
    corpus = make_corpus(gold, frozen, Release(), purged=purged)
    out = left_out(gold, frozen, purged)
    assert out == {"pilot": 1, "purged": 2, "no gold label": 2}
    assert len(corpus) + sum(out.values()) == len(frozen)
    assert not corpus["native_id"].isin({"100000000000000003", "100000000000000004"}).any()
    assert not corpus["item_id"].str.startswith("c9").any()


def test_the_weight_is_one_over_the_whole_probability(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    corpus = make_corpus(gold, frozen, Release()).set_index("item_id")
    one = frozen.set_index("item_id").loc[corpus.index]
    assert corpus["weight"].tolist() == (1 / (one["p_claim"] * one["p_sample"])).tolist()


def test_ids_only_unless_asked_and_then_masked(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    assert make_corpus(gold, frozen, Release())["text"].isna().all()
    masked = make_corpus(gold, frozen, Release(text=True))["text"]
    assert masked.notna().all()
    assert not masked.str.contains("covmis_tester|@ann").any()
    plain = make_corpus(gold, frozen, Release(text=True, mask_mentions=False))["text"]
    assert plain.str.contains("covmis_tester").any()


def test_codes_of_people_follow_from_the_secret_and_not_from_their_names(gold_and_frozen) -> None:
    corpus = make_corpus(*gold_and_frozen, Release())
    people = ["ann", "bob", "cem", "dee", "eva", TOGETHER, "model:one"]
    rows = pd.DataFrame({"annotator": [*people, "fay"], "status": ["given"] * 7 + ["invalid"]})
    labels = (
        tables.empty("labels")
        .reindex(rows.index)
        .assign(**rows, item_id=corpus["item_id"][0], sub_label=rows["annotator"])
    )
    codes = []
    for secret in "abc":
        told = labels_of_people(labels, corpus, secret=secret)
        codes.append(told.set_index("sub_label")["annotator"].to_dict())
    assert all(
        sorted(each.values()) == sorted(["p1", "p2", "p3", "p4", "p5", TOGETHER, "model:one"])
        for each in codes
    )
    assert all(each[name] == name for each in codes for name in (TOGETHER, "model:one"))
    orders = {tuple(each[name] for name in people[:5]) for each in codes}
    assert len(orders) == 3, "another secret gives other codes"


def test_the_order_of_rows_makes_no_difference(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    here = make_corpus(gold, frozen, Release(text=True))
    there = make_corpus(gold.iloc[::-1], frozen.sample(frac=1, random_state=1), Release(text=True))
    assert here.equals(there)


@pytest.mark.parametrize("chance", [0.0, -0.5, 1.5, float("nan")])
def test_an_impossible_probability_is_refused(gold_and_frozen, chance) -> None:
    gold, frozen = gold_and_frozen
    frozen.loc[1, "p_sample"] = chance
    with pytest.raises(InputError, match="no probability"):
        make_corpus(gold, frozen, Release())


def test_an_item_has_one_gold_label_and_one_round(gold_and_frozen) -> None:
    gold, frozen = gold_and_frozen
    with pytest.raises(InputError, match="two gold labels"):
        make_corpus(gold.iloc[[0, 0, 1]], frozen, Release())
    with pytest.raises(InputError, match="frozen in two rounds"):
        make_corpus(gold, frozen.iloc[[0, 0, 1]], Release())


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("RT @ann: hello", "RT @user: hello"),
        ("RT@ann hello", "RT@user hello"),
        ("ask \uff20ann_1", "ask @user"),
        ("田中さん@taro は", "田中さん@user は"),
        ("@ann.bsky.social and @bob@mastodon.example", "@user and @user"),
        ("https://mastodon.example/@bob/1", "https://mastodon.example/@user/1"),
        ("https://twitter.com/Bob_1/status/12", "https://twitter.com/user/status/12"),
        ("https://x.com/i/status/12 #tag", "https://x.com/i/status/12 #tag"),
        ("5 @ 3 and a @ b", "5 @ 3 and a @ b"),
        ("write to first.last+x@mail.example.org!", "write to @user!"),
    ],
)
def test_accounts_are_masked_as_platforms_write_them(text, masked) -> None:
    assert mask_mentions(text) == masked
    assert mask_mentions(masked) == masked
