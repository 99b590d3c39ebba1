"""Posts in cascades of near-copies, seeded: harsher than real ones.

    python benchmarks/cascades.py N FILE [POOL]

Sizes of cascades follow a power law (P(size >= k) = k ** -1.2, at most 1% of all); a member copies the first post or
an earlier member, is equal to it (35%), or differs by a repost mark, a new link, words added or removed, mentions, a
cut at the end, or case and punctuation. Without POOL (a file of posts, one a line) words follow Zipf's law.
"""

from __future__ import annotations

import random
import string
import sys
from pathlib import Path


def posts(n: int, pool: list[str] | None = None, seed: int = 7) -> list[str]:  # noqa: C901 - one story
    """So many posts; the same for the same seed and pool."""
    r = random.Random(seed)
    spoken = [word for text in pool[:50_000] for word in text.split()] if pool else []

    def word() -> str:
        if spoken:
            return spoken[int(r.random() * len(spoken))]
        rank = int(200_000 ** r.random())
        return "".join(string.ascii_lowercase[rank // 26**k % 26] for k in range(2 + len(str(rank))))

    def link() -> str:
        return "https://t.co/" + "".join(r.choices(string.ascii_letters + string.digits, k=10))

    def first() -> str:
        if pool and r.random() < 0.25:
            return pool[int(r.random() * len(pool))]
        text = " ".join(word() for _ in range(r.randint(10, 28)))
        return f"{text} {link()}" if r.random() < 0.55 else text

    def varied(text: str) -> str:  # noqa: PLR0911 - one line a variant
        how, words = r.random(), text.split()
        if how < 0.23:
            return f"RT @{word()}: {text}"[:140]
        if how < 0.54:
            return " ".join([one for one in words if not one.startswith("http")] + [link()])
        if how < 0.69:
            return " ".join(words + [word() for _ in range(r.randint(1, 3))])
        if how < 0.81 and len(words) > 4:
            del words[r.randrange(len(words))]
            return " ".join(words)
        if how < 0.9:
            return f"@{word()} {text}"
        if how < 0.96:
            return " ".join(words[: max(3, int(len(words) * r.uniform(0.5, 0.95)))])
        return text.upper() if how < 0.975 else text.replace(".", "!").replace(",", "")

    made: list[str] = []
    while len(made) < n:
        size = min(int((1 - r.random()) ** (-1 / 1.2)), max(20, n // 100), n - len(made))
        cascade = [first()]
        for _ in range(size - 1):
            text = cascade[0] if r.random() < 0.7 else r.choice(cascade)
            cascade.append(text if r.random() < 0.35 else varied(text))
        made += cascade
    r.shuffle(made)
    return made


if __name__ == "__main__":
    lines = (
        [line for line in Path(sys.argv[3]).read_text("utf-8").split("\n") if line]
        if len(sys.argv) > 3
        else None
    )
    Path(sys.argv[2]).write_text("\n".join(posts(int(sys.argv[1]), lines)) + "\n", "utf-8")
