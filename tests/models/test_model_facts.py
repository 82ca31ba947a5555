"""Facts follow a model's name, in whichever spelling a provider, cloud or gateway has it."""

from __future__ import annotations

import pytest

from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.model_facts import (
    NO_FACTS,
    ModelFacts,
    is_newer_claude,
    is_openai_model,
    known_facts,
)

SPELLINGS = {
    "claude-sonnet-4-5": [
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-sonnet-4.5",
        "openrouter/anthropic/claude-sonnet-4.5:beta",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5-latest",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0",
        "databricks-claude-sonnet-4-5",
        "anthropic:claude-sonnet-4-5",
        "Claude-Sonnet-4.5",
        "claude-4.5-sonnet",
        "claude-sonnet-4-5[1m]",
    ],
    "claude-opus-4-0": ["claude-opus-4-20250514", "claude-opus-4@20250514", "claude-4-opus"],
    "claude-opus-4-1": ["claude-opus-4-1-20250805", "anthropic/claude-opus-4.1"],
    "claude-sonnet-3-7": ["claude-3-7-sonnet-20250219", "anthropic/claude-3.7-sonnet:thinking"],
    "gpt-5-mini": ["openai/gpt-5-mini", "gpt-5-mini-2025-08-07", "azure/gpt-5-mini"],
    "gpt-5": ["openai/gpt-5:online", "gpt-5-2025-08-07", "openai:gpt-5"],
    "gpt-5.1": ["openai/gpt-5.1", "gpt-5.1-2025-11-13"],
    "o3": ["openai/o3", "o3-2025-04-16"],
    "gpt-4o": ["ft:gpt-4o-2024-08-06:org:name:id"],
    "gemini-2.5-pro": ["models/gemini-2.5-pro", "google/gemini-2.5-pro", "gemini-2.5-pro-latest"],
}


@pytest.mark.parametrize(
    ("name", "spelled"), [(name, each) for name, many in SPELLINGS.items() for each in many]
)
def test_a_spelling_changes_no_fact(name: str, spelled: str) -> None:
    assert known_facts(name) is not NO_FACTS
    assert known_facts(spelled) == known_facts(name)


NEWER = ["claude-opus-4-9", "claude-fable-5-1", "claude-haiku-5-5", "us.anthropic.claude-opus-6"]
NOBODY = [
    "", "m", "gpt-5.10", "o10", "gpt-oss-120b", "my-gpt-5", "claudette-7b", "llama3",
    "qwen3-distill-claude-sonnet-4-5", "claude-sonnet-4-5-distill-qwen-7b", "gpt-5-distilled",
]  # fmt: skip


@pytest.mark.parametrize("name", NEWER)
def test_nothing_is_claimed_of_a_claude_that_nobody_knows(name: str) -> None:
    assert known_facts(name) is NO_FACTS
    assert is_newer_claude(name)


@pytest.mark.parametrize("name", NOBODY)
def test_nothing_is_known_of_other_names(name: str) -> None:
    assert known_facts(name) is NO_FACTS
    assert not is_newer_claude(name)


SAMPLING = {
    "claude-haiku-4-5": True, "claude-sonnet-4-5": True, "claude-opus-4-5": True,
    "claude-opus-4-6": True, "claude-sonnet-4-6": True, "claude-opus-4-1": True,
    "claude-3-5-haiku-latest": True, "claude-2.1": True, "claude-opus-4-7": False,
    "claude-opus-4-8": False, "claude-sonnet-5": False, "claude-opus-5": False,
    "claude-fable-5": False, "claude-mythos-5": False, "gpt-5": False, "o4-mini": False,
    "gpt-5-chat-latest": True, "gpt-5.5-pro": False,
}  # fmt: skip


@pytest.mark.parametrize("model", SAMPLING)
def test_who_takes_sampling_settings(model: str) -> None:
    assert known_facts(model).sampling is SAMPLING[model]


OUTPUT = {
    "claude-opus-4-8": 128_000, "claude-sonnet-4-6": 128_000, "claude-haiku-4-5": 64_000,
    "claude-opus-4-5": 64_000, "claude-sonnet-4-0": 64_000, "claude-3-7-sonnet": 64_000,
    "claude-opus-4-1": 32_000, "claude-3-5-haiku-20241022": 8_192, "claude-3-opus-latest": 4_096,
    "gemini-2.5-flash": 65_536, "gemini-3.1-pro": 65_536, "gpt-5": None,
}  # fmt: skip


@pytest.mark.parametrize("model", OUTPUT)
def test_how_much_a_model_writes_at_most(model: str) -> None:
    assert known_facts(model).max_output == OUTPUT[model]


def test_what_an_endpoint_says_goes_before_what_the_name_tells() -> None:
    facts = (("anthropic/claude-*", ModelFacts(sampling=False, max_output=9)),)
    endpoint = Endpoint("e", Protocol.ANTHROPIC, "https://e", facts=facts)
    here = endpoint.facts_of("anthropic/claude-sonnet-4.5")
    assert (here.sampling, here.max_output, here.context_limit) == (False, 9, 200_000)


def test_which_names_are_openais_own() -> None:
    assert all(map(is_openai_model, ["gpt-4o", "openai/o3-mini", "chatgpt-4o-latest", "o1"]))
    assert not any(map(is_openai_model, ["gpt-oss-20b", "olmo-3", "claude-opus-4-8", "o"]))
