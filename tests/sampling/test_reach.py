"""Drawing from the items within reach is drawing from all of them."""

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import keyed, tables
from covmis_build.engine import duck
from covmis_build.engine.duck import DuckEngine
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.reach import within_reach
from covmis_build.sampling.strata import strata_by

MONTHS = ["2020-03-30T00:00:00Z", "2020-04-02T00:00:00Z", ""]
counts = st.fixed_dictionaries(
    {kind: st.integers(0, 30) for kind in ("title", "news_url", "fact_check_url", "keywords", "ranked")}
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duck, "BLOCK", 11)  # so that claims and strata go across blocks
        with DuckEngine(tmp_path_factory.mktemp("scratch"), workers=1) as opened:
            yield opened


def study_of(make_items, claims):
    items = make_items({str(at): of for at, of in enumerate(claims)})
    ranked = [
        {"item_id": f"{at}|r:{number}", "claim_id": str(at), "post_id": f"r:{number}", "kind": "ranked",
         "kinds": ["ranked"], "other_claims": [], "group": "", "group_size": 1, "p_claim": 1.0}
        for at, of in enumerate(claims) for number in range(of["ranked"])
    ]  # fmt: skip
    items = pd.concat([items, pd.DataFrame(ranked, columns=items.columns)], ignore_index=True)
    heavy = items.index[items.index % 40 == 3]  # a few clusters decide the shares of all posts
    items.loc[heavy, "group_size"] = [20 ** (1 + at % 4) for at in range(len(heavy))]
    posts = pd.DataFrame({"post_id": sorted(set(items["post_id"]))})
    times = [MONTHS[at % len(MONTHS)] for at in range(len(posts))]
    return items.sample(frac=1, random_state=1), posts.assign(created_at=times)


def drawn_both_ways(engine, items, posts, frozen, options, seed=5):
    """The draw from all items, and from those within reach."""
    chances = dict.fromkeys(items.loc[items["kind"] == "ranked", "item_id"], 0.3)
    strata = strata_by(items, posts, options.strata_by) if options.strata_by else None
    named = {"seed": seed, "audit": 0.4, "chances": chances}
    of_all = sample(items, frozen, options, Labels(), strata=strata, **named)
    post_rows = pa.table({name: pa.array(posts[name], tables.STRING) for name in posts})
    reach = within_reach(
        engine,
        engine.table(tables.conform(items, "items")),
        engine.table(post_rows),
        frozen,
        options,
        seed=seed,
    )
    return (
        of_all,
        sample(reach.items, frozen, options, Labels(), strata=reach.strata, clusters=reach.clusters, **named),
        reach,
    )


@given(
    by=st.sampled_from([(), ("platform", "month")]), design=st.sampled_from(["poisson", "two_phase"]),
    claims=st.lists(counts, min_size=1, max_size=3), per_kind=st.integers(0, 6), per_claim=st.integers(1, 20),
    again=st.integers(-12, 12),
)  # fmt: skip
@settings(max_examples=30)
def test_the_same_is_drawn(engine, make_items, by, design, claims, per_kind, per_claim, again):
    items, posts = study_of(make_items, claims)
    options = Sampling(design=design, strata_by=list(by), per_kind=per_kind, per_claim=per_claim)
    one, other, _ = drawn_both_ways(engine, items, posts, tables.empty("sample"), options)
    pd.testing.assert_frame_equal(one.sample, other.sample)
    pd.testing.assert_frame_equal(one.expected, other.expected)
    # a later draw beside what was frozen: of a greater target, or a smaller one, which much of the frozen is out of reach
    # of; and with some of the frozen gone from the items
    kept = one.sample[one.sample["kind"] != "ranked"] if design == "two_phase" else one.sample
    fewer = items if design == "two_phase" else items[items["item_id"] != kept["item_id"].min()]
    target = per_claim + abs(again) if design == "two_phase" else max(0, per_claim + again)
    later = Sampling(
        design=design,
        strata_by=list(by),
        per_kind=per_kind if design == "two_phase" else min(per_kind, target),
        per_claim=target,
    )
    one, other, _ = drawn_both_ways(engine, fewer, posts, kept, later)
    pd.testing.assert_frame_equal(one.sample, other.sample)
    pd.testing.assert_frame_equal(one.expected, other.expected)


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_few_of_many_are_looked_at(engine, make_items, design, monkeypatch):
    monkeypatch.setattr(duck, "BLOCK", 1000)
    claims = [{"title": 5, "news_url": 300, "fact_check_url": 0, "keywords": 3000, "ranked": 3}] * 2
    items, posts = study_of(make_items, claims)
    one, other, reach = drawn_both_ways(engine, items, posts, tables.empty("sample"), Sampling(design=design))
    pd.testing.assert_frame_equal(one.sample, other.sample)
    assert len(reach.items) < 1000 < len(items)
    assert (other.draws["rule"] == "certain").any() == (design == "poisson")
    assert reach.clusters.counts["0"] == {"title": 5, "news_url": 300, "keywords": 3000}


def test_many_numbers_are_those_of_each():
    ids = ["1|x:1", "", "ü|\ud800"]
    assert keyed.uniforms(7, "a stage", ids) == [keyed.uniform(7, "a stage", name) for name in ids]
