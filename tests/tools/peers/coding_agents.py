"""Coding agents through the tap, against an upstream of ours.

    TUI_CHAT_PEERS=1 uv run pytest tests/tools/peers/coding_agents.py

What the JSON lines and the app's Request view show of each call is what the upstream received,
credentials aside. Claude Code, Codex, Gemini CLI, opencode and pi are installed from npm and llm
from PyPI, into a temporary folder; `TUI_CHAT_CLIENTS=FOLDER` takes one that is there (with
`node_modules` and `llm/bin`). They run with an empty home, an invented key, and nothing but the
offline provider to talk to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.tap.test_clients import KEY, Tapped, check_edited, edited_in_an_app, tapped

__all__ = ["tapped"]

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


def test_a_held_request_of_claude_code_is_edited_and_sent_on(
    clients: Path, tapped: Tapped, tmp_path: Path
):
    package = clients / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    command = (str(package), "-p", "When does the ferry leave?")
    flags = ("--pause", "the ferry leave")
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
