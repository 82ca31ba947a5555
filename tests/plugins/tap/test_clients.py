"""Real clients through the tap, against an upstream of ours: SDKs are in `test_proxy`.

    TUI_CHAT_PEERS=1 uv run pytest tests/plugins/tap/test_clients.py

What the JSON lines and the app's Request view show of each call is what the upstream received,
credentials aside. Claude Code, Codex, Gemini CLI, opencode and pi are installed from npm and llm
from PyPI, into a temporary folder; `TUI_CHAT_CLIENTS=FOLDER` takes one that is there (with
`node_modules` and `llm/bin`). They run with an empty home, an invented key, and nothing but the
offline provider to talk to.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
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
from tui_chat.offline.http_messages import HttpRequest
from tui_chat.offline.script import read_script
from tui_chat.offline.server import serve
from tui_chat.plugins.tap.held_request import editable_text
from tui_chat.plugins.tap.held_table import decide, waiting_requests
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.inspector.views.rows_view import RowsView

KEY = "sk-planted-0123456789abcdefghij"
PACKAGES = (
    "@anthropic-ai/claude-code",
    "@openai/codex",
    "@google/gemini-cli",
    "opencode-ai",
    "@mariozechner/pi-coding-agent",
)
PORT = 18_788


@pytest.fixture(scope="session")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the clients."""
    if os.environ.get("TUI_CHAT_PEERS") != "1":
        pytest.skip("a peer test: set TUI_CHAT_PEERS=1 to install and run real clients")
    if folder := os.environ.get("TUI_CHAT_CLIENTS"):
        return Path(folder)
    if shutil.which("npm") is None:
        pytest.skip("a peer test: npm is not on this machine")
    folder = tmp_path_factory.mktemp("clients")
    flags = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder))
    run("npm", "install", *flags, *PACKAGES, seconds=600)
    run(sys.executable, "-m", "venv", str(folder / "llm"))
    run(str(folder / "llm/bin/python"), "-m", "pip", "install", "-q", "llm", seconds=300)
    return folder


def run(*command: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        pytest.skip(f"a peer test: {command[0]} failed: {done.stderr[-300:]}")
    return done


@contextmanager
def upstream(script: Any, received: list[HttpRequest]) -> Iterator[str]:
    """Serve a script from a thread; yield the address."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    address, stop = [""], asyncio.Event()

    async def run() -> None:
        played = read_script(json.dumps(script).encode())
        async with serve(alias="script", script=played, on_request=received.append) as server:
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
    return "".join("".join(row.text for row in view.rows).split())


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
            assert await workspace.viewed_requests.view_sent(listed[-1].message_id)
            inspector = app.query_one(Inspector)
            inspector.view_shown = "request"
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
        tap = [sys.executable, "-m", "tui_chat", "--data-dir", str(tmp_path / "data"), "tap"]
        address = ["--listen", str(listen)] if listen else []
        output = ["--output", str(lines)]
        with upstream(script, received) as base:
            done = subprocess.run(
                [*tap, *address, *flags, "--upstream", base, *output, "--", *command],
                env={"PATH": os.environ["PATH"], "HOME": str(home), **environ},
                cwd=home / "work",
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
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


def main_calls(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of the conversation with the largest requests, without side calls."""
    largest = max(calls, key=lambda call: call["request"]["bytes"])["conversation"]["number"]
    return [call for call in calls if call["conversation"]["number"] == largest]


def test_claude_code_with_a_tool_and_a_refusal(clients: Path, tapped: Tapped, tmp_path: Path):
    (tmp_path / "note.txt").write_text("the ferry leaves at dawn")
    arguments = {"file_path": str(tmp_path / "note.txt")}
    script = [
        {"text": "I look.", "tool_calls": [{"name": "Read", "arguments": arguments}]},
        {"fail": [529], "reasoning": "Hm.", "text": "At dawn."},
    ]
    package = clients / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    question = ("-p", "When does the ferry leave?", "--allowedTools", "Read")
    done, calls = tapped(script, str(package), *question, ANTHROPIC_API_KEY=KEY)
    assert done.stdout.strip() == "At dawn."
    calls = main_calls(calls)
    assert [call["response"]["status"] for call in calls] == [200, 529, 200]
    assert [call["conversation"]["is_retry"] for call in calls] == [False, False, True]
    assert {call["request"]["protocol"] for call in calls} == {"anthropic"}
    added = calls[1]["compared"]["messages"]["added"]
    assert [each["role"] for each in added][:2] == ["assistant", "tool"]
    assert "the ferry leaves at dawn" in calls[1]["request"]["body"]
    check_forecast(calls[-1], calls[-1]["reply"]["usage"]["cached"])
    assert not calls[-1]["notes"]


def check_forecast(call: dict[str, Any], cached: int) -> None:
    """The forecast is an upper bound of what the cache served, but for the estimate of tokens."""
    cache = call["compared"]["cache"]
    assert cache["kind"] == "grown"
    assert cached > 1024
    assert 0.6 * cached < cache["served"] < 1.7 * cached


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
    flags = ("--pause", "body:ferry")
    with edited_in_an_app(tmp_path / "data", "ferry", "night train"):
        command = (sys.executable, "-c", SDK)
        done, calls = tapped(["It leaves."], *command, flags=flags, OPENAI_API_KEY=KEY)
    assert done.stdout.strip() == "It leaves."
    check_edited(calls, "ferry", "night train")


def test_a_held_request_of_claude_code_is_edited_and_sent_on(
    clients: Path, tapped: Tapped, tmp_path: Path
):
    package = clients / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    command = (str(package), "-p", "When does the ferry leave?")
    flags = ("--pause", "body:the ferry leave")
    with edited_in_an_app(tmp_path / "data", "the ferry leave", "the night train leave"):
        done, calls = tapped(["At dawn."], *command, flags=flags, ANTHROPIC_API_KEY=KEY)
    assert done.stdout.strip() == "At dawn."
    check_edited(main_calls(calls), "the ferry leave", "the night train leave")


def test_codex_with_a_tool(clients: Path, tapped: Tapped):
    call = {"name": "exec_command", "arguments": {"cmd": "echo the ferry"}}
    first = {"reasoning": "Hm.", "text": "I run it.", "tool_calls": [call]}
    (codex,) = clients.glob("node_modules/@openai/codex-linux-x64/vendor/*/bin/codex")
    url = "{OPENAI_BASE_URL}"
    provider = f'{{name="tap",base_url="{url}",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    settings = ("-c", f"model_providers.tap={provider}", "-c", "model_provider=tap")
    command = (str(codex), "exec", "--skip-git-repo-check", *settings, "-m", "gpt-x", "run it")
    script = [first, "It said: the ferry."]
    done, calls = tapped(script, *command, OPENAI_API_KEY=KEY)
    assert "It said: the ferry." in done.stdout
    one, two = main_calls(calls)
    assert one["request"]["protocol"] == "openai_responses"
    assert one["reply"]["tool_calls"][0]["name"] == "exec_command"
    assert "the ferry" in two["request"]["body"]
    check_forecast(two, two["reply"]["usage"]["cached"])


def test_gemini_cli(clients: Path, tapped: Tapped, tmp_path: Path):
    folder = tmp_path / "home/.gemini"
    folder.mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps(settings))
    environ = {"GEMINI_API_KEY": KEY, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    command = (str(clients / "node_modules/.bin/gemini"), "-m", "gemini-x", "-p", "Hi")
    done, calls = tapped(["Hello from the script."], *command, **environ)
    assert "Hello from the script." in done.stdout
    (call,) = main_calls(calls)
    assert (call["request"]["protocol"], call["response"]["outcome"]) == ("gemini", "complete")
    assert call["request"]["model"] == "gemini-x"


def test_opencode(clients: Path, tapped: Tapped):
    options = {"baseURL": "{OPENAI_BASE_URL}", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"gpt-5": {}}}
    configuration = json.dumps({"provider": {"tap": provider}})
    program = str(clients / "node_modules/opencode-linux-x64/bin/opencode")
    variable = f"OPENCODE_CONFIG_CONTENT={configuration}"
    command = ("env", variable, program, "run", "-m", "tap/gpt-5", "Hi")
    done, calls = tapped(["Hello."], *command)
    assert "Hello." in done.stdout
    (call,) = main_calls(calls)
    assert call["program"]["name"] == "opencode"


def test_pi(clients: Path, tapped: Tapped, tmp_path: Path):
    folder = tmp_path / "home/.pi/agent"
    folder.mkdir(parents=True)
    model = {"id": "m", "name": "m", "contextWindow": 100_000, "maxTokens": 1000}
    model |= {"reasoning": False, "input": ["text"]}
    model |= {"cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": f"http://127.0.0.1:{PORT}/v1", "api": "openai-completions"}
    provider |= {"apiKey": KEY, "models": [model]}
    (folder / "models.json").write_text(json.dumps({"providers": {"tap": provider}}))
    command = (
        str(clients / "node_modules/.bin/pi"),
        "-p",
        "--provider",
        "tap",
        "--model",
        "m",
        "Hi",
    )
    done, calls = tapped(["Hello."], *command, listen=PORT, PI_OFFLINE="1")
    assert "Hello." in done.stdout
    assert main_calls(calls)[0]["request"]["protocol"] == "openai_chat"


def test_llm(clients: Path, tapped: Tapped):
    program = str(clients / "llm/bin/llm")
    done, calls = tapped(["Hello."], program, "-m", "gpt-4o-mini", "Hi", OPENAI_API_KEY=KEY)
    assert done.stdout.strip() == "Hello."
    (call,) = calls
    assert call["program"] == {"name": "llm", "version": None}
    assert call["seconds"]["first_token"] is not None
