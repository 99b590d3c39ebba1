"""What to do when a platform does not answer as hoped: decided by the kind of trouble, not by the client library.

Each source translates its client's exceptions and status codes into a `Fault`; `persistently` acts on it.

rate_limit   wait until the platform's window opens again, then continue, `MOST_WAITING` in all
outage       the server or the line fails: wait longer each time, at most `TRIES` times in a row
malformed    an answer that cannot be read: the same
expired      the session expired: renew it once, then continue
usage_cap    the plan's monthly cap is used up       ┐
no_credit    the account has no credit left          │ stop the whole crawl, cleanly; what was fetched is kept
refused      the credentials are not accepted        ┘
bad_query    the platform cannot read this query: leave it, note it, continue with the next
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
"""Kinds that end the crawl when `persistently` gives up on them."""

TRIES = 6
LONGEST = 120.0
"""Seconds between two tries of a server that is down; six tries span about two minutes."""

LONGEST_ADVICE = 3700.0
"""Seconds that a platform may tell us to wait at once: the longest window that we know is an hour."""

MOST_WAITING = 4 * 3600.0
"""Seconds that one request may wait in all: a rate limit that lasts longer is no window, and a person should know."""

WINDOW = 900.0
"""Seconds to wait for a rate limit whose end the platform does not tell: X's and Bluesky's windows are shorter."""

T = TypeVar("T")


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Clock:
    """The time and the wish to wait; tests bring their own."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = _sleep


class Fault(Exception):
    """Trouble with a platform, as a kind that can be acted on; `wait` is the platform's own advice in seconds."""

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
    """The call's result, however often it takes; raises the last Fault when there is no point in going on."""
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
