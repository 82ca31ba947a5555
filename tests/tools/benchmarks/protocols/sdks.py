"""What the official SDKs take to read, with their own accumulators."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

from tests.tools.benchmarks.protocols.given import PROTOCOLS, Figures, best


def sdk_reading(url: str) -> Figures:
    """Return the seconds that the official SDKs take, with their own accumulators."""
    chat = openai.OpenAI(api_key="k", base_url=f"{url}/openai_chat", max_retries=0)
    responses = openai.OpenAI(api_key="k", base_url=f"{url}/openai_responses", max_retries=0)
    messages = anthropic.Anthropic(api_key="k", base_url=f"{url}/anthropic", max_retries=0)
    gemini = genai.Client(
        api_key="k",
        http_options=types.HttpOptions(base_url=f"{url}/gemini", api_version="v1beta"),
    )
    said: Any = [{"role": "user", "content": "go"}]

    def read_chat() -> None:
        with chat.chat.completions.stream(model="m", messages=said) as stream:
            assert len(stream.get_final_completion().choices[0].message.content or "") > 1000

    def read_responses() -> None:
        with responses.responses.stream(model="m", input=said) as stream:
            assert len(stream.get_final_response().output_text) > 1000

    def read_messages() -> None:
        with messages.messages.stream(model="m", messages=said, max_tokens=9) as stream:
            assert len(stream.get_final_text()) > 1000

    def read_gemini() -> None:  # this SDK has no accumulator: its user joins the chunks
        chunks = gemini.models.generate_content_stream(model="m", contents="go")
        assert len("".join(chunk.text or "" for chunk in chunks)) > 1000

    works = (read_chat, read_responses, read_messages, read_gemini)
    return {name: {"SDK": best(work)} for name, work in zip(PROTOCOLS, works, strict=True)}
