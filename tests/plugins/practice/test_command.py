"""`tui-chat practice`."""

from __future__ import annotations

import re
import signal

import pytest

from tests.support.program import PIPE, Program, run_program
from tests.support.sdks import anthropic, openai


@pytest.fixture
def base():
    server = Program(("practice", "--port", "0"), stdout=PIPE, stderr=PIPE)
    found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline().decode())
    yield found[0]
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=20)
    assert server.returncode == 0
    assert b"Traceback" not in said


@pytest.mark.slow
def test_official_sdks_work_with_it(base: str):
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


@pytest.mark.slow
def test_a_public_address_is_refused():
    done = run_program("practice", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "0.0.0.0" in done.stderr
    assert "Traceback" not in done.stderr
