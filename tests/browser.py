"""A headless Chromium for tests of pages: it opens addresses, measures them, and keeps what the console reports."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: Names of the program: Debian's, and those of others.
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Seconds for which an answer of the browser is awaited.
PATIENCE = 60.0
#: Kinds of console messages that are errors.
ERRORS = ("error", "assert")


class Browser:
    """One tab, controlled by the DevTools protocol."""

    def __init__(self, loop: asyncio.AbstractEventLoop, socket: Any) -> None:
        self.loop = loop
        self.socket = socket
        self.number = 0
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self.number += 1
        self.socket.write_message(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = self._receive()
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def open(self, address: str) -> None:
        """Load a page and forget the errors of the page before."""
        self.errors.clear()
        self.call("Page.navigate", url=address)
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def show(self, width: int, height: int, theme: str) -> None:
        """Set the size of the window in pixels, and the colours that the reader's system prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _receive(self) -> dict[str, Any]:
        async def receive() -> str | None:
            text: str | None = await asyncio.wait_for(self.socket.read_message(), PATIENCE)
            return text

        text = self.loop.run_until_complete(receive())
        assert text is not None, "the browser has ended"
        message: dict[str, Any] = json.loads(text)
        details = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(details["exceptionDetails"].get("exception", details)))
        elif message.get("method") == "Runtime.consoleAPICalled" and details["type"] in ERRORS:
            self.errors.append(str(details["args"]))
        elif message.get("method") == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")
        return message


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with its profile in a folder; skip the test where it is not installed."""
    websocket = pytest.importorskip("tornado.websocket")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    options += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    loop = asyncio.new_event_loop()
    try:
        port = _port(folder / "DevToolsActivePort", process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=PATIENCE) as answer:
            tab = next(entry for entry in json.load(answer) if entry["type"] == "page")

        async def connect() -> Any:
            return await websocket.websocket_connect(tab["webSocketDebuggerUrl"], max_message_size=2**28)

        yield Browser(loop, loop.run_until_complete(connect()))
    finally:
        process.terminate()
        process.wait()
        loop.close()


def _port(file: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the port that the browser writes into a file once it listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, IndexError):
            return file.read_text(encoding="utf-8").splitlines()[0]
        time.sleep(0.05)
    pytest.skip("Chromium does not start here")
