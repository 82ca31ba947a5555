"""Base URLs as people paste them, and where requests go then."""

from __future__ import annotations

import pytest

from tests.support.tables import each_row
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.registry import read_base_url, request_url, with_scheme

CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI, OLLAMA = Protocol.ANTHROPIC, Protocol.GEMINI, Protocol.OLLAMA
OPENAI, CLAUDE = "https://api.openai.com", "https://api.anthropic.com"
GOOGLE = "https://generativelanguage.googleapis.com"
AZURE, VERTEX = "https://res.openai.azure.com", "https://l-aiplatform.googleapis.com/v1/projects/p"

TYPED: list[tuple[Protocol, str, list[str]]] = [
    (CHAT, f"{OPENAI}/v1/chat/completions",
     [OPENAI, f"{OPENAI}/", f"{OPENAI}/v1", f"{OPENAI}/v1/", f" {OPENAI}/v1//\n",
      f"{OPENAI}/v1/chat/completions", f"{OPENAI}/v1/chat/completions/", f"{OPENAI}/v1/models",
      "api.openai.com", "api.openai.com/v1", "HTTPS://api.openai.com/v1"]),
    (RESPONSES, f"{OPENAI}/v1/responses", [OPENAI, f"{OPENAI}/v1", f"{OPENAI}/v1/responses"]),
    (ANTHROPIC, f"{CLAUDE}/v1/messages",
     [CLAUDE, f"{CLAUDE}/", f"{CLAUDE}/v1", f"{CLAUDE}/v1/", f"{CLAUDE}/v1/messages",
      f"{CLAUDE}/v1/messages/count_tokens", f"{CLAUDE}/v1/models"]),
    (ANTHROPIC, "https://h/anthropic/v1/messages", ["https://h/anthropic", "https://h/anthropic/v1"]),
    (GEMINI, f"{GOOGLE}/v1beta/models/M:streamGenerateContent?alt=sse",
     [GOOGLE, f"{GOOGLE}/v1beta", f"{GOOGLE}/v1beta/", f"{GOOGLE}/v1beta/models",
      f"{GOOGLE}/v1beta/models/gemini-x:generateContent",
      f"{GOOGLE}/v1beta/models/gemini-x:streamGenerateContent?alt=sse"]),
    (GEMINI, f"{GOOGLE}/v1/models/M:streamGenerateContent?alt=sse", [f"{GOOGLE}/v1"]),
    (GEMINI, f"{VERTEX}/locations/l/publishers/google/models/M:streamGenerateContent?alt=sse",
     [f"{VERTEX}/locations/l/publishers/google", f"{VERTEX}/locations/l/publishers/google/models"]),
    (CHAT, f"{GOOGLE}/v1beta/openai/chat/completions",
     [f"{GOOGLE}/v1beta/openai", f"{GOOGLE}/v1beta/openai/"]),
    (CHAT, "https://openrouter.ai/api/v1/chat/completions",
     ["https://openrouter.ai", "https://openrouter.ai/api", "https://openrouter.ai/api/v1"]),
    (CHAT, f"{AZURE}/openai/v1/chat/completions",
     [AZURE, f"{AZURE}/openai", f"{AZURE}/openai/v1/"]),
    (CHAT, f"{AZURE}/openai/deployments/d/chat/completions?api-version=1",
     [f"{AZURE}/openai/deployments/d?api-version=1",
      f"{AZURE}/openai/deployments/d/chat/completions?api-version=1"]),
    (CHAT, "http://localhost:11434/v1/chat/completions",
     ["http://localhost:11434", "http://localhost:11434/v1", "http://localhost:11434/api",
      "http://localhost:11434/api/chat", "localhost:11434"]),
    (OLLAMA, "http://localhost:11434/api/chat",
     ["http://localhost:11434", "http://localhost:11434/api", "localhost:11434/api/chat",
      "http://localhost:11434/api/tags", "http://localhost:11434/v1", "localhost:11434/"]),
    (OLLAMA, "https://ollama.com/api/chat", ["https://ollama.com", "ollama.com/api"]),
    (OLLAMA, "https://h/proxy/api/chat", ["https://h/proxy", "https://h/proxy/api/chat"]),
    (CHAT, "http://127.0.0.1:1234/v1/chat/completions", ["127.0.0.1:1234", "127.0.0.1:1234/v1"]),
    (CHAT, "http://[::1]:8000/v1/chat/completions", ["[::1]:8000"]),
    (CHAT, "http://192.168.1.5:8080/v1/chat/completions", ["192.168.1.5:8080"]),
    (CHAT, "https://api.deepseek.com/chat/completions", ["https://api.deepseek.com"]),
    (CHAT, "https://h/some/path/chat/completions", ["https://h/some/path", "https://h/some/path/"]),
]  # fmt: skip
PATHS = {
    CHAT: "/chat/completions",
    RESPONSES: "/responses",
    ANTHROPIC: "/v1/messages",
    GEMINI: "/v1beta/models/M:streamGenerateContent?alt=sse",
    OLLAMA: "/api/chat",
}


@each_row(
    ("protocol", "expected", "typed"),
    [(protocol, url, each) for protocol, url, many in TYPED for each in many],
)
def test_where_requests_go(protocol: Protocol, expected: str, typed: str) -> None:
    place = read_base_url(typed, protocol)
    read = Endpoint("e", protocol, place.url, api_version=place.api_version, query=place.query)
    path = PATHS[protocol]
    if place.api_version:
        path = path.replace("v1beta", place.api_version)
    assert request_url(read, path) == expected


@each_row(
    ("protocol", "expected", "typed"),
    [(p, url, each) for p, url, many in TYPED for each in many if each.count("/") > 3],
)
def test_a_version_is_never_doubled_however_an_endpoint_was_made(
    protocol: Protocol, expected: str, typed: str
) -> None:
    endpoint = Endpoint("e", protocol, with_scheme(typed.strip()))
    assert request_url(endpoint, PATHS[protocol]) == expected


@each_row(
    ("typed", "protocol", "owner"),
    [
        (f"{CLAUDE}/v1/messages", CHAT, "Anthropic"),
        (f"{OPENAI}/v1/chat/completions", RESPONSES, "OpenAI Chat"),
        (f"{OPENAI}/v1/responses", ANTHROPIC, "OpenAI Responses"),
        (f"{GOOGLE}/v1beta/models/m:generateContent", CHAT, "Gemini"),
        ("http://localhost:11434/v1/chat/completions", OLLAMA, "OpenAI Chat"),
    ],
)
def test_a_path_of_another_protocol_is_refused(typed: str, protocol: Protocol, owner: str) -> None:
    with pytest.raises(ValueError, match=owner):
        read_base_url(typed, protocol)


@each_row("text", ["sk-proj-0123456789", "AIzaSyA.b.C", "eyJhbGciOi.eyJzdWIi.SflKx"])
def test_what_looks_like_a_key_is_no_host(text: str) -> None:
    assert with_scheme(text) == text
