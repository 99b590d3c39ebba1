from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from covmis_build import keyed, options
from covmis_build.corpus.facts import Facts, Round

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


@dataclass(frozen=True)
class Step:
    keeps: str
    claims: int
    pairs: int | None
    dropped_pairs: int | None
    reasons: dict[str, int]


FLOW = (
    Step("in the claim list", 6, None, None, {}),
    Step("matched in the archive", 5, 400, 100, {"no query matches the text": 100}),
    Step("in the study's languages", 5, 350, 50, {"language: <b>de</b>": 30, "undetermined": 20}),
    Step("drawn", 4, 32, 318, {"not drawn": 318}),
)


def made_facts(title: str = "Vaccine rumours, simulated", **changes: Any) -> Facts:
    kappa = {"name": "Cohen's kappa", "value": 0.671, "low": 0.6, "high": 0.74}
    rounds = [
        Round(
            "001", False, 2, 16, 12, {"kappa": kappa, "raw_agreement": {"value": 0.8}}, "3f2a91c0", "9" * 64
        ),
        Round("002", False, 2, 16, 12, {}, "3f2a91c0", ""),
        Round("003", True, 1, 1, 1, {}, "", ""),
    ]
    given: dict[str, Any] = {
        "title": title, "date": "2026-11-21", "version": "0.1.0", "flow": FLOW, "rounds": rounds, "overall": {"kappa": kappa},
        "left_out": {"pilot": 1, "purged": 2, "no gold label": 2}, "audit": {"audited": 2, "changed": 1},
        "platforms": {"X": 28}, "period": ("2020-01-03", "2020-09-03"), "annotators": 2,
    }  # fmt: skip
    return Facts(**{**given, **changes})


@pytest.fixture
def facts() -> Facts:
    return made_facts()
