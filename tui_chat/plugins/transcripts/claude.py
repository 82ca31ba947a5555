"""Claude's exports: `conversations.json`.

1. A conversation lists `chat_messages`, oldest first. Newer exports have the parent of each, and
   the leaf of the active branch; without parents, each message follows the previous one.
2. An assistant's message contains whole rounds of tool use as blocks. Here every round is a reply
   with its calls, then a result for each, then the next reply.
3. The text of an attachment is in the export and becomes a document. Other files are not; they
   become parts with their name, and a note counts them. Citations are left out.
4. Accounts and projects in the same archive are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.interop.formats import ObjectFormat, Reading, UnreadableConversation
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string
from tui_chat.plugins.transcripts.steps import (
    MISSING_FILE,
    Result,
    Step,
    add_steps,
    anthropic_reasoning,
    chain,
    texts_of,
)

UNKNOWN = "A block of an unknown type was skipped."

_SILENT_BLOCKS = ("token_budget", "flag")
"""Types of blocks without content for a reader."""


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
    messages = [as_object(message) for message in as_array(data.get("chat_messages"))]
    for index, message in enumerate(messages):
        if as_string(message.get("sender")) not in ("human", "assistant"):
            raise UnreadableConversation(
                f".chat_messages[{index}].sender", "must be human or assistant"
            )
    model = as_string(data.get("model"))
    replies: dict[str, list[Step]] = {}
    parents: dict[str, str] = {}
    for index, message in enumerate(messages):
        key = as_string(message.get("uuid")) or str(index)
        replies[key] = _MessageReader(key, message, model, tree.notes).read()
        parents[key] = as_string(message.get("parent_message_uuid"))
    steps = [step for reply in replies.values() for step in reply]
    chain(steps)
    if not replies.keys().isdisjoint(parents.values()):
        for key, parent in parents.items():
            replies[key][0].parent = replies[parent][-1] if parent in replies else None
    ends = add_steps(tree, steps)
    active = replies.get(as_string(data.get("current_leaf_message_uuid")))
    head_id = ends.get(active[-1]) if active else None
    transcript = tree.transcript(
        title=title,
        head_id=head_id or (ends.get(steps[-1]) if steps else None),
        created=parse_timestamp(data.get("created_at")),
        updated=parse_timestamp(data.get("updated_at")),
        pinned=data.get("is_starred") is True,
        model=model,
    )
    return transcript, tree.notes


FORMATS = (
    ObjectFormat(_is_beside_conversations, None),
    ObjectFormat(lambda data: isinstance(data.get("chat_messages"), list), _read_conversation),
)


class _MessageReader:
    """Reads one message of the export, which becomes a step for each round of tool use."""

    def __init__(self, key: str, data: JsonObject, model: str, notes: list[str]) -> None:
        self._key = key
        self._data = data
        self._model = model
        self._notes = notes
        self._steps: list[Step] = []
        self._messages = 0
        """The number of messages so far, results among them."""
        self._continues = True
        """True if the next text continues the last one: citations split a text into blocks."""
        self._step = self._begin()

    def read(self) -> list[Step]:
        """Return its steps."""
        self._step.parts += self._attached()
        for block in map(as_object, as_array(self._data.get("content"))):
            self._block(block)
        if not any(step.results or any(step.texts) for step in self._steps):
            self._step.texts = [as_string(self._data.get("text"))]
        self._end()
        return self._steps

    def _begin(self) -> Step:
        key = f"{self._key}/{self._messages}" if self._messages else self._key
        step = Step(key, "user", timestamp=parse_timestamp(self._data.get("created_at")))
        if as_string(self._data.get("sender")) == "assistant":
            step.role, step.model = "assistant", self._model
            if as_string(self._data.get("stop_reason")) == "user_canceled":
                step.status = "stopped"
        self._steps.append(step)
        self._continues = True
        return step

    def _end(self) -> None:
        """Complete the message of the step, which its results follow."""
        self._messages += self._step.has_message

    def _block(self, block: JsonObject) -> None:
        kind = as_string(block.get("type"))
        step = self._step
        if step.results and kind != "tool_result":
            step = self._step = self._begin()
        match kind:
            case "text" | "voice_note":
                self._text(as_string(block.get("text")))
            case "thinking" | "redacted_thinking":
                step.reasoning.append(anthropic_reasoning(block))
            case "tool_use":
                call_id = as_string(block.get("id"))
                call_id = call_id or f"call_{self._key}_{self._messages}_{len(step.calls)}"
                step.call(call_id, as_string(block.get("name")), block.get("input"))
                self._continues = False
            case "tool_result":
                self._result(block)
            case kind if kind not in _SILENT_BLOCKS:
                self._notes.append(UNKNOWN)
            case _:
                pass

    def _text(self, text: str) -> None:
        texts = self._step.texts
        if not self._continues or not texts:
            texts.append("")
        texts[-1] += text
        self._continues = True

    def _result(self, block: JsonObject) -> None:
        step = self._step
        call_id = as_string(block.get("tool_use_id"))
        if not step.results:
            self._end()
            call_id = call_id or (step.calls[0].id if step.calls else "")
        content = block.get("content")
        text = "\n".join(filter(None, texts_of(content)))
        key = f"{self._key}/{self._messages}" if self._messages else self._key
        self._messages += 1
        step.results.append(
            Result(
                call_id,
                as_string(content) if isinstance(content, str) else text,
                as_string(block.get("name")),
                failed=block.get("is_error") is True,
                timestamp=step.timestamp,
                key=key,
            )
        )

    def _attached(self) -> Iterator[MediaBlock]:
        for attachment in map(as_object, as_array(self._data.get("attachments"))):
            name = as_string(attachment.get("file_name"))
            if text := as_string(attachment.get("extracted_content")):
                yield MediaBlock("file", "text/plain", text=text, name=name)
            elif name:
                self._notes.append(MISSING_FILE)
                yield MediaBlock("file", file_id=as_string(attachment.get("id")) or name, name=name)
        files = as_array(self._data.get("files_v2")) or as_array(self._data.get("files"))
        for file in map(as_object, files):
            name = as_string(file.get("file_name"))
            if file_id := as_string(file.get("file_uuid")) or name:
                self._notes.append(MISSING_FILE)
                kind = "image" if as_string(file.get("file_kind")) == "image" else "file"
                yield MediaBlock(kind, file_id=file_id, name=name)
