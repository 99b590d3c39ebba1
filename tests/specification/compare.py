"""Make a study, run covmis on it, and compare every table and figure with the rules, row by row.

Each step starts from covmis's own table of the step before: one difference is told once.
"""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

import covmis_build as covmis
from tests.specification import (
    agreement,
    annotation,
    archive,
    chance,
    cleaning,
    estimates,
    matching,
    measures,
    sampling,
    studies,
)

ABSENT = "no such row"
CLOSE = 1e-9
COEFFICIENTS = ("raw", "kappa", "scott_pi", "fleiss_kappa", "alpha", "ac1", "pabak")
ORDER, POLES = ["favor", "neither", "against"], ["favor", "against"]


class Comparison:
    """What was compared, and each difference: rule, row, covmis's value and the specification's."""

    def __init__(self, seed):
        self.seed = seed
        self.compared = Counter()
        self.differences = []

    def rows(self, rule, theirs, ours):
        """Two tables by key, or two sets of rows."""
        theirs, ours = (
            table if isinstance(table, dict) else dict.fromkeys(table, "") for table in (theirs, ours)
        )
        self.compared[rule] += len(theirs.keys() | ours.keys())
        for key in sorted(theirs.keys() | ours.keys(), key=str):
            values = theirs.get(key, ABSENT), ours.get(key, ABSENT)
            if not same(*values):
                self.differences.append((rule, key, *values))

    def __str__(self):
        told = [
            f"seed {self.seed}, {rule}, row {key!r}: covmis has {theirs!r}, the specification {ours!r}"
            for rule, key, theirs, ours in self.differences[:20]
        ]
        keep = f"To see the study: python -m tests.specification {self.seed} --keep DIR"
        return "\n".join([*told, f"{len(self.differences)} differences. {keep}"])


def same(a, b):
    """Equal; numbers to nine digits."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | int | None) and isinstance(b, float | int | None):
        a, b = (math.nan if x is None else float(x) for x in (a, b))
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= CLOSE * max(1, abs(a))
    return a == b


def cells(frame, key, *columns):
    """Columns of a frame by a key column, or by a tuple of them; lists become tuples."""
    keys = (
        frame[key].tolist()
        if isinstance(key, str)
        else list(zip(*(frame[name] for name in key), strict=True))
    )
    values = (
        zip(*([plain(x) for x in frame[name]] for name in columns), strict=True)
        if columns
        else [()] * len(keys)
    )
    return dict(zip(keys, values, strict=True))


def plain(x):
    """A cell as Python writes it."""
    if isinstance(x, list | np.ndarray):
        return tuple(x)
    if isinstance(x, pd.Timestamp):
        return x.strftime("%Y-%m-%dT%H:%M:%SZ")
    return "" if x is pd.NaT else x.item() if isinstance(x, np.generic) else x


def compare(seed, folder):
    """Run the study of a seed in this folder, and compare it."""
    plan, result = studies.plan(seed), Comparison(seed)
    study, copies = make(plan, Path(folder))
    study.run()
    posts = {name: of_post[0] for name, of_post in copies.items()}
    compare_matching(study, plan, copies, posts, result)
    compare_cleaning(study, plan, posts, result)
    items = compare_sampling(study, plan, posts, result)
    if plan.annotated and len(study.sample):
        compare_rounds(study, plan, items, result)
    return result


def make(plan, folder):
    """Write the study's files; return it, and the copies of its posts as the rules read them."""
    study = covmis.new_study(folder)
    columns = [name for name in plan.claims[0] if not name.startswith("_")]
    pd.DataFrame(plan.claims)[columns].to_csv(folder / "queries/claims.csv", index=False)
    r, read, place = plan.chance, [], folder / "data/archive"
    cut = r.choice([0, len(plan.posts) // 2, len(plan.posts)])
    if cut:
        rule = studies.write_csv(r, plan.posts[:cut], place / "forum.csv")
        study.set_columns("forum.csv", **rule)
        read += archive.read_csv(place / "forum.csv", rule)
    if cut < len(plan.posts):
        studies.write_x(r, plan.posts[cut:], place / "x.jsonl")
        read += archive.read_x_v2(place / "x.jsonl")
    return study.change(**plan.settings), archive.copies(read)


def compare_matching(study, plan, copies, posts, result):
    """Posts, hits, and what matching drops."""
    hits, dropped = matching.found(plan.claims, copies, **plan.settings["retrieval"])
    theirs = study.hits
    key = ("claim_id", "post_id", "query_id")
    result.rows("hits", cells(theirs, key, "kind", "matched"), hits)
    used, counts = set(theirs["post_id"]), archive.repost_counts(posts)
    columns = ("text", "created_at", "reply_to", "quote_of", "repost_of")
    ours = {
        name: (*(getattr(posts[name], column) for column in columns), counts[name])
        for name in used & posts.keys()
    }
    result.rows("posts", cells(study.posts, "post_id", *columns, "repost_count"), ours)
    gone = study.dropped[study.dropped["step"].isin(["retrieve", "claims"])]
    key = ("unit", "claim_id", "post_id", "step")
    result.rows("dropped by matching", cells(gone, key, "reason", "kept_instead"), dropped)


def compare_cleaning(study, plan, posts, result):
    """Items, and what the five steps drop."""
    found_by = defaultdict(set)
    for hit in study.hits.itertuples():
        found_by[hit.claim_id, hit.post_id].add(hit.kind)
    items, dropped = cleaning.clean(plan.settings["seed"], posts, found_by, plan.settings["cleaning"])
    result.rows("items", items_of(study), items)
    gone = study.dropped[~study.dropped["step"].isin(["retrieve", "claims", "sample"])]
    columns = ("reason", "kept_instead", "similarity", "group")
    result.rows(
        "dropped by cleaning", cells(gone, ("unit", "claim_id", "post_id", "step"), *columns), dropped
    )


def items_of(study):
    """covmis's table of items."""
    return {
        name: cleaning.Item(*row)
        for name, row in cells(study.items, "item_id", *cleaning.Item._fields).items()
    }


def compare_sampling(study, plan, posts, result):
    """The sample, its draws, automatic labels and their audit. Returns the items."""
    settings, seed = plan.settings, plan.settings["seed"]
    items, times = items_of(study), {name: post.created_at for name, post in posts.items()}
    p_sample, draws = sampling.draw(seed, items, times, settings["sampling"])
    ours = {}
    rule = {
        name: sampling.automatic_label(items[name].kinds, settings["labels"]["automatic"])
        for name in p_sample
    }
    parts_of = {
        name: [
            (
                by,
                item.claim_id
                if by == "claim"
                else item.kind
                if by == "kind"
                else sampling.stratum(item, time, [by]).partition(" / ")[2],
            )
            for by in settings["annotation"]["audit_by"]
        ]
        for name, item, time in ((name, items[name], times[items[name].post_id]) for name in rule)
    }
    sizes = Counter(part for name in rule if rule[name] for part in parts_of[name])
    for name, p in p_sample.items():
        share, least = (settings["annotation"][key] for key in ("audit", "audit_per_part"))
        check = sampling.audit(rule[name], share, least, [sizes[part] for part in parts_of[name]])
        audited = chance.number(seed, "audit", name) < check
        ours[name] = p, "1", settings["sampling"]["design"], rule[name], audited, check
    columns = ("p_sample", "draw", "design", "automatic_label", "audited", "p_audit")
    result.rows("sample", cells(study.sample, "item_id", *columns), ours)
    table = pd.read_parquet(study.places.table("draws"))
    key = ("draw", "claim_id", "stratum", "item_id")
    result.rows(
        "draws", cells(table, key, "rule", "posts", "probability"), {row[:4]: row[4:] for row in draws}
    )
    gone = study.dropped[study.dropped["step"] == "sample"]
    left = {
        (item.claim_id, item.post_id, "not drawn"): () for name, item in items.items() if name not in p_sample
    }
    result.rows("dropped by sampling", cells(gone, ("claim_id", "post_id", "reason")), left)
    return items


def compare_rounds(study, plan, items, result):
    """Two rounds with their labels and agreement; then estimates, scores and, for some studies, the corpus."""
    sample = study.sample.set_index("item_id")
    used, gold = set(), {}
    for _ in range(2):
        per_round = plan.settings["annotation"]["claims_per_round"]
        todo = annotation.claims_of_round(plan.claims, set(sample["claim_id"]), used, per_round)
        if todo:
            used |= set(todo)
            gold |= compare_round(study, plan, sample, todo, result)
    compare_estimates(study, plan, items, sample, gold, result)
    compare_scores(study, plan, items, sample, gold, result)
    if plan.released and not set(sample["claim_id"]) - used:
        corpus = pd.read_parquet(Path(study.release()) / "corpus.parquet")
        columns = ("claim_id", "post_id", "kind", "label", "how", "group_size", "weight")
        labelled, pool = sample_and_pool(study, plan, items, sample, gold)
        ones = np.ones(len(labelled.size)), np.ones(len(pool.size))
        factors = dict(zip(sorted(gold), estimates.known_sizes(labelled, pool, *ones)[1], strict=True))
        ours = {
            name: annotation.corpus_row(
                items[name], sample.loc[name, "p_sample"] / factors[name], *gold[name]
            )
            for name in gold
        }
        result.rows("corpus", cells(corpus, "item_id", *columns), ours)


def compare_round(study, plan, sample, todo, result):
    """Who gets what, the labels that come back, agreement, the discussion, and gold. Returns the gold labels."""
    r, settings, seed = plan.chance, plan.settings["annotation"], plan.settings["seed"]
    round_ = study.open_round()
    frozen = round_.items
    result.rows("items of a round", set(frozen["item_id"]), set(sample.index[sample["claim_id"].isin(todo)]))
    automatic, audited = sample["automatic_label"], sample["audited"]
    asked = [item for item in frozen["item_id"] if not automatic[item] or audited[item]]
    claim_of = sample["claim_id"].to_dict()
    annotators, per_item = settings["annotators"], settings["per_item"]
    seated = annotation.seats(seed, asked, annotators, per_item, round_.number)
    ours = annotation.work(seed, seated, annotators, claim_of, settings["order_of_items"])
    result.rows(
        "work",
        {who: tuple(mine) for who, mine in round_.work().items()},
        {who: tuple(mine) for who, mine in ours.items()},
    )
    round_.push()
    answers, record = defaultdict(dict), {}
    for who in settings["annotators"]:
        for row in fill(round_, who, lambda row: {"label": studies.answer(r, row["item_id"])}):
            label = {"skip": "", "1": "favor", "2": "against", "3": "neither"}.get(row["label"], row["label"])
            record[row["item_id"], "independent", who] = label, "given" if label else "skipped"
            answers[row["item_id"]][who] = label
    round_.pull()
    given = {item: {who: label for who, label in of.items() if label} for item, of in answers.items()}
    own = agreement.coefficients(
        {item: of for item, of in given.items() if not automatic[item]}, studies.LABELS
    )
    compare_agreement(round_.agreement(), own, result)

    def gold(settled):
        labels = {item: list(given.get(item, {}).values()) for item in frozen["item_id"]}
        found = {
            item: annotation.gold(of, settled.get(item), automatic[item], item in asked)
            for item, of in labels.items()
        }
        return {item: decision for item, decision in found.items() if decision}

    result.rows("gold before the discussion", cells(round_.decisions, "item_id", "label", "how"), gold({}))
    decided = gold(settle(r, round_, seed, answers, record, result))
    key = ("item_id", "phase", "annotator")
    result.rows("labels", cells(round_.labels, key, "label", "status"), record)
    result.rows("gold", cells(round_.decisions, "item_id", "label", "how"), decided)
    round_.seal()
    return decided


def fill(round_, sheet, answer):
    """Fill in a sheet; return its rows."""
    path = round_.folder.sheets / f"{sheet}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = [row | answer(row) for row in rows]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    return rows


def settle(r, round_, seed, answers, record, result):
    """Discuss what is disputed; let an adjudicator decide the rest. Returns each decision and how it was reached."""
    settled, shown, expected = {}, {}, {}
    round_.adjudicate()
    for row in fill(
        round_, "discussion", lambda _: {"label": r.choice([*studies.LABELS, "undecided"]), "reason": "talk"}
    ):
        item, people = row["item_id"], annotation.letters(seed, row["item_id"], answers[row["item_id"]])
        shown[item] = tuple(row[letter] for letter in "ABC"[: len(people)])
        expected[item] = tuple(answers[item][who] or "skipped" for who in people)
        undecided = row["label"] == "undecided"
        record[item, "discussion", "together"] = ("", "skipped") if undecided else (row["label"], "given")
        if not undecided:
            settled[item] = row["label"], "discussed"
    result.rows("letters", shown, expected)
    round_.adjudicate()
    for row in fill(round_, "adjudication", lambda _: {"label": r.choice(studies.LABELS)}):
        settled[row["item_id"]] = row["label"], "adjudicated"
        record[row["item_id"], "adjudication", "adjudicator"] = row["label"], "given"
    round_.adjudicate()
    return settled


def compare_agreement(found, own, result):
    """Coefficients of agreement."""
    for name in own.keys() & set(COEFFICIENTS):
        figure = getattr(found, name)
        figure = figure["nominal"] if isinstance(figure, dict) else figure
        result.rows(f"agreement: {name}", {"": figure.value}, {"": own[name]})


def compare_estimates(study, plan, items, sample, gold, result):
    """Shares of labels and their intervals: of all posts, of each claim, and as the mean over claims."""
    labelled, pool = sample_and_pool(study, plan, items, sample, gold)
    theirs, ours = {}, {}
    for row in study.estimate(by="claim").to_frame().itertuples():
        key = row.estimand, row.scope, row.name, row.label
        theirs[key] = row.share, row.standard_error, row.low, row.high, row.unweighted
        theirs[*key, "total"] = row.population, row.total, row.total_low, row.total_high
        times, part = (
            row.estimand == "posts",
            estimates.AVERAGE if row.scope == estimates.AVERAGE else row.name,
        )
        found = estimates.share(labelled, pool, row.label, times=times, part=part)
        ours[key] = *found, estimates.unweighted(labelled, row.label, part)
        size = estimates.population(pool, times, part)
        ours[*key, "total"] = size, found[0] * size, found[2] * size, found[3] * size
    result.rows("estimates", theirs, ours)


def sample_and_pool(study, plan, items, sample, gold):
    """The labelled items and their pool, as the rules for estimates take them."""
    names, claims = sorted(gold), {claim for round_ in study.rounds for claim in round_.items["claim_id"]}
    pool = [name for name in items if items[name].claim_id in claims]
    times = study.posts.set_index("post_id")["created_at"].map(plain)
    settings = plan.settings["sampling"]
    limits = settings["per_kind"], settings["per_claim"]
    p_pool, pairs = {}, {}
    for claim in claims:
        strata = {
            name: sampling.stratum(items[name], times[items[name].post_id], settings["strata_by"])
            for name in pool
            if items[name].claim_id == claim
        }
        counts = Counter(strata.values())
        chance = sampling.probabilities(counts, *limits)
        p_pool |= {name: float(chance[of]) for name, of in strata.items()}
        if settings["design"] == "two_phase":
            both = sampling.joint(counts, *limits)
            rows = [at for at, name in enumerate(names) if name in strata]
            pairs[claim] = (
                rows,
                [[float(both[strata[names[a]], strata[names[b]]]) for b in rows] for a in rows],
            )
    p_pool |= {name: sample.loc[name, "p_sample"] for name in names}

    rows = sample.loc[names]
    labelled = SimpleNamespace(
        **columns_of([items[name] for name in names]),
        p_sample=rows["p_sample"].to_numpy(),
        label=np.array([gold[name][0] for name in names], object),
        rule=rows["automatic_label"].to_numpy(object),
        audited=rows["audited"].to_numpy(bool),
        p_audit=rows["p_audit"].to_numpy(),
        place=[pool.index(name) for name in names],
        pairs=pairs,
    )
    p_sample = np.array([p_pool[name] for name in pool])
    return labelled, SimpleNamespace(**columns_of([items[name] for name in pool]), p_sample=p_sample)


def columns_of(items):
    """Columns that sample and pool have in common."""
    return {
        "claim": np.array([item.claim_id for item in items], object),
        "kind": np.array([item.kind for item in items], object),
        "p_claim": np.array([item.p_claim for item in items]),
        "size": np.array([item.group_size for item in items], float),
    }


def compare_scores(study, plan, items, sample, gold, result):
    """Measures of an invented system, unweighted and over all posts."""
    r = plan.chance
    true = {item: label for item, (label, _) in gold.items()}
    guess = {item: r.choice([label, r.choice(studies.LABELS)]) for item, label in true.items()}
    weight = {item: 1 / (items[item].p_claim * sample.loc[item, "p_sample"]) for item in true}
    for over, estimand, times in (("items", "", 0), ("posts", "unique_posts", 0), ("posts", "posts", 1)):
        frame = study.score({"m": guess}, order=ORDER, over=over).to_frame()
        frame = frame[frame["estimand"] == estimand] if estimand else frame
        weights = [weight[item] * items[item].group_size ** times for item in true] if estimand else None
        own = measures.scores(
            list(true.values()), list(guess.values()), studies.LABELS, weights, ORDER, POLES
        )
        theirs = dict(zip(frame["measure"], frame["value"], strict=True))
        known = {name for name in theirs.keys() & own.keys() if not (estimand and name.startswith("alpha"))}
        for name in sorted(known):
            result.rows(f"measures: {name}", {(over, estimand): theirs[name]}, {(over, estimand): own[name]})
