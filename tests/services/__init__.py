"""The components beyond the core that tests use, each a module with `what`, `ready()` and `install()`.

`make services` runs them all; each is cached and the second run is instant.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

SERVICES: dict[str, ModuleType] = {
    found.name: importlib.import_module(f"{__name__}.{found.name}")
    for found in pkgutil.iter_modules(__path__)
    if found.name != "__main__"
}
