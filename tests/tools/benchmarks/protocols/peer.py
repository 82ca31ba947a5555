"""What litellm takes. Run by an interpreter that has it, and that need have nothing of ours.

python -m tests.tools.benchmarks.protocols.peer URL TURNS PLACE
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tools.benchmarks.protocols.given import PROTOCOLS, TOOLS, Figures, best, conversation

LITELLM = ("litellm", "mcp")
"""Its Responses API does not start without the second."""


def litellm_figures(url: str, messages: list[dict[str, Any]]) -> tuple[Figures, Figures]:
    """Return seconds of encoding and of reading; runs where litellm is installed."""
    import litellm

    litellm.suppress_debug_info = True
    encoding: Figures = {}
    reading: Figures = {}

    def tried(figures: Figures, name: str, work: Callable[[], object]) -> None:
        try:
            figures[name] = {"litellm": best(work)}
        except Exception as error:
            figures[name] = {"litellm": f"{type(error).__name__}: {error}"[:160]}

    def chat() -> None:
        from litellm.llms.openai.chat.gpt_transformation import OpenAIGPTConfig

        given = copy.deepcopy(messages)
        json.dumps(OpenAIGPTConfig().transform_request("gpt-4o", given, {"tools": TOOLS}, {}, {}))

    def responses() -> None:
        from litellm.completion_extras.litellm_responses_transformation.transformation import (
            LiteLLMResponsesTransformationHandler,
        )

        given = copy.deepcopy(messages)
        handler = LiteLLMResponsesTransformationHandler()
        json.dumps(handler.convert_chat_completion_messages_to_responses_api(given))

    def anthropic() -> None:
        from litellm.llms.anthropic.chat.transformation import AnthropicConfig

        given = copy.deepcopy(messages)
        config = AnthropicConfig()
        optional = config.map_openai_params(
            {"tools": TOOLS, "max_tokens": 9}, {}, "claude-sonnet-4-5", drop_params=False
        )
        json.dumps(config.transform_request("claude-sonnet-4-5", given, optional, {}, {}))

    def gemini() -> None:
        from litellm.llms.vertex_ai.gemini.transformation import (
            _gemini_convert_messages_with_history,
        )

        json.dumps(_gemini_convert_messages_with_history(messages=copy.deepcopy(messages)))

    for name, work in zip(PROTOCOLS, (chat, responses, anthropic, gemini), strict=True):
        tried(encoding, name, work)

    said = [{"role": "user", "content": "go"}]

    def read(model: str, base: str) -> Callable[[], None]:
        def work() -> None:
            chunks = list(
                litellm.completion(
                    model=model, messages=said, stream=True, api_base=base, api_key="k"
                )
            )
            whole: Any = litellm.stream_chunk_builder(chunks, messages=said)
            assert len(whole.choices[0].message.content) > 1000

        return work

    def read_responses() -> None:
        text = ""
        for event in litellm.responses(
            model="openai/gpt-4o", input="go", stream=True, api_base=f"{url}/openai_responses",
            api_key="k",
        ):  # fmt: skip
            if getattr(event, "type", "") == "response.output_text.delta":
                text += event.delta
        assert len(text) > 1000

    tried(reading, "openai_chat", read("openai/m", f"{url}/openai_chat"))
    tried(reading, "openai_responses", read_responses)
    tried(reading, "anthropic", read("anthropic/claude-sonnet-4-5", f"{url}/anthropic"))
    tried(reading, "gemini", read("gemini/gemini-2.5-flash", f"{url}/gemini/v1beta/models"))
    return encoding, reading


def litellm_python(folder: Path) -> str:
    """Make an environment with litellm; returns its interpreter."""
    place = folder / "litellm"
    subprocess.run(["uv", "venv", "-q", str(place)], check=True)
    python = str(place / "bin" / "python")
    subprocess.run(["uv", "pip", "install", "-q", "--python", python, *LITELLM], check=True)
    return python


if __name__ == "__main__":
    url, turns, place = sys.argv[1:]
    figures = litellm_figures(url, conversation(int(turns)))
    Path(place).write_text(json.dumps(figures), encoding="utf-8")
