"""opencode's sessions: its SQLite database.

The tables are internal to the program; this was read from files of its version 1.18.33.

1. Messages are in the order of their ids; `parentID` of an answer names the user's message of the
   turn, not the message before.
2. A part that the program made (`synthetic`) is not the user's.
3. `session.revert` names the first message that was undone: the active branch ends before it.
4. Subagents are sessions with a `parent_id`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp, stable_id
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.foreign_database import (
    ForeignDatabase,
    database_format,
    json_column,
)
from tui_chat.plugins.transcripts.json_text import BadLine
from tui_chat.plugins.transcripts.steps import (
    SUBAGENT,
    Result,
    Step,
    add_steps,
    chain,
    found_conversation,
    part_of_url,
    result_text,
    total,
)

_PROGRAM = "opencode"


def _is_database(tables: frozenset[str]) -> bool:
    return {"session", "message", "part"} <= tables


def _read(database: ForeignDatabase, _: ImportSource) -> Iterator[FoundConversation]:
    columns = ("id", "parent_id", "title", "revert", "time_created", "time_updated", "directory")
    for row in list(database.rows("session", *columns, order="id")):
        yield from _session(database, row, f"session {as_string(row[0])[:60]}")


def _session(
    database: ForeignDatabase, row: tuple[Any, ...], place: str
) -> Iterator[FoundConversation]:
    session_id, parent, title, revert, created, updated, folder = row
    tree = TranscriptBuilder(_PROGRAM, as_string(session_id))
    parts: dict[str, list[JsonObject]] = {}
    of_session: dict[str, Any] = {
        "where": '"session_id" = ?', "values": (session_id,), "order": '"id"'
    }  # fmt: skip
    for part_id, message_id, data in database.rows(
        "part", "id", "message_id", "data", **of_session
    ):
        try:
            part = json_column(data)
        except BadLine as error:
            yield FoundConversation(f"{place}, part {as_string(part_id)[:60]}", fault=str(error))
            continue
        parts.setdefault(as_string(message_id), []).append(part)
    steps: list[Step] = []
    for message_id, data in database.rows("message", "id", "data", **of_session):
        key = as_string(message_id)
        try:
            step = _step(key, json_column(data), parts.pop(key, []), tree.notes)
        except BadLine as error:
            yield FoundConversation(f"{place}, message {key[:60]}", fault=str(error))
            continue
        steps.append(step)
    for key, orphans in parts.items():  # their message is damaged
        steps.append(_step(key, {"role": "assistant"}, orphans, tree.notes))
    chain(steps)
    undone = _undone(revert)
    kept = list(takewhile(lambda step: not undone or step.key != undone, steps))
    transcript = tree.transcript(
        title=as_string(title),
        head_id=add_steps(tree, steps).get(kept[-1] if kept else None),
        created=parse_timestamp(created),
        updated=parse_timestamp(updated),
        tags=(SUBAGENT,) if parent else (),
    )
    parent_id = stable_id(_PROGRAM, as_string(parent)) if parent else ""
    yield found_conversation(
        place, transcript, tree.notes, parent_id=parent_id, project=as_string(folder)
    )


def _undone(revert: object) -> str:
    try:
        return as_string(json_column(revert).get("messageID"))
    except BadLine:
        return ""


def _step(key: str, data: JsonObject, parts: list[JsonObject], notes: list[str]) -> Step:
    times = as_object(data.get("time"))
    is_user = as_string(data.get("role")) == "user"
    step = Step(key, "user" if is_user else "assistant")
    step.timestamp = parse_timestamp(times.get("created"))
    if not is_user:
        step.model = as_string(data.get("modelID"))
        step.finish = as_string(data.get("finish"))
        step.usage = _usage(as_object(data.get("tokens")))
        if error := as_object(data.get("error")):
            name = as_string(error.get("name"))
            sentence = as_string(as_object(error.get("data")).get("message"))
            step.status, step.error = "failed", sentence or name or "The reply failed."
    step.is_summary = data.get("summary") is True
    for part in parts:
        _part(step, part, notes)
    return step


def _part(step: Step, part: JsonObject, notes: list[str]) -> None:
    text = as_string(part.get("text"))
    match as_string(part.get("type")):
        case "text":
            if part.get("synthetic") is not True and part.get("ignored") is not True:
                step.texts.append(text)
        case "reasoning":
            if text:
                step.reasoning.append(ReasoningBlock(text))
        case "tool":
            state = as_object(part.get("state"))
            call_id, name = as_string(part.get("callID")), as_string(part.get("tool"))
            call_id = step.call(call_id, name, state.get("input"))
            failed = as_string(state.get("status")) == "error"
            output = state.get("error") if failed else state.get("output")
            if output is not None:
                ended = parse_timestamp(as_object(state.get("time")).get("end"))
                files = map(as_object, as_array(state.get("attachments")))
                parts = [picture for file in files if (picture := _file(file, notes))]
                text = result_text(output)
                step.results.append(Result(call_id, text, "", failed, parts, ended))
        case "file":
            if file := _file(part, notes):
                step.parts.append(file)
        case _:
            pass


def _file(part: JsonObject, notes: list[str]) -> MediaBlock | None:
    name, mime = as_string(part.get("filename")), as_string(part.get("mime"))
    url = as_string(part.get("url"))
    return part_of_url(url, notes, name=name, mime=mime) if url else None


def _usage(counts: JsonObject) -> Usage:
    """Return the usage; opencode counts cache and reasoning apart."""
    cache = as_object(counts.get("cache"))
    cached, written = as_count(cache.get("read")), as_count(cache.get("write"))
    fresh, output = as_count(counts.get("input")), as_count(counts.get("output"))
    reasoning = as_count(counts.get("reasoning"))
    return Usage(
        total(fresh, cached, written), total(output, reasoning), cached, written, reasoning
    )


FORMATS = (database_format(_is_database, _read),)
