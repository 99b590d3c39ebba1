"""Coefficients of agreement between annotators."""

import itertools
import math
from collections import Counter


def ratio(part, whole):
    """Part of whole; not defined if whole is 0. [guides/agreement]"""
    return part / whole if abs(whole) > 1e-12 else math.nan


def coefficients(answers, values):
    """Coefficients of {item: {annotator: label}} for the declared labels.

    Items with one label count only for how often each label is given, in AC1 and in Fleiss' kappa. [guides/agreement]"""
    rated = [list(of.values()) for of in answers.values() if len(of) >= 2]
    if not rated:
        return {}
    people = sorted({who for of in answers.values() for who in of})
    raw = sum(pairs_alike(labels) for labels in rated) / len(rated)
    every = [list(of.values()) for of in answers.values() if of]
    shares = {v: sum(labels.count(v) / len(labels) for labels in every) / len(every) for v in values}
    by_chance = sum(share * (1 - share) for share in shares.values()) / (len(values) - 1)
    fleiss = sum(share**2 for share in shares.values())
    figures = {
        "raw": raw,
        "fleiss_kappa": ratio(raw - fleiss, 1 - fleiss),
        "alpha": alpha(rated),
        "ac1": ratio(raw - by_chance, 1 - by_chance),
        "pabak": (len(values) * raw - 1) / (len(values) - 1),
    }
    if len(people) == 2:
        first, second = (Counter(of[who] for of in answers.values() if len(of) == 2) for who in people)
        cohen = sum(first[v] * second[v] for v in values) / len(rated) ** 2
        scott = sum(((first[v] + second[v]) / (2 * len(rated))) ** 2 for v in values)
        figures["kappa"] = ratio(raw - cohen, 1 - cohen)
        figures["scott_pi"] = ratio(raw - scott, 1 - scott)
    return figures


def pairs_alike(labels):
    """The share of an item's pairs of labels that are equal. [guides/agreement]"""
    pairs = list(itertools.permutations(labels, 2))
    return sum(a == b for a, b in pairs) / len(pairs)


def alpha(rated):
    """Krippendorff's alpha: one minus observed over expected disagreement. [guides/agreement]"""
    counts = Counter(itertools.chain(*rated))
    total = sum(counts.values())
    observed = sum((1 - pairs_alike(labels)) * len(labels) for labels in rated) / total
    unlike = sum(counts[a] * counts[b] for a, b in itertools.permutations(counts, 2))
    expected = unlike / (total * (total - 1))
    return 1 - ratio(observed, expected)
