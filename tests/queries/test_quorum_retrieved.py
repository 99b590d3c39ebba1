"""A run finds with a quorum what the quorum's own reading finds, whichever way the posts are read."""

from __future__ import annotations

import json

from covmis_build import keyed
from covmis_build.matching.find import WORTH
from covmis_build.storage import csv_bytes
from covmis_build.study.study import open_study
from covmis_build.text.expression import parse

WORDS = [f"word{n}" for n in range(30)]
QUERIES = {
    "1": '2 of (word1, word2, (word3 OR word4), "word5 word6")',
    "2": "3 of (word7, word8, word9, word10, word11) -word12",
    "3": "word13 2 of (word14, word15, -word16)",
}


def test_a_run_finds_quorums(tmp_path):
    texts = []
    for at in range(WORTH + 1000):
        drawn = [WORDS[int(keyed.uniform(7, str(at), str(n)) * len(WORDS))] for n in range(8)]
        texts.append(" ".join(drawn))
    (tmp_path / "data/archive").mkdir(parents=True)
    (tmp_path / "queries").mkdir()
    (tmp_path / "study.toml").write_text('title = "t"\n')
    rows = [[number, f"Claim {number} is here.", query] for number, query in QUERIES.items()]
    (tmp_path / "queries/claims.csv").write_bytes(csv_bytes(["claim_id", "text", "keywords"], rows))
    posts = [{"id_str": str(10**18 + at), "full_text": text} for at, text in enumerate(texts)]
    (tmp_path / "data/archive/a.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    study = open_study(tmp_path)
    study.run(["retrieve"])
    hits = set(zip(study.hits["claim_id"], study.hits["post_id"], strict=True))
    assert hits == {
        (number, f"x:{10**18 + at}")
        for number, query in QUERIES.items()
        for at, text in enumerate(texts)
        if parse(query).matches(text)
    }
    assert len({number for number, _ in hits}) == 3
