"""Claude's exports: `conversations.json`.

1. A conversation lists `chat_messages`, oldest first. Newer exports have the parent of each, and
   the leaf of the active branch; without parents, each message follows the previous one.
2. An assistant's message contains whole rounds of tool use as blocks. Here every round is a reply
   with its calls, then a result for each, then the next reply.
3. The text of an attachment is in the export and becomes a document. Other files are not; they
   become parts with their name, and a note counts them.
4. Accounts and projects in the same archive are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tui_chat.interop.formats import ObjectFormat, Reading
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import (
    TranscriptBuilder,
    UnreadableConversation,
    references_of,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import NO_REFERENCES
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_count, as_object, as_string, to_json
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics, ReasoningBlock
from tui_chat.models.session import EntryStatus
from tui_chat.protocols.common.reply_events import ReplyEvents

MISSING_FILE = "An image or file is not in the export; a placeholder stands for it."
UNKNOWN = "A block of an unknown type was skipped."
DETACHED = "A message outside the tree was skipped."

_SILENT_BLOCKS = ("token_budget", "flag")
"""Types of blocks without content for a reader."""


def _is_conversation(data: JsonObject) -> bool:
    """Return True if an object looks like a conversation of Claude."""
    return isinstance(data.get("chat_messages"), list)


def _is_beside_conversations(data: JsonObject) -> bool:
    """Return True for an account, a project or a memory."""
    known = {"email_address", "prompt_template", "docs", "conversations_memory"}
    return ("uuid" in data and not known.isdisjoint(data)) or "conversations_memory" in data


def _read_conversation(data: JsonObject) -> Reading:
    """Return the transcript and its notes. Raises UnreadableConversation."""
    title, name = as_string(data.get("name")), as_string(data.get("uuid"))
    tree = TranscriptBuilder(
        "claude", *([name] if name else ["", title, as_string(data.get("created_at"))])
    )
    messages = [as_object(each) for each in as_array(data.get("chat_messages"))]
    for index, each in enumerate(messages):
        if as_string(each.get("sender")) not in ("human", "assistant"):
            raise UnreadableConversation(
                f".chat_messages[{index}].sender", "must be human or assistant"
            )
    keys = [as_string(each.get("uuid")) or str(index) for index, each in enumerate(messages)]
    ends: dict[str, str | None] = {}
    model = as_string(data.get("model"))
    for key, parent, message in _in_order(keys, messages, tree):
        before = ends.get(parent) if parent is not None else None
        ends[key] = _MessageReader(tree, key, message, model, before).read()
    shown = as_string(data.get("current_leaf_message_uuid"))
    transcript = tree.transcript(
        title=title,
        head_id=ends.get(shown) or (ends.get(keys[-1]) if keys else None),
        created=parse_timestamp(data.get("created_at")),
        updated=parse_timestamp(data.get("updated_at")),
        pinned=data.get("is_starred") is True,
        model=model,
    )
    return transcript, tree.notes


FORMATS = (
    ObjectFormat(_is_beside_conversations, None),
    ObjectFormat(_is_conversation, _read_conversation),
)


def _in_order(
    keys: list[str], messages: list[JsonObject], tree: TranscriptBuilder
) -> Iterator[tuple[str, str | None, JsonObject]]:
    """Yield key, parent's key and message, parents first."""
    by_key = dict(zip(keys, messages, strict=True))
    parents = [as_string(each.get("parent_message_uuid")) for each in messages]
    if not any(parent in by_key for parent in parents):
        yield from zip(keys, [None, *keys], messages, strict=False)
        return
    children: dict[str | None, list[str]] = {}
    for key, parent in dict(zip(keys, parents, strict=True)).items():
        children.setdefault(parent if parent in by_key else None, []).append(key)
    waiting: list[tuple[str, str | None]] = [
        (key, None) for key in reversed(children.get(None, []))
    ]
    seen = 0
    while waiting:
        key, parent = waiting.pop()
        seen += 1
        yield key, parent, by_key[key]
        waiting += [(child, key) for child in reversed(children.get(key, []))]
    tree.notes += [DETACHED] * (len(messages) - seen)


@dataclass(slots=True)
class _MessageReader:
    """Reads one message of the export, which becomes one or several."""

    tree: TranscriptBuilder
    key: str
    data: JsonObject
    model: str
    before: str | None
    """The last message added before."""
    added: int = 0
    text: str = ""
    joined: bool = True
    """True if the next text continues the last one."""
    reasoning: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    parts: list[Part] = field(default_factory=list[Part])
    references: ReplyEvents = field(default_factory=ReplyEvents)

    def read(self) -> str | None:
        """Add the message; return the last message added, or the one before if there was none."""
        self.parts += self._attached()
        for block in map(as_object, as_array(self.data.get("content"))):
            self._block(block)
        if not (self.added or self.text):
            self.text = as_string(self.data.get("text"))
        self._end_round()
        return self.before

    def _block(self, block: JsonObject) -> None:
        match as_string(block.get("type")):
            case "text" | "voice_note":
                self._text(as_string(block.get("text")), as_array(block.get("citations")))
            case "thinking":
                text, signature = (
                    as_string(block.get("thinking")),
                    as_string(block.get("signature")),
                )
                self.reasoning.append(ReasoningBlock(Protocol.ANTHROPIC, text, signature))
            case "redacted_thinking":
                data = as_string(block.get("data"))
                self.reasoning.append(ReasoningBlock(Protocol.ANTHROPIC, encrypted=data))
            case "tool_use":
                tool_input = block.get("input")
                arguments = tool_input if isinstance(tool_input, str) else to_json(tool_input or {})
                call_id = (
                    as_string(block.get("id")) or f"call_{self.key}_{self.added}_{len(self.calls)}"
                )
                self.calls.append(ToolCall(call_id, as_string(block.get("name")), arguments))
                self.joined = False
            case "tool_result":
                self._result(block)
            case kind if kind not in _SILENT_BLOCKS:
                self.tree.notes.append(UNKNOWN)
            case _:
                pass

    def _text(self, text: str, citations: list[object]) -> None:
        # Citations split a text into blocks.
        between = "" if self.joined or not self.text or not text else "\n\n"
        self.text += between
        for citation in map(as_object, citations):
            self._cite(citation, len(self.text), len(text))
        self.text += text
        self.joined = True

    def _cite(self, citation: JsonObject, base: int, length: int) -> None:
        """Add a citation of the text of `length` at `base`, or of a place within it."""
        of = [citation, as_object(citation.get("details"))]
        of += map(as_object, as_array(citation.get("sources"))[:1])
        title, url = (
            next(filter(None, (as_string(each.get(key)) for each in of)), "")
            for key in ("title", "url")
        )
        if not title and not url:
            return
        start, end = as_count(citation.get("start_index")), as_count(citation.get("end_index"))
        if start is None or end is None or not start <= end <= length:
            start, end = 0, length
        number = self.references.add_source(title, url)
        self.references.add_citation(number, base + start, base + end)

    def _result(self, block: JsonObject) -> None:
        calls = self.calls
        self._end_round()
        call_id = as_string(block.get("tool_use_id"))
        if not call_id and calls:
            call_id = calls[0].id
        content = block.get("content")
        texts = [as_string(as_object(each).get("text")) for each in as_array(content)]
        failed = True if block.get("is_error") is True else None
        text = content if isinstance(content, str) else "\n".join(filter(None, texts))
        self._add(
            Message(
                "tool",
                as_string(text),
                self._next_id(),
                tool_call_id=call_id,
                name=as_string(block.get("name")),
                timestamp=parse_timestamp(self.data.get("created_at")),
                semantics=MessageSemantics(failed=True) if failed else NO_MESSAGE_SEMANTICS,
            )
        )

    def _end_round(self) -> None:
        """Add the blocks so far as a message, if there are any."""
        if not (self.text or self.reasoning or self.calls or self.parts):
            return
        reply = as_string(self.data.get("sender")) == "assistant"
        semantics = NO_MESSAGE_SEMANTICS
        references = references_of(self.references, self.text)
        if self.reasoning or references != NO_REFERENCES:
            semantics = MessageSemantics(tuple(self.reasoning), references=references)
        stopped = reply and as_string(self.data.get("stop_reason")) == "user_canceled"
        self._add(
            Message(
                "assistant" if reply else "user",
                self.text,
                self._next_id(),
                tool_calls=tuple(self.calls),
                timestamp=parse_timestamp(self.data.get("created_at")),
                semantics=semantics,
                parts=tuple(self.parts),
            ),
            status="stopped" if stopped else "complete",
            model=self.model if reply else "",
        )
        self.text, self.joined = "", True
        self.reasoning, self.calls, self.parts = [], [], []
        self.references = ReplyEvents()

    def _add(self, message: Message, *, status: EntryStatus = "complete", model: str = "") -> None:
        self.before = self.tree.add(message, self.before, status, model)
        self.added += 1

    def _next_id(self) -> str:
        return self.tree.id_of(f"{self.key}/{self.added}" if self.added else self.key)

    def _attached(self) -> Iterator[Part]:
        for each in map(as_object, as_array(self.data.get("attachments"))):
            name, text = as_string(each.get("file_name")), as_string(each.get("extracted_content"))
            if text:
                yield Part("file", "text/plain", text=text, name=name)
            elif name:
                self.tree.notes.append(MISSING_FILE)
                yield Part("file", file_id=as_string(each.get("id")) or name, name=name)
        files = as_array(self.data.get("files_v2")) or as_array(self.data.get("files"))
        for each in map(as_object, files):
            name = as_string(each.get("file_name"))
            if file_id := as_string(each.get("file_uuid")) or name:
                self.tree.notes.append(MISSING_FILE)
                kind = "image" if as_string(each.get("file_kind")) == "image" else "file"
                yield Part(kind, file_id=file_id, name=name)
