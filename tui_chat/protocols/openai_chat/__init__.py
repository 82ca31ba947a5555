"""OpenAI Chat Completions: the protocol's definition.

https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

import re

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns, UrlRules
from tui_chat.protocols.common.openai import versioned_root
from tui_chat.protocols.openai_chat.encode import READER, encode
from tui_chat.protocols.openai_chat.stream import ReplyParser, read_reply

OPENAI_CHAT = ProtocolDefinition(
    protocol=Protocol.OPENAI_CHAT,
    encode=encode,
    decode=READER.decode,
    parser=ReplyParser,
    read_reply=read_reply,
    models_path=lambda endpoint: "/models",
    model_pattern=re.compile(r"(ft:)?(gpt|chatgpt|o\d)"),
    urls=UrlRules(
        reply_end=re.compile(r"/chat/completions/?$"),
        request_end=re.compile(r"/(?:chat/completions|models)$"),
        own_end=re.compile(r"/chat/completions$"),
        root=versioned_root,
    ),
    session_keys=frozenset(
        (
            *("model", "messages", "stream", "stream_options", "temperature"),
            *("max_tokens", "max_completion_tokens"),
        )
    ),
    signs=RequestSigns(
        settings=frozenset(
            (
                *("max_completion_tokens", "stop", "n", "frequency_penalty", "presence_penalty"),
                *("seed", "stream_options", "response_format", "logprobs", "logit_bias"),
                "reasoning_effort",
            )
        ),
        roles=frozenset({"tool", "developer", "function"}),
        message_keys=frozenset({"tool_calls"}),
        block_types=frozenset({"image_url", "input_audio", "file"}),
        tool_keys=frozenset({"function"}),
    ),
)
