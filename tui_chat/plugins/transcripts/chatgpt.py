"""ChatGPT's exports: `conversations.json`.

1. A conversation is a `mapping` of nodes, each with its parent; edits and regenerations are
   siblings, and `current_node` is the end of the active branch.
2. A node without a message or without content for a reader (the empty system message at the root,
   a recap of the thinking time) is skipped; its children follow its parent.
3. `thoughts` are a separate node there, and the reasoning of the following reply here; thoughts
   without one are a message of their own.
4. An assistant's message with a `recipient` other than `all` is a tool call; the tool's message
   after it is the result.
5. Images and files are stored beside the export under internal names. They become parts with that
   name, and a note counts them; an import adds their content where the archive or folder has it.
6. The marks of citations are replaced by the links that the export gives for them.
7. Custom instructions become a system message, since the model receives them so. Other hidden
   messages are skipped, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from tui_chat.interop.formats import ObjectFormat, Reading, UnreadableConversation
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock, ReasoningBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string, to_json
from tui_chat.models.message import MESSAGE_ROLES
from tui_chat.plugins.transcripts.steps import (
    FILE_BESIDE,
    Result,
    Step,
    add_steps,
    joined,
    parsed,
    reasoning,
)

HIDDEN = "A hidden message was skipped."
UNKNOWN = "Content of an unknown type was skipped."
DETACHED = "A message outside the tree was skipped."
INVALID = "An invalid message was skipped."
CUSTOM_GPT = "The instructions of a custom GPT are not in the export."

_CITATION = re.compile("\ue200[^\ue201]*\ue201")


def _read_conversation(data: JsonObject) -> Reading:
    """Return the transcript and its notes. Raises UnreadableConversation."""
    nodes = as_object(data.get("mapping"))
    created, title = parse_timestamp(data.get("create_time")), as_string(data.get("title"))
    name = as_string(data.get("conversation_id")) or as_string(data.get("id"))
    tree = TranscriptBuilder("chatgpt", *([name] if name else ["", title, str(created)]))
    if as_string(data.get("gizmo_id")):
        tree.notes.append(CUSTOM_GPT)
    model = as_string(data.get("default_model_slug"))
    reader = _ConversationReader(nodes, model, tree.notes)
    steps_of = reader.read()
    ends = add_steps(tree, reader.steps)
    transcript = tree.transcript(
        title=title,
        head_id=ends.get(steps_of.get(as_string(data.get("current_node")))),
        created=created,
        updated=parse_timestamp(data.get("update_time")),
        archived=data.get("is_archived") is True,
        pinned=data.get("is_starred") is True,
        model=model,
    )
    return transcript, tree.notes


FORMATS = (ObjectFormat(lambda data: isinstance(data.get("mapping"), dict), _read_conversation),)


@dataclass(frozen=True, slots=True)
class _Predecessor:
    """The last step before a node on its branch, and what waits for its own step."""

    step: Step | None = None
    reasoning: tuple[ReasoningBlock, ...] = ()
    """Thoughts without their reply so far."""
    thought_in: str = ""
    """The node of these thoughts."""
    call_id: str = ""
    """The tool call that a result answers."""


@dataclass(slots=True)
class _ConversationReader:
    nodes: JsonObject
    model: str
    notes: list[str]
    steps: list[Step] = field(default_factory=list[Step])

    def read(self) -> dict[str, Step]:
        """Make the steps of all nodes; return that of each node, or the last one before it."""
        children = self._children()
        if self.nodes and not children.get(None):
            raise UnreadableConversation(".mapping", "has no first message")
        steps_of: dict[str, Step] = {}
        waiting = [(key, _Predecessor()) for key in reversed(children.get(None, []))]
        seen = 0
        while waiting:
            key, before = waiting.pop()
            seen += 1
            after = self._node(key, as_object(self.nodes[key]), before)
            below = children.get(key, [])
            if not below and after.reasoning:
                after = self._add_thoughts(after)
            if after.step is not None:
                steps_of[key] = after.step
            waiting += [(child, after) for child in reversed(below)]
        self.notes += [DETACHED] * (len(self.nodes) - seen)
        return steps_of

    def _children(self) -> dict[str | None, list[str]]:
        """Return the children of each node, in their parent's order."""
        children: dict[str | None, list[str]] = {}
        for key, data in self.nodes.items():
            parent = as_string(as_object(data).get("parent"))
            children.setdefault(parent if parent in self.nodes else None, []).append(key)
        for parent, keys in children.items():
            if parent is not None and len(keys) > 1:
                named = as_array(as_object(self.nodes[parent]).get("children"))
                order = {key: index for index, key in enumerate(named) if isinstance(key, str)}
                keys.sort(key=lambda key, order=order: order.get(key, len(order)))
        return children

    def _node(self, key: str, node: JsonObject, before: _Predecessor) -> _Predecessor:
        """Add the message of a node; return what precedes its children."""
        data = as_object(node.get("message"))
        if not data:
            if node.get("message") is not None or not isinstance(self.nodes[key], dict):
                self.notes.append(INVALID)
            return before
        role = as_string(as_object(data.get("author")).get("role"))
        content, facts = as_object(data.get("content")), as_object(data.get("metadata"))
        kind = as_string(content.get("content_type"))
        recipient = as_string(data.get("recipient"))
        if kind == "thoughts" and role == "assistant":
            blocks = (*before.reasoning, *_thoughts(content))
            return _Predecessor(before.step, blocks, key, before.call_id)
        if kind == "reasoning_recap":
            return before
        instructions = _instructions(content, facts)
        hidden = facts.get("is_visually_hidden_from_conversation") is True
        if (hidden and not instructions) or kind == "model_editable_context":
            if any(text for text, _ in _contents(content, kind)):
                self.notes.append(HIDDEN)
            return before
        if role not in MESSAGE_ROLES:
            self.notes.append(UNKNOWN)
            return before
        step = Step(key, role, timestamp=parse_timestamp(data.get("create_time")))
        if instructions:
            step.role, text = "system", instructions
        else:
            text, step.parts = self._content(content, kind, facts)
        if kind == "code" and recipient in ("", "all"):
            text = _fenced(content, text)
        call_id = ""
        if step.role == "assistant" and recipient not in ("", "all"):
            is_object = isinstance(parsed(text), dict)  # as protocols require
            arguments = text if is_object else to_json({"input": text})
            call_id = step.call(f"call_{key}", recipient, arguments)
        elif text or step.parts or step.role == "tool":
            step.texts = [text]
        else:
            return before  # the empty system message, or a reply that failed
        if step.role == "assistant":
            step.reasoning = list(before.reasoning)
            step.finish = as_string(as_object(facts.get("finish_details")).get("type"))
            step.status = "stopped" if step.finish == "interrupted" else "complete"
            if as_string(data.get("status")) == "in_progress":
                step.status = "interrupted"
            step.model = as_string(facts.get("model_slug")) or self.model
        elif before.reasoning:
            before = self._add_thoughts(before)
        if step.role == "tool":
            call_id = before.call_id
            name = as_string(as_object(data.get("author")).get("name"))
            result = Result(call_id, text, name, False, step.parts, step.timestamp, key)
            step.results, step.texts, step.parts = [result], [], []
        step.parent = before.step
        self.steps.append(step)
        return _Predecessor(step, call_id=call_id)

    def _add_thoughts(self, before: _Predecessor) -> _Predecessor:
        """Add thoughts without a reply as a message."""
        step = Step(before.thought_in, "assistant", before.step, status="stopped")
        step.reasoning = list(before.reasoning)
        self.steps.append(step)
        return _Predecessor(step)

    def _content(
        self, content: JsonObject, kind: str, facts: JsonObject
    ) -> tuple[str, list[MediaBlock]]:
        """Return the text of a message, and its images and files."""
        texts: list[str] = []
        parts: list[MediaBlock] = []
        for text, part in _contents(content, kind):
            if text:
                texts.append(text)
            if part:
                parts.append(part)
        if "attachments" in facts:
            parts += _attached(facts, " ".join(part.file_id for part in parts))
        self.notes += [FILE_BESIDE] * len(parts)
        text = "\n".join(texts)
        if not text and not parts and kind not in _KNOWN:
            self.notes.append(UNKNOWN)
        return _with_links(text, facts), parts


_KNOWN = ("", "text", "multimodal_text", "code", "execution_output")


def _attached(facts: JsonObject, pointers: str) -> Iterator[MediaBlock]:
    """Yield the attachments of a message that its content does not have."""
    for attached in map(as_object, as_array(facts.get("attachments"))):
        file_id, mime = as_string(attached.get("id")), as_string(attached.get("mime_type"))
        if file_id and file_id not in pointers:
            kind = "image" if mime.startswith("image/") else "file"
            yield MediaBlock(kind, mime, file_id=file_id, name=as_string(attached.get("name")))


def _contents(content: JsonObject, kind: str) -> Iterator[tuple[str, MediaBlock | None]]:
    """Yield the texts, images and files of content of any type."""
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
        fields = as_object(part)
        if text := as_string(fields.get("text")):
            yield text, None
        for pointing in (fields, *map(as_object, (fields.get("audio_asset_pointer"),))):
            if pointer := as_string(pointing.get("asset_pointer")):
                named = as_string(pointing.get("content_type"))
                of = "image" if "image" in named else "audio" if "audio" in named else "file"
                yield "", MediaBlock(of, file_id=pointer)


def _thoughts(content: JsonObject) -> Iterator[ReasoningBlock]:
    for thought in map(as_object, as_array(content.get("thoughts"))):
        summary = as_string(thought.get("summary"))
        text = as_string(thought.get("content"))
        if whole := joined((f"**{summary}**" if summary else "", text)):
            yield reasoning(Protocol.OPENAI_RESPONSES, whole)


_INSTRUCTED = ("user_profile", "user_instructions")


def _instructions(content: JsonObject, facts: JsonObject) -> str:
    """Return the user's custom instructions if the message has them."""
    if "user_context_message_data" not in facts and content.keys().isdisjoint(_INSTRUCTED):
        return ""
    stored = as_object(facts.get("user_context_message_data"))
    texts = (
        as_string(content.get("user_profile")) or as_string(stored.get("about_user_message")),
        as_string(content.get("user_instructions")) or as_string(stored.get("about_model_message")),
    )
    return joined(texts)


def _fenced(content: JsonObject, text: str) -> str:
    """Return code for the reader as a Markdown code block."""
    if not text:
        return text
    language = as_string(content.get("language"))
    return f"```{'' if language == 'unknown' else language}\n{text}\n```"


def _with_links(text: str, facts: JsonObject) -> str:
    """Return a text with the words of citations, which are links, in place of their marks."""
    for reference in map(as_object, as_array(facts.get("content_references"))):
        mark = as_string(reference.get("matched_text"))
        if "\ue200" in mark:
            text = text.replace(mark, as_string(reference.get("alt")))
    return _CITATION.sub("", text)
