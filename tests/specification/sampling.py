"""Probabilities, draws, certain clusters and automatic labels."""

import itertools
from collections import Counter
from fractions import Fraction

from tests.specification.chance import in_order, number

PARTS = {"year": 4, "month": 7, "day": 10}


def stratum(item, time, strata_by):
    """The query type, divided by platform and time. [guides/sampling]"""
    platform = item.post_id.partition(":")[0]
    parts = [platform if by == "platform" else time[: PARTS[by]] or "unknown" for by in strata_by]
    return item.kind + (f" / {' '.join(parts)}" if parts else "")


def allocation(counts, per_kind, per_claim):
    """Each stratum's quota, the posts that are missing to the target (m), and those that are left (N_r). [guides/sampling]"""
    quota = {name: min(count, per_kind) for name, count in counts.items()}
    left = sum(counts.values()) - sum(quota.values())
    return quota, min(max(per_claim - sum(quota.values()), 0), left), left


def probabilities(counts, per_kind, per_claim):
    """The probability of a post of each stratum, as exact fractions. [guides/sampling]"""
    quota, missing, left = allocation(counts, per_kind, per_claim)
    fill = Fraction(missing, left) if left else 0
    return {
        name: (first := Fraction(quota[name], count)) + (1 - first) * fill for name, count in counts.items()
    }


def joint(counts, per_kind, per_claim):
    """The probability that a two-phase sample has two given posts of these strata. [explanation/intervals]"""
    quota, missing, left = allocation(counts, per_kind, per_claim)
    fill = Fraction(missing, left) if left else Fraction(0)
    both = Fraction(missing * (missing - 1), left * (left - 1)) if left > 1 else Fraction(0)
    pairs = {}
    for a, b in itertools.product(counts, repeat=2):
        same = a == b
        # of the second post: its chance in the first phase if the first post was taken there, and if it was not
        first = Fraction(quota[a], counts[a])
        others = max(counts[b] - same, 1)
        then, else_ = Fraction(max(quota[b] - same, 0), others), Fraction(min(quota[b], others), others)
        one = first * (1 - then) + (1 - first) * else_
        pairs[a, b] = first * then + one * fill + (1 - first) * (1 - else_) * both
    return pairs


def certain(items, chance, strata, per_claim):
    """The clusters of a claim that a Poisson sample has with certainty. [decisions/0048-certain-clusters]"""
    odds = {name: float(1 - p) / float(p) for name, p in chance.items()}
    size = {item: items[item].group_size for item in strata}
    left = sum(odds[strata[item]] * size[item] ** 2 for item in strata)
    unique = sum(odds[strata[item]] for item in strata) / len(strata) ** 2
    enough = max(1 / 10, 2 * unique) * sum(size.values()) ** 2
    taken, largest = [], []
    for name in set(strata.values()):
        clusters = [item for item in strata if strata[item] == name and size[item] > 1]
        largest += sorted(clusters, key=lambda item: (-size[item], item))[:per_claim]
    for item in sorted(largest, key=lambda item: (-odds[strata[item]] * size[item] ** 2, item)):
        adds = odds[strata[item]] * size[item] ** 2
        if left <= enough * (1 + 1e-9) or adds < left / per_claim:
            break
        left -= adds
        taken.append(item)
    return taken


def draw(seed, items, times, settings):
    """Each sampled item's probability, and the table of draws. [guides/sampling]"""
    p_sample, draws = {}, set()
    for claim in sorted({item.claim_id for item in items.values()}):
        mine, by = [name for name in items if items[name].claim_id == claim], settings["strata_by"]
        strata = {name: stratum(items[name], times[items[name].post_id], by) for name in mine}
        counts = Counter(strata.values())
        limits = settings["per_kind"], settings["per_claim"]
        quota, missing, _ = allocation(counts, *limits)
        chance = probabilities(counts, *limits)
        for name, count in counts.items():
            rule = "fill" if missing and quota[name] < count else "quota"
            draws.add(("1", claim, name, "", rule, count, float(chance[name])))
        own = {item: float(chance[name]) for item, name in strata.items()}
        if settings["design"] == "two_phase":
            chosen = second_phase(seed, strata, quota, missing)
        else:
            if settings["certain"]:
                for item in certain(items, chance, strata, settings["per_claim"]):
                    own[item] = 1.0
                    draws.add(("1", claim, strata[item], item, "certain", 1, 1.0))
            chosen = {item for item in strata if number(seed, "sampling", item) < own[item]}
        p_sample |= {item: own[item] for item in chosen}
    return p_sample, draws


def second_phase(seed, strata, quota, missing):
    """Each stratum's quota by the smallest numbers, then of the rest by the smallest of other numbers. [guides/sampling]"""
    chosen = set()
    for name, count in quota.items():
        members = [item for item in strata if strata[item] == name]
        chosen |= set(in_order(seed, "sampling", members)[:count])
    return chosen | set(in_order(seed, "sampling, second phase", strata.keys() - chosen)[:missing])


def automatic_label(kinds, rule):
    """The label of the listed query types that found the post; none if they disagree. [guides/sampling]"""
    labels = {rule[kind] for kind in kinds if kind in rule}
    return labels.pop() if len(labels) == 1 else ""


def audit(label, share, per_part, sizes):
    """The probability that people check a sampled automatic label; `sizes` are the numbers of its claim, month …. [guides/sampling]"""
    return max(share, *(per_part / max(size, per_part, 1) for size in sizes)) if label else 0.0
