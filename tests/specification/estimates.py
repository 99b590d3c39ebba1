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


def corrected(sample, label, size):
    """Each item's value: 1 if it has the label. Automatic ones have the share of their audited ones, which has a variance.

    [explanation/intervals]
    """
    y, later = (sample.label == label).astype(float), {}
    for rule in sorted(set(sample.rule[sample.audited]) - {""}):
        here = (sample.rule == rule) & sample.audited
        w = size[here] / (sample.p_claim * sample.p_sample * sample.p_audit)[here]
        parts = (w / w.sum()) ** 2 * (1 - sample.p_sample * sample.p_audit)[here]
        share = float(np.average((sample.label == label)[here], weights=w))
        variance = float(np.sum(parts * ((sample.label == label)[here] - share) ** 2))
        if not 0 < share < 1:  # they agree, which does not prove that all do: half an item more does not
            units = 1 / parts.sum() if parts.sum() else math.inf
            guess = 0.5 / (units + 1)
            variance = guess * (1 - guess) / units
        y[sample.rule == rule] = share
        later[rule] = variance
    return y, later


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
    and such claims are one cell. [explanation/intervals]
    """
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
    """The cell of each name: the smallest with fewer than two labels joins the one nearest in size, until none has.

    [explanation/intervals]
    """
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
    """The variance of Σ z/π where the sizes of cells are known: of what they do not explain, and of their sizes by chance.

    [explanation/intervals]
    """
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


def what_may_be_missed(pool, s):
    """The largest share of the pool that one of twenty samples leaves out, and the variance of its weights.

    [explanation/intervals]
    """
    p = pool.p_sample * pool.p_claim
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

    Returns the share, its standard error and both ends of its interval. [explanation/intervals]
    """
    size, pool_size = (one.size if times else np.ones(len(one.size)) for one in (sample, pool))
    y, later = corrected(sample, label, size)
    here, pool_here = (
        one.claim == part if part not in {"", AVERAGE} else one.size > 0 for one in (sample, pool)
    )
    pi = sample.p_claim * sample.p_sample
    cells, factor, _ = known = known_sizes(sample, pool, size, pool_size)
    s = parts(size * here * factor / pi, sample.claim, part)
    u = float(np.sum(s * y))
    centre = np.full(len(y), u)
    for name in set(sample.claim) if part == AVERAGE else []:
        mine = sample.claim == name
        centre[mine] = np.average(y[mine], weights=s[mine])
    extra = sum(float(s[sample.rule == rule].sum()) ** 2 * v for rule, v in later.items())
    v = of_known_size((y - centre) * s * pi / factor, sample, size, known) + extra
    missed, expected = what_may_be_missed(
        pool, parts(pool_size * pool_here / pool.p_claim, pool.claim, part) * pool.p_claim
    )
    loose = max(float(np.sum((1 - pi) * s**2)), expected)
    n_eff = 1 / loose / (1 - between_cells(y, s, cells)) if loose else math.inf
    if missed > 0:
        odds, z = min(u, 1 - u) / max(u, 1 - u), normal.ppf(1 - SELDOM / 2)
        n_eff = min(n_eff, max(z**2 * (1 - missed) / missed * (1 + odds / missed), 1))
    if extra and not 0 < u < 1:
        n_eff = 1 / (1 / n_eff + math.sqrt(2 * extra))
    df, random = kish(np.sqrt(1 - pi) * s) - 1, pi < 1
    if not math.isinf(df):
        df = min(df, random.sum() - len(set(cells[random])))
    if math.isinf(df) and expected > 0:
        df = 0
    if n_eff < 2 or df < 1 - 1e-9 or (part in {"", AVERAGE} and of_few_labels(sample, pool, pool_size) > 0.1):
        return u, math.sqrt(v), math.nan, math.nan
    own = u * (1 - u) / v if 0 < u < 1 and v > 1e-18 else math.inf
    low, high = wilson(u, max(1, min(own, n_eff)), df)
    if n_eff < math.inf:  # something is not certain
        least, most = what_is_known(sample, pool, pool_size, y, here & (sample.rule == ""), part)
        low = min(least, u) if kish(s * (y > 0)) < 2 else max(low, min(least, u))
        high = max(most, u) if kish(s * (y < 1)) < 2 else min(high, max(most, u))
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
