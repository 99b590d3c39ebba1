"""Expressions, URLs and the queries of a claim.

The public names of this room are those of `covmis_build`; they load when they are first used.
"""

from __future__ import annotations

from typing import Any

import covmis_build


def __getattr__(name: str) -> Any:
    return covmis_build.public(name, __name__)
