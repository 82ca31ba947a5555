"""LibreChat's exports: one conversation as JSON.

1. `messages` (or `messagesTree`) is flat, with `parentMessageId`, or nested, with `children`.
2. Reasoning, calls with their results, and texts of an answer are parts of its `content`; `text` is
   empty then.
3. The active branch is not stored: the last leaf is shown. Several first messages are usual, since
   the first one can be edited.
4. Pictures are paths on the server: their names are kept. The system prompt becomes a role.
"""

from __future__ import annotations

from tui_chat.interop.formats import ObjectFormat, Reading
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string, to_json
from tui_chat.models.media import known_mime
from tui_chat.plugins.transcripts.steps import (
    Result,
    Rounds,
    Step,
    add_steps,
    missing_part,
    result_text,
    unknown_content,
)

INVALID = "An invalid message was skipped."


def _is_conversation(data: JsonObject) -> bool:
    messages = _messages(data)
    if "conversationId" not in data or messages is None:
        return False
    return "exportAt" in data or any("messageId" in as_object(message) for message in messages[:1])


def _messages(data: JsonObject) -> list[object] | None:
    for key in ("messages", "messagesTree"):
        if isinstance(data.get(key), list):
            return as_array(data[key])
    return None


def _read_conversation(data: JsonObject) -> Reading:
    title, options = as_string(data.get("title")), as_object(data.get("options"))
    name = as_string(data.get("conversationId"))
    stored = _flat(_messages(data) or [])
    tree = TranscriptBuilder("librechat", name or to_json([title, len(stored)]))
    rounds: dict[str, list[Step]] = {}
    parents: dict[str, str] = {}
    for parent, message in stored:
        key = as_string(message.get("messageId"))
        if not key or key in rounds:
            tree.notes.append(INVALID)
            continue
        rounds[key] = _steps(key, message, tree.notes)
        parents[key] = as_string(message.get("parentMessageId")) or parent
    for key, steps in rounds.items():
        parent = rounds.get(parents[key])
        steps[0].parent = parent[-1] if parent else None
    ends = add_steps(tree, [step for steps in rounds.values() for step in steps])
    transcript = tree.transcript(
        title="" if title == "New Chat" else title,
        head_id=ends.get(_last_leaf(rounds, parents)),
        model=as_string(options.get("model")),
        system=as_string(options.get("promptPrefix")) or as_string(options.get("system")),
    )
    return transcript, tree.notes


def _flat(values: list[object]) -> list[tuple[str, JsonObject]]:
    """Return all messages with the id of the one that each is nested in, parents first."""
    messages: list[tuple[str, JsonObject]] = []
    waiting = [("", value) for value in reversed(values)]
    while waiting:
        parent, value = waiting.pop()
        message = as_object(value)
        messages.append((parent, message))
        key = as_string(message.get("messageId"))
        waiting += [(key, child) for child in reversed(as_array(message.get("children")))]
    return messages


def _last_leaf(rounds: dict[str, list[Step]], parents: dict[str, str]) -> Step | None:
    """Return the end of the branch that is shown: the newest leaf, by time, else by place."""
    inner = set(parents.values())
    leaves = [steps[-1] for key, steps in rounds.items() if key not in inner]
    # `max` takes the first of equal ones.
    return max(reversed(leaves), key=lambda step: step.timestamp or 0.0, default=None)


def _steps(key: str, message: JsonObject, notes: list[str]) -> list[Step]:
    own = message.get("isCreatedByUser")
    is_user = own is True or (own is None and as_string(message.get("sender")).lower() == "user")
    step = Step(key, "user" if is_user else "assistant")
    step.timestamp = parse_timestamp(message.get("createdAt"))
    rounds = Rounds(step)
    if not is_user:
        step.model = as_string(message.get("model"))
        step.finish = as_string(message.get("finish_reason"))
        if message.get("error") is True:
            step.status, step.error = "failed", "The reply failed."
        elif message.get("unfinished") is True:
            step.status = "interrupted"
    for part in map(as_object, as_array(message.get("content"))):
        _part(rounds, part, notes)
    if not any(step.has_message for step in rounds.steps):
        rounds.text(as_string(message.get("text")))
    for file in map(as_object, as_array(message.get("files"))):
        step.parts.append(_file(file, notes))
    return rounds.steps


def _part(rounds: Rounds, part: JsonObject, notes: list[str]) -> None:
    kind = as_string(part.get("type"))
    value = part.get(kind)
    text = as_string(value) or as_string(as_object(value).get("value"))
    match kind:
        case "text":
            rounds.text(text)
        case "think":
            if text:
                rounds.reasoning(ReasoningBlock(text))
        case "tool_call":
            call = as_object(value)
            call_id = rounds.call(
                as_string(call.get("id")), as_string(call.get("name")), call.get("args")
            )
            if call.get("output") is not None:
                rounds.result(Result(call_id, result_text(call["output"])))
        case "image_file" | "image_url":
            rounds.steps[-1].parts.append(_file(as_object(value), notes, "image/png"))
        case "error":
            last = rounds.steps[-1]
            last.status, last.error = "failed", text or "The reply failed."
        case "agent_update":
            pass  # which agent speaks
        case _:
            notes.append(unknown_content(part))


def _file(file: JsonObject, notes: list[str], mime: str = "") -> MediaBlock:
    mime = known_mime(as_string(file.get("type"))) or mime
    path = as_string(file.get("filepath")) or as_string(file.get("file_id")) or "file"
    return missing_part(notes, path, as_string(file.get("filename")), mime)


FORMATS = (ObjectFormat(_is_conversation, _read_conversation),)
