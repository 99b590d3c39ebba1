"""Shares of parts with audited automatic labels: of the part's own labels, and of no other part's error rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.estimation.checks import FEW_CHECKED, cells_of_claims, checks_of, said_by_rules
from covmis_build.estimation.differences import Part
from covmis_build.estimation.shares import estimates
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.audit import Audit
from covmis_build.sampling.draw import sample
from covmis_build.stats.over_posts import made_design
from tests.services import r as with_r

VALUES, RULE = ["favor", "against", "neither"], {"fact_check_url": "against"}
POSTS = 80
KEY = ["estimand", "scope", "name", "label"]


def pool_of(errors) -> pd.DataFrame:
    """Posts of claims, of which a rule labels half; it errs in each claim as often as `errors` has it."""
    rows = [
        (f"{claim}|x:{claim}{kind[0]}{post}", str(claim), f"x:{claim}{kind[0]}{post}", kind, label, f"2020-0{1 + post % 2}-03T00:00:00Z")
        for claim, error in enumerate(errors)
        for kind in ("fact_check_url", "keywords")
        for post in range(POSTS)
        for label in ["favor" if post % 10 < 10 * (error if kind == "fact_check_url" else 0.5) else "against"]
    ]  # fmt: skip
    posts = pd.DataFrame(rows, columns=["item_id", "claim_id", "post_id", "kind", "label", "created_at"])
    return posts.assign(kinds=[[kind] for kind in posts["kind"]], p_claim=1.0, group_size=1)


def labelled(posts, *, audit, seed=1, checked=None) -> pd.DataFrame:
    """A draw of half of the posts; `checked` are claims of which people label all of it."""
    options = Sampling(per_claim=POSTS, per_kind=30)
    drawn = sample(posts, tables.empty("sample"), options, Labels(automatic=RULE), seed=seed, audit=audit)
    corpus = drawn.sample.merge(
        posts[["item_id", "label", "p_claim", "group_size", "created_at"]], on="item_id"
    )
    for claim in checked or ():
        here = (corpus["claim_id"] == claim) & (corpus["automatic_label"] != "")
        corpus = corpus.assign(audited=corpus["audited"] | here, p_audit=corpus["p_audit"].mask(here, 1.0))
    by_rule = (corpus["automatic_label"] != "") & ~corpus["audited"].astype(bool)
    how = np.where(by_rule, "automatic", np.where(corpus["automatic_label"] != "", "audited", "agreed"))
    return corpus.assign(how=how, label=corpus["label"].mask(by_rule, corpus["automatic_label"]))


def shares_of(corpus, posts, **more):
    by = ("claim", "kind", "month")
    return estimates(
        corpus, VALUES, Sampling(per_claim=POSTS, per_kind=30), automatic=RULE, pool=posts, by=by, **more
    )


def test_a_claim_that_people_labelled_has_the_share_that_they_gave():
    """The rule is right elsewhere, and wrong here: a rate of all claims would make this claim another one's."""
    posts = pool_of([0.9, 0, 0, 0])
    corpus = labelled(posts, audit=0.2, checked=["0"])
    found = shares_of(corpus, posts).shares.set_index(KEY)
    own = corpus[corpus["claim_id"] == "0"]
    assert (own["how"] != "automatic").all()
    kinds = posts[posts["claim_id"] == "0"].groupby("kind").size()
    wanted = np.average((own["label"] == "favor").groupby(own["kind"]).mean().loc[kinds.index], weights=kinds)
    row = found.loc["unique_posts", "claim", "0", "favor"]
    assert row["share"] == pytest.approx(wanted)
    assert row["low"] < 0.7 < row["high"]
    assert row["high"] - row["low"] < 0.25


def test_labels_of_other_parts_change_nothing():
    """Other claims' audited labels turn round: this claim, and its difference from a third one, stay; so does a month."""
    posts = pool_of([0.3] * 5)
    corpus, parts = labelled(posts, audit=0.4), (Part("claim", "0"), Part("claim", "1"))
    elsewhere = corpus["claim_id"].isin(["2", "3", "4"])
    turned = corpus["label"].mask(elsewhere & (corpus["how"] == "audited"), "neither")
    one, other = (shares_of(table, posts, between=parts) for table in (corpus, corpus.assign(label=turned)))
    same = [of.shares[of.shares["name"].isin(["0", "1"])].reset_index(drop=True) for of in (one, other)]
    pd.testing.assert_frame_equal(*same)
    pd.testing.assert_frame_equal(one.differences, other.differences)
    assert not one.shares.equals(other.shares)
    late = corpus["created_at"].str.startswith("2020-02")
    turned = corpus["label"].mask(late & (corpus["how"] == "audited"), "neither")
    found = shares_of(corpus.assign(label=turned), posts).shares
    first = [of[of["name"] == "2020-01"]["share"].to_numpy() for of in (one.shares, found)]
    assert first[0] == pytest.approx(first[1])


@pytest.mark.parametrize("audit", [0.05, 0.4])
def test_claims_add_up_to_all(audit):
    """Also those with too few checked labels, whose own intervals are words."""
    posts = pool_of([0.6, 0.1, 0, 0.3, 0.2, 0])
    found = shares_of(labelled(posts, audit=audit, seed=4), posts).shares
    unique = found[found["estimand"] == "unique_posts"]
    for label in VALUES:
        rows = unique[unique["label"] == label].set_index("scope")
        assert rows.loc["claim", "total"].sum() == pytest.approx(rows.loc["pool", "total"])
    assert unique.groupby(["scope", "name"])["share"].sum().to_numpy() == pytest.approx(1)
    assert unique.loc[unique["scope"] == "claim", "why"].eq(FEW_CHECKED).any() == (audit < 0.1)
    assert unique.loc[(unique["scope"] == "pool"), "why"].eq("").all()


def test_a_part_with_too_few_checked_labels_has_words_for_an_interval():
    posts = pool_of([0.3] * 4)
    corpus = labelled(posts, audit=0.3)
    here = (corpus["claim_id"] == "2") & (corpus["how"] == "audited")
    kept = corpus.assign(
        how=corpus["how"].mask(here, "automatic"), label=corpus["label"].mask(here, "against")
    )
    found = shares_of(kept, posts).shares
    rows = found[found["scope"] == "claim"]
    assert set(rows.loc[rows["low"].isna(), "name"]) == {"2"}
    assert set(rows.loc[rows["name"] == "2", "why"]) == {FEW_CHECKED}


def test_the_difference_of_two_labels_varies_as_both_do():
    """favor and against are together all: their difference varies twice as much as one of them, also with an audit."""
    posts = pool_of([0.4] * 6)
    found = shares_of(
        labelled(posts, audit=0.3), posts, between=(Part("label", "favor"), Part("label", "against"))
    )
    row = found.differences[found.differences["estimand"] == "unique_posts"].iloc[0]
    favor = found.shares.set_index(KEY).loc["unique_posts", "pool", "", "favor"]
    assert row["high"] - row["low"] == pytest.approx(2 * (favor["high"] - favor["low"]), rel=0.05)


@pytest.mark.needs("r")
def test_the_variance_is_that_of_two_phases_in_r(tmp_path):
    """A fixed number of posts, of whose automatic labels a fixed number is checked: twophase of R's survey, to a hundredth."""
    n, size = 120, 400
    rng = np.random.default_rng(4)
    rule = (rng.random(n) < 0.5).astype(int)
    y = np.where(rule == 1, rng.random(n) < 0.7, rng.random(n) < 0.3).astype(int)
    checked = rule == 0
    checked[rng.choice(np.flatnonzero(rule), 20, replace=False)] = True
    rows = pd.DataFrame({"id": range(n), "rule": rule, "y": y, "checked": checked.astype(int), "fpc": size})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "two.R").write_text(
        "suppressPackageStartupMessages(library(survey)); d <- read.csv(commandArgs(TRUE))\n"
        "two <- twophase(id=list(~1,~1), strata=list(NULL,~rule), fpc=list(~fpc,NULL), subset=~checked == 1, data=d)\n"
        "m <- svymean(~y, two); cat(sprintf('%.15f %.15f', coef(m), SE(m)))\n"
    )
    value, error = map(float, with_r.run(tmp_path / "two.R", str(tmp_path / "rows.csv")).split())
    p, groups = np.full(n, n / size), np.where(rule == 1, "yes", "").astype(object)
    labels = np.where(y == 1, "yes", "no").astype(object)
    audit = Audit(groups, checked & (rule == 1), labels, 1 / p, p, np.where(rule == 1, 20 / rule.sum(), 1.0))
    second = checks_of(audit, cells_of_claims(audit, ["c"] * n), 1 / p, p)
    shares, said = np.full(n, 1 / n), said_by_rules(audit, "yes")
    assert float(shares @ second.values(y, said)) == pytest.approx(value, rel=1e-12)
    deviations = (second.linear(y, said, shares) - value * shares) * p
    variance = made_design(p, design="two_phase").variance(deviations)
    variance += float(np.sum(second.later(y, said, shares) ** 2))
    assert np.sqrt(variance) == pytest.approx(error, rel=0.01)
