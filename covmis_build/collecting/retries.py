"""Reactions to platform errors, depending on the kind of error, not on the client library.

Each source translates its client's exceptions and status codes into a `Fault`; `persistently` acts on it.

rate_limit   wait until the platform's window opens again, then continue, `MOST_WAITING` in total
outage       server or connection failure: wait longer each time, at most `TRIES` consecutive times
malformed    an unreadable response: the same
expired      the session expired: renew it once, then continue
usage_cap    the plan's monthly cap is exhausted     ┐
no_credit    the account has no credit left          │ stop the whole crawl cleanly; fetched posts are kept
refused      the credentials are not accepted        ┘
bad_query    the platform cannot parse this query: skip it, record it, continue with the next
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from covmis_build.credentials import scrubbed

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = Literal[
    "rate_limit", "outage", "malformed", "expired", "usage_cap", "no_credit", "refused", "bad_query"
]
STOPPING: frozenset[Kind] = frozenset(
    {"rate_limit", "usage_cap", "no_credit", "refused", "outage", "malformed", "expired"}
)
"""Kinds that end the crawl when `persistently` gives up."""

TRIES = 6
LONGEST = 120.0
"""Maximum seconds between attempts on a failing server; six attempts take about two minutes."""

LONGEST_ADVICE = 3700.0
"""Maximum seconds that a platform can make us wait at once: the longest known window is an hour."""

MOST_WAITING = 4 * 3600.0
"""Maximum waiting time of one request in seconds: a longer limit is no window, and must be reported."""

WINDOW = 900.0
"""Seconds to wait for a rate limit of unknown end: the windows of X and Bluesky are shorter."""

T = TypeVar("T")


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and waiting; tests replace them."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = _sleep


class Fault(Exception):
    """A platform error of a known kind; `wait` is the platform's advice in seconds."""

    def __init__(self, kind: Kind, detail: str, *, wait: float | None = None) -> None:
        super().__init__(scrubbed(detail))
        self.kind: Kind = kind
        self.wait = wait

    @property
    def detail(self) -> str:
        """What happened, in one line and without secrets."""
        return " ".join(str(self).split())[:300]


def persistently(
    call: Callable[[], T],
    *,
    clock: Clock,
    notice: Callable[[str], None],
    renew: Callable[[], None] | None = None,
) -> T:
    """Return the call's result after retries. Raises the last Fault when further attempts are useless."""
    failures = renewals = 0
    waited = 0.0
    while True:
        try:
            return call()
        except Fault as fault:
            if fault.kind == "rate_limit" and waited < MOST_WAITING:
                wait = WINDOW if fault.wait is None else min(LONGEST_ADVICE, max(1.0, fault.wait))
                waited += wait
                notice(f"{fault.detail}; going on in {wait:.0f} s{_in_all(waited, wait)}")
                clock.sleep(wait)
            elif fault.kind == "expired" and renew is not None and renewals == 0:
                renewals += 1
                notice("the session expired and is renewed")
                persistently(renew, clock=clock, notice=notice)
            elif fault.kind in {"outage", "malformed"} and failures < TRIES - 1:
                failures += 1
                wait = min(LONGEST_ADVICE, max(fault.wait or 0.0, min(LONGEST, 4.0 * 2 ** (failures - 1))))
                waited += wait
                notice(f"{fault.detail}; trying again in {wait:.0f} s ({failures} of {TRIES - 1})")
                clock.sleep(wait)
            else:
                raise


def _in_all(waited: float, now: float) -> str:
    return f", {waited:.0f} s in all" if waited > now else ""
