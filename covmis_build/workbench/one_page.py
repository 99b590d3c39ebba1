"""A page that is whole in itself: its own script and style are named by their hashes, and nothing else may run."""

from __future__ import annotations

import base64
import hashlib
import re

from starlette.responses import HTMLResponse

from covmis_build.workbench.guard import POLICY


def one_page(html: str, code: int = 200) -> HTMLResponse:
    """Answer with this page and the policy that allows just its last script and style."""
    policy = POLICY
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline[-1].encode()).digest()).decode() if inline else ""
        policy = policy.replace(f"{kind} 'self'", f"{kind} 'sha256-{digest}'" if inline else f"{kind} 'none'")
    return HTMLResponse(html, code, headers={"content-security-policy": policy})
