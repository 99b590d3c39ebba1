"""Platform prices and the user's budget, known before anything is spent."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from covmis_build.errors import InputError, counted
from covmis_build.files import toml_file

ITEMS = ("post", "user", "counts", "request")


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per post, author, counts request and other request, and the list's date."""

    date: str
    post: float = 0.0
    user: float = 0.0
    counts: float = 0.0
    request: float = 0.0

    @property
    def free(self) -> bool:
        """True if nothing costs money."""
        return not (self.post or self.user or self.counts or self.request)

    def cost(self, *, posts: int = 0, users: int = 0, requests: int = 0, counts: int = 0) -> float:
        """Return the price of these in dollars."""
        total = self.post * posts + self.user * users + self.request * requests + self.counts * counts
        return round(total, 6)


def read_prices(platform: str, path: Path | str | None = None) -> Prices:
    """Read the platform's prices from covmis's list, or from the user's file."""
    where = str(path) if path else "prices.toml"
    data = (
        toml_file.read(Path(path)) if path else tomllib.loads((files(__package__) / where).read_text("utf-8"))
    )
    date, table = data.get("date"), data.get(platform)
    if not isinstance(date, str) or not isinstance(table, dict):
        raise InputError(
            f"a price list needs a date and a table [{platform}]",
            file=where,
            remedy="Copy the one in docs/guides/collecting.md",
        )
    for name, value in table.items():
        if name not in ITEMS or isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InputError(
                f"[{platform}] {name} is not a price",
                file=where,
                remedy=f"Known: {', '.join(ITEMS)}; dollars, not negative",
            )
    return Prices(date, **{name: float(value) for name, value in table.items()})


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum cost of one crawl; None is no limit."""

    dollars: float | None = None
    posts: int | None = None
    requests: int | None = None

    def less(self, spent: Spent) -> Budget:
        """Return the rest of the budget after this cost."""
        return Budget(
            None if self.dollars is None else max(0.0, self.dollars - spent.dollars),
            None if self.posts is None else max(0, self.posts - spent.posts),
            None if self.requests is None else max(0, self.requests - spent.requests),
        )

    def __str__(self) -> str:
        parts = [f"${self.dollars:,.2f}"] if self.dollars is not None else []
        parts += [counted(self.posts, "posts")] if self.posts is not None else []
        parts += [f"{self.requests:,} requests"] if self.requests is not None else []
        return " and ".join(parts) or "no limit"


def read_budget(text: str) -> Budget:
    """Parse a budget: dollars, `posts` or `requests`, several separated by commas.

    >>> read_budget("25"), read_budget("$7.50,10000 posts")
    (Budget(dollars=25.0, posts=None, requests=None), Budget(dollars=7.5, posts=10000, requests=None))
    """
    limits: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = re.fullmatch(r"\$?\s*(\d+(?:\.\d+)?)\s*(usd|dollars?|posts?|requests?)?", part, re.IGNORECASE)
        if not match:
            raise InputError(f"--budget {text} is not an amount", remedy="Like 25, 10000posts or 500requests")
        unit = {"p": "posts", "r": "requests"}.get((match[2] or "d")[0].lower(), "dollars")
        limits[unit] = float(match[1])
    return Budget(
        limits.get("dollars"),
        int(limits["posts"]) if "posts" in limits else None,
        int(limits["requests"]) if "requests" in limits else None,
    )


@dataclass(slots=True)
class Spent:
    """The cost of a crawl so far: an upper bound, since platforms do not bill some repetitions."""

    requests: int = 0
    posts: int = 0
    users: int = 0
    dollars: float = 0.0

    def allows(self, budget: Budget, prices: Prices, *, most: int, least: int, users_each: int) -> int:
        """Return the maximum number of posts for the next request; 0 if the budget is exhausted."""
        wanted = most
        if budget.requests is not None and self.requests >= budget.requests:
            return 0
        if budget.posts is not None:
            wanted = min(wanted, budget.posts - self.posts)
        each = prices.post + prices.user * users_each
        if budget.dollars is not None:
            rest = budget.dollars - self.dollars - prices.request + 1e-9
            if rest < 0:
                return 0
            wanted = min(wanted, int(rest / each)) if each else wanted
        return wanted if wanted >= least else 0
