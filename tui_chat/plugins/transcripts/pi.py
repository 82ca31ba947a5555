"""pi's sessions: `~/.pi/agent/sessions/--FOLDER--/TIME_ID.jsonl`.

The format is internal to the program; this was read from badlogic/pi-mono
`packages/coding-agent/docs/session.md`.

1. The first line is the header. Records have an id and name their parent, so that a file is a tree;
   in the oldest files, without ids, each follows the one before.
2. The end of the file is the active branch.
3. A `toolResult` is a message after the answer with its call. `bashExecution` is a command that the
   user ran, which the model sees as the user's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tui_chat.interop.formats import FoundConversation, ImportSource, LinesFormat
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.steps import (
    Result,
    Step,
    add_steps,
    found_conversation,
    part_of_base64,
    total,
)

_SUMMARIES = ("compaction", "branch_summary")


def _is_header(data: JsonObject) -> bool:
    has_place = all(isinstance(data.get(key), str) for key in ("cwd", "id"))
    return has_place and data.get("type") == "session"


@dataclass(slots=True)
class _SessionReader:
    source: ImportSource
    header: JsonObject = field(default_factory=dict[str, object])
    title: str = ""
    steps: list[Step] = field(default_factory=list[Step])
    by_id: dict[str, Step] = field(default_factory=dict[str, Step])
    before: Step | None = None
    by_call: dict[str, Step] = field(default_factory=dict[str, Step])

    def take(self, data: JsonObject) -> str:
        """Take in a record; return why it cannot be used, empty if it can."""
        kind = as_string(data.get("type"))
        if kind == "session":
            self.header = self.header or data
            return ""
        if kind == "session_info":
            self.title = as_string(data.get("name")) or self.title
        key = as_string(data.get("id"))
        parent = self.by_id.get(as_string(data.get("parentId"))) if key else self.before
        step = Step(key or str(len(self.steps)), "user", parent)
        step.timestamp = parse_timestamp(data.get("timestamp"))
        fault = ""
        if kind == "message":
            fault = self._message(step, as_object(data.get("message")))
        elif kind in _SUMMARIES and (summary := as_string(data.get("summary"))):
            step.texts.append(summary)
            step.is_summary = kind == "compaction"
        elif kind == "custom_message":
            self._content(step, data.get("content"))
        self.steps.append(step)
        self.by_id[step.key] = self.before = step
        return fault

    def _message(self, step: Step, message: JsonObject) -> str:
        match as_string(message.get("role")):
            case "user" | "custom":
                self._content(step, message.get("content"))
            case "assistant":
                step.role = "assistant"
                self._answer(step, message)
            case "toolResult":
                text, parts = _content(message.get("content"))
                result = Result(
                    as_string(message.get("toolCallId")),
                    text,
                    as_string(message.get("toolName")),
                    message.get("isError") is True,
                    parts,
                    step.timestamp,
                    step.key,
                )
                step.results.append(result)
            case "bashExecution":
                command, output = (as_string(message.get(key)) for key in ("command", "output"))
                step.texts.append(f"Ran `{command}`\n```\n{output}\n```")
            case role:
                return f"has a message of the unknown role “{role}”" if role else "has no role"
        return ""

    def _answer(self, step: Step, message: JsonObject) -> None:
        step.model = as_string(message.get("model"))
        usage = as_object(message.get("usage"))
        read, written = as_count(usage.get("cacheRead")), as_count(usage.get("cacheWrite"))
        whole = total(as_count(usage.get("input")), read, written)
        if usage:
            step.usage = Usage(whole, as_count(usage.get("output")), read, written)
        step.finish = as_string(message.get("stopReason"))
        if error := as_string(message.get("errorMessage")):
            step.status, step.error = "failed", error
        elif step.finish == "aborted":
            step.status = "stopped"
        for block in map(as_object, as_array(message.get("content"))):
            match as_string(block.get("type")):
                case "thinking":
                    text = as_string(block.get("thinking"))
                    # Without a kind it is shown, but not sent.
                    step.reasoning.append(ReasoningBlock(text))
                case "toolCall":
                    name, arguments = as_string(block.get("name")), block.get("arguments")
                    step.call(as_string(block.get("id")), name, arguments)
                case "text":
                    step.texts.append(as_string(block.get("text")))
                case _:
                    pass

    def _content(self, step: Step, content: object) -> None:
        text, step.parts = _content(content)
        step.texts.append(text)

    def conversations(self) -> Iterator[FoundConversation]:
        """Yield the conversation."""
        header = self.header
        tree = TranscriptBuilder("pi", as_string(header.get("id")) or self.source.name)
        ends = add_steps(tree, self.steps)
        transcript = tree.transcript(
            title=self.title,
            head_id=ends.get(self.before),
            created=parse_timestamp(header.get("timestamp")),
        )
        yield found_conversation("", transcript, tree.notes, project=as_string(header.get("cwd")))


def _content(content: object) -> tuple[str, list[MediaBlock]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    parts: list[MediaBlock] = []
    for block in map(as_object, as_array(content)):
        if block.get("type") == "image":
            parts.append(part_of_base64(block.get("data"), block.get("mimeType")))
        elif text := as_string(block.get("text")):
            texts.append(text)
    return "\n\n".join(texts), parts


FORMATS = (LinesFormat(_is_header, _SessionReader),)
