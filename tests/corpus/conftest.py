from __future__ import annotations

import pandas as pd
import pytest

from covmis_build import keyed, options

HOSTILE = [
    '=HYPERLINK("http://evil.example","x")',
    "<script>alert(1)</script> & <img src=x onerror=alert(2)>",
    "50% of $x_1$ \\input{/etc/passwd} #1 ~^{}",
    "a|b `code` *bold* [link](javascript:alert(3))",
    "line one\nline two\u2028line three \u202edesrever",
    "@covmis_tester says hello to @ann@example.org \U0001f600",
    '\'tis quoted, "twice"; +1 and -1\ttab',
]


def made_frozen(claims: int = 4, per_claim: int = 8) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Frozen items of two rounds and a pilot, and gold for most of them; texts and claims are hostile."""
    kinds = options.KINDS
    rows, gold = [], []
    for claim in range(claims):
        for post in range(per_claim):
            number = claim * per_claim + post
            kind = kinds[number % 4]
            item = f"c{claim}|x:{10**17 + number}"
            round_ = f"{claim // 2 + 1:03d}"
            rows.append(
                {
                    "item_id": item,
                    "claim_id": f"c{claim}",
                    "claim": f"Claim {claim}: {HOSTILE[claim % len(HOSTILE)]}",
                    "post_id": f"x:{10**17 + number}",
                    "native_id": str(10**17 + number),
                    "text": f"{HOSTILE[number % len(HOSTILE)]} number {number}",
                    "kind": kind,
                    "p_claim": 1 if number % 3 else 0.5,
                    "p_sample": 0.25 + 0.75 * keyed.uniform(1, item),
                    "group_size": 1 + number % 5,
                    "created_at": f"2020-{1 + number % 9:02d}-03T04:05:06Z" if number % 7 else "",
                    "round": round_,
                    "pilot": False,
                    "automatic_label": "against" if kind == "fact_check_url" else "",
                    "audited": number % 16 == 2,
                }
            )
            if number % 11 != 10:
                automatic = kind == "fact_check_url" and number % 16 != 2
                how = "automatic" if automatic else "audited" if kind == "fact_check_url" else "agreed"
                label = "against" if automatic else ("favor", "against", "neither")[number % 3]
                gold.append({"item_id": item, "label": label, "how": how, "round": round_})
    rows.append({**rows[0], "item_id": "c9|x:9", "post_id": "x:9", "round": "pilot-001", "pilot": True})
    gold.append({"item_id": "c9|x:9", "label": "favor", "how": "agreed", "round": "pilot-001"})
    return pd.DataFrame(gold), pd.DataFrame(rows)


@pytest.fixture
def gold_and_frozen() -> tuple[pd.DataFrame, pd.DataFrame]:
    return made_frozen()
