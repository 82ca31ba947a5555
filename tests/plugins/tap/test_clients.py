"""An SDK through `tui-chat tap` as its own process: the JSON lines and the Request view of the app
show what the upstream received, credentials aside.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.app import make_app, opened, until
from tests.support.program import run_program
from tests.support.vendors import HttpRequest, serve
from tui_chat.plugins.tap.held_request import editable_text
from tui_chat.plugins.tap.held_table import decide, waiting_requests
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.rows_view import RowsView

KEY = "sk-planted-0123456789abcdefghij"


@contextmanager
def upstream(script: Any, received: list[HttpRequest]) -> Iterator[str]:
    """Serve a script from a thread; yield the address."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    address, stop = [""], asyncio.Event()

    async def run() -> None:
        async with serve(script=script, on_request=received.append) as server:
            address[0] = server.base_url
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield address[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


def fields(headers: Any) -> list[tuple[str, str]]:
    """Return headers without the host, and without the values of credentials."""
    secret = ("authorization", "x-api-key", "x-goog-api-key")
    pairs = [(name.lower(), value) for name, value in headers if name.lower() != "host"]
    return [(name, "[key]" if name in secret else value) for name, value in pairs]


def check_received(calls: list[dict[str, Any]], received: list[HttpRequest], base: str) -> None:
    """Each call has the URL, the headers and the body that the upstream received."""
    posts = [each for each in received if each.method == "POST"]
    assert len(calls) == len(posts)
    for call in calls:
        sent = sent_of(call)
        same = next(
            each
            for each in posts
            if each.body == sent["body"].encode()
            and fields(each.headers) == fields(sent["headers"])
        )
        posts.remove(same)
        assert call["request"]["url"] == base + same.target
        assert sent["bytes"] == len(same.body)
        tokens = call["explained"]["tokens"]["total"]
        assert len(same.body) < 10_000 or tokens >= len(same.body) / 8, "not all is counted"


def sent_of(call: dict[str, Any]) -> dict[str, Any]:
    """Return what the provider received of a call: the request, or what it was edited to."""
    request: dict[str, Any] = call["request"]
    return request["sent"] or request


def shown(app: TuiChat) -> str:
    """Return the text of the inspector's view without white space, which wrapping changes."""
    view = app.query_one(Inspector).views.current
    assert isinstance(view, RowsView)
    return "".join("".join(view.row(n).text for n in range(view.row_count)).split())


async def check_shown(folder: Path, calls: list[dict[str, Any]]) -> None:
    """The app shows the URL, the headers and the body of each call."""
    app = make_app(folder)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        by_session = {call["conversation"]["session_id"]: call for call in calls}
        for session_id, call in by_session.items():
            request = {**call["request"], **sent_of(call)}
            listed = [c for c in await workspace.store.requests.calls(session_id) if not c.is_side]
            await workspace.sessions.open_at(session_id, listed[-1].message_id)
            assert await workspace.sent.view_sent(listed[-1].message_id)
            inspector = app.query_one(Inspector)
            inspector.view_shown = "http"
            size = str(len(request["body"].encode()))
            await until(pilot, lambda size=size: size in shown(app))
            assert "".join(request["url"].split()) in shown(app)
            for name, value in request["headers"]:
                text = "" if "[key]" in value else "".join(value.split())
                assert f"{name}:{text}" in shown(app)
            assert inspector.composed is not None
            assert inspector.composed.body == request["body"].encode()


Result = tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]
Tapped = Callable[..., Result]


@pytest.fixture
def tapped(tmp_path: Path) -> Iterator[Tapped]:
    """Return a function that runs a client behind the tap, with a script for the model."""
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    lines = tmp_path / "calls.jsonl"

    def call(
        script: Any,
        *command: str,
        listen: int = 0,
        code: int = 0,
        flags: tuple[str, ...] = (),
        **environ: str,
    ) -> Result:
        received: list[HttpRequest] = []
        lines.unlink(missing_ok=True)
        tap = ("--data-dir", tmp_path / "data", "tap")
        address = ["--listen", str(listen)] if listen else []
        output = ["--output", str(lines)]
        with upstream(script, received) as base:
            done = run_program(
                *(*tap, *address, *flags, "--upstream", base, *output, "--", *command),
                env={"PATH": os.environ["PATH"], "HOME": str(home), **environ},
                cwd=home / "work",
                timeout=120,
            )
        assert done.returncode == code, done.stderr[-2000:]
        assert "Traceback" not in done.stderr
        calls = [json.loads(line) for line in lines.read_text().splitlines()]
        check_received(calls, received, base)
        asyncio.run(check_shown(tmp_path / "data", calls))
        return done, calls

    yield call
    data = b"".join(
        path.read_bytes() for path in (lines, *(tmp_path / "data").rglob("*")) if path.is_file()
    )
    assert KEY.encode() not in data


@contextmanager
def edited_in_an_app(data: Path, old: str, new: str) -> Iterator[None]:
    """Meanwhile replace a text in each held request, as a running app does."""
    stop = threading.Event()

    async def edit() -> None:
        async with await Store.open(data / "chat.db", now=time.time, new_id=str) as store:
            while not stop.is_set():
                for held in await waiting_requests(store.replies.database):
                    record = await store.requests.get(held.message_id)
                    assert record is not None
                    text = editable_text(record.body or b"").replace(old, new)
                    await decide(store.replies.database, held.message_id, "edited", text)
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=asyncio.run, args=(edit(),))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def check_edited(calls: list[dict[str, Any]], old: str, new: str) -> None:
    """Calls with a text were held and sent with another one."""
    edited = [call for call in calls if old in call["request"]["body"]]
    assert edited
    for call in edited:
        assert call["held"]["decision"] == "edited"
        sent = call["request"]["sent"]["body"]
        assert new in sent
        assert old not in sent
        assert call["response"]["outcome"] == "complete"


SDK = """
import openai
with openai.OpenAI() as client:
    stream = client.chat.completions.create(
        model="gpt-x", messages=[{"role": "user", "content": "The ferry"}], stream=True
    )
    print("".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices))
"""


@pytest.mark.slow
def test_a_held_request_of_an_sdk_is_edited_and_sent_on(tapped: Tapped, tmp_path: Path):
    flags = ("--pause", "ferry")
    with edited_in_an_app(tmp_path / "data", "ferry", "night train"):
        command = (sys.executable, "-c", SDK)
        done, calls = tapped(["It leaves."], *command, flags=flags, OPENAI_API_KEY=KEY)
    assert done.stdout.strip() == "It leaves."
    check_edited(calls, "ferry", "night train")
