"""Shares of labels among all posts, and their intervals: the symbols are those of docs/explanation/intervals.md.

`sample` and `pool` are tables with an array a column: claim, kind, p_claim, p_sample, size. The sample also has label, rule (the
automatic label), audited, p_audit, place (the row in the pool), and pairs: for two-phase samples, each claim's rows and the
joint probabilities of these.
"""

import math
from collections import Counter

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

SELDOM = 0.05
AVERAGE = "average claim"


def counted(sample, omega):
    """How often each item's own label counts, and its cell: what one rule labelled in one claim; a checked one counts for all of it.

    Claims with fewer than two checked ones join the one nearest in number. [explanation/intervals]"""
    cells, count = np.full(len(omega), "", object), np.ones(len(omega))
    for rule in set(sample.rule[sample.audited]) - {""}:
        here = sample.rule == rule
        of = joined(Counter(sample.claim[here & sample.audited]), dict(Counter(sample.claim[here])))
        cells[here] = [f"{rule} {of[claim]}" for claim in sample.claim[here]]
    for cell in set(cells) - {""}:
        here, seen = cells == cell, (cells == cell) & sample.audited
        count[here] = 0
        count[seen] = omega[here].sum() / np.sum(omega[seen] / sample.p_audit[seen]) / sample.p_audit[seen]
    return count, cells


def audited(sample, y, label, s, omega):
    """Each item's value: what the rule says, and what people add; its part of the share; the variance of the audit; and whether
    rules with fewer than two checked labels here gave more than a tenth of it. [explanation/intervals]"""
    count, cells = counted(sample, omega)
    rule, x, later, few = (sample.rule == label) * (cells != ""), s * y, 0.0, 0.0
    for cell in sorted(set(cells) - {""}):
        here, seen = cells == cell, (cells == cell) & sample.audited
        mean, n = np.sum((count * s * (y - rule))[seen]) / omega[here].sum(), max(2, seen.sum())
        left = (s * (y - rule) - omega * mean) * math.sqrt(n / (n - 1))
        x[here] = (s * rule + omega * mean + count * left)[here]
        pi = sample.p_claim * sample.p_sample
        later += float(np.sum((pi * count * np.maximum(count - 1, 0) * left**2)[seen]))
    for name in sorted(set(sample.rule[(cells != "") & (s > 0)])):
        here = (sample.rule == name) & (s > 0)
        seen, whole = here & sample.audited, s[here].sum()
        few += whole * (seen.sum() < min(2, here.sum()))
        if len(set(y[seen])) < 2:  # they agree, which does not prove that all do: half an item more does not
            w = (s * count)[seen]
            loose = np.sum(w**2 * np.maximum(1 - 1 / count[seen], 0)) / w.sum() ** 2 if len(w) else 1.0
            guess = 0.5 / (1 / loose + 1) if loose else 0
            later += float(whole**2 * guess * (1 - guess) * loose)
    return rule + count * (y - rule), x, later, few > 0.1


def variance(z, sample):
    """The variance of Σ z/π, for Poisson samples, or of Sen, Yates and Grundy for two-phase ones. [explanation/intervals]"""
    p, q = sample.p_sample, sample.p_claim
    first = np.sum((1 - q) / q**2 * z**2 / p)
    x = z / q / p
    if not sample.pairs:
        return float(first + np.sum((1 - p) * x**2))
    total = float(first)
    for rows, both in sample.pairs.values():
        for i, a in enumerate(rows):
            for j, b in enumerate(rows[:i]):
                total += (p[a] * p[b] - both[i][j]) / both[i][j] * (x[a] - x[b]) ** 2
    return total


def known_sizes(sample, pool, size, pool_size):
    """Each labelled item's cell, and the factor that makes the weights of a cell sum to the cell's size; and sizes by chance.

    A cell is what one query type found for one claim. What was certain to be drawn is a cell, if it is all labelled, and two
    others are (or there are none). A type with fewer than two labels joins the claim's type nearest in size; so does a claim,
    and such claims are one cell. [explanation/intervals]"""
    weight, known = size / (sample.p_claim * sample.p_sample), pool_size / pool.p_claim
    cells, pool_cells = np.empty(len(size), object), np.empty(len(known), object)
    claims = joined(Counter(sample.claim), totals(pool.claim, 1 / pool.p_claim))
    for claim in claims:
        mine, theirs = sample.claim == claim, pool.claim == claim
        if Counter(claims.values())[claims[claim]] > 1:
            cells[mine] = pool_cells[theirs] = claims[claim]
            continue
        sure, all_sure = mine & (sample.p_sample == 1), theirs & (pool.p_sample == 1)
        alone = not np.any(theirs & ~all_sure) or np.sum(mine & ~sure) >= 2
        if alone and sum(sure) == sum(all_sure):
            cells[sure] = pool_cells[all_sure] = f"{claim} certain"
            mine, theirs = mine & ~sure, theirs & ~all_sure
        kinds = joined(Counter(sample.kind[mine]), totals(pool.kind[theirs], 1 / pool.p_claim[theirs]))
        for of, here, one in ((cells, mine, sample), (pool_cells, theirs, pool)):
            of[here] = [f"{claim} of {kinds[kind]}" for kind in one.kind[here]]
    sizes, drawn = totals(pool_cells, known), totals(cells, weight)
    chance = totals(pool_cells, (1 - pool.p_claim) / pool.p_claim**2 * pool_size**2)
    return cells, np.array([sizes[cell] / drawn[cell] for cell in cells]), chance


def of_few_labels(sample, pool, pool_size):
    """The share of posts of claims with fewer than two labels: above a tenth, only claims have intervals. [guides/estimates]"""
    known = totals(pool.claim, pool_size / pool.p_claim)
    return sum(size for claim, size in known.items() if sum(sample.claim == claim) < 2) / sum(known.values())


def totals(names, values):
    """The sum of the values of each name. [explanation/intervals]"""
    return {name: float(values[names == name].sum()) for name in sorted(set(names))}


def joined(labels, sizes):
    """The cell of each name: the smallest with fewer than two labels joins the one nearest in size, until none has. [explanation/intervals]"""
    members, sizes = {name: [name] for name in sorted(sizes)}, dict(sizes)
    labels = Counter(labels)
    while len(members) > 1 and min(labels[name] for name in members) < 2:
        least = min((name for name in members if labels[name] < 2), key=lambda name: (sizes[name], name))
        near = min(members.keys() - {least}, key=lambda name: (abs(sizes[name] - sizes[least]), name))
        members[near] += members.pop(least)
        labels[near] += labels[least]
        sizes[near] += sizes[least]
    return {name: cell for cell, names in members.items() for name in names}


def of_known_size(z, sample, size, known):
    """The variance of Σ z/π: of what known sizes of cells do not explain, and of these sizes by chance. [explanation/intervals]"""
    cells, factor, chance = known
    pi, less, extra = sample.p_claim * sample.p_sample, np.zeros(len(z)), 0.0
    for cell, of_size in chance.items():
        here = cells == cell
        mean = float(np.sum((z / pi)[here]) / np.sum((size / pi)[here]))
        less[here] = (size * mean)[here]
        extra += of_size * mean**2
    return variance(factor * (z - less), sample) + extra


def between_cells(y, s, cells):
    """The part of the variance of y that lies between cells, at most .95. [explanation/intervals]"""
    weight = totals(cells, s)
    sums = totals(cells, s * y)
    means = np.array([sums[cell] / (weight[cell] or 1) for cell in cells])
    within, whole = (float(np.sum(s * (y - middle) ** 2)) for middle in (means, np.sum(s * y)))
    return min(0.95, max(0.0, 1 - within / whole)) if whole else 0.0


def kish(x):
    """Kish's number of equal parts. [explanation/intervals]"""
    return float(np.sum(x) ** 2 / np.sum(x**2)) if np.any(x > 0) else math.inf


def what_may_be_missed(pool, s, sample, rules):
    """The share of the pool that people label in none of twenty samples, and the variance of its weights. [explanation/intervals]"""
    check = np.where(rules, sample.p_audit, 1)
    own = dict(zip(sample.place, check, strict=True))
    usual = {kind: float(np.mean(check[sample.kind == kind])) for kind in set(sample.kind)}
    p = pool.p_sample * pool.p_claim * [own.get(i, usual.get(kind, 1)) for i, kind in enumerate(pool.kind)]
    open_, missed, left = p < 1, 0.0, -math.log(SELDOM)
    s, p, q = s[open_], p[open_], pool.p_claim[open_]
    cost = -np.log1p(-p)
    for i in sorted(range(len(s)), key=lambda i: -s[i] / cost[i]):
        part = min(max(left / (cost[i] / q[i]), 0), 1)
        missed += part * s[i] / q[i]
        left -= cost[i] / q[i]
    return missed, float(np.sum((1 - p) / p * s**2 / q))


def wilson(u, n, df, level=0.95):
    """Wilson's interval of a share u of n units, with Student's t. [explanation/intervals]"""
    a = student.ppf((1 + level) / 2, min(max(df, 1), 1e12)) ** 2 / n
    half = math.sqrt(u * (1 - u) * a + a * a / 4)
    return max(0.0, (u + a / 2 - half) / (1 + a)), min(1.0, (u + a / 2 + half) / (1 + a))


def share(sample, pool, label, *, times, part=""):
    """A share of all posts (`times` their copies) or of unique posts: of all claims, of one, or the mean over claims.

    Returns the share, its standard error and both ends of its interval. [explanation/intervals]"""
    size, pool_size = (one.size if times else np.ones(len(one.size)) for one in (sample, pool))
    here, pool_here = ((one.claim == part) | (part in {"", AVERAGE}) for one in (sample, pool))
    pi, y = sample.p_claim * sample.p_sample, (sample.label == label).astype(float)
    cells, factor, _ = known = known_sizes(sample, pool, size, pool_size)
    s, omega = parts(size * here * factor / pi, sample.claim, part), size * factor / pi
    count, by_rule = counted(sample, omega)
    value, x, extra, unchecked = audited(sample, y, label, s, omega)
    u = min(1.0, max(0.0, float(np.sum(s * value))))
    centre = np.full(len(y), float(np.sum(s * value)))
    for mine in [sample.claim == name for name in set(sample.claim)] if part == AVERAGE else []:
        centre[mine] = np.average(value[mine], weights=s[mine])
    v = of_known_size((x - centre * s) * pi / factor, sample, size, known) + extra
    people, rules = s * count, by_rule != ""
    whole = parts(pool_size * pool_here / pool.p_claim, pool.claim, part) * pool.p_claim
    missed, expected = what_may_be_missed(pool, whole, sample, rules)
    chance = pi * np.where(rules, sample.p_audit, 1)
    loose = max(float(np.sum((1 - chance) * people**2)), expected)
    explained, alone = between_cells(y, people, cells), float(np.sum((1 - chance) * (people * (y - u)) ** 2))
    credit = min(0.95, 1 - v / alone) if np.sum(rules & sample.audited & (s > 0)) >= 20 and alone else 0
    n_eff = 1 / loose / (1 - max(explained, credit)) if loose else math.inf
    if missed > 0:
        odds, z = min(u, 1 - u) / max(u, 1 - u), normal.ppf(1 - SELDOM / 2)
        n_eff = min(n_eff, max(z**2 * (1 - missed) / missed * (1 + odds / missed), 1))
    if extra and not 0 < u < 1:
        n_eff = 1 / (1 / n_eff + math.sqrt(2 * extra))
    df, own = kish(np.sqrt(1 - chance) * people) - 1, cells[chance < 1]
    df = min(df, len(own) - len(set(own))) if df < math.inf else 0 if expected > 0 else df
    unchecked |= part in {"", AVERAGE} and of_few_labels(sample, pool, pool_size) > 0.1
    if n_eff < 2 or df < 1 - 1e-9 or unchecked:
        return u, math.sqrt(v), math.nan, math.nan
    own = u * (1 - u) / v if 0 < u < 1 and v > 1e-18 else math.inf
    low, high = wilson(u, max(1, min(own, n_eff)), df)
    if n_eff < math.inf:  # something is not certain
        least, most = what_is_known(sample, pool, pool_size, y, here & (sample.rule == ""), part)
        low = min(least, u) if not 2 - 1e-9 <= kish(people * (y > 0)) < math.inf else max(low, min(least, u))
        high = max(most, u) if not 2 - 1e-9 <= kish(people * (y < 1)) < math.inf else min(high, max(most, u))
    return u, math.sqrt(v), low, high


def parts(weights, claims, part):
    """Each item's part s of the whole; each claim is as much as any other in a mean over claims. [explanation/intervals]"""
    if part != AVERAGE:
        return weights / weights.sum()
    names = sorted(set(claims))
    return sum((claims == name) * weights / weights[claims == name].sum() for name in names) / len(names)


def what_is_known(sample, pool, pool_size, y, labelled, part):
    """The least and the largest share that the labels of the labelled posts leave possible. [explanation/intervals]"""
    weights, most = pool_size / pool.p_claim, np.zeros(len(y))
    for name in set(sample.claim):
        here = np.isin(pool.claim, [name] if part == AVERAGE else [part] if part else pool.claim)
        most[sample.claim == name] = np.where(here, weights, weights - pool_size).sum()
    if part == AVERAGE:
        most *= len(set(sample.claim))
    own = pool_size[sample.place] * labelled / most
    return float(np.sum(own * y)), 1 - float(np.sum(own * (1 - y)))


def population(pool, times, part):
    """How many unique posts, or all posts, there are; a total is a share of these. Not for a mean. [guides/estimates]"""
    here = pool.claim == part if part else pool.size > 0
    return math.nan if part == AVERAGE else float(np.sum((pool.size if times else 1) * here / pool.p_claim))


def unweighted(sample, label, part):
    """The share in the sample. [guides/estimates]"""
    return float(np.mean((sample.label == label)[(sample.claim == part) | (part in {"", AVERAGE})]))
