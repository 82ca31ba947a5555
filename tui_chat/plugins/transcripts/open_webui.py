"""Open WebUI's exports: a list of chats, or one chat.

1. `chat.history.messages` is the tree; `chat.messages`, a copy of the active path, is often stale
   and read only without it. Two models that were asked at once are siblings.
2. Reasoning and calls are in `output`, as items like those of OpenAI's Responses, or in older
   messages within `content` as `<details>` elements with escaped text.
3. `parentId` counts where `childrenIds` disagrees. Without a valid `currentId` the last message is
   active.
4. The system prompt becomes a role.
"""

from __future__ import annotations

import re
from html import unescape

from tui_chat.interop.formats import ObjectFormat, Reading
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string, to_json
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.steps import (
    Result,
    Rounds,
    Step,
    add_steps,
    joined,
    missing_part,
    parsed,
    part_of_url,
    pictures_of,
    result_text,
    texts_of,
    unknown_content,
)

INVALID = "An invalid message was skipped."
_DETAILS = re.compile('<details type="(reasoning|tool_calls)"')
_ATTRIBUTE = re.compile(r'([a-z_]{1,40})="([^"]*)"')
_END = "</details>"
_SUMMARY_END = "</summary>"


def _is_chat(data: JsonObject) -> bool:
    chat = as_object(data.get("chat"))
    return isinstance(chat.get("history"), dict) or (
        "models" in chat and isinstance(chat.get("messages"), list)
    )


def _read_chat(data: JsonObject) -> Reading:
    chat = as_object(data.get("chat"))
    history = as_object(chat.get("history"))
    stored = dict(as_object(history.get("messages")))
    if not stored:
        stored = _listed(as_array(chat.get("messages")))
    title = as_string(data.get("title")) or as_string(chat.get("title"))
    name = as_string(data.get("id"))
    tree = TranscriptBuilder("open-webui", *([name] if name else ["", title, to_json(stored)]))
    rounds: dict[str, list[Step]] = {}
    for key, value in stored.items():
        message = as_object(value)
        if as_string(message.get("role")) not in MESSAGE_ROLES:
            tree.notes.append(INVALID)
            continue
        rounds[key] = _steps(key, message, tree.notes)
    for key, steps in rounds.items():
        parent = rounds.get(as_string(as_object(stored[key]).get("parentId")))
        steps[0].parent = parent[-1] if parent else None
    ends = add_steps(tree, [step for steps in rounds.values() for step in steps])
    last = next(reversed(rounds.values()), None)
    active = rounds.get(as_string(history.get("currentId")), last)
    params, tags = as_object(chat.get("params")), as_array(as_object(data.get("meta")).get("tags"))
    transcript = tree.transcript(
        title=title,
        head_id=ends.get(active[-1] if active else None),
        created=parse_timestamp(data.get("created_at")),
        updated=parse_timestamp(data.get("updated_at")),
        pinned=data.get("pinned") is True,
        archived=data.get("archived") is True,
        model=next(map(as_string, as_array(chat.get("models"))), ""),
        tags=tuple(filter(None, (tag[:60].strip() for tag in map(as_string, tags[:50])))),
        system=as_string(chat.get("system")) or as_string(params.get("system")),
    )
    return transcript, tree.notes


def _listed(values: list[object]) -> dict[str, object]:
    """Return the messages of a plain list by id; each follows the one before if it names none."""
    messages: dict[str, object] = {}
    before = ""
    for index, value in enumerate(values):
        message = as_object(value)
        key = as_string(message.get("id")) or str(index)
        messages[key] = {"parentId": before, **message}
        before = key
    return messages


def _steps(key: str, message: JsonObject, notes: list[str]) -> list[Step]:
    role = as_string(message.get("role"))
    step = Step(key, "user", timestamp=parse_timestamp(message.get("timestamp")))
    rounds = Rounds(step)
    if role == "system" or role == "assistant" or role == "tool":
        step.role = role
    if role == "assistant":
        step.model = as_string(message.get("model"))
        step.usage = _usage(as_object(message.get("usage")))
        error = message.get("error")
        if error:
            text = as_string(as_object(error).get("content")) or as_string(error)
            step.status, step.error = "failed", text or "The reply failed."
        elif message.get("done") is False:
            step.status = "interrupted"
    if output := as_array(message.get("output")):
        for item in map(as_object, output):
            _item(rounds, item, notes)
    elif isinstance(content := message.get("content"), str):
        _content(rounds, as_string(content))
    else:
        for text in texts_of(content):
            rounds.text(text)
        step.parts += pictures_of(content, notes)
    step.parts += [_file(as_object(file), notes) for file in as_array(message.get("files"))]
    return rounds.steps


def _item(rounds: Rounds, item: JsonObject, notes: list[str]) -> None:
    text = joined(texts_of(item.get("content")))
    match as_string(item.get("type")):
        case "message":
            rounds.text(text)
        case "reasoning":
            if text := text or joined(texts_of(item.get("summary"))):
                rounds.reasoning(ReasoningBlock(text))
        case "function_call":
            call_id = as_string(item.get("call_id")) or as_string(item.get("id"))
            rounds.call(call_id, as_string(item.get("name")), item.get("arguments"))
        case "function_call_output":
            output = item.get("output")
            text = joined(texts_of(output)) if as_array(output) else result_text(output)
            parts = pictures_of(output, notes)
            rounds.result(Result(as_string(item.get("call_id")), text, parts=parts))
        case _:
            notes.append(unknown_content(item))


def _content(rounds: Rounds, content: str) -> None:
    """Take a text apart at its `<details>` elements of known types."""
    offset = 0
    while match := _DETAILS.search(content, offset):
        opened = content.find(">", match.end())
        end = content.find(_END, opened)
        if opened < 0 or end < 0:
            break
        rounds.text(content[offset : match.start()].strip("\n"))
        body = content[opened + 1 : end]
        body = body[body.find(_SUMMARY_END) + len(_SUMMARY_END) :] if _SUMMARY_END in body else body
        if match[1] == "reasoning":
            lines = (unescape(line) for line in body.strip("\n").split("\n"))
            text = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
            rounds.reasoning(ReasoningBlock(text))
        else:
            attributes = dict(_ATTRIBUTE.findall(content, match.end(), opened))
            call_id, name = attributes.get("id", ""), attributes.get("name", "")
            call_id = rounds.call(call_id, name, _unquoted(attributes.get("arguments", "")) or "{}")
            if "result" in attributes:
                rounds.result(Result(call_id, _unquoted(attributes["result"])))
        offset = end + len(_END)
    rest = content[offset:]
    rounds.text(rest.removeprefix("\n") if offset else rest)


def _unquoted(text: str) -> str:
    """Return the text of an escaped attribute, which may be JSON text within a JSON string."""
    text = unescape(text)
    inner = parsed(text)
    return as_string(inner) if isinstance(inner, str) else text


def _file(file: JsonObject, notes: list[str]) -> MediaBlock:
    name, inner = as_string(file.get("name")), as_object(file.get("file"))
    name = name or as_string(inner.get("filename"))
    if text := as_string(as_object(inner.get("data")).get("content")):
        return MediaBlock("file", "text/plain", text=text, name=name)
    url = as_string(file.get("url")) or as_string(file.get("id")) or name
    if as_string(file.get("type")) == "image":
        return part_of_url(url, notes, name=name)
    return missing_part(notes, url, name)


def _usage(counts: JsonObject) -> Usage:
    """Return the usage in the counts of OpenAI or of Ollama."""
    prompt = counts.get("prompt_tokens", counts.get("prompt_eval_count"))
    output = counts.get("completion_tokens", counts.get("eval_count"))
    return Usage(as_count(prompt), as_count(output))


FORMATS = (ObjectFormat(_is_chat, _read_chat),)
