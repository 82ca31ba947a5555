"""One entry of a conversation, in the unified, OpenAI-like shape."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, final

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, Brought, MessageSemantics
from tui_chat.models.text import Origin, OriginKind

MessageRole = Literal["system", "user", "assistant", "tool"]
"""The author of a message. Not a `Role`, which is a named assistant."""

MESSAGE_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by a model."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: usually a JSON object, but it may be broken JSON."""


PartKind = Literal["image", "audio", "video", "file"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message that is not text. One of `data`, `url`, `file_id` and `text` says what
    it is. If none does, it came damaged: no protocol sends it.
    """

    kind: PartKind
    mime: str = ""
    """For example `image/png`; empty if unknown."""
    data: str = ""
    """The bytes in base64."""
    url: str = ""
    """Its URL."""
    file_id: str = ""
    """The provider's id of a file that was uploaded before."""
    text: str = ""
    """A document given as plain text."""
    protocol: Protocol | None = None
    """The protocol that `file_id` or `url` belongs to, if it means nothing to others."""
    name: str = ""
    """File name or title, if any."""
    detail: str = ""
    """Images: how closely OpenAI is to look: `auto`, `low`, `high`, `original`."""


@dataclass(frozen=True, slots=True)
class Muted:
    """What of a message is left out of requests. The opposite of pinning."""

    whole: bool = False
    """True if all of it is left out."""
    reasoning: bool = False
    parts: tuple[int, ...] = ()
    """The indices in `Message.parts` of the pictures, sounds and files that are left out."""

    def __bool__(self) -> bool:
        return self.whole or self.reasoning or bool(self.parts)


NOT_MUTED = Muted()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message:
    """A message, independent of the session that contains it."""

    role: MessageRole
    content: str = ""
    id: str = ""
    """Unique in the store; empty for messages that were never stored."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Only on `assistant`."""
    tool_call_id: str = ""
    """Only on `tool`: the call this answers."""
    name: str = ""
    """The name of the author or tool, if known."""
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    pinned: bool = False
    """Always included: truncation never drops it."""
    muted: Muted = NOT_MUTED
    """What of it is left out of requests; see `context.muted_history`."""
    semantics: MessageSemantics = NO_MESSAGE_SEMANTICS
    parts: tuple[Part, ...] = ()
    """Images, audio and files. They follow the text unless `semantics.layout` says otherwise."""


NAME_LENGTH = 32
"""Characters of the name of a message, which is made of its first words."""


@final
class MessageOrigin(Origin):
    """The origin of a stored message. Most are never looked at, so its fields wait until then."""

    __slots__ = ("_message",)
    _message: Message

    def __init__(self, message: Message) -> None:
        _set_message(self, message)

    if not TYPE_CHECKING:  # the slots are empty until one of them is asked for

        def __getattr__(self, name: str) -> Any:
            if name not in ("kind", "id", "name", "within"):
                raise AttributeError(name)
            message = self._message
            Origin.__init__(self, OriginKind.HISTORY, message.id, _first_words(message))
            return getattr(self, name)

    @property
    def label(self) -> str:
        words = super().label
        brought = self.brought
        return words if brought is None else f"{words}, {brought.words}"

    @property
    def brought(self) -> Brought | None:
        """The place that the message was brought from, if it was."""
        semantics = self._message.semantics
        return None if semantics is NO_MESSAGE_SEMANTICS else semantics.brought


_set_message = getattr(MessageOrigin, "_message").__set__  # noqa: B009


def _first_words(message: Message) -> str:
    content = message.content
    name = " ".join(content[: NAME_LENGTH + 8].split())
    if len(name) > NAME_LENGTH or (name and len(content) > NAME_LENGTH + 8):
        name = name[: NAME_LENGTH - 1].rstrip() + "…"
    return name or message.role


_ELEMENT = re.compile(r"\s*<([\w-]+)[^<>]*>.*?</\1>", re.DOTALL)
_INSTRUCTIONS = re.compile(r"\s*# AGENTS\.md instructions[^\n]*\n")
"""The heading above a folder's instructions, which Codex sends as a message of the user."""
_LONGEST_SEARCHED = 100_000


def own_words(text: str) -> str:
    """Return a user's text without the elements that agents put before it, such as reminders."""
    text = text[:_LONGEST_SEARCHED]
    heading = _INSTRUCTIONS.match(text)
    start = position = heading.end() if heading else 0
    while match := _ELEMENT.match(text, position):
        position = match.end()
    if heading and position == start:
        return ""  # all of it is the file
    return text[position:].strip()
