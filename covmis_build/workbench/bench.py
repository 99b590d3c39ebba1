"""One study, opened in a browser: what its pages share, and what was done in this session."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from anyio import from_thread
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse

from covmis_build import __version__, storage
from covmis_build.errors import CovmisError, InputError
from covmis_build.report.page import environment_of, in_prose, rows_html
from covmis_build.study import verbs
from covmis_build.study.add_posts import safe_name
from covmis_build.study.keywords import claims_of
from covmis_build.study.remove_claims import frozen_posts
from covmis_build.study.study import Study, open_study
from covmis_build.workbench import figures
from covmis_build.workbench.commands import start_of
from covmis_build.workbench.jobs import Jobs
from covmis_build.workbench.shown import FIELD, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from covmis_build.annotation.progress import Progress
    from covmis_build.study.keywords import Claim
    from covmis_build.study.round import Round
    from covmis_build.study.status import Status
    from covmis_build.workbench.jobs import Job
    from covmis_build.workbench.shown import Shown
    from covmis_build.workbench.team_server import TeamServer

T = TypeVar("T")
TEMPLATES = Path(__file__).parent / "templates"
PLACES = (
    ("/", "Overview"),
    ("/posts", "Posts"),
    ("/claims", "Claims"),
    ("/queries", "Queries"),
    ("/flow", "Flow"),
    ("/plan", "Plan"),
    ("/guideline", "Guideline"),
    ("/rounds", "Rounds"),
    ("/results", "Results"),
    ("/systems", "Systems"),
    ("/release", "Release"),
    ("/settings", "Settings"),
)
PREDICTIONS = "predictions "
"""How the names begin under which predictions are kept that were dropped in."""
LARGEST_FORM = 1 << 20
DROPPED = "covmis-"
"""How the names of the folders begin that hold files that were dropped in."""
MOST_KEPT = 500
TABLES = ("data/build/*.parquet", "data/build/ledger.jsonl", "queries/*")
STORE = ("data/build/parts.parquet", "data/build/older_copies.parquet", "data/build/intake.parquet")
ROUNDS = ("annotation/*/*", "annotation/*/*/*", "annotation/*/*/sheets/*")
STATE = (*TABLES, *ROUNDS, "data/release/checksums.txt")
"""Files that most figures depend on."""


class Act(NamedTuple):
    """Something that was done in this session: when, the command that does the same, and the same in Python; and its process."""

    at: str
    command: str
    python: str
    job: Job | None = None

    @property
    def failed(self) -> bool:
        """Whether it came to nothing."""
        return self.job is not None and self.job.state in {"failed", "ended"}


@dataclass
class Bench:
    """The study's folder, what is at work, and figures that are kept until a file that they depend on has changed."""

    folder: Path
    read_only: bool = False
    acts: list[Act] = field(default_factory=list)
    dropped: dict[str, Path] = field(default_factory=dict)
    """Files that were dropped in, each in a folder of its own outside the study: claims to import, predictions to score."""
    team: TeamServer | None = None
    """The server of the annotators' links, if this process serves them."""
    new_links: dict[str, str] = field(default_factory=dict)
    """The links that were made since it was opened, by person: they can be shown as long, and are written nowhere."""
    said: str = ""
    """What the next page says has been done."""
    _kept: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    _locks: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def __post_init__(self) -> None:
        """Make ready what needs the folder."""
        self.jobs = Jobs(self.folder)
        self.templates = environment_of(TEMPLATES)
        self.templates.globals |= {
            "asked": lambda name: start_of(name).parameters,
            "fig": figures,
            "places": PLACES,
            "quote": lambda text: quote(str(text), safe=""),
            "read_only": self.read_only,
            "shown": self._shown,
            "shows": lambda command: start_of(command).shows,
            "rows_html": rows_html,
            "styles": [],
            "version": __version__,
        }
        self.templates.filters |= {"n": _whole, "pc": _percent, "sentence": _sentence, "drawn": _drawn}

    @property
    def claims(self) -> list[Claim]:
        """The claim list as it is now."""
        return self.keep("claims", ("queries/claims.csv",), lambda: claims_of(self.study))

    def in_rounds(self, claim: str) -> Mapping[str, int]:
        """How many posts of this claim each round has."""
        return self.keep(f"in rounds {claim}", ROUNDS, lambda: frozen_posts(self.study, [claim]))

    @property
    def study(self) -> Study:
        """The study as its files are now."""
        return self.keep("study", ("queries/purge-journal.jsonl",), lambda: open_study(self.folder))

    def keep(self, name: str, files: tuple[str, ...], make: Callable[[], T]) -> T:
        """A figure, made again when one of these files has changed; a refusal is never kept."""
        with self._locks[name]:
            state = self.state("study.toml", *files)
            if name not in self._kept or self._kept[name][0] != state:
                figure_now = make()
                while len(self._kept) >= MOST_KEPT:
                    self._kept.pop(next(iter(self._kept)), None)
                self._kept[name] = (state, figure_now)
            figure: T = self._kept[name][1]
            return figure

    def state(self, *files: str) -> list[tuple[str, tuple[int, ...]]]:
        """The files of these patterns, each with what tells that it was changed; without a pattern, all that figures depend on."""
        return [
            (str(path), storage.state_of(path))
            for pattern in files or ("study.toml", *STATE)
            for path in sorted(self.folder.glob(pattern))
            if path.is_file()
        ]

    async def write(self, act: Callable[..., T], *given: Any, shown: Shown | None = None, **how: Any) -> T:
        """Change the study in a thread, one change after another: people who press at once do not refuse one another.

        `shown` is what the form showed: nothing is done if it is not so any more.
        """

        def alone() -> T:
            with self._locks["writing"]:
                if shown:
                    shown.check(self)
                return act(*given, **how)

        return await run_in_threadpool(alone)

    def progress(self, round_: Round) -> Progress:
        """Where a round stands, and what is next in the study."""
        return self.keep(f"round {round_.number} {sorted(self.study.stages().items())}", STATE, round_.status)

    def status(self) -> Status:
        """Where the study stands; the stages are looked at anew each time."""
        study = self.study
        return self.keep(f"status {sorted(study.stages().items())}", STATE, study.status)

    def page(
        self, request: Request, template: str, *command: str, code: int = 200, **context: Any
    ) -> HTMLResponse:
        """A page; `command` are the words of the command line that shows the same."""
        said = "" if "x-part" in request.headers else self.said
        self.said = self.said.removeprefix(said)
        html = self.templates.get_template(template).render(
            here=request.url.path,
            title=self._title(),
            job=self.jobs.shown(),
            said=said,
            command=shlex.join(["covmis", *command]),
            **context,
        )
        return HTMLResponse(html, code)

    def refused(
        self, request: Request, *command: str, sentence: str, code: int = 400, stale: bool = False
    ) -> HTMLResponse:
        """The page that says why something is not possible, with what somebody wrote: a refusal loses nothing of it."""
        written = getattr(request.state, "written", ())
        return self.page(
            request,
            "refused.html",
            *command,
            code=code,
            sentence=sentence,
            stale=stale,
            written=written,
            before=_page_before(request),
        )

    def _shown(self, subject: str, of: str = "") -> Markup:
        """The hidden field of a form about this: what the page shows of it."""
        field = '<input type="hidden" name="{}" value="{}">'
        return Markup(field).format(FIELD, digest(self, subject, of))  # noqa: S704 - a field of ours; a digest

    def _title(self) -> str:
        """The study's title; of one that cannot be opened now, as in the middle of a purge, its folder's name."""
        try:
            return self.study.settings.title
        except CovmisError:
            return self.folder.name

    def sentence_of(self, error: Exception) -> str:
        """What the library refuses, in its words; files are named from the study's folder, dropped ones by their names."""
        return re.sub(
            rf"{re.escape(tempfile.gettempdir())}/{DROPPED}[^/]+/",
            "",
            str(error).replace(f"{self.folder}/", ""),
        )

    def last_act(self, command: str) -> Act | None:
        """Return the last command of this session that began so and has ended."""
        ended = (act for act in reversed(self.acts) if act.job and act.job.state != "running")
        return next((act for act in ended if f"{act.command} ".startswith(f"{command} ")), None)

    def is_stale(self) -> bool:
        """Whether a run would make tables again; not of a study that cannot be opened."""
        try:
            return not all(self.study.stages().values())
        except CovmisError:
            return False

    def note(self, *command: str, python: str, once: bool = False, job: Job | None = None) -> None:
        """Remember what was done, for the session's script, of what is done `once` the last time; without a command as Python."""
        words = ("covmis", *command)
        if not command:
            words = ("python", "-c", f"import covmis_build as covmis; study = covmis.open_study(); {python}")
        if once:
            self.acts = [act for act in self.acts if act.python != python]
        self.acts.append(Act(time.strftime("%H:%M"), shlex.join(words), python, job))

    def words(self, verb: str, given: Mapping[str, Any], *, number: str = "", dropped: str = "") -> list[str]:
        """The command of an operation; `number` is the round's, `dropped` names the argument that is a file that was dropped in."""
        typed = {name: self.here(value) if name == dropped else value for name, value in given.items()}
        return verbs.words(verb, typed, number=number)

    def did(
        self,
        verb: str,
        given: Mapping[str, Any],
        *,
        number: str = "",
        dropped: str = "",
        once: bool = False,
        job: Job | None = None,
    ) -> list[str]:
        """Remember an operation with its arguments. The words of its command."""
        words = self.words(verb, given, number=number, dropped=dropped)
        self.note(*words, python=verbs.python(verb, given, number=number), once=once, job=job)
        return words

    def here(self, name: str) -> str:
        """A file that was dropped in, as the session's script finds it: a new study's script goes into its folder."""
        return f"../{name}" if self.acts and self.acts[0].command.startswith("covmis new ") else name

    @property
    def predictions(self) -> dict[str, Path]:
        """Files of predictions: of models that were asked here, and those that were dropped in."""
        asked = self.study.places.models.glob("*.csv")
        dropped = (path for what, path in self.dropped.items() if what.startswith(PREDICTIONS))
        return {path.name: path for path in (*sorted(asked), *dropped)}

    def file(self, what: str) -> Path:
        """A file that was dropped in."""
        if what not in self.dropped:
            raise InputError("this file was not dropped in", remedy="Drop it in once more")
        return self.dropped[what]

    def take(self, what: str, name: str, blocks: Iterable[bytes]) -> Path:
        """Keep a file that was dropped in, in the place of an earlier one."""
        self.forget(what)
        path = Path(tempfile.mkdtemp(prefix=DROPPED)) / safe_name(name)
        with path.open("wb") as file:
            file.writelines(blocks)
        self.dropped[what] = path
        return path

    def forget(self, what: str) -> None:
        """Remove a file that was dropped in."""
        if path := self.dropped.pop(what, None):
            shutil.rmtree(path.parent, ignore_errors=True)


def bench_of(request: Request) -> Bench:
    """The workbench that this request is for."""
    bench: Bench = request.app.state.bench
    return bench


async def body_of(request: Request) -> str:
    """What a request brings, where that is little."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise InputError("a form of more than 1 MB")
    return body.decode("utf-8", "replace")


WRITTEN = ("q", "text", "texts", "people", "reason", "map")
"""Fields in which people write sentences, keywords or lists."""


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, of one name joined by commas; files do not come in forms here."""
    form: dict[str, str] = {}
    for name, value in parse_qsl(await body_of(request), keep_blank_values=True):
        form[name] = f"{form[name]}, {value}" if form.get(name) else value
    request.state.written = [form[name] for name in WRITTEN if form.get(name, "").strip()]
    return form


def pairs_of(text: str) -> dict[str, str]:
    """What a field says that has NAME=VALUE on each line."""
    pairs = [line.rpartition("=") for line in text.splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs}


def blocks_of(request: Request) -> Iterator[bytes]:
    """What a request brings, block by block as it comes; for a worker thread."""
    stream = request.stream()

    async def following() -> bytes:
        return await anext(stream, b"")

    while block := from_thread.run(following):
        yield block


def _page_before(request: Request) -> str:
    """The page of ours whose form was sent; empty if a page was asked for."""
    if request.method == "GET":
        return ""
    sent_from = urlsplit(request.headers.get("referer", ""))
    return sent_from._replace(scheme="", netloc="").geturl() if is_ours(sent_from.path) else ""


def is_ours(place: str) -> bool:
    """Whether this is a place on our own server, whatever browsers make of it."""
    return place.startswith("/") and not place.startswith(("//", "/\\"))


def back_to(place: str) -> Response:
    """Go to a page of ours; what names another place leads to the overview."""
    return RedirectResponse(place if is_ours(place) else "/", 303)


def _whole(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:,.0f}"  # noqa: PLR0124 - not a number


def _percent(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.0%}"  # noqa: PLR0124 - not a number


def _sentence(text: object) -> str:
    """A sentence of the library's: with a capital unless it begins with a file, and code where it has backticks."""
    first, blank, rest = str(text).partition(" ")
    is_file = re.search(r"[./_]\w", first)
    return in_prose(f"{first if is_file else first[:1].upper() + first[1:]}{blank}{rest}")


def _drawn(figure: str) -> Markup:
    """A figure of a report for a page that allows no style in elements: its colours and widths as attributes."""

    def attributes(style: re.Match[str]) -> str:
        pairs = (pair.split(":", 1) for pair in style[1].split(";"))
        return "".join(f' {name}="{value}"' for name, value in pairs)

    svg = re.sub(r'(<svg [^>]*) style="[^"]*"', r"\1", str(figure))
    return Markup(re.sub(r' style="([^"]*)"', attributes, svg))  # noqa: S704 - a figure of ours, its texts escaped
