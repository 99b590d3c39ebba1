"""Work in a child process: what crashes there, or wants too much memory, ends the child and not the command."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

ROOM = 0.75
"""Share of the machine's memory that one child may take."""


def follow(parent: int) -> None:
    """End this process when its parent has ended, however it ended: a killed run leaves no orphans.

    The parent answers an interruption at the keyboard, which reaches all processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def in_child(act: Callable[..., Any], *given: Any) -> Any:
    """The result of `act(*given)`, computed in a process of its own; errors are raised here.

    A child that is killed, or runs out of memory, is an InputError.
    """
    ours, its = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.Process(target=_act, args=(its, os.getpid(), act, given))
    child.start()
    its.close()
    try:
        answer = ours.recv()
    except EOFError:
        child.join()
        answer = InputError(_ended(child.exitcode or 0))
    except BaseException:
        child.terminate()
        raise
    finally:
        ours.close()
        child.join()
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _act(to: Connection, parent: int, act: Callable[..., Any], given: tuple[Any, ...]) -> None:
    follow(parent)
    _bound_memory()
    try:
        to.send(act(*given))
    except CovmisError as error:
        to.send(error)
    except MemoryError:
        to.send(InputError(NO_MEMORY))


NO_MEMORY = "it needs more memory than this machine has"


def _ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return NO_MEMORY
    return f"it ended the process that read it ({f'signal {-code}' if code < 0 else f'exit code {code}'})"


def _bound_memory() -> None:
    """Refuse this process more memory than its share, where the system can say how much there is."""
    try:
        import resource

        page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * page
        resource.setrlimit(resource.RLIMIT_AS, (taken + int(ROOM * page * pages),) * 2)
    except (ImportError, OSError, ValueError):
        return  # another system; its own limits hold
