"""A server that is not ours: the npm package `@copilotkit/aimock`, on a loopback port.

    TUI_CHAT_PEERS=1 uv run pytest tests/tools/peers/aimock.py

It is installed into a temporary folder; `TUI_CHAT_AIMOCK=FOLDER` takes one that is there (the
folder that holds `node_modules`).
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "@copilotkit/aimock"
REASONING = "The ferry leaves at dawn, so the answer must be early."
TEXT = 'Grüße 😀 \u2028 "quotes" \\ back </script> ' + "and a long tail of words " * 20
SIGNATURE = "c2lnbmF0dXJlLW9mLWFpbW9jay1mb3ItdGVzdHM="

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 22,
    "total_tokens": 33,
    "input_tokens": 11,
    "output_tokens": 22,
    "promptTokenCount": 11,
    "candidatesTokenCount": 22,
    "totalTokenCount": 33,
}
"""In every provider's words; by itself aimock counts for OpenAI Chat only."""

FIXTURES = [
    {"match": {"userMessage": "say it"}, "response": {"content": TEXT, "usage": USAGE}},
    {
        "match": {"userMessage": "think first"},
        "response": {"content": "At six.", "reasoning": REASONING, "reasoningSignature": SIGNATURE},
    },
    {
        "match": {"userMessage": "weather", "hasToolResult": True},
        "response": {"content": "It rains in Oslo."},
    },
    {
        "match": {"userMessage": "weather", "hasToolResult": False},
        "response": {
            "toolCalls": [
                {"name": "weather_now_", "arguments": '{"city":"Oslo"}'},
                {"name": "clock", "arguments": "{}"},
            ]
        },
    },
    {
        "match": {"userMessage": "refuse"},
        "response": {
            "error": {"message": "The prompt is too rude.", "type": "invalid_request_error"},
            "status": 400,
        },
    },
    {
        "match": {"userMessage": "too fast", "sequenceIndex": 0},
        "response": {
            "error": {"message": "Rate limit reached.", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 3,
        },
    },
    {"match": {"userMessage": "too fast"}, "response": {"content": "Now I have time."}},
    {
        "match": {"userMessage": "cut"},
        "response": {"content": "I was going to tell you about the ferry " * 10},
        "chunkSize": 10,
        "truncateAfterChunks": 8,
        "latency": 30,  # without it the socket is gone before its first bytes
    },
    {
        "match": {"userMessage": "length"},
        "response": {"content": "one two", "finishReason": "length"},
    },
]


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a running aimock."""
    if os.environ.get("TUI_CHAT_PEERS") != "1":
        pytest.skip("a peer test: set TUI_CHAT_PEERS=1 to install and run aimock")
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("a peer test: node and npm are not on this machine")
    folder = Path(os.environ.get("TUI_CHAT_AIMOCK") or _installed(tmp_path_factory.mktemp("npm")))
    fixtures = tmp_path_factory.mktemp("fixtures") / "ours.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = folder / "node_modules" / PACKAGE / "dist" / "cli.js"
    log = (tmp_path_factory.mktemp("log") / "aimock.log").open("wb")
    process = subprocess.Popen(
        ["node", str(program), "-p", str(port), "-f", str(fixtures), "--strict"],
        stdout=log,
        stderr=subprocess.STDOUT,
        cwd=fixtures.parent,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=10)
        log.close()


def _installed(folder: Path) -> Path:
    done = subprocess.run(
        ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", PACKAGE],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        pytest.skip(f"a peer test: {PACKAGE} could not be installed: {done.stderr[-300:]}")
    return folder


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(f"{url}/health", timeout=1).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            assert process.poll() is None, "aimock ended by itself"
            time.sleep(0.1)
        else:
            return
    raise AssertionError("aimock did not start")
