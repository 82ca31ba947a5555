"""The built-in endpoints and the facts of their models."""

from __future__ import annotations

from dataclasses import replace

from tests.support.tables import each_row
from tui_chat.config import Config, default_endpoints, standard_endpoint
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.model_facts import merged_facts, published_date

BY_NAME = {endpoint.name: endpoint for endpoint in default_endpoints()}


@each_row(
    "name",
    ["openai", "openai-responses", "anthropic", "google", "openrouter", "deepseek", "mistral",
     "groq", "ollama", "llama.cpp", "lm-studio", "vllm"],
)  # fmt: skip
def test_every_provider_has_a_built_in_endpoint(name: str):
    endpoint = BY_NAME[name]
    local = "127.0.0.1" in endpoint.base_url
    assert endpoint.base_url.startswith("http://127.0.0.1:" if local else "https://")
    assert endpoint.key == "" if local else endpoint.key.startswith("env:")
    assert bool(endpoint.models) is not local


def test_a_model_may_be_named_with_its_endpoint():
    config = Config(endpoints=default_endpoints())
    current = config.endpoint_named("loopback")

    def named(words: str) -> tuple[str, str]:
        endpoint, model = config.endpoint_and_model(words, current)
        return endpoint.name, model

    assert named("openai/gpt-x") == ("openai", "gpt-x")
    assert named("echo") == ("loopback", "echo")
    assert named("nobody/echo") == ("loopback", "nobody/echo")
    assert named("openrouter/auto") == ("openrouter", "openrouter/auto"), "it is listed so"


def test_the_default_endpoint_needs_no_key():
    assert Config().endpoint_named(Config().endpoint).key == ""


@each_row(
    ("endpoint", "model", "expected"),
    [
        ("openai", "gpt-5", ModelFacts(400_000, sampling=False, strict_keys=True)),
        ("openai", "nobody-knows", ModelFacts(strict_keys=True)),
        (
            "anthropic",
            "claude-opus-4-8",
            ModelFacts(
                1_000_000, False, mid_history_system=True, prefill=False, max_output=128_000
            ),
        ),
        ("mistral", "anything", ModelFacts(strict_keys=True, stream_usage=False)),
        ("ollama", "llama3", ModelFacts()),
    ],
)
def test_facts_of_models(endpoint: str, model: str, expected: ModelFacts):
    assert replace(unpublished_facts(BY_NAME[endpoint], model), **REASONING) == expected


def unpublished_facts(endpoint: Endpoint, model: str) -> ModelFacts:
    """Return the facts about a model without those that the next refresh may change."""
    sources = list(endpoint.facts_by_source(model))
    assert sources[-1][0] == f"published on {published_date()}"
    return merged_facts(facts for _, facts in sources[:-1])


REASONING = dict.fromkeys(
    (
        *("efforts", "reasons_by_default", "budgets", "adaptive_thinking", "forced_tools"),
        *("stop", "response_schema", "hosted_beside_functions"),
    )
)


def test_published_facts_count_last_and_at_their_host_only():
    groq = BY_NAME["groq"]
    elsewhere = replace(groq, base_url="https://llm.example.org/v1")
    assert groq.facts_of("llama-3.3-70b-versatile").context_limit == 131_072
    assert elsewhere.facts_of("llama-3.3-70b-versatile") == ModelFacts()
    hidden = replace(groq, base_url="https://api.groq.com.example.org/v1")
    assert hidden.facts_of("llama-3.3-70b-versatile") == ModelFacts()
    mine = replace(elsewhere, facts=(("gpt-4o", ModelFacts(input_media=("text",))),))
    assert "image" in (elsewhere.facts_of("openai/gpt-4o").input_media or ())
    assert mine.facts_of("gpt-4o").input_media == ("text",)


def test_exact_names_go_before_patterns_and_longer_before_shorter_ones():
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


@each_row("protocol", Protocol)
def test_each_protocol_has_a_standard_endpoint(protocol: Protocol):
    assert BY_NAME[standard_endpoint(protocol)].protocol is protocol
