"""The environment of a command behind the tap: variables that name the proxy to clients."""

from __future__ import annotations

from collections.abc import Mapping

from tui_chat.plugins.tap.upstreams import Upstream


def client_variables(base_url: str, upstream: Upstream | None) -> dict[str, str]:
    """Return the variables that let clients send their requests to a proxy.

    OpenAI's programs expect the version in the base URL, the others do not. An upstream's own path
    is part of what they are told.
    """
    path = upstream.path if upstream is not None else ""
    openai = base_url + (path or "/v1")
    other = base_url + path.removesuffix("/v1")
    variables = {
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": openai,
        "ANTHROPIC_BASE_URL": other,
        "GOOGLE_GEMINI_BASE_URL": other.removesuffix("/v1beta"),
    }
    if upstream is not None:  # without one, requests would go to another provider than theirs
        names = ("DEEPSEEK_BASE_URL", "KIMI_BASE_URL", "OPENROUTER_BASE_URL")
        variables |= dict.fromkeys(names, openai) | {"OLLAMA_HOST": base_url}
    return variables


def with_variables(word: str, variables: Mapping[str, str]) -> str:
    """Return an argument of a command with the values of variables that it names in braces."""
    for name, value in variables.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def no_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep requests to this machine from going through a proxy."""
    own = "127.0.0.1,localhost"
    return {
        name: f"{environ[name]},{own}" if environ.get(name) else own
        for name in ("NO_PROXY", "no_proxy")
    }
