"""CPU seconds that a page of the workbench takes: python benchmarks/workbench.py STUDY [CLAIM]."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

from covmis_build.workbench.app import application
from covmis_build.workbench.queries import warm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

PORT = 8111
study, claim = Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "garlic"
guard = application(study, PORT, read_only=True)
client = TestClient(guard, base_url=f"http://127.0.0.1:{PORT}")
client.get(guard.entrance.address())
began = time.process_time()
warm(guard.bench)  # as `covmis open` does when it starts
print(f"when it starts {1000 * (time.process_time() - began):11.0f} ms")
live = {"headers": {"x-part": "live"}}
pages = (
    ("overview", "/", {}), ("queries", f"/queries/{claim}", {}), ("nearest", f"/queries/{claim}?show=nearest", live),
    *((f"keystroke {word}", f"/queries/{claim}?q={claim}+({word}+OR+virus)+-cat", live) for word in ("co", "cov", "covi", "covid")),
    ("posts", "/posts", {}), ("search", f"/posts?q={claim}", {}), ("claims", "/claims", {}), ("flow", "/flow", {}),
    *((f"dropped {step}", f"/flow?step={step}", {}) for step in ("retrieve", "language", "words", "near_duplicates", "sample")),
    ("story", f"/story/{claim}", {}), ("plan", "/plan", {}), ("slider", "/plan?posts=36", live), ("settings", "/settings", {}),
)  # fmt: skip
first = {"queries", "nearest", "posts", "plan"}
for name, path, more in (*((f"{name}, first", *rest) for name, *rest in pages if name in first), *pages):
    began = time.process_time()
    code = client.get(path, **more).status_code
    print(f"{name:18} {code} {1000 * (time.process_time() - began):7.0f} ms")
