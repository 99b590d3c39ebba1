"""Claims of a round, who labels what, gold labels and the corpus."""

from collections import Counter

from tests.specification.chance import in_order, number


def claims_of_round(claims, sampled, used, count):
    """The next claims, in the order of the list, that have sampled posts. [guides/annotation]"""
    waiting = [claim["claim_id"] for claim in claims if claim["claim_id"] in sampled - used]
    return waiting[:count]


def work(seed, items, annotators, per_item, claim_of, order):
    """Each item goes to those with the smallest numbers, in an own order of each person: mixed, or claim by claim.
    [reference/chance]"""
    assigned = {who: [] for who in annotators}
    for item in items:
        for who in sorted(annotators, key=lambda who: number(seed, "assignment", item, who))[:per_item]:
            assigned[who].append(item)
    for who, mine in assigned.items():
        mixed = in_order(seed, f"order of {who}", mine)
        claims = in_order(seed, f"order of claims of {who}", {claim_of[item] for item in mine})
        assigned[who] = (
            mixed if order == "mixed" else sorted(mixed, key=lambda item: claims.index(claim_of[item]))
        )
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
