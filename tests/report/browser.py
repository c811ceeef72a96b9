"""A headless Chromium, driven over its debugging pipe: no client library is needed, and no port is opened."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """The browser's command, or None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


CHROMIUM = find_chromium()

_SILENCE_S = 120.0
"""So that a browser that hangs fails a test and does not stop all of them."""


_CODES = {"Escape": 27, "End": 35}


class PageError(AssertionError):
    """A script that the test ran in the page has thrown."""


class Browser:
    """One browser with one page. `faults` are exceptions, errors and refusals of the page; `dialogs` what it alerted;
    `requests` what it asked of any network. Every wait ends when the page says so, or with the pipe.
    """

    def __init__(self, command: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="rewarden-chromium-")
        read_commands, self._commands = os.pipe()
        answers, write_answers = os.pipe()
        words = [
            command,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._home.name}",
        ]
        # The browser reads commands from descriptor 3 and answers on 4.
        script = f'exec "$@" 3<&{read_commands} 4>&{write_answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *words],
            pass_fds=(read_commands, write_answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._answers = os.fdopen(answers, "rb")
        self._held = b""
        self._number = 0
        self._session: str | None = None
        self.faults: list[str] = []
        self.dialogs: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._commands)  # the browser ends when its pipe does
        self._process.wait(timeout=60)
        self._answers.close()
        self._home.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """A command and its result. What happens meanwhile is noted."""
        self._number += 1
        self._write(method, self._number, params)
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._answers], [], [], _SILENCE_S)
            piece = os.read(self._answers.fileno(), 1 << 20) if ready else b""
            if not piece:
                raise AssertionError("the browser has ended" if ready else "the browser says nothing any more")
            self._held += piece
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method", ""), event.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.faults.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.faults.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            # Not by `send`: the page waits for this before it answers anything else.
            self._write("Page.handleJavaScriptDialog", 0, {"accept": True})

    def _write(self, method: str, number: int, params: dict[str, Any]) -> None:
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]

    def shape(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """The window, and what the system prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a report from disk and wait until it is drawn."""
        # By way of an empty page, so that another place in the same report is opened anew too.
        for address in ("about:blank", path.resolve().as_uri() + (f"#{fragment}" if fragment else "")):
            self._events.clear()
            self.send("Page.navigate", url=address)
            while "Page.loadEventFired" not in self._events:
                self._note(self._read())
        self.run(
            "until(() => document.documentElement.dataset.ready === 'yes' || document.querySelector('[role=alert]'))"
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited. `until(test)` waits for frames, `settle()` for
        two of them.
        """
        helpers = (
            "const settle = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));"
            "const until = async test => { for (let frames = 0; frames < 2000; frames++) {"
            " const found = test(); if (found) return found; await settle(); }"
            " throw new Error(`never came true: ${test}`); };"
            "const $ = path => document.querySelector(path); const $$ = path => [...document.querySelectorAll(path)];"
            "const text = path => $(path).innerText;"
        )
        result = self.send(
            "Runtime.evaluate",
            expression=f"(async () => {{ {helpers} return ({script}); }})()",
            awaitPromise=True,
            returnByValue=True,
            allowUnsafeEvalBlockedByCSP=False,
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def violations(self) -> list[str]:
        """Returns what axe finds that keeps people out."""
        axe = pytest.importorskip("axe_playwright_python.base", reason="pip install axe-playwright-python")
        self.send("Runtime.evaluate", expression=axe.AXE_SCRIPT)
        found = self.run(
            "axe.run().then(said => said.violations.map(one => [one.id, one.nodes.map(node => node.html)]))"
        )
        return [f"{name}: {nodes}" for name, nodes in found]

    def key(self, key: str) -> None:
        """Press a key, as a person does."""
        more: dict[str, Any] = {"text": key} if len(key) == 1 else {"windowsVirtualKeyCode": _CODES[key]}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.run("settle()")

    def picture(self, path: Path) -> None:
        """Save a picture of what is seen, as a PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
