"""Claims of a round, who labels what, gold labels and the corpus."""

from collections import Counter
from itertools import product
from math import log1p

from tests.specification.chance import in_order, number


def claims_of_round(claims, sampled, used, count):
    """The next claims, in the order of the list, that have sampled posts. [guides/annotation]"""
    return [claim["claim_id"] for claim in claims if claim["claim_id"] in sampled - used][:count]


def seats(seed, items, annotators, per_item, number_of_round):
    """Everybody gets equally many items or one more; the shortest waiting times count first. [reference/chance]"""
    seated, pairs = {item: [] for item in items}, product(items, annotators)
    wait = {pair: -log1p(-number(seed, "assignment", *pair)) for pair in pairs}
    each, over = divmod(len(items) * per_item, len(annotators))
    in_turn = in_order(seed, f"one more of {number_of_round}", annotators)
    room = {who: each + (at < over) for at, who in enumerate(in_turn)}
    for item, who in sorted(wait, key=lambda pair: (wait[pair], pair)):
        if room[who] and len(seated[item]) < per_item:
            seated[item].append(who)
            room[who] -= 1
    for item, there in seated.items():
        while len(there) < per_item:
            _, of, comes, leaves = min(
                (wait[of, comes] + wait[item, leaves], of, comes, leaves)
                for of, comes in wait
                for leaves in {*seated[of]} - {*there}
                if room[comes] and comes not in seated[of]
            )
            seated[of][seated[of].index(leaves)] = comes
            there.append(leaves)
            room[comes] -= 1
    return seated


def work(seed, seated, annotators, claim_of, order):
    """Each person's items in an own order: mixed, or claim by claim. [reference/chance]"""
    assigned = {}
    for who in annotators:
        mixed = in_order(seed, f"order of {who}", [item for item in seated if who in seated[item]])
        claims = in_order(seed, f"order of claims of {who}", {claim_of[item] for item in mixed})
        by_claim = sorted(mixed, key=lambda item: claims.index(claim_of[item]))
        assigned[who] = mixed if order == "mixed" else by_claim
    return assigned


def letters(seed, item, people):
    """The order in which the answers to a disputed post are shown. [reference/chance]"""
    return sorted(people, key=lambda who: number(seed, "letters", item, who))


def gold(labels, settled, automatic, for_people):
    """An item's final label and its source; none while it is disputed. `labels` are the independent ones. [guides/annotation]"""
    if not for_people:
        return automatic, "automatic"
    decision = settled or independent(labels)
    return (decision[0], "audited") if decision and automatic else decision


def independent(labels):
    """What the labels decide that people gave before any discussion. [guides/annotation]"""
    if not labels:
        return None
    label, count = Counter(labels).most_common(1)[0]
    if count == len(labels):
        return label, "single" if count == 1 else "agreed"
    return (label, "majority") if len(labels) >= 3 and 2 * count > len(labels) else None


def corpus_row(item, p_sample, label, how):
    """A row of the corpus. [explanation/weights]"""
    weight = 1 / (item.p_claim * p_sample)
    return item.claim_id, item.post_id, item.kind, label, how, item.group_size, weight
