"""Conversations as ChatGPT exports them: `conversations.json`.

1. A conversation is a `mapping` of nodes, each with its parent; edits and regenerations are
   siblings, `current_node` is the end of the branch that is shown.
2. A node without a message, or whose message says nothing to a reader (the empty system message
   at the root, a recap of how long was thought), is stepped over: its children hang on what
   comes before it.
3. `thoughts` are a node of their own there and the reasoning of the reply that follows here.
4. What the assistant writes to a `recipient` other than all is a tool call; the message of the
   tool that follows is its result.
5. Pictures and files lie beside the export under names that only it knows. They become parts
   that name them, and a note counts them.
6. Custom instructions are a system message here, since that is how the model got them. What
   else was hidden from the reader is left out, and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder, UnreadableConversation
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES, Message, MessageRole, Part, ToolCall
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

LOST = "A picture or file lies beside the export and is not taken in; its name is kept."
HIDDEN = "A message that was hidden from you there is left out."
UNKNOWN = "A content of an unknown kind is left out."
ADRIFT = "A message that hangs on nothing is left out."
BROKEN = "An item that is not a valid message is skipped."
CUSTOM = "The instructions of a custom GPT are not in the export."

_CITATION = re.compile("\ue200[^\ue201]*\ue201")


def is_conversation(said: JsonObject) -> bool:
    """Tell whether an object looks like one of ChatGPT's conversations."""
    return isinstance(said.get("mapping"), dict)


def read_conversation(said: JsonObject) -> tuple[Transcript, list[str]]:
    """Return the conversation and its notes. Raises Unreadable."""
    nodes = as_object(said.get("mapping"))
    created, title = parse_timestamp(said.get("create_time")), as_string(said.get("title"))
    name = as_string(said.get("conversation_id")) or as_string(said.get("id"))
    tree = TranscriptBuilder("chatgpt", *([name] if name else ["", title, str(created)]))
    if as_string(said.get("gizmo_id")):
        tree.notes.append(CUSTOM)
    model = as_string(said.get("default_model_slug"))
    ends = _Reader(tree, nodes, model).read()
    transcript = tree.transcript(
        title=title,
        head_id=ends.get(as_string(said.get("current_node"))),
        created=created,
        updated=parse_timestamp(said.get("update_time")),
        archived=said.get("is_archived") is True,
        pinned=said.get("is_starred") is True,
        model=model,
    )
    return transcript, tree.notes


@dataclass(frozen=True, slots=True)
class _Before:
    """What a node follows."""

    entry_id: str | None = None
    """The last message on the way to it."""
    reasoning: tuple[ReasoningBlock, ...] = ()
    """Thoughts that wait for their reply."""
    thought_in: str = ""
    """The node they were in."""
    call_id: str = ""
    """The tool call that a result would answer."""


@dataclass(slots=True)
class _Reader:
    tree: TranscriptBuilder
    nodes: JsonObject
    model: str
    ends: dict[str, str] = field(default_factory=dict[str, str])
    """The message that each node is, or hangs on."""

    def read(self) -> dict[str, str]:
        children = self._children()
        if self.nodes and not children.get(None):
            raise UnreadableConversation(".mapping", "no message in it is the first")
        waiting = [(key, _Before()) for key in reversed(children.get(None, []))]
        seen = 0
        while waiting:
            key, before = waiting.pop()
            seen += 1
            after = self._node(key, as_object(self.nodes[key]), before)
            below = children.get(key, [])
            if not below and after.reasoning:
                after = self._only_thoughts(after)
            if after.entry_id is not None:
                self.ends[key] = after.entry_id
            waiting += [(child, after) for child in reversed(below)]
        self.tree.notes += [ADRIFT] * (len(self.nodes) - seen)
        return self.ends

    def _children(self) -> dict[str | None, list[str]]:
        """Return the children of each node, in the order in which their parent names them."""
        children: dict[str | None, list[str]] = {}
        for key, said in self.nodes.items():
            parent = as_string(as_object(said).get("parent"))
            children.setdefault(parent if parent in self.nodes else None, []).append(key)
        for parent, keys in children.items():
            if parent is not None and len(keys) > 1:
                named = as_array(as_object(self.nodes[parent]).get("children"))
                place = {key: at for at, key in enumerate(named) if isinstance(key, str)}
                keys.sort(key=lambda key, place=place: place.get(key, len(place)))
        return children

    def _node(self, key: str, node: JsonObject, before: _Before) -> _Before:
        """Add the message of a node; return what its children follow."""
        said = as_object(node.get("message"))
        if not said:
            if node.get("message") is not None or not isinstance(self.nodes[key], dict):
                self.tree.notes.append(BROKEN)
            return before
        role = as_string(as_object(said.get("author")).get("role"))
        content, facts = as_object(said.get("content")), as_object(said.get("metadata"))
        kind = as_string(content.get("content_type"))
        recipient = as_string(said.get("recipient"))
        if kind == "thoughts" and role == "assistant":
            blocks = (*before.reasoning, *_thoughts(content))
            return _Before(before.entry_id, blocks, key, before.call_id)
        if kind == "reasoning_recap":
            return before
        instructions = _instructions(content, facts)
        hidden = facts.get("is_visually_hidden_from_conversation") is True
        if (hidden and not instructions) or kind == "model_editable_context":
            if any(text for text, _ in _contents(content, kind)):
                self.tree.notes.append(HIDDEN)
            return before
        if role not in MESSAGE_ROLES:
            self.tree.notes.append(UNKNOWN)
            return before
        if instructions:
            said_by: MessageRole = "system"
            text, parts = instructions, ()
        else:
            said_by = role
            text, parts = self._content(content, kind, facts)
        if kind == "code" and recipient in ("", "all"):
            text = _fenced(content, text)
        return self._message(key, said, facts, said_by, recipient, text, parts, before)

    def _message(
        self,
        key: str,
        said: JsonObject,
        facts: JsonObject,
        role: MessageRole,
        recipient: str,
        text: str,
        parts: tuple[Part, ...],
        before: _Before,
    ) -> _Before:
        calls: tuple[ToolCall, ...] = ()
        if role == "assistant" and recipient not in ("", "all"):
            calls = (ToolCall(f"call_{key}", recipient, _arguments(text)),)
            text = ""
        elif not (text or parts) and role != "tool":
            return before  # the empty system message, or a reply that never came
        if role != "assistant" and before.reasoning:
            before = self._only_thoughts(before)
        entry_id, at = self.tree.id_of(key), parse_timestamp(said.get("create_time"))
        if role == "tool":
            name = as_string(as_object(said.get("author")).get("name"))
            message = Message(
                role, text, entry_id, (), before.call_id, name, timestamp=at, parts=parts
            )
            self.tree.add(message, before.entry_id)
            return _Before(entry_id, call_id=before.call_id)
        semantics = NO_MESSAGE_SEMANTICS
        if before.reasoning:
            semantics = MessageSemantics(reasoning=before.reasoning)
        message = Message(
            role, text, entry_id, calls, timestamp=at, semantics=semantics, parts=parts
        )
        if role != "assistant":
            self.tree.add(message, before.entry_id)
            return _Before(entry_id)
        finish = as_string(as_object(facts.get("finish_details")).get("type"))
        model = as_string(facts.get("model_slug")) or self.model
        self.tree.add(message, before.entry_id, _status(said, finish), model, finish)
        return _Before(entry_id, call_id=calls[0].id if calls else "")

    def _only_thoughts(self, before: _Before) -> _Before:
        """Add thoughts that no reply followed."""
        message = Message(
            "assistant",
            id=self.tree.id_of(before.thought_in),
            semantics=MessageSemantics(reasoning=before.reasoning),
        )
        return _Before(self.tree.add(message, before.entry_id, "stopped"))

    def _content(
        self, content: JsonObject, kind: str, facts: JsonObject
    ) -> tuple[str, tuple[Part, ...]]:
        """Return the text of a message, and its pictures and files."""
        texts: list[str] = []
        parts: list[Part] = []
        for text, part in _contents(content, kind):
            if text:
                texts.append(text)
            if part:
                parts.append(part)
        if "attachments" in facts:
            parts += _attached(facts, " ".join(part.file_id for part in parts))
        self.tree.notes += [LOST] * len(parts)
        text = "\n".join(texts)
        if not text and not parts and kind not in _KNOWN:
            self.tree.notes.append(UNKNOWN)
        return _with_sources(text, facts), tuple(parts)


_KNOWN = ("", "text", "multimodal_text", "code", "execution_output")


def _attached(facts: JsonObject, known: str) -> Iterator[Part]:
    """Yield the pictures and files of a message beside those that are known from its content."""
    for attached in map(as_object, as_array(facts.get("attachments"))):
        file_id, mime = as_string(attached.get("id")), as_string(attached.get("mime_type"))
        if file_id and file_id not in known:
            kind = "image" if mime.startswith("image/") else "file"
            yield Part(kind, mime, file_id=file_id, name=as_string(attached.get("name")))


def _contents(content: JsonObject, kind: str) -> Iterator[tuple[str, Part | None]]:
    """Yield the texts, pictures and files of a content, whatever its kind."""
    text = as_string(content.get("text")) or as_string(content.get("result"))
    if kind == "tether_quote":
        source = " ".join(
            filter(None, (as_string(content.get("title")), as_string(content.get("url"))))
        )
        yield source, None
    if text:
        yield text, None
    elif isinstance(content.get("content"), str):
        yield as_string(content["content"]), None
    for part in as_array(content.get("parts")):
        if isinstance(part, str):
            yield as_string(part), None
            continue
        found = as_object(part)
        if text := as_string(found.get("text")):
            yield text, None
        for pointing in (found, *map(as_object, (found.get("audio_asset_pointer"),))):
            if pointer := as_string(pointing.get("asset_pointer")):
                named = as_string(pointing.get("content_type"))
                of = "image" if "image" in named else "audio" if "audio" in named else "file"
                yield "", Part(of, file_id=pointer)


def _thoughts(content: JsonObject) -> Iterator[ReasoningBlock]:
    for thought in map(as_object, as_array(content.get("thoughts"))):
        summary = as_string(thought.get("summary"))
        text = as_string(thought.get("content"))
        if said := "\n\n".join(filter(None, (f"**{summary}**" if summary else "", text))):
            yield ReasoningBlock(Protocol.OPENAI_RESPONSES, said, kind="summary")


_INSTRUCTED = ("user_profile", "user_instructions")


def _instructions(content: JsonObject, facts: JsonObject) -> str:
    """Return the user's custom instructions, where this is what the message says."""
    if "user_context_message_data" not in facts and content.keys().isdisjoint(_INSTRUCTED):
        return ""
    told = as_object(facts.get("user_context_message_data"))
    said = (
        as_string(content.get("user_profile")) or as_string(told.get("about_user_message")),
        as_string(content.get("user_instructions")) or as_string(told.get("about_model_message")),
    )
    return "\n\n".join(filter(None, said))


def _arguments(text: str) -> str:
    """Return what was written to a tool as a JSON object, which protocols want."""
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return to_json({"input": text})


def _fenced(content: JsonObject, text: str) -> str:
    """Return code that was written to the reader as Markdown has it."""
    if not text:
        return text
    language = as_string(content.get("language"))
    return f"```{'' if language == 'unknown' else language}\n{text}\n```"


def _status(said: JsonObject, finish: str) -> EntryStatus:
    if as_string(said.get("status")) == "in_progress":
        return "interrupted"
    return "stopped" if finish == "interrupted" else "complete"


def _with_sources(text: str, facts: JsonObject) -> str:
    """Put the sources that were cited in the places of their marks."""
    if "\ue200" not in text:
        return text
    for reference in map(as_object, as_array(facts.get("content_references"))):
        mark = as_string(reference.get("matched_text"))
        if mark and "\ue200" in mark:
            text = text.replace(mark, as_string(reference.get("alt")))
    return _CITATION.sub("", text)
