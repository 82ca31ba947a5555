"""gptme's conversations: `~/.local/share/gptme/logs/NAME/conversation.jsonl`.

The format is internal to the program; this was read from files of its version 0.35.1 and from
gptme/gptme `gptme/message.py` and `gptme/logmanager/manager.py`.

1. Calls are text: a code block whose language is a tool, `@name(id): {json}`, or a `<tool-use>`
   element. The text is kept, and the calls are listed with it. Results are `system` messages after
   them.
2. `branches/*.jsonl` beside the file are whole logs that begin alike: equal messages are joined.
3. The name and model are in `config.toml` beside it.
4. Other hidden system messages, and user messages of `<system>`, are put in by the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from hashlib import sha256
from html import unescape
from pathlib import Path

from tui_chat.errors import ConfigError, InputError
from tui_chat.files import read_toml
from tui_chat.interop.formats import ImportSource, LinesFormat
from tui_chat.interop.json_stream import JsonLines
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import FoundConversation, TranscriptBuilder
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string, to_json
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.models.usage import Usage
from tui_chat.plugins.transcripts.content import cut_elements, part_of_url
from tui_chat.plugins.transcripts.steps import Result, Step, add_steps, found_conversation

_ROLES = ("system", "user", "assistant")
_TOOLS = frozenset({
    "append", "browser", "chats", "choice", "complete", "computer", "elicit", "form", "gh",
    "ipython", "mcp", "morph", "patch", "rag", "read", "restart", "save", "screenshot", "shell",
    "subagent", "tmux", "todo", "tts", "view_image", "vision", "youtube",
})  # fmt: skip
_CALL = re.compile(
    r"^(?:```([a-z_]{1,40})(?: [^\n`]{0,500})?$|@([\w.-]{1,100})\(([\w.:-]{1,200})\): ?(?=\{)"
    r"|<tool-use>\s{0,20}<([a-z_]{1,40})((?: [\w-]{1,40}=(?:'[^'<>]*'|\"[^\"<>]*\"))*)\s{0,20}>)",
    re.MULTILINE,
)
_XML_ARGS = re.compile(r" args=['\"]([^'\"]*)")
_MOST_BRANCHES = 200
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def _is_message(data: JsonObject) -> bool:
    return (
        as_string(data.get("role")) in _ROLES
        and isinstance(data.get("content"), str)
        and isinstance(data.get("timestamp"), str)
    )


@dataclass(slots=True)
class _LogReader:
    """Reads logs that begin alike into one tree."""

    steps: list[Step] = field(default_factory=list[Step])
    by_path: dict[str, Step] = field(default_factory=dict[str, Step])
    """Steps by a hash of all messages up to theirs."""
    notes: list[str] = field(default_factory=list[str])

    def read(self, lines: JsonLines) -> Step | None:
        """Add a log; return its last step."""
        before: Step | None = None
        path, begun = "", False
        waiting: list[ToolCall] = []
        for _, data in lines:
            role = as_string(data.get("role"))
            if role not in _ROLES:
                lines.fault("must have a role: system, user or assistant")
                continue
            if not isinstance(data.get("content"), str):
                lines.fault("must have text as content")
                continue
            content, sent = as_string(data.get("content")), as_string(data.get("timestamp"))
            path = sha256("\0".join((path, role, sent, content)).encode()).hexdigest()
            step = self.by_path.get(path)
            if step is None:
                step = Step(path, role if role == "assistant" else "user", before)
                self._fill(step, data, content, waiting, begun=begun)
                self.by_path[path] = step
                self.steps.append(step)
            elif step.results:
                waiting = [call for call in waiting if call.id != step.results[0].call_id]
            if role == "assistant":
                waiting = list(step.calls)
            begun = begun or role != "system"
            before = step
        return before

    def _fill(
        self, step: Step, data: JsonObject, content: str, waiting: list[ToolCall], *, begun: bool
    ) -> None:
        """Set the content of a step; `waiting` has the calls without a result."""
        role, step.timestamp = as_string(data.get("role")), parse_timestamp(data.get("timestamp"))
        parts = [self._file(as_string(file)) for file in as_array(data.get("files"))]
        call_id = as_string(data.get("call_id"))
        if role == "system" and begun:
            if waiting or call_id:
                ids = {call.id: call for call in waiting}
                call = ids.get(call_id) or (waiting[0] if waiting else None)
                if call is not None:
                    waiting.remove(call)
                name = call.name if call else ""
                own_id = call.id if call else call_id
                step.results.append(Result(own_id, content, name, False, parts, step.timestamp))
                return
            if data.get("hide") is True:
                return
        if role == "system":
            step.role = "system"
        elif role == "user" and content.lstrip().startswith("<system>"):
            return
        step.parts = parts
        if role == "assistant":
            metadata = as_object(data.get("metadata"))
            step.model = as_string(metadata.get("model"))
            step.usage = _usage(as_object(metadata.get("usage")) or metadata)
            content, thoughts = cut_elements(content, "thinking", "think")
            step.reasoning = [
                ReasoningBlock(Protocol.OPENAI_CHAT, text) for text in thoughts if text
            ]
            step.calls = list(_calls(step.key, content))
        step.texts = [content]

    def _file(self, name: str) -> Part:
        mime = "image/png" if name.lower().endswith(_IMAGES) else ""
        return part_of_url(name or "file", self.notes, mime=mime)


def _calls(key: str, content: str) -> Iterator[ToolCall]:
    offset = count = 0
    while match := _CALL.search(content, offset):
        offset = match.end()
        if match[2]:
            end = content.find("\n", offset)
            line = content[offset : end if end >= 0 else len(content)]
            yield ToolCall(match[3], match[2], line.strip())
        elif match[4]:
            end = content.find(f"</{match[4]}>", offset)
            body = content[offset : end if end >= 0 else len(content)].strip("\n")
            offset = len(content) if end < 0 else end
            words = args[1] if (args := _XML_ARGS.search(match[5])) else ""
            arguments = {**({"args": unescape(words)} if words else {}), "content": unescape(body)}
            yield ToolCall(f"call_{key[:12]}_{count}", match[4], to_json(arguments))
        else:
            end = content.find("\n```", offset)
            body = content[offset + 1 : end if end >= 0 else len(content)]
            offset = len(content) if end < 0 else end + 4
            if match[1] in _TOOLS:
                words = match[0].removeprefix(f"```{match[1]}").strip()
                arguments = {**({"args": words} if words else {}), "content": body}
                yield ToolCall(f"call_{key[:12]}_{count}", match[1], to_json(arguments))
        count += 1


def _usage(counts: JsonObject) -> Usage:
    return Usage(
        as_count(counts.get("input_tokens")),
        as_count(counts.get("output_tokens")),
        as_count(counts.get("cache_read_tokens")),
        as_count(counts.get("cache_creation_tokens")),
    )


def _read(lines: JsonLines, source: ImportSource) -> Iterator[FoundConversation]:
    reader = _LogReader()
    last = reader.read(lines)
    yield from lines.faults()
    first = reader.steps[0].key if reader.steps else ""
    if source.path is not None and source.path.name == "conversation.jsonl":
        source.companions.update(source.path.parent.glob("views/*.jsonl"))  # compacted copies
        yield from _branches(reader, source, source.path.parent / "branches")
    config = _config(source.path)
    tree = TranscriptBuilder("gptme", first)
    ends = add_steps(tree, reader.steps)
    transcript = tree.transcript(
        title=as_string(config.get("name")),
        head_id=ends.get(last),
        model=as_string(config.get("model")),
    )
    yield found_conversation("", transcript, reader.notes)


def _branches(
    reader: _LogReader, source: ImportSource, folder: Path
) -> Iterator[FoundConversation]:
    for file in sorted(folder.glob("*.jsonl"))[:_MOST_BRANCHES]:
        if file.is_symlink():
            continue
        place = f"{folder.name}/{file.name}"
        try:
            lines = JsonLines(source.pieces(file))
            reader.read(lines)
            yield from lines.faults(place)
        except InputError as error:
            yield FoundConversation(place, fault=str(error))


def _config(path: Path | None) -> JsonObject:
    """Return the settings of the chat beside a log; empty if there are none."""
    if path is None:
        return {}
    try:
        return as_object(read_toml(path.with_name("config.toml")).get("chat"))
    except (ConfigError, InputError, OSError):
        return {}


FORMATS = (LinesFormat(_is_message, _read),)
