"""The response that says a text in the model's place, as small as each protocol allows."""

from __future__ import annotations

import secrets
import time
from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.plugins.tap.calls import Call, json_object
from tui_chat.plugins.tap.credentials import Headers
from tui_chat.protocols.registry import protocol_of

Json = dict[str, Any]


def answer_by_hand(call: Call, text: str) -> tuple[Headers, bytes]:
    """Return headers and body of a response that says a text, in the protocol of a call, and as a
    stream if it asks for one.
    """
    body, target = json_object(call.body) or {}, call.exchange.target
    id, created = secrets.token_hex(12), int(time.time())
    head: Json = {"id": id, "model": str(body.get("model") or call.model)}
    is_stream = body.get("stream") is True
    match call.protocol:
        case Protocol.OPENAI_CHAT:
            head["created"] = created
            whole, events = _chat(head, text)
        case Protocol.OPENAI_RESPONSES:
            whole, events = _responses({**head, "created_at": created}, text)
        case Protocol.ANTHROPIC:
            whole, events = _anthropic(head, text)
        case Protocol.GEMINI:
            is_stream = ":stream" in target
            content = {"role": "model", "parts": [{"text": text}]}
            candidate = {"content": content, "finishReason": "STOP", "index": 0}
            whole = {"candidates": [candidate], "modelVersion": head["model"], "responseId": id}
            events = _data(whole)
            if is_stream and "alt=sse" not in target:  # a list of such objects
                return (("content-type", "application/json"),), f"[{to_json(whole)}]".encode()
        case Protocol.OLLAMA:
            is_stream = body.get("stream") is not False
            time_of = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created))
            whole = {"model": head["model"], "created_at": time_of, "done": True}
            whole |= {"message": {"role": "assistant", "content": text}, "done_reason": "stop"}
            events = f"{to_json(whole)}\n"
    if is_stream:
        kind = protocol_of(call.protocol).stream_type
        return (("content-type", kind), ("cache-control", "no-cache")), events.encode()
    return (("content-type", "application/json"),), to_json(whole).encode()


def _chat(head: Json, text: str) -> tuple[Json, str]:
    message = {"role": "assistant", "content": text}
    ended = {"index": 0, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    whole = {**head, "object": "chat.completion", "choices": [{**ended, "message": message}]}
    chunk = {**head, "object": "chat.completion.chunk"}
    delta = {"index": 0, "finish_reason": None, "delta": message}
    events = _data({**chunk, "choices": [delta]}) + _data(
        {**chunk, "choices": [{**ended, "delta": {}}]}
    )
    return {**whole, "usage": usage}, events + "data: [DONE]\n\n"


def _responses(head: Json, text: str) -> tuple[Json, str]:
    part: Json = {"type": "output_text", "text": text, "annotations": []}
    item: Json = {"id": f"msg_{head['id']}", "type": "message", "role": "assistant"}
    begun: Json = {**item, "status": "in_progress", "content": []}
    item |= {"status": "completed", "content": [part]}
    details = {"input_tokens_details": {"cached_tokens": 0}}
    details |= {"output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details}
    whole: Json = {**head, "object": "response", "status": "completed", "error": None}
    whole |= {"incomplete_details": None, "instructions": None, "metadata": {}, "tools": []}
    whole |= {"parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "top_p": 1.0}
    whole |= {"output": [item], "usage": usage}
    started: Json = {**whole, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    rows: tuple[tuple[str, Json], ...] = (
        ("response.created", {"response": started}),
        ("response.output_item.added", {"output_index": 0, "item": begun}),
        ("response.content_part.added", {**place, "part": {**part, "text": ""}}),
        ("response.output_text.delta", {**place, "delta": text, "logprobs": []}),
        ("response.output_text.done", {**place, "text": text, "logprobs": []}),
        ("response.content_part.done", {**place, "part": part}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": whole}),
    )
    named = (_named(kind, {"sequence_number": n, **row}) for n, (kind, row) in enumerate(rows))
    return whole, "".join(named)


def _anthropic(head: Json, text: str) -> tuple[Json, str]:
    block = {"type": "text", "text": text}
    usage = {"input_tokens": 0, "output_tokens": 0}
    whole: Json = {**head, "type": "message", "role": "assistant", "content": [block]}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    whole |= {**end, "usage": usage}
    rows: tuple[tuple[str, Json], ...] = (
        ("message_start", {"message": {**whole, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": {**block, "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": end, "usage": usage}),
        ("message_stop", {}),
    )
    return whole, "".join(_named(kind, row) for kind, row in rows)


def _data(value: Json) -> str:
    return f"data: {to_json(value)}\n\n"


def _named(kind: str, fields: Json) -> str:
    return f"event: {kind}\n" + _data({"type": kind, **fields})
