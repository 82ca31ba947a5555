"""Gemini CLI's sessions: `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`, before that `.json`.

The format is internal to the program; this was read from files of its version 0.61.0 and from
google-gemini/gemini-cli `packages/core/src/services/chatRecordingService.ts`.

1. A record with a known `id` replaces the earlier one. `$set.messages` replaces all messages, and
   `$rewindTo` drops a message and all after it: they stay as a branch.
2. A call's result is in `toolCalls[].result` and again in the next user record: it is read once.
3. The session context, which the program puts in, and info, warning and error records are not
   messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import takewhile

from tui_chat.interop.formats import (
    FoundConversation,
    ImportSource,
    LinesFormat,
    ObjectFormat,
    Reading,
)
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp, stable_id
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string, to_json
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.steps import (
    SUBAGENT,
    Result,
    Step,
    add_steps,
    found_conversation,
    joined,
    part_of_base64,
    part_of_url,
    reasoning,
    result_text,
    total,
)

_PROGRAM = "gemini-cli"
_SENDERS = ("user", "gemini")
_SHOWN_ONLY = ("info", "error", "warning")
_CONTEXT = "<session_context>"


def _is_record(data: JsonObject) -> bool:
    if "sessionId" in data and "projectHash" in data and "messages" not in data:
        return True
    if "$set" in data or "$rewindTo" in data:
        return True
    kinds = (*_SENDERS, *_SHOWN_ONLY)
    return as_string(data.get("type")) in kinds and {"id", "timestamp", "content"} <= data.keys()


def _is_session(data: JsonObject) -> bool:
    return "sessionId" in data and "projectHash" in data and isinstance(data.get("messages"), list)


@dataclass(slots=True)
class _GeminiReader:
    source: ImportSource = field(default_factory=ImportSource)
    head: dict[str, object] = field(default_factory=dict[str, object])
    steps: list[Step] = field(default_factory=list[Step])
    path: list[Step] = field(default_factory=list[Step])
    """The active path."""
    places: dict[str, int] = field(default_factory=dict[str, int])
    """The indices of ids in the active path."""
    ids: list[str] = field(default_factory=list[str])
    """The id of each step of the active path."""
    by_call: dict[str, Step] = field(default_factory=dict[str, Step])
    notes: list[str] = field(default_factory=list[str])

    def take(self, data: JsonObject) -> str:
        """Take in a record; return why it cannot be used, empty if it can."""
        if "$set" in data:
            changes = as_object(data.get("$set"))
            if isinstance(changes.get("messages"), list):
                self._replace_all(as_array(changes["messages"]))
            self.head |= {key: value for key, value in changes.items() if key != "messages"}
            return ""
        if "$rewindTo" in data:
            self._cut(self.places.get(as_string(data.get("$rewindTo")), 0))
            return ""
        kind = data.get("type")
        if not isinstance(kind, str):
            if "sessionId" not in data:
                return "has no type"
            self.head |= {key: value for key, value in data.items() if key != "messages"}
            return ""
        if kind in _SENDERS:
            if not as_string(data.get("id")):
                return "must have an id"
            self._message(data, kind)
        return ""

    def _cut(self, kept: int) -> None:
        """Drop the active path but for its first steps."""
        for key in self.ids[kept:]:
            del self.places[key]
        del self.path[kept:], self.ids[kept:]

    def _replace_all(self, values: list[object]) -> None:
        """Replace the active path; what remains the same stays."""
        records = [as_object(value) for value in values]
        messages = [record for record in records if as_string(record.get("type")) in _SENDERS]
        ids = [as_string(message.get("id")) for message in messages]
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(self.ids, ids, strict=False))
        self._cut(len(list(equal)))
        for data in messages:
            if as_string(data.get("id")):
                self._message(data, as_string(data.get("type")))

    def _message(self, data: JsonObject, kind: str) -> None:
        key = as_string(data.get("id"))
        if key in self.places:
            step = self.path[self.places[key]]
        else:
            step = Step(
                f"{key}/{len(self.steps)}",
                "assistant" if kind == "gemini" else "user",
                self.path[-1] if self.path else None,
            )
            self.steps.append(step)
            self.places[key] = len(self.path)
            self.path.append(step)
            self.ids.append(key)
        step.timestamp = parse_timestamp(data.get("timestamp"))
        step.texts, step.parts, results = self._content(data.get("content"))
        if kind == "user":
            self._answer_calls(step, results)
            if step.texts and step.texts[0].lstrip().startswith(_CONTEXT):
                step.texts, step.parts = [], []
            return
        step.model = as_string(data.get("model"))
        step.reasoning = [
            reasoning(Protocol.GEMINI, text)
            for thought in map(as_object, as_array(data.get("thoughts")))
            if (text := _thought(thought))
        ]
        step.reasoning += [
            reasoning(Protocol.GEMINI, text)
            for part in map(as_object, as_array(data.get("content")))
            if part.get("thought") is True and (text := as_string(part.get("text")))
        ]
        step.usage = _usage(as_object(data.get("tokens")))
        step.calls, step.results = [], []
        for call in map(as_object, as_array(data.get("toolCalls"))):
            self._call(step, call)

    def _call(self, step: Step, call: JsonObject) -> None:
        call_id, name = as_string(call.get("id")), as_string(call.get("name"))
        call_id = step.call(call_id, name, call.get("args"))
        self.by_call[call_id] = step
        texts: list[str] = []
        parts: list[MediaBlock] = []
        result = call.get("result")
        for block in as_array(result) or [result]:
            more, pictures, answers = self._content(block)
            texts += more + [answer.text for answer in answers]
            parts += [*pictures, *(part for answer in answers for part in answer.parts)]
        failed = as_string(call.get("status")) in ("error", "cancelled")
        if texts or parts or result is not None:
            timestamp = parse_timestamp(call.get("timestamp"))
            step.results.append(Result(call_id, joined(texts), "", failed, parts, timestamp))

    def _answer_calls(self, step: Step, results: list[Result]) -> None:
        """Attach the results of a user record that are not in the record of their calls."""
        for result in results:
            owner = self.by_call.get(result.call_id)
            if owner is None:
                step.results.append(result)
            elif all(known_result.call_id != result.call_id for known_result in owner.results):
                owner.results.append(result)

    def _content(self, content: object) -> tuple[list[str], list[MediaBlock], list[Result]]:
        texts: list[str] = []
        parts: list[MediaBlock] = []
        results: list[Result] = []
        for part in as_array(content) or [content]:
            if isinstance(part, str):
                texts.append(as_string(part))
                continue
            fields = as_object(part)
            if (text := as_string(fields.get("text"))) and fields.get("thought") is not True:
                texts.append(text)
            if code := as_string(as_object(fields.get("executableCode")).get("code")):
                texts.append(f"```\n{code}\n```")
            if output := as_string(as_object(fields.get("codeExecutionResult")).get("output")):
                texts.append(f"```\n{output}\n```")
            inline, link = as_object(fields.get("inlineData")), as_object(fields.get("fileData"))
            if inline:
                parts.append(part_of_base64(inline.get("data"), inline.get("mimeType")))
            if url := as_string(link.get("fileUri")):
                parts.append(part_of_url(url, self.notes, mime=as_string(link.get("mimeType"))))
            if answer := as_object(fields.get("functionResponse")):
                results.append(self._response(answer))
        return texts, parts, results

    def _response(self, answer: JsonObject) -> Result:
        response = as_object(answer.get("response"))
        for key in ("output", "error"):
            if key in response and len(response) == 1:
                text = result_text(response[key])
                break
        else:
            text = result_text(response)
        return Result(
            as_string(answer.get("id")),
            text,
            as_string(answer.get("name")),
            failed="error" in response,
            parts=self._content(answer.get("parts"))[1] if answer.get("parts") else [],
        )

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield the conversation."""
        transcript, notes = self.reading()
        parent_id = ""
        if SUBAGENT in transcript.session.tags and self.source.path is not None:
            parent_id = stable_id(_PROGRAM, self.source.path.parent.name)
        yield found_conversation("", transcript, notes, parent_id=parent_id)

    def reading(self) -> Reading:
        """Return the transcript and its notes."""
        session = as_string(self.head.get("sessionId")) or self.source.name
        tree = TranscriptBuilder(_PROGRAM, session or to_json([s.key for s in self.steps[:2]]))
        ends = add_steps(tree, self.steps)
        is_subagent = as_string(self.head.get("kind")) == SUBAGENT
        transcript = tree.transcript(
            title=as_string(self.head.get("summary")),
            head_id=ends.get(self.path[-1] if self.path else None),
            created=parse_timestamp(self.head.get("startTime")),
            updated=parse_timestamp(self.head.get("lastUpdated")),
            tags=(SUBAGENT,) if is_subagent else (),
        )
        return transcript, self.notes


def _thought(thought: JsonObject) -> str:
    subject, text = as_string(thought.get("subject")), as_string(thought.get("description"))
    return " ".join(filter(None, (f"**{subject}**" if subject else "", text)))


def _usage(counts: JsonObject) -> Usage:
    thoughts, output = as_count(counts.get("thoughts")), as_count(counts.get("output"))
    cached = as_count(counts.get("cached"))
    return Usage(as_count(counts.get("input")), total(output, thoughts), cached, reasoning=thoughts)


def _read_session(data: JsonObject) -> Reading:
    reader = _GeminiReader()
    reader.take({key: value for key, value in data.items() if key not in ("messages", "type")})
    for message in as_array(data.get("messages")):
        if fault := reader.take(as_object(message)):
            reader.notes.append(f"A damaged message was skipped: it {fault}.")
    return reader.reading()


FORMATS = (
    LinesFormat(_is_record, _GeminiReader),
    ObjectFormat(_is_session, _read_session),
)
