"""Headless Chromium, driven over WebDriver's own HTTP: what tests of pages need and no more."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import httpx

KEYS = {
    "Enter": "\ue007",
    "ArrowRight": "\ue014",
    "ArrowLeft": "\ue012",
    "Backspace": "\ue003",
    "Escape": "\ue00c",
    "Control": "\ue009",
}


class Browser:
    def __init__(self, downloads: Path, profile: Path) -> None:
        self.downloads = downloads
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip
        port = next(
            found[1]
            for line in self.driver.stdout
            if (found := re.search(r"successfully on port (\d+)", line))
        )
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600, trust_env=False)
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
                     "--window-size=1000,900"],
            "prefs": {"download.default_directory": str(downloads)},
        }  # fmt: skip
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL"},
        }
        made = self.client.post("/session", json={"capabilities": {"alwaysMatch": wanted}}).json()["value"]
        self.session = f"/session/{made['sessionId']}"

    def _post(self, path: str, body: dict):
        answer = self.client.post(self.session + path, json=body)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value

    def open(self, address: str | Path) -> None:
        self.requests()
        self._post("/url", {"url": address.as_uri() if isinstance(address, Path) else address})

    def run(self, script: str, *values):
        """What this piece of script returns on the page."""
        return self._post("/execute/sync", {"script": script, "args": list(values)})

    def choose(self, selector: str, *files: Path) -> None:
        """Choose these files in a place for files, as in the browser's own dialog."""
        found = self._cdp("Runtime.evaluate", expression=f"document.querySelector({json.dumps(selector)})")
        self._cdp(
            "DOM.setFileInputFiles", objectId=found["result"]["objectId"], files=[str(file) for file in files]
        )

    def _cdp(self, command: str, **params):
        return self._post("/goog/cdp/execute", {"cmd": command, "params": params})

    def press(self, *keys: str) -> None:
        """Press these keys, one after the other; `Control+Enter` is both at once."""
        actions = []
        for key in keys:
            parts = [KEYS.get(part, part) for part in (key.split("+") if len(key) > 1 else [key])]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self._post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def type_on(self, *keys: tuple[str, str]) -> None:
        """Press keys of a layout that this machine lacks: what each writes and where it is, as (key, code)."""
        event = (
            "{key: arguments[0], code: arguments[1], shiftKey: arguments[2], bubbles: true, cancelable: true}"
        )
        for key, code in keys:
            self.run(
                f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {event}))",
                key, code.removeprefix("Shift+"), code.startswith("Shift+"),
            )  # fmt: skip

    def wait(self, script: str, seconds: float = 300):
        """Wait until this returns something true; that."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(AssertionError):
                if found := self.run(script):
                    return found
            time.sleep(0.1)
        shown = self.run("return document.body ? document.body.innerText : ''")
        raise AssertionError(f"never came true: {script}\nThe page shows: {shown[:1000]}")

    def requests(self) -> list[str]:
        """The addresses that the page has asked for since the last call."""
        found = []
        for entry in self._post("/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def size(self, width: int, height: int) -> None:
        """Show pages as on a screen of this size; below 600 pixels as on a phone."""
        params = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._cdp("Emulation.setDeviceMetricsOverride", **params)

    def look(self, path: Path, width: int = 1280, height: int = 900, *, whole: bool = True) -> None:
        """Save a screenshot of the whole page, its first 4,000 pixels at most; or of the screen."""
        self.size(width, height)
        long = min(int(self.run("return document.documentElement.scrollHeight")), 4000)
        clip = {"x": 0, "y": 0, "width": width, "height": max(long, height) if whole else height, "scale": 1}
        kind = {"format": "webp", "quality": 60} if path.suffix == ".webp" else {"format": "png"}
        params = {"captureBeyondViewport": True, "clip": clip, **kind}
        data = self._cdp("Page.captureScreenshot", **params)
        path.write_bytes(base64.b64decode(data["data"]))

    def prefer(self, scheme: str) -> None:
        """Dark or light."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._cdp("Emulation.setEmulatedMedia", features=features)

    def another_window(self) -> str:
        """Open one; what `switch` takes to go there."""
        return self._post("/window/new", {"type": "tab"})["handle"]

    def window(self) -> str:
        return self.client.get(self.session + "/window").json()["value"]

    def switch(self, window: str) -> None:
        self._post("/window", {"handle": window})

    def kill(self) -> None:
        """End the browser as a power cut would."""
        self.client.close()
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait(10)
        self.driver.stdout.close()

    def close(self) -> None:
        with contextlib.suppress(httpx.HTTPError):
            self.client.delete(self.session)
        self.client.close()
        self.driver.terminate()
        self.driver.wait(10)
        self.driver.stdout.close()
