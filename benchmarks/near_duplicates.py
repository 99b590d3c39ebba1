"""Near-duplicates by TF-IDF cosine > 0.8: ours against the tools one would take. One process for each run.

    python -m venv /tmp/peers && /tmp/peers/bin/pip install scikit-learn sp_matmul_rs sparse_dot_topn string_grouper datasketch rensa
    .venv/bin/python benchmarks/near_duplicates.py --peers /tmp/peers/bin/python 10000 100000 1000000

Prints, for each size, the least wall and CPU seconds of the rounds from a list of strings to the answer (compiled code
is compiled before, and packages are imported), the process's peak memory, recall and precision of its pairs against the exact ones, and its CPU
time over ours. A peer that cannot do it all multiplies a part of the rows (1M: 0.2%) and is extrapolated, marked ~.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

T = 0.8
BLOCK = 1000


def real(size):
    """So many posts of $COVMIS_DATA_HOME/posts, each once, with the copies that there are; the same for the same number."""
    folder = Path(os.environ["COVMIS_DATA_HOME"]) / "posts"
    with lzma.open(folder / "troll_500k.tsv.xz", "rt", encoding="utf-8", errors="replace") as file:
        texts = [cells[2] for line in file if len(cells := line.rstrip("\n").split("\t")) > 2]
    with gzip.open(folder / "stocknet_raw_119844.jsonl.gz") as file:
        texts += [json.loads(line)["text"] for line in file]
    return [" ".join(text.split()) for text in random.Random(size).sample(texts, min(size, len(texts)))]


def vectors(texts, dtype=None):
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(**({"dtype": dtype} if dtype else {})).fit_transform(texts)


def above(i, j, value):
    import numpy as np

    keep = (i < j) & (np.round(value, 12) > T)
    return i[keep], j[keep]


def blocked(texts, share, multiply, dtype=None):
    """The pairs of a sparse product, block by block; of a share of the rows if it would take too long."""
    import numpy as np

    x = vectors(texts, dtype)
    began = time.process_time(), time.perf_counter()
    turned, found = x.T.tocsr(), []
    for low in range(0, max(1, int(x.shape[0] * share)), BLOCK):
        block = multiply(x[low : low + BLOCK], turned).tocoo()
        found.append(above(block.row + low, block.col, block.data))
    spent = time.process_time() - began[0], time.perf_counter() - began[1]
    pairs = tuple(np.concatenate(part) for part in zip(*found, strict=True))
    return pairs, tuple(one * (1 / share - 1) for one in spent)


def scikit_learn(texts, share):
    return blocked(texts, share, lambda a, b: a @ b)


def enough(multiply):
    """A product with room for as many near-duplicates of a text as there are, found by trying: more room is slower."""

    def run(a, b):
        room = max(1000, b.shape[1] // 100)
        made = multiply(a, b, top_n=room, threshold=T)
        assert made.indptr[1:].size == 0 or (made.indptr[1:] - made.indptr[:-1]).max() < room
        return made

    return run


def sp_matmul(texts, share):
    import numpy as np
    from sp_matmul_rs import sp_matmul_topn

    return blocked(texts, share, enough(sp_matmul_topn), np.float32)


def sparse_dot(texts, share):
    from sparse_dot_topn import sp_matmul_topn

    return blocked(texts, share, enough(sp_matmul_topn))


def string_grouper(texts, share):  # noqa: ARG001 - all are called alike
    import pandas as pd
    from string_grouper import match_strings

    found = match_strings(pd.Series(texts), min_similarity=T, max_n_matches=len(texts))
    i, j = found["left_index"].to_numpy(), found["right_index"].to_numpy()
    return (i[i < j], j[i < j]), (0, 0)


def datasketch(texts, share):  # noqa: ARG001 - all are called alike
    import re

    import numpy as np
    from datasketch import MinHash, MinHashLSH

    words = [{one.encode() for one in re.findall(r"\w\w+", text.lower())} for text in texts]
    index, pairs = MinHashLSH(threshold=T, num_perm=128), []
    for number, minhash in enumerate(MinHash.generator(words, num_perm=128)):
        pairs += [(other, number) for other in index.query(minhash)]
        index.insert(number, minhash, check_duplication=False)
    i, j = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return (i, j), (0, 0)


def rensa(texts, share):  # noqa: ARG001 - all are called alike
    """Which texts have a near-duplicate, not which one."""
    from rensa import RMinHash, RMinHashLSH

    hashes = RMinHash.digest_matrix_from_token_sets(
        [text.lower().split() for text in texts], num_perm=128, seed=7
    )
    index = RMinHashLSH(threshold=T, num_perm=128, num_bands=16)
    flags = index.query_duplicate_flags_matrix_one_shot(hashes)
    return [number for number, flag in enumerate(flags) if flag], (0, 0)


def ours_pairs(texts, share):  # noqa: ARG001 - all are called alike
    from covmis_build.text.near_duplicates import near_duplicate_pairs

    near_duplicate_pairs(texts[:50])
    return lambda: (near_duplicate_pairs(texts, T)[:2], (0, 0))


def ours_groups(texts, share):  # noqa: ARG001 - all are called alike
    from covmis_build.text.near_duplicates import near_duplicate_groups

    near_duplicate_groups(texts[:50])
    return lambda: ((near_duplicate_groups(texts, T), None)[1], (0, 0))


CONTESTANTS = {  # name: function, largest size in full, largest size at all
    "ours, groups": (ours_groups, 10**7, 10**7),
    "ours, all pairs": (ours_pairs, 10**5, 10**5),
    "scikit-learn": (scikit_learn, 10**4, 10**5),
    "sp_matmul_rs": (sp_matmul, 10**5, 10**6),
    "sparse_dot_topn": (sparse_dot, 10**4, 10**6),
    "string_grouper": (string_grouper, 10**5, 10**5),
    "datasketch": (datasketch, 10**5, 10**5),
    "rensa (flags only)": (rensa, 10**6, 10**6),
}


def one(name, file, share, out):
    with Path(file).open(encoding="utf-8", newline="\n") as lines:
        texts = [line.removesuffix("\n") for line in lines]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    function = CONTESTANTS[name][0]
    function(texts[:500], 1)  # imports are nobody's work here
    run = function(texts, share) if name.startswith("ours") else lambda: function(texts, share)
    cpu, wall = time.process_time(), time.perf_counter()
    pairs, more = run()
    cpu, wall = time.process_time() - cpu + more[0], time.perf_counter() - wall + more[1]
    if pairs is not None:
        import numpy as np

        flags_only = name.startswith("rensa")
        np.save(
            out,
            pairs
            if flags_only
            else np.asarray(pairs[0], np.int64) * len(texts) + np.asarray(pairs[1], np.int64),
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"cpu": cpu, "wall": wall, "mb": peak / 1000, "texts_mb": before / 1000}))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("sizes", type=int, nargs="*", default=[10_000])
    options.add_argument("--peers", default=sys.executable)
    options.add_argument("--folder", type=Path, default=Path("/tmp/near_duplicates"))
    options.add_argument("--pool", help="a file of real posts, one a line")
    options.add_argument("--real", action="store_true", help="real posts as they are, instead of cascades")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default="")
    options.add_argument("--one", nargs=4)
    told = options.parse_args()
    if told.one:
        one(told.one[0], told.one[1], float(told.one[2]), told.one[3])
        return
    told.folder.mkdir(exist_ok=True, parents=True)
    for size in told.sizes:
        file = told.folder / f"{'real' if told.real else 'posts'}_{size}.txt"
        if told.real:
            file.write_text("".join(f"{text}\n" for text in real(size)), encoding="utf-8")
        elif not file.exists():
            subprocess.run(
                [
                    sys.executable,
                    Path(__file__).with_name("cascades.py"),
                    str(size),
                    file,
                    *([told.pool] if told.pool else []),
                ],
                check=True,
            )
        table(size, file, told)


def table(size, file, told):
    import numpy as np

    names = [name for name, (_, _, most) in CONTESTANTS.items() if size <= most and told.only in name]
    results = {name: [] for name in names}
    shares = {name: 1 if size <= CONTESTANTS[name][1] else max(0.002, 2000 / size) for name in names}
    for number in range(told.rounds):
        for name in names:  # interleaved: noise falls on all of them
            if number and results[name] and results[name][0].get("wall", 999) > 60:  # slow or failed
                continue
            python = sys.executable if name.startswith("ours") or name == "scikit-learn" else told.peers
            out = told.folder / f"{name.split()[0].strip(',')}{'_groups' if 'groups' in name else ''}.npy"
            out.unlink(missing_ok=True)
            done = subprocess.run(
                [python, __file__, "--one", name, file, str(shares[name]), out],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                results[name].append({"failed": done.stderr.strip().splitlines()[-1:]})
                break
            results[name].append(json.loads(done.stdout.splitlines()[-1]) | {"pairs": out})
    exact = next(
        (
            r[0]["pairs"]
            for n, r in results.items()
            if n in {"scikit-learn", "sp_matmul_rs"} and shares[n] == 1 and r and "cpu" in r[0]
        ),
        None,
    )
    truth = np.unique(np.load(exact)) if exact and exact.exists() else None
    flagged = np.unique(np.divmod(truth, size)) if truth is not None else None
    print(f"\n{size:,} posts" + (f", {len(truth):,} exact pairs" if truth is not None else ""))
    print("\n| | wall s | CPU s | MB | recall / precision | CPU / ours |\n|---|---|---|---|---|---|")
    least = min(r["cpu"] for r in results.get("ours, groups", [{"cpu": float("nan")}]))
    for name, rounds in results.items():
        good = [r for r in rounds if "cpu" in r]
        if not good:
            print(f"| {name} | failed: {rounds} |")
            continue
        cpu, wall, mb = (min(r[key] for r in good) for key in ("cpu", "wall", "mb"))
        quality, found = "-", good[0]["pairs"]
        if truth is not None and found.exists() and shares[name] == 1:
            made = np.unique(np.load(found))
            wanted = flagged if name.startswith("rensa") else truth
            right = len(np.intersect1d(made, wanted, assume_unique=True))
            quality = f"{right / max(1, len(wanted)):.4f} / {right / max(1, len(made)):.4f}"
        mark = "~" if shares[name] < 1 else ""
        print(
            f"| {name} | {mark}{wall:.2f} | {mark}{cpu:.2f} | {mb:.0f} | {quality} | {cpu / least:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
