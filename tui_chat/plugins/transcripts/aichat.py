"""aichat's sessions: `sessions/NAME.yaml` in its folder.

Fields as in sigoden/aichat `src/config/session.rs`.

1. Every scalar is text, whatever YAML 1.1 would make of it (`no`, `1e3`).
2. `compressed_messages` precede `messages`, whose first system message is then the summary.
3. The title is the name of the file.

YAML is read event by event, without aliases and with a limit of depth, so a small file cannot
become a large value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import yaml

from tui_chat.interop.formats import ImportSource, TextFormat
from tui_chat.interop.transcript_builder import FoundConversation, TranscriptBuilder
from tui_chat.models.json_text import as_array, as_object, as_string, to_json
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.plugins.transcripts.content import pictures_of, result_text, texts_of
from tui_chat.plugins.transcripts.steps import Result, Step, add_steps, chain, found_conversation

_LARGEST = 64 * 2**20
_DEEPEST = 50
_MOST_EVENTS = 2_000_000
_KEY = re.compile(rb"^(?:messages|compressed_messages):[ \t\r]*$", re.MULTILINE)
_HEAD = re.compile(rb"^(?:---|#|model:|temperature:|messages:|compressed_messages:)", re.MULTILINE)
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class _BadYaml(ValueError):
    """The text cannot be read; says why, with the line."""


def _is_session(head: bytes) -> bool:
    return _HEAD.match(head.lstrip(b"\xef\xbb\xbf \t\r\n")) is not None and (
        _KEY.search(head) is not None
    )


def _read(pieces: Iterable[bytes], source: ImportSource) -> Iterator[FoundConversation]:
    text = bytearray()
    for piece in pieces:
        text += piece
        if len(text) > _LARGEST:
            yield FoundConversation("", fault=f"is larger than {_LARGEST // 2**20} MiB")
            return
    try:
        data = as_object(_value(bytes(text)))
    except _BadYaml as error:
        yield FoundConversation("", fault=str(error))
        return
    title = source.name.rpartition(".")[0] or source.name
    tree = TranscriptBuilder("aichat", title or to_json(data))
    steps: list[Step] = []
    faults: list[FoundConversation] = []
    for key in ("compressed_messages", "messages"):
        for index, value in enumerate(as_array(data.get(key))):
            step = _step(f"{key}/{index}", value, tree.notes)
            if step is None:
                place = f".{key}[{index}]"
                faults.append(FoundConversation(place, fault="must be a message with a role"))
                continue
            has_summary = key == "messages" and index == 0 and "compressed_messages" in data
            step.is_summary = has_summary and step.role == "system"
            step.model = as_string(data.get("model")) if step.role == "assistant" else ""
            steps.append(step)
    yield from faults
    chain(steps)
    ends = add_steps(tree, steps)
    transcript = tree.transcript(title=title, head_id=ends.get(steps[-1] if steps else None))
    yield found_conversation("", transcript, tree.notes)


def _step(key: str, value: object, notes: list[str]) -> Step | None:
    message = as_object(value)
    role = message.get("role")
    if role not in MESSAGE_ROLES:
        return None
    step = Step(key, "assistant")
    if role == "system" or role == "user":
        step.role = role
    content = message.get("content")
    if isinstance(content, str):
        step.texts.append(as_string(content))
    step.texts += texts_of(content)
    step.parts += pictures_of(content, notes)
    tools = as_object(content)
    step.texts += [as_string(tools.get("text"))] if tools else []
    for result in map(as_object, as_array(tools.get("tool_results"))):
        call = as_object(result.get("call"))
        call_id, name = as_string(call.get("id")), as_string(call.get("name"))
        call_id = step.call(call_id, name, call.get("arguments"))
        step.results.append(Result(call_id, result_text(result.get("output"))))
    return step


def _value(text: bytes) -> object:
    """Return the value of a YAML text, all scalars as text. Raises _BadYaml."""
    try:
        return _composed(cast("Any", yaml).parse(text.decode("utf-8-sig"), Loader=_LOADER))
    except UnicodeDecodeError as error:
        raise _BadYaml(f"is not UTF-8 text (byte {error.start})") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" in line {mark.line + 1}" if mark is not None else ""
        if "nesting depth" in (error.problem or ""):  # libyaml's own limit, which it meets first
            raise _BadYaml(f"is nested too deeply{where}") from error
        raise _BadYaml(f"is not YAML: {error.problem or error.context}{where}") from error
    except yaml.YAMLError as error:
        reason = str(error).split("\n", 1)[0]
        raise _BadYaml(f"is not YAML: {reason}") from error


def _composed(events: Iterator[Any]) -> object:
    stack: list[tuple[list[object] | dict[str, object], list[str]]] = []
    root: object = None
    for count, event in enumerate(events):
        if count > _MOST_EVENTS:
            raise _BadYaml("has too many values")
        if isinstance(event, yaml.AliasEvent):
            raise _BadYaml(f"has an alias in line {event.start_mark.line + 1}, as no session has")
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
            continue
        if isinstance(event, yaml.ScalarEvent):
            value: object = str(cast("Any", event).value)
        elif isinstance(event, yaml.MappingStartEvent):
            value = {}
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
        else:
            continue
        if not stack:
            root = value
        else:
            _put(*stack[-1], value, event)
        if not isinstance(value, str):
            if len(stack) == _DEEPEST:
                raise _BadYaml(f"is nested too deeply in line {event.start_mark.line + 1}")
            stack.append((cast("Any", value), []))
    return root


def _put(into: list[object] | dict[str, object], key: list[str], value: object, event: Any) -> None:
    """Add a value to a list or an object; `key` holds the key that waits for its value."""
    if isinstance(into, list):
        into.append(value)
    elif key:
        into[key.pop()] = value
    elif isinstance(value, str):
        key.append(value)
    else:
        raise _BadYaml(f"must have text as keys (line {event.start_mark.line + 1})")


FORMATS = (TextFormat(_is_session, _read),)
