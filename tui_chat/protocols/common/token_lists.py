"""The tokens of a reply with their log probabilities, in OpenAI's form, which Ollama has too.

Evidence: https://platform.openai.com/docs/api-reference/chat/object (`logprobs`),
https://platform.openai.com/docs/api-reference/responses-streaming (`response.output_text.delta`),
https://github.com/ollama/ollama/blob/main/docs/api.md (`logprobs`, `top_logprobs`),
https://docs.together.ai/reference/chat-completions (`tokens`, `token_logprobs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from tui_chat.models.json_text import JsonObject, as_array, as_object, as_objects
from tui_chat.models.token_probabilities import TokenProbability, received_token


def read_tokens(values: object) -> Iterator[TokenProbability]:
    """Yield the tokens of a list of `{"token", "logprob", "top_logprobs"}`."""
    for value in as_objects(values):
        likely = as_objects(value.get("top_logprobs"))
        alternatives = ((other.get("token"), other.get("logprob")) for other in likely)
        if token := received_token(value.get("token"), value.get("logprob"), alternatives):
            yield token


def read_token_arrays(values: JsonObject) -> Iterator[TokenProbability]:
    """Yield the tokens of `tokens`, `token_logprobs` and perhaps `top_logprobs`, arrays beside each
    other: the form of completions, which Together sends for chats, too.
    """
    texts, logprobs = as_array(values.get("tokens")), as_array(values.get("token_logprobs"))
    likely = chain(as_array(values.get("top_logprobs")), repeat(None))
    for text, logprob, others in zip(texts, logprobs, likely, strict=False):
        if token := received_token(text, logprob, as_object(others).items()):
            yield token
