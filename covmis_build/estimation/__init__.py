"""Estimates on the target population of labels: shares and totals with intervals.

The public names of this subpackage are those of `covmis_build`; they are loaded on first use.
"""

from __future__ import annotations

from typing import Any

import covmis_build


def __getattr__(name: str) -> Any:
    return covmis_build.public(name, __name__)
