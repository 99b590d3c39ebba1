"""Run work in a child process: a crash, memory exhaustion or endless loop ends the child, not the command."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

Result = TypeVar("Result")
ROOM = 0.75
MOST = 8 << 30
"""Maximum share of the machine's memory for one child, and maximum bytes."""
SECONDS = 600
"""Maximum processor seconds of a child without progress."""
_IN_CHILD = threading.Event()
"""Set in a process that acts for `in_child`."""


def follow_parent() -> None:
    """End this process when its parent has ended for any reason, so that an interrupted run leaves no orphans.

    The parent handles keyboard interrupts, which reach all processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        # A process that the parent forked meanwhile can keep the sentinel from telling: the parent's number does then.
        while os.getppid() == parent.pid and not wait([parent.sentinel], 0.5):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_child(act: Callable[..., Result], *given: Any, memory: int = 0) -> Result:
    """Return the result of `act(*given)`, computed in a separate process; its errors are raised here.

    A child that is killed, or exceeds `memory` (at most its share of the machine's) or time, is an InputError.
    In such a child it is only called, unless it has a bound of its own: what ends it ends that child.
    """
    if _IN_CHILD.is_set() and not memory:
        return act(*given)
    (answer,) = each_in_child(act, [given], memory=memory)
    if isinstance(answer, InputError):
        raise answer
    return answer


def each_in_child(
    act: Callable[..., Result], given: Sequence[tuple[Any, ...]], *, memory: int = 0
) -> Iterator[Result | InputError]:
    """Yield `act(*given[0])` and so on, computed in one separate process.

    What ends that process is the answer to what it was at; another process goes on behind it.
    """
    done = 0
    while done < len(given):
        ended = False
        ours, its = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.Process(target=_act_on_each, args=(its, act, given[done:], memory))
        with _uninterrupted():
            child.start()
        its.close()
        try:
            while done < len(given) and not ended:
                try:
                    answer = ours.recv()
                except EOFError:
                    child.join()
                    answer, ended = InputError(_ended(child.exitcode or 0)), True
                done += 1
                yield cast("Result | InputError", _raised(answer))
        except BaseException:
            child.terminate()
            raise
        finally:
            ours.close()
            child.join()


def _raised(answer: object) -> object:
    """Raise errors other than those of the input."""
    if isinstance(answer, BaseException) and not isinstance(answer, InputError):
        raise answer
    return answer


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Delay keyboard interrupts, because Python would lose one during a fork."""
    if not resource:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _act_on_each(
    to: Connection, act: Callable[..., Any], given: Sequence[tuple[Any, ...]], memory: int
) -> None:
    _IN_CHILD.set()
    follow_parent()
    faulthandler.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries print messages when they crash
    _bound_memory(memory)
    for arguments in given:
        got_on()
        try:
            to.send(act(*arguments))
        except MemoryError:
            to.send(InputError(NO_MEMORY))
        except CovmisError as error:
            to.send(error)
        except Exception as error:  # noqa: BLE001 - raised again by the parent
            error.add_note(traceback.format_exc())
            to.send(error)


def got_on() -> None:
    """Report progress: the time limit of this child starts again."""
    if resource and multiprocessing.parent_process():
        used = resource.getrusage(resource.RUSAGE_SELF)
        until, most = int(used.ru_utime + used.ru_stime) + SECONDS, resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (until if most < 0 else min(until, most), most))


NO_MEMORY = "it needs more memory than this machine has"


def _ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return NO_MEMORY
    if code == -getattr(signal, "SIGXCPU", 0):
        return f"reading it did not get on in {SECONDS // 60} minutes"
    return f"it ended the process that read it ({f'signal {-code}' if code < 0 else f'exit code {code}'})"


def _bound_memory(most: int) -> None:
    """Limit this process's memory to its share, if the system reports the total."""
    if not resource:
        return  # another system, with its own limits
    try:
        page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * page
        resource.setrlimit(resource.RLIMIT_AS, (taken + min(int(ROOM * page * pages), most or MOST),) * 2)
    except (OSError, ValueError):
        return  # the system does not report it
