"""The endpoints that are there without configuration, and what is known of their models."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tui_chat.config import BUILT_IN_ENDPOINTS, Config
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol

BY_NAME = {endpoint.name: endpoint for endpoint in BUILT_IN_ENDPOINTS}


@pytest.mark.parametrize(
    "name",
    ["openai", "openai-responses", "anthropic", "google", "openrouter", "deepseek", "mistral",
     "groq", "ollama", "llama.cpp", "lm-studio", "vllm"],
)  # fmt: skip
def test_every_provider_has_an_entry(name: str):
    endpoint = BY_NAME[name]
    local = "127.0.0.1" in endpoint.base_url
    assert endpoint.base_url.startswith("http://127.0.0.1:" if local else "https://")
    assert endpoint.key == "" if local else endpoint.key.startswith("env:")
    assert bool(endpoint.models) is not local


def test_a_new_session_needs_no_key():
    assert Config().endpoint_named(Config().endpoint).key == ""


@pytest.mark.parametrize(
    ("endpoint", "model", "expected"),
    [
        ("openai", "gpt-5", ModelFacts(400_000, sampling=False, strict_keys=True)),
        ("openai", "gpt-5-mini-2025-08-07", ModelFacts(400_000, sampling=False, strict_keys=True)),
        ("openai", "gpt-5-chat-latest", ModelFacts(128_000, sampling=True, strict_keys=True)),
        ("openai", "gpt-5.1", ModelFacts(400_000, sampling_efforts=("", "none"), strict_keys=True)),
        (
            "openai",
            "gpt-5.4-pro",
            ModelFacts(1_050_000, sampling=False, sampling_efforts=("", "none"), strict_keys=True),
        ),
        ("openai", "gpt-4o-mini", ModelFacts(128_000, strict_keys=True)),
        (
            "openai",
            "o3-mini",
            ModelFacts(200_000, sampling=False, developer_role=True, strict_keys=True),
        ),
        (
            "openai",
            "o1-mini",
            ModelFacts(128_000, sampling=False, developer_role=False, strict_keys=True),
        ),
        ("openai", "nobody-knows", ModelFacts(strict_keys=True)),
        (
            "anthropic",
            "claude-haiku-4-5-20251001",
            ModelFacts(
                200_000,
                sampling=True,
                mid_history_system=False,
                prefill=True,
                max_output=64_000,
            ),
        ),
        (
            "anthropic",
            "claude-opus-4-8",
            ModelFacts(
                1_000_000,
                sampling=False,
                mid_history_system=True,
                prefill=False,
                max_output=128_000,
            ),
        ),
        ("mistral", "anything", ModelFacts(strict_keys=True, stream_usage=False)),
        ("ollama", "llama3", ModelFacts()),
    ],
)
def test_what_is_known_of_a_model(endpoint: str, model: str, expected: ModelFacts):
    assert BY_NAME[endpoint].facts_of(model) == expected


def test_the_exact_name_goes_before_patterns_and_the_longer_before_the_shorter():
    facts = (
        ("*", ModelFacts(1, sampling=True, prefill=True)),
        ("a*", ModelFacts(2, sampling=False)),
        ("ab*", ModelFacts(3)),
        ("ab", ModelFacts(4)),
    )
    endpoint = Endpoint("e", Protocol.GEMINI, "https://e", facts=facts)
    assert endpoint.facts_of("ab") == ModelFacts(4, sampling=False, prefill=True)
    assert endpoint.facts_of("abc") == ModelFacts(3, sampling=False, prefill=True)
    assert endpoint.facts_of("x") == ModelFacts(1, sampling=True, prefill=True)


def test_reading_no_file_loads_neither_pydantic_nor_httpx():
    code = (
        "import sys; from pathlib import Path; from tui_chat.config import load_config\n"
        "load_config(Path('/nowhere'), Path('/nowhere'), {}, {})\n"
        "print([m for m in ('pydantic', 'httpx', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
