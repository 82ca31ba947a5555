"""Conversations as Claude exports them: `conversations.json`.

1. A conversation lists `chat_messages`, oldest first. Newer exports name the parent of each, and
   the leaf that is shown; without parents, each message follows the one before it.
2. A message of the assistant holds whole rounds of tool use as blocks. Here every round is a
   reply with its calls, then a result for each, then the next reply.
3. The text of an attachment is in the export and comes along as a document. Other files are
   not; they become parts that name them, and a note counts them.
4. Accounts and projects in the same archive are no conversations and are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder, UnreadableConversation
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, MessageSemantics, ReasoningBlock
from tui_chat.models.session import EntryStatus
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import (
    JsonObject,
    as_array,
    as_object,
    as_string,
    to_json,
)

LOST = "A picture or file is not in the export; its name is kept."
UNKNOWN = "A block of an unknown kind is left out."
ADRIFT = "A message that hangs on nothing is left out."

_SILENT_BLOCKS = ("token_budget", "flag")
"""What says nothing to a reader."""


def is_conversation(said: JsonObject) -> bool:
    """Tell whether an object looks like one of Claude's conversations."""
    return isinstance(said.get("chat_messages"), list)


def is_passed_over(said: JsonObject) -> bool:
    """Tell whether an object is one of the accounts, projects and memories beside them."""
    known = {"email_address", "prompt_template", "docs", "conversations_memory"}
    return ("uuid" in said and not known.isdisjoint(said)) or "conversations_memory" in said


def read_conversation(said: JsonObject) -> tuple[Transcript, list[str]]:
    """Return the conversation and its notes. Raises Unreadable."""
    title, name = as_string(said.get("name")), as_string(said.get("uuid"))
    tree = TranscriptBuilder(
        "claude", *([name] if name else ["", title, as_string(said.get("created_at"))])
    )
    told = [as_object(each) for each in as_array(said.get("chat_messages"))]
    for index, each in enumerate(told):
        if as_string(each.get("sender")) not in ("human", "assistant"):
            raise UnreadableConversation(
                f".chat_messages[{index}].sender", "must be human or assistant"
            )
    keys = [as_string(each.get("uuid")) or str(index) for index, each in enumerate(told)]
    ends: dict[str, str | None] = {}
    model = as_string(said.get("model"))
    for key, parent, message in _in_order(keys, told, tree):
        before = ends.get(parent) if parent is not None else None
        ends[key] = _Speaker(tree, key, message, model, before).read()
    shown = as_string(said.get("current_leaf_message_uuid"))
    transcript = tree.transcript(
        title=title,
        head_id=ends.get(shown) or (ends.get(keys[-1]) if keys else None),
        created=parse_timestamp(said.get("created_at")),
        updated=parse_timestamp(said.get("updated_at")),
        pinned=said.get("is_starred") is True,
        model=model,
    )
    return transcript, tree.notes


def _in_order(
    keys: list[str], told: list[JsonObject], tree: TranscriptBuilder
) -> Iterator[tuple[str, str | None, JsonObject]]:
    """Yield key, parent's key and message, parents first."""
    by_key = dict(zip(keys, told, strict=True))
    parents = [as_string(each.get("parent_message_uuid")) for each in told]
    if not any(parent in by_key for parent in parents):
        yield from zip(keys, [None, *keys], told, strict=False)
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
    tree.notes += [ADRIFT] * (len(told) - seen)


@dataclass(slots=True)
class _Speaker:
    """One message on its way to being one or several."""

    tree: TranscriptBuilder
    key: str
    said: JsonObject
    model: str
    before: str | None
    """The message that comes before."""
    added: int = 0
    text: str = ""
    joined: bool = True
    """Whether the next text goes on where the last one ended."""
    reasoning: list[ReasoningBlock] = field(default_factory=list[ReasoningBlock])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    parts: list[Part] = field(default_factory=list[Part])

    def read(self) -> str | None:
        """Add the message; return the last that was added, or what it would have followed."""
        self.parts += self._attached()
        for block in map(as_object, as_array(self.said.get("content"))):
            self._block(block)
        if not (self.added or self.text):
            self.text = as_string(self.said.get("text"))
        self._end_round()
        return self.before

    def _block(self, block: JsonObject) -> None:
        match as_string(block.get("type")):
            case "text" | "voice_note":
                self._text(as_string(block.get("text")))
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
                asked = block.get("input")
                arguments = asked if isinstance(asked, str) else to_json(asked or {})
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

    def _text(self, text: str) -> None:
        # A text is cut into blocks where sources are cited.
        between = "" if self.joined or not self.text or not text else "\n\n"
        self.text += between + text
        self.joined = True

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
                timestamp=parse_timestamp(self.said.get("created_at")),
                semantics=MessageSemantics(failed=True) if failed else NO_MESSAGE_SEMANTICS,
            )
        )

    def _end_round(self) -> None:
        """Add what was said up to here, if anything was."""
        if not (self.text or self.reasoning or self.calls or self.parts):
            return
        reply = as_string(self.said.get("sender")) == "assistant"
        semantics = NO_MESSAGE_SEMANTICS
        if self.reasoning:
            semantics = MessageSemantics(reasoning=tuple(self.reasoning))
        stopped = reply and as_string(self.said.get("stop_reason")) == "user_canceled"
        self._add(
            Message(
                "assistant" if reply else "user",
                self.text,
                self._next_id(),
                tool_calls=tuple(self.calls),
                timestamp=parse_timestamp(self.said.get("created_at")),
                semantics=semantics,
                parts=tuple(self.parts),
            ),
            status="stopped" if stopped else "complete",
            model=self.model if reply else "",
        )
        self.text, self.joined = "", True
        self.reasoning, self.calls, self.parts = [], [], []

    def _add(self, message: Message, *, status: EntryStatus = "complete", model: str = "") -> None:
        self.before = self.tree.add(message, self.before, status, model)
        self.added += 1

    def _next_id(self) -> str:
        return self.tree.id_of(f"{self.key}/{self.added}" if self.added else self.key)

    def _attached(self) -> Iterator[Part]:
        for each in map(as_object, as_array(self.said.get("attachments"))):
            name, text = as_string(each.get("file_name")), as_string(each.get("extracted_content"))
            if text:
                yield Part("file", "text/plain", text=text, name=name)
            elif name:
                self.tree.notes.append(LOST)
                yield Part("file", file_id=as_string(each.get("id")) or name, name=name)
        files = as_array(self.said.get("files_v2")) or as_array(self.said.get("files"))
        for each in map(as_object, files):
            name = as_string(each.get("file_name"))
            if file_id := as_string(each.get("file_uuid")) or name:
                self.tree.notes.append(LOST)
                kind = "image" if as_string(each.get("file_kind")) == "image" else "file"
                yield Part(kind, file_id=file_id, name=name)
