from __future__ import annotations

import fcntl
from typing import Any

import pandas as pd
import pytest

from covmis_build import keyed, options
from covmis_build.corpus import publish
from covmis_build.corpus.design import Drawn
from covmis_build.corpus.publish import Beside
from covmis_build.corpus.release import make_corpus
from covmis_build.corpus.release_facts import (
    Audit,
    Coefficient,
    FlowStep,
    ReleaseFacts,
    RoundFacts,
    StageFacts,
)
from covmis_build.estimation.shares import estimates
from covmis_build.settings import Settings
from covmis_build.stats.intervals import Interval
from covmis_build.study.beside import divide, weights_of
from tests.corpus.studies import annotated_study, covmis

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


FLOW = (
    FlowStep("in the claim list", 6, None, None, {}),
    FlowStep("matched in the archive", 5, 400, 100, {"no query matches the text": 100}),
    FlowStep("in the study's languages", 5, 350, 50, {"language: <b>de</b>": 30, "undetermined": 20}),
    FlowStep("drawn", 4, 32, 318, {"not drawn": 318}),
)


def made_facts(title: str = "Vaccine rumours", **changes: Any) -> ReleaseFacts:
    kappa = Coefficient("Cohen's kappa", 0.671, Interval(0.6, 0.74, "claims"))
    rounds = [
        RoundFacts("001", False, 2, 16, 12, Coefficient("Raw agreement", 0.8), kappa, "3f2a91c0", "9" * 64),
        RoundFacts("002", False, 2, 16, 12, None, None, "3f2a91c0", ""),
        RoundFacts("003", True, 1, 1, 1),
    ]
    given: dict[str, Any] = {
        "title": title, "date": "2026-11-21", "version": "0.1.0", "release": options.Release(simulated=True), "flow": FLOW, "rounds": rounds, "kappa": kappa,
        "left_out": {"pilot": 1, "purged": 2, "no gold label": 2}, "audit": Audit(2, 1),
        "platforms": {"X": 28}, "period": ("2020-01-03", "2020-09-03"), "annotators": 2,
    }  # fmt: skip
    return ReleaseFacts(**{**given, **changes})


@pytest.fixture
def facts() -> ReleaseFacts:
    return made_facts()


def made_labels(frozen: pd.DataFrame) -> pd.DataFrame:
    """Labels of two people on every item that no rule decided, with comments that repeat posts, and a discussion."""
    rows = []
    for row in frozen[~frozen["pilot"] & (frozen["automatic_label"] == "")].to_dict("records"):
        for code in ("ann@example.org", "bob"):
            label = ("favor", "against", "neither")[int(3 * keyed.uniform(2, row["item_id"], code))]
            rows.append((row["item_id"], code, "independent", label, 4.0 if code == "bob" else None))
        rows.append((row["item_id"], "together", "discussion", "favor", None))
    made = pd.DataFrame(rows, columns=["item_id", "annotator", "phase", "label", "seconds"])
    return made.assign(
        round="001", status="given", sub_label="", guideline="3f2a91c0", comment=HOSTILE[0], reason="",
        given_at="2026-11-21T12:00:00Z",
    )  # fmt: skip


def made_claims(corpus: pd.DataFrame) -> pd.DataFrame:
    """A table of claims with hostile queries."""
    claims = corpus.drop_duplicates("claim_id")[["claim_id", "claim"]].rename(columns={"claim": "text"})
    return claims.assign(
        keywords=[[HOSTILE[0], "two words"]] * len(claims), titles=[[]] * len(claims),
        news_urls=[["https://example.org/a"]] * len(claims), fact_check_urls=[[]] * len(claims),
    )  # fmt: skip


TITLE = 'Rumours <script>alert("t")</script> | 50% $x$ \\input{a} =1+1, simulated'
TEXT = options.Release(text=True, licence='CC "BY" <4>')
STATED = options.Release(
    text=True,
    licence="CC-BY-4.0",
    authors=(
        options.Author("Curie, Marie", "0000-0002-1825-0097", 'Institute "of" <b>X</b>'),
        options.Author("Ada Lovelace"),
    ),
    contact="corpus@example.org",
    version="1.0.0",
    doi="10.5281/zenodo.1234567",
    url="https://example.org/corpus",
    funding="A fund & another",
    splits=options.Splits("grouped", (0.6, 0.2, 0.2)),
)
STATEMENT = "Preface <i>.\n\n## Annotators\n- two students, <script>alert(1)</script>\n\nPaid by the hour.\n"


def write_release(folder, corpus, facts, texts=None, beside=None):
    """A release with the estimates that a study would give it."""
    shares = None
    if len(corpus):
        shares = estimates(
            corpus, facts.labels.values, facts.sampling, automatic=facts.labels.automatic
        ).shares
    return publish.write_release(folder, corpus, facts, texts, beside, shares=shares)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release with texts as posted, and the corpus that it was made from."""
    gold, frozen = made_frozen(7, 14)
    folder = tmp_path_factory.mktemp("release")
    corpus = make_corpus(gold, frozen, TEXT)
    write_release(folder, corpus, made_facts(TITLE, release=TEXT), frozen.set_index("item_id")["text"])
    return folder, corpus


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """A release with everything that [release] can say, and people's labels."""
    gold, frozen = made_frozen(7, 14)
    folder = tmp_path_factory.mktemp("stated")
    corpus = make_corpus(gold, frozen, STATED)
    texts = frozen.set_index("item_id")["text"]
    apart = [f"word{number} of {claim}" for number, claim in enumerate(corpus["claim_id"])]
    divided, parts = divide(Settings("T", release=STATED), corpus, apart, corpus["claim_id"].tolist())
    facts = made_facts(
        TITLE, release=STATED, data_statement=STATEMENT, licence_text="Do what you like.\n", parts=parts,
        stages=[StageFacts("clean", "0.1.0", {"items": "7" * 64})],
    )  # fmt: skip
    weights, pairs = weights_of(
        corpus,
        None,
        options.Sampling(design="two_phase"),
        corpus[["item_id"]],
    )
    assert pairs is None
    beside = Beside(made_labels(frozen), "secret", made_claims(corpus), divided, weights, None, Drawn())
    write_release(folder, corpus, facts, texts, beside)
    return folder, corpus


@pytest.fixture(scope="session")
def annotated(tmp_path_factory):
    """A study with two sealed rounds, released with its bundle: made once, whichever worker needs it first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if base.name.startswith("popen-") else base) / "published"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            made = annotated_study(folder / "study")
            assert covmis("release", "--bundle", "--study", made.places.folder)["rows"] > 100
            (folder / "done").touch()
    return folder / "study"
