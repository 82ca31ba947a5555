"""The tokens of a reply with their log probabilities, in OpenAI's form, which Ollama has too.

Evidence: https://platform.openai.com/docs/api-reference/chat/object (`logprobs`),
https://platform.openai.com/docs/api-reference/responses-streaming (`response.output_text.delta`),
https://github.com/ollama/ollama/blob/main/docs/api.md (`logprobs`, `top_logprobs`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.models.json_text import as_objects
from tui_chat.models.token_probabilities import TokenProbability, received_token


def read_tokens(values: object) -> Iterator[TokenProbability]:
    """Yield the tokens of a list of `{"token", "logprob", "top_logprobs"}`."""
    for value in as_objects(values):
        likely = as_objects(value.get("top_logprobs"))
        alternatives = ((other.get("token"), other.get("logprob")) for other in likely)
        if token := received_token(value.get("token"), value.get("logprob"), alternatives):
            yield token
