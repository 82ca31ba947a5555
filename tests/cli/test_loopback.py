"""`tui-chat loopback`, as another program uses it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import anthropic
import openai
import pytest


@pytest.fixture
def base():
    server = subprocess.Popen(
        [sys.executable, "-m", "tui_chat", "loopback", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
    assert found is not None
    yield found[0]
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=20)
    assert server.returncode == 0
    assert "Traceback" not in said


def test_an_official_sdk_chats_with_it(base: str):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="any")
    chat = client.chat.completions.create(
        model="echo", messages=[{"role": "user", "content": "hello"}]
    )
    assert chat.choices[0].message.content == "hello"
    claude = anthropic.Anthropic(base_url=base, api_key="any")
    with claude.messages.stream(
        model="echo", max_tokens=100, messages=[{"role": "user", "content": "again"}]
    ) as stream:
        assert "".join(stream.text_stream) == "again"


def test_an_address_that_others_can_reach_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "tui_chat", "loopback", "--host", "0.0.0.0", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert "0.0.0.0" in done.stderr
    assert "Traceback" not in done.stderr
