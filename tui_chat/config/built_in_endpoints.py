"""The endpoints that exist without any configuration; a provider needs only its key.

An entry of `config.toml` with the name of one of these replaces only what it sets. The models
listed here are a beginning, the newest of each family (`current_models.json`);
`tui-chat endpoints test NAME` lists all that a server has.

What follows from a model's name on any endpoint is in `models.model_facts`. The facts here are
those of one provider: what its server does with every model, and model names that mean this model
only there. A longer pattern goes before a shorter one, fact by fact. `config.toml` overrides them:
`[endpoints.openai.facts."gpt-5*"]`, `[models."gpt-5*"]`. `models.model_facts` explains the marks of
evidence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui_chat import hooks
from tui_chat.api import OfflineProvider
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.model_facts import ModelFacts

LOOPBACK_URL = "http://loopback.invalid"
"""The URL of the offline provider. Its top-level domain can never exist (RFC 6761), so a stray
request would reach nobody."""

_OFFLINE = Endpoint(
    *("loopback", Protocol.OPENAI_CHAT, f"{LOOPBACK_URL}/v1"), models=("mirror", "echo", "lorem")
)

_OPENAI_FACTS = (
    # “Unrecognized request argument supplied”, “Additional properties are not allowed”
    # [I: tg-spam#304, langchain_dart#712, openai-node#1161].
    ("*", ModelFacts(strict_keys=True)),
)

_DEEPSEEK_FACTS = (
    ("deepseek-chat", ModelFacts(131_072)),
    ("deepseek-reasoner", ModelFacts(131_072)),
    ("deepseek-v4*", ModelFacts(1_000_000)),
    ("deepseek-flash", ModelFacts(1_000_000)),
)

_MISTRAL_FACTS = (
    # Refuses `stream_options` and whatever else it does not know; sends usage unasked
    # [I: openai-agents-python#442, tabby#4082, eca#231].
    ("*", ModelFacts(strict_keys=True, stream_usage=False)),
    ("mistral-large-4*", ModelFacts(1_048_576)),
    ("mistral-large-latest", ModelFacts(262_144)),
    ("mistral-medium-latest", ModelFacts(262_144)),
    ("mistral-small-latest", ModelFacts(262_144)),
    ("magistral-*", ModelFacts(262_144)),
    ("codestral-latest", ModelFacts(128_000)),
)

_GROQ_FACTS = (
    ("openai/gpt-oss-*", ModelFacts(131_072)),
    ("qwen/qwen3.8-27b", ModelFacts(131_072)),
)

_CURRENT: dict[str, tuple[str, ...]] = {
    name: tuple(models)
    for name, models in json.loads(
        Path(__file__).with_name("current_models.json").read_text(encoding="utf-8")
    ).items()
}
"""Written by `docs/dev/refresh_facts.py`, so that no list here is older than the facts."""


_CHAT = Protocol.OPENAI_CHAT
_OPENAI_URL = "https://api.openai.com/v1"
_Facts = tuple[tuple[str, ModelFacts], ...]


def _provider(
    name: str, protocol: Protocol, url: str, facts: _Facts = (), *, key: str = "", **others: Any
) -> Endpoint:
    """Return an endpoint whose key is in the environment, in `NAME_API_KEY` unless `key` says."""
    others = {"models": _CURRENT.get(name, ()), "server_facts": facts} | others
    return Endpoint(name, protocol, url, key=f"env:{key or name.upper()}_API_KEY", **others)


_OLD_KEY: dict[str, Any] = {"max_tokens_key": "max_tokens"}
"""For servers that refuse or silently ignore the newer name."""
PROVIDERS = (
    _provider("openai", _CHAT, _OPENAI_URL, _OPENAI_FACTS),
    _provider(
        *("openai-responses", Protocol.OPENAI_RESPONSES, _OPENAI_URL, _OPENAI_FACTS),
        key="OPENAI",
        models=_CURRENT["openai"],
    ),
    _provider("anthropic", Protocol.ANTHROPIC, "https://api.anthropic.com"),
    _provider("google", Protocol.GEMINI, "https://generativelanguage.googleapis.com", key="GEMINI"),
    _provider(
        *("openrouter", _CHAT, "https://openrouter.ai/api/v1"),
        models=("openrouter/auto",),
        **_OLD_KEY,
    ),
    _provider("deepseek", _CHAT, "https://api.deepseek.com", _DEEPSEEK_FACTS, **_OLD_KEY),
    _provider("mistral", _CHAT, "https://api.mistral.ai/v1", _MISTRAL_FACTS, **_OLD_KEY),
    _provider("groq", _CHAT, "https://api.groq.com/openai/v1", _GROQ_FACTS),
)

_LOCAL_PORTS = (("ollama", 11434), ("llama.cpp", 8080), ("lm-studio", 1234), ("vllm", 8000))

LOCAL = (
    *(
        Endpoint(name, _CHAT, f"http://127.0.0.1:{port}/v1", **_OLD_KEY)
        for name, port in _LOCAL_PORTS
    ),
    Endpoint("ollama-native", Protocol.OLLAMA, "http://127.0.0.1:11434"),
)
"""Servers on this machine, at their default ports. `providers.discovery` lists their models on
demand."""


def default_endpoints() -> tuple[Endpoint, ...]:
    """Return the endpoints that exist without configuration, those of the offline provider
    first.
    """
    providers = hooks.load_all("offline provider", OfflineProvider)
    offline = tuple(endpoint for provider in providers for endpoint in provider.endpoints)
    return (*(offline or (_OFFLINE,)), *PROVIDERS, *LOCAL)


def repeats_offline_models(endpoint: Endpoint) -> bool:
    """Return True for a built-in endpoint of the offline provider whose models are those of
    `loopback`, in another protocol. A list need not name them again.
    """
    _, *others = default_endpoints()
    return endpoint in others and endpoint.base_url.startswith(LOOPBACK_URL)


def standard_endpoint(protocol: Protocol) -> str:
    """Return the default endpoint of a protocol."""
    endpoints = (*PROVIDERS, *LOCAL)
    return next(endpoint.name for endpoint in endpoints if endpoint.protocol is protocol)
