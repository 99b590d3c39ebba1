"""A local Label Studio server with its own environment and SQLite. It listens on this machine only, without outside access.

One folder outside every study, readable only by its owner, contains the environment, the data, and the users with
their passwords and tokens. COVMIS_LABEL_STUDIO_HOME names another folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from covmis_build.engine import Progress

ADMIN = "admin"
HOST = "127.0.0.1"
PORT = 8092
DOMAIN = "covmis.invalid"
"""Domain of the local users' e-mail addresses; `.invalid` can never be registered."""

SWITCHES = {
    "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
    "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
    "LABEL_STUDIO_SENTRY_DSN": "",
    "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
    "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
    # This blocks a page elsewhere whose name resolves to this machine (DNS rebinding).
    "LABEL_STUDIO_ALLOWED_HOSTS": f"{HOST},localhost",
    "LABEL_STUDIO_CORS_ALLOW_ALL_ORIGINS": "false",
    # Any remaining outside request goes to a closed port of this machine.
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}

SERVE = """
import sys
from django.core.handlers.wsgi import WSGIHandler
CLOSED = ("/user/signup", "/metrics", "/trigger500", "/__lsa")
answer = WSGIHandler.__call__
def closed_or_answer(self, environ, start_response):
    path = "/" + environ.get("PATH_INFO", "").lower().lstrip("/")
    if any(name in path for name in CLOSED):
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"closed"]
    return answer(self, environ, start_response)
WSGIHandler.__call__ = closed_or_answer
from label_studio.server import main
sys.exit(main())
"""
"""Start the server with only the login page for visitors who are not logged in."""

USERS = """
import json, os, sys
import label_studio
sys.path.insert(0, os.path.dirname(label_studio.__file__))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings.label_studio")
import django
django.setup()
from organizations.models import Organization
from rest_framework.authtoken.models import Token
from users.models import User
organization = Organization.objects.first()
for one in json.load(sys.stdin):
    user = User.objects.filter(email=one["email"]).first()
    if user is None:
        user = User.objects.create_user(email=one["email"], password=one["password"])
    organization.add_user(user)
    user.active_organization = organization
    user.save()
    Token.objects.filter(user=user).delete()
    Token.objects.create(user=user, key=one["token"])
"""
"""Create all annotators at once as ordinary users: the server's `init` takes seconds each and creates admins."""


@dataclass(frozen=True, slots=True)
class Server:
    """The folder of the local server and its state."""

    home: Path

    @property
    def environment(self) -> Path:
        """The virtual environment."""
        return self.home / "env"

    @property
    def data(self) -> Path:
        """The database and files."""
        return self.home / "data"

    @property
    def database(self) -> Path:
        """The database."""
        return self.data / "label_studio.sqlite3"

    @property
    def users_file(self) -> Path:
        """E-mail addresses, passwords and tokens of the users; readable only by the owner."""
        return self.home / "users.json"

    @property
    def running_file(self) -> Path:
        """Process id and URL of the running server."""
        return self.home / "running.json"

    def users(self) -> dict[str, dict[str, str]]:
        """The users by code; empty before the first start."""
        return _read(self.users_file)

    def address(self) -> str:
        """URL of the running server; empty if it is not running."""
        running = _read(self.running_file)
        return str(running["url"]) if running and _alive(int(running["pid"])) else ""

    def to_dict(self) -> dict[str, Any]:
        """As `covmis label-studio status --json` prints it."""
        url = self.address()
        return {
            "running": bool(url),
            "url": url or None,
            "folder": str(self.home),
            "users": sorted(self.users()),
            "installed": (self.environment / "bin" / "label-studio").exists(),
        }

    @property
    def sentences(self) -> list[str]:
        """Return as text whether the server runs, and its users."""
        url = self.address()
        running = f"Running at {url}." if url else "Not running. Start it with `covmis label-studio up`."
        return [running, f"Users: {', '.join(sorted(self.users())) or 'none yet'}. Its folder: {self.home}"]


def local_server() -> Server:
    """Return the server of the logged-in user."""
    chosen = os.environ.get("COVMIS_LABEL_STUDIO_HOME")
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Server(Path(chosen) if chosen else Path(base) / "covmis" / "label-studio")


def up(
    server: Server,
    codes: Collection[str],
    *,
    port: int = 0,
    say: Callable[[str], None],
    progress: Progress = silent,
) -> str:
    """Start the server, after set-up the first time, and return its URL. A running server only gets missing users.

    Users deleted on the server also count as missing.
    """
    server.home.mkdir(parents=True, exist_ok=True)
    server.home.chmod(0o700)
    _install(server, say, progress)
    running = server.address()
    known = server.users()
    new = [code for code in (ADMIN, *codes) if code not in known]
    if new:
        known |= {code: _user(code) for code in new}
        _write_private(server.users_file, known)
    _initialise(server, known[ADMIN], say, progress)
    _add_users(server, [known[code] for code in new if code != ADMIN], progress)
    running = running or _start(server, port, say)
    there = _addresses(running, known[ADMIN]["token"])
    _add_users(server, [known[code] for code in codes if known[code]["email"] not in there], progress)
    return running


def _add_users(server: Server, users: Sequence[Mapping[str, str]], progress: Progress) -> None:
    if users:
        progress("Adding users to Label Studio", 0, len(users))
        _run(server, ["-c", USERS], text=json.dumps(users))


def _addresses(url: str, token: str) -> set[str]:
    """Return the e-mail addresses of the server's users."""
    import httpx

    head = {"Authorization": f"Token {token}"}
    try:
        answer = httpx.get(f"{url}/api/users/", headers=head, timeout=60, trust_env=False)
        return {str(user["email"]) for user in answer.raise_for_status().json()}
    except (httpx.HTTPError, ValueError) as error:
        raise ServiceError(f"Label Studio at {url} does not list its users: {error}") from None


def down(server: Server) -> bool:
    """Stop the server. True if it was running."""
    running = _read(server.running_file)
    if not running or not _alive(int(running["pid"])):
        server.running_file.unlink(missing_ok=True)
        return False
    pid = int(running["pid"])
    for sign, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, sign)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if not _exists(pid):
                server.running_file.unlink(missing_ok=True)
                return True
            time.sleep(0.1)
    raise ServiceError(f"the Label Studio server (process {pid}) does not stop")


def _user(code: str) -> dict[str, str]:
    return {
        "email": f"{code.lower()}@{DOMAIN}",
        "password": secrets.token_urlsafe(15),
        "token": secrets.token_hex(20),
    }


def _install(server: Server, say: Callable[[str], None], progress: Progress) -> None:
    """Install the server's environment from the lock file, once."""
    if (server.environment / "bin" / "label-studio").exists():
        return
    say("Setting up Label Studio in an environment of its own (once; about 1 GB and some minutes) …")
    own = str(server.environment / "bin" / "python")
    packages = lock_file().read_text("utf-8").count("==")
    pip = [
        own,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-color",
        "--progress-bar",
        "off",
        "--require-hashes",
        "-r",
        str(lock_file()),
    ]
    for words in ([sys.executable, "-m", "venv", "--clear", str(server.environment)], pip):
        told, fetched = [f"{words[2]} failed"], 0
        with subprocess.Popen(  # noqa: S603 - our own interpreters
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as running:
            for line in running.stdout or ():
                told.append(line.strip() or told[-1])
                fetched += line.startswith("Collecting ")
                installing = line.startswith("Installing ")
                step = (
                    "Installing Label Studio's packages" if installing else "Fetching Label Studio's packages"
                )
                progress(step, packages if installing else min(fetched, packages), packages)
        if running.returncode:
            raise ServiceError(f"Label Studio cannot be installed: {told[-1]}")


def lock_file() -> Path:
    """Return the lock file of the server's environment: next to the package in a wheel, in requirements/ in a checkout."""
    here = Path(__file__)
    for place in (
        here.with_name("label-studio.lock"),
        here.parents[4] / "requirements" / "label-studio.lock",
    ):
        if place.exists():
            return place
    raise InputError("the lock of Label Studio's environment is missing", remedy="Install covmis again")


MIGRATIONS = 396
"""Number of database migrations of the locked version."""


def _initialise(
    server: Server, admin: Mapping[str, str], say: Callable[[str], None], progress: Progress
) -> None:
    """Create the database and its first user, once; again after an interruption, and where the database was deleted."""
    done = server.home / "initialised"
    lost = done.exists() and not server.database.exists()
    if done.exists() and not lost:
        return
    say("Making its database (once; about a minute) …")
    if lost:
        say(
            "Its data were deleted. Labels that covmis has pulled are kept; `covmis round push` sends open posts again."
        )
    _run(
        server,
        ["-m", "label_studio.server", "init", "-b", "-q", "--enable-legacy-api-token"],
        meanwhile=lambda: progress("Making Label Studio's database", _migrated(server), MIGRATIONS),
        LABEL_STUDIO_USERNAME=admin["email"],
        LABEL_STUDIO_PASSWORD=admin["password"],
        LABEL_STUDIO_USER_TOKEN=admin["token"],
    )
    storage.write_text(done, "")


def _migrated(server: Server) -> int:
    """Return the number of finished migrations; Label Studio does not report progress itself."""
    with contextlib.suppress(sqlite3.Error):
        database = sqlite3.connect(f"{server.database.as_uri()}?mode=ro", uri=True, timeout=0.1)
        with contextlib.closing(database):
            (count,) = database.execute("SELECT count(*) FROM django_migrations").fetchone()
            return min(int(count), MIGRATIONS)
    return 0


def _run(
    server: Server,
    words: list[str],
    text: str = "",
    meanwhile: Callable[[], None] = lambda: None,
    **more: str,
) -> None:
    """Run the server's Python. Output goes to the log; secrets go through the environment or standard input."""
    server.data.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(  # noqa: S603 - the environment's own interpreter
        [str(server.environment / "bin" / "python"), *words],
        env=_surroundings(server, more),
        cwd=server.home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        given: str | None = text
        try:
            while True:
                try:
                    told, _ = running.communicate(given, timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    given = None  # already passed on
                    meanwhile()
        except BaseException:
            running.kill()
            raise
    if running.returncode:
        _write_private_text(server.home / "setup.log", told)
        raise ServiceError(f"Label Studio cannot be set up; what it said is in {server.home / 'setup.log'}")


def _surroundings(server: Server, more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the server's processes: a few basic variables, and our switches.

    Label Studio reads settings from the environment, also under plain names such as HOST or DEBUG.
    """
    plain = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SYSTEMROOT")
    kept = {name: os.environ[name] for name in plain if name in os.environ}
    return {**kept, **SWITCHES, "LABEL_STUDIO_BASE_DATA_DIR": str(server.data), **more}


def _start(server: Server, port: int, say: Callable[[str], None]) -> str:
    """Start the server on this port or the first free one. Another program may take a port in between."""
    if port and not _is_free(port):
        raise InputError(f"port {port} is in use", remedy="Name another with --port")
    until = time.monotonic() + 180
    while time.monotonic() < until:
        url = f"http://{HOST}:{port or _free(PORT)}"
        say(f"Starting Label Studio at {url} …")
        process = _launch(server, url)
        try:
            if _answers(server, process, url, until):
                return url
        except BaseException:  # interrupted: leave no half-started server
            down(server)
            process.poll()
            raise
        down(server)
        process.poll()
        if port:
            break
    raise ServiceError(f"Label Studio does not start; what it said is in {server.home / 'server.log'}")


def _launch(server: Server, url: str) -> subprocess.Popen[bytes]:
    log = os.open(server.home / "server.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = subprocess.Popen(  # noqa: S603 - the environment's own interpreter
            [
                str(server.environment / "bin" / "python"),
                "-c",
                SERVE,
                "start",
                "-b",
                "--internal-host",
                HOST,
                "--port",
                url.rpartition(":")[2],
            ],
            env=_surroundings(server, {}),
            cwd=server.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)
    storage.write_text(server.running_file, json.dumps({"pid": process.pid, "url": url}))
    return process


def _answers(server: Server, process: subprocess.Popen[bytes], url: str, until: float) -> bool:
    """Wait until the server accepts our token. If another server does not, Label Studio has chosen another port."""
    import httpx

    head = {"Authorization": f"Token {server.users()[ADMIN]['token']}"}
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get(f"{url}/api/current-user/whoami", headers=head, timeout=5, trust_env=False)
            if answer.status_code == httpx.codes.OK:
                process.returncode = 0  # The server outlives us: nothing here waits for its end.
                return True
            if answer.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
                return False
        time.sleep(0.2)
    return False


def _free(first: int) -> int:
    return next(port for port in range(first, 65535) if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _exists(pid: int) -> bool:
    """True if the process exists. A process that is ending has no command line but still holds its port."""
    with contextlib.suppress(ChildProcessError, OSError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _alive(pid: int) -> bool:
    """True if this process is a running Label Studio; process ids are reused."""
    if not _exists(pid):
        return False
    line = Path(f"/proc/{pid}/cmdline")
    return b"label_studio" in line.read_bytes() if line.exists() else True


def _read(path: Path) -> dict[str, Any]:
    """Read one of our files. An unreadable file is an error; otherwise all users would get new passwords."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _write_private(path: Path, value: Any) -> None:
    _write_private_text(path, json.dumps(value, indent=1) + "\n")


def _write_private_text(path: Path, text: str) -> None:
    """Write a file that only the owner can read from its first moment."""
    with storage.replacing(path, private=True) as beside:
        beside.write_text(text, "utf-8")
