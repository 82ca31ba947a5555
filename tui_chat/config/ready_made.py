"""The endpoints that are there without any configuration. A key is all that a provider needs.

An entry of `config.toml` with one of these names is laid over it: what it does not say stays.
Models that are offered here are a beginning; `endpoints test NAME` lists what there is.
"""

from __future__ import annotations

from tui_chat.config import facts
from tui_chat.models.endpoint import Endpoint, Protocol

LOOPBACK_URL = "http://loopback.invalid"
"""Where the offline provider answers. The top-level domain can exist nowhere (RFC 6761), so
a request that went astray would reach nobody."""

_OFFLINE_MODELS = (
    "mirror",
    "echo",
    "lorem",
    "thinker",
    "toolsmith",
    "flaky-429",
    "flaky-500",
    "flaky-cut",
    "flaky-stall",
)

OFFLINE = (
    Endpoint("loopback", Protocol.OPENAI_CHAT, f"{LOOPBACK_URL}/v1", models=_OFFLINE_MODELS),
    Endpoint(
        "loopback-responses",
        Protocol.OPENAI_RESPONSES,
        f"{LOOPBACK_URL}/v1",
        models=_OFFLINE_MODELS,
    ),
    Endpoint("loopback-anthropic", Protocol.ANTHROPIC, LOOPBACK_URL, models=_OFFLINE_MODELS),
    Endpoint("loopback-gemini", Protocol.GEMINI, LOOPBACK_URL, models=_OFFLINE_MODELS),
)

PROVIDERS = (
    Endpoint(
        "openai",
        Protocol.OPENAI_CHAT,
        "https://api.openai.com/v1",
        key="env:OPENAI_API_KEY",
        models=("gpt-5", "gpt-5-mini", "gpt-4.1"),
        facts=facts.OPENAI,
    ),
    Endpoint(
        "openai-responses",
        Protocol.OPENAI_RESPONSES,
        "https://api.openai.com/v1",
        key="env:OPENAI_API_KEY",
        models=("gpt-5", "gpt-5-mini", "gpt-4.1"),
        facts=facts.OPENAI,
    ),
    Endpoint(
        "anthropic",
        Protocol.ANTHROPIC,
        "https://api.anthropic.com",
        key="env:ANTHROPIC_API_KEY",
        models=("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-8"),
    ),
    Endpoint(
        "google",
        Protocol.GEMINI,
        "https://generativelanguage.googleapis.com",
        key="env:GEMINI_API_KEY",
        models=("gemini-2.5-flash", "gemini-2.5-pro"),
    ),
    Endpoint(
        "openrouter",
        Protocol.OPENAI_CHAT,
        "https://openrouter.ai/api/v1",
        key="env:OPENROUTER_API_KEY",
        models=("openrouter/auto",),
        max_tokens_key="max_tokens",
    ),
    Endpoint(
        "deepseek",
        Protocol.OPENAI_CHAT,
        "https://api.deepseek.com",
        key="env:DEEPSEEK_API_KEY",
        models=("deepseek-flash", "deepseek-v4-pro"),
        facts=facts.DEEPSEEK,
        max_tokens_key="max_tokens",  # the newer name is silently ignored
    ),
    Endpoint(
        "mistral",
        Protocol.OPENAI_CHAT,
        "https://api.mistral.ai/v1",
        key="env:MISTRAL_API_KEY",
        models=("mistral-medium-latest", "mistral-small-latest", "mistral-large-latest"),
        facts=facts.MISTRAL,
        max_tokens_key="max_tokens",  # the newer name is refused
    ),
    Endpoint(
        "groq",
        Protocol.OPENAI_CHAT,
        "https://api.groq.com/openai/v1",
        key="env:GROQ_API_KEY",
        models=("openai/gpt-oss-120b", "openai/gpt-oss-20b"),
        facts=facts.GROQ,
    ),
)

LOCAL = tuple(
    Endpoint(
        name,
        Protocol.OPENAI_CHAT,
        f"http://127.0.0.1:{port}/v1",
        max_tokens_key="max_tokens",
    )
    for name, port in (("ollama", 11434), ("llama.cpp", 8080), ("lm-studio", 1234), ("vllm", 8000))
)
"""Servers on this machine, at the ports they take by themselves. Which models they have is asked
only when somebody wants to know: `providers.discovery`."""

BUILT_IN_ENDPOINTS = (*OFFLINE, *PROVIDERS, *LOCAL)
