"""Measures of systems, from a confusion matrix in plain sums."""

import math

import numpy as np


def over(a, b):
    """a/b for each class; an undefined ratio is 0. [reference/measures]"""
    return np.divide(a, b, out=np.zeros(len(a)), where=b > 0)


def scores(true, given, values, weights=None, order=None, poles=None):
    """All measures; each item counts its weight. [reference/measures]"""
    matrix = np.zeros((len(values), len(values)))
    each = [1] * len(true) if weights is None else weights
    for gold, system, weight in zip(true, given, each, strict=True):
        matrix[values.index(gold), values.index(system)] += weight
    gold, system, right = matrix.sum(1), matrix.sum(0), np.diag(matrix)
    total, classes = matrix.sum(), len(values)
    precision, recall = over(right, system), over(right, gold)

    def f(beta):
        return over((1 + beta**2) * right, beta**2 * gold + system)

    p, r = precision.mean(), recall.mean()
    figures = {
        "accuracy": right.sum() / total,
        "macro_precision": p,
        "macro_recall": r,
        "macro_f1": f(1).mean(),
        "macro_f2": f(2).mean(),
        "gmr": float(np.prod(recall)) ** (1 / classes),
        "f1_of_means": 2 * p * r / (p + r) if p + r else 0.0,
        **chance_corrected(matrix),
    }
    if poles:
        figures["f_avg"] = f(1)[[values.index(pole) for pole in poles]].mean()
    if order:
        places = [values.index(value) for value in order]
        figures |= ordinal(matrix[np.ix_(places, places)])
    return figures


def chance_corrected(matrix):
    """Kappa, Matthews' correlation, and alpha of two annotators. [reference/measures]"""
    gold, system, total = matrix.sum(1), matrix.sum(0), matrix.sum()
    right, chance = np.trace(matrix), float(gold @ system)
    below = (total**2 - np.sum(system**2)) * (total**2 - np.sum(gold**2))
    both = gold + system
    apart = both.sum() ** 2 - np.sum(both**2)
    return {
        "kappa": (right * total - chance) / (total**2 - chance) if total**2 - chance > 1e-9 else math.nan,
        "mcc": (total * right - chance) / math.sqrt(below) if below > 1e-9 else math.nan,
        "alpha_nominal": 1 - (2 * total - 1) * 2 * (total - right) / apart if apart > 1e-9 else math.nan,
    }


def ordinal(matrix):
    """Measures of ordered labels. [reference/measures]"""
    gold, system, total = matrix.sum(1), matrix.sum(0), matrix.sum()
    distance = np.abs(np.subtract.outer(np.arange(len(gold)), np.arange(len(gold))))
    figures = {
        "mae_micro": np.sum(distance * matrix) / total,
        "mae_macro": np.mean([distance[i] @ matrix[i] / gold[i] for i in np.flatnonzero(gold)]),
    }
    for name, weight in (("kappa_linear", distance), ("kappa_quadratic", distance**2)):
        below = np.sum(weight * np.outer(gold, system))
        figures[name] = 1 - total * np.sum(weight * matrix) / below if below else math.nan

    def near(p, g):
        between = gold[p] / 2 + sum(gold[p + 1 : g + 1] if g > p else gold[g:p])
        return -math.log2(between / total) if between > 0 else 0.0

    cells = [(g, p) for g in range(len(gold)) for p in range(len(gold))]
    top = sum(near(p, g) * matrix[g, p] for g, p in cells)
    bottom = sum(near(g, g) * gold[g] for g in range(len(gold)))
    return figures | {"cem_ord": top / bottom if bottom else 0.0}
