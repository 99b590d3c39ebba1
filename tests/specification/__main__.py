"""Compare the study of a seed, or of several: `python -m tests.specification SEED [LAST] [--keep DIR]`."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from tests.specification.compare import compare

parser = argparse.ArgumentParser(prog="python -m tests.specification", description=__doc__)
parser.add_argument("seed", type=int)
parser.add_argument("last", type=int, nargs="?", help="the last of several seeds")
parser.add_argument("--keep", type=Path, help="a new folder for the study of SEED")
asked = parser.parse_args()
warnings.simplefilter("ignore")
compared, failed = Counter(), 0
for seed in range(asked.seed, (asked.last or asked.seed) + 1):
    folder = asked.keep or Path(tempfile.mkdtemp()) / "study"
    result = compare(seed, folder)
    compared += result.compared
    failed += bool(result.differences)
    if result.differences:
        print(result, flush=True)
    if not asked.keep:
        shutil.rmtree(folder.parent)
print(f"{failed} studies differ;", ", ".join(f"{rule} {count:,}" for rule, count in sorted(compared.items())))
raise SystemExit(failed > 0)
