"""One entry of a conversation: a role, blocks in order, and what no protocol sends of it.

In the OpenAI-like form, which our JSON has, the blocks read as `content`, `tool_calls` and
`tool_call_id`; so they do here, as properties.

The sources of a reply come from a provider or a file: `found_source` cuts them and makes them safe,
and only web addresses become links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.models.settings import LoreTimer
from tui_chat.models.text import Origin, OriginKind

MOST_SOURCES = 200
"""Maximum sources of a message."""
URL_LENGTH = 2_000
"""Maximum characters of an address. Part of one leads elsewhere, so a longer one is dropped."""
TITLE_LENGTH = 300
"""Maximum characters of a title and of a file's name; the rest is cut."""

_WEB = re.compile(r"https?://[^\s<>\"\\^`{|}]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A page or file that a reply rests on."""

    title: str = ""
    url: str = ""
    """Its address on the web; empty if it has none."""
    file: str = ""
    """The provider's name or id of a file or document."""

    @property
    def host(self) -> str:
        """The host of its address without `www.`; empty if it has none."""
        try:
            return (urlsplit(self.url).hostname or "").removeprefix("www.")
        except ValueError:
            return ""

    @property
    def label(self) -> str:
        """The name for a reader: its title, else its host or file."""
        return self.title or self.host or self.file or "untitled"


@dataclass(frozen=True, slots=True)
class References:
    """The sources of a reply."""

    sources: tuple[Source, ...] = ()
    """Numbered from 1 for the reader."""


NO_REFERENCES = References()


def web_address(url: str) -> str:
    """Return an address if it is one of the web and safe to show, else an empty string."""
    url = url.strip()
    safe = len(url) <= URL_LENGTH and _WEB.fullmatch(url) and sanitize(url) == url
    return url if safe and Source(url=url).host else ""


def found_source(title: str = "", url: str = "", file: str = "") -> Source:
    """Return a source with safe, cut texts. An address outside of the web is no link."""
    address = web_address(url)
    name = one_line(file or ("" if address else url), TITLE_LENGTH)
    return Source(one_line(title, TITLE_LENGTH), address, name)


@dataclass(frozen=True, slots=True)
class Summary:
    """The messages that a summary stands for: all of its branch before it but the last `kept`.

    Messages are counted as they are sent: without empty replies. What leads to a message never
    changes, so the numbers hold in forks and exports too.
    """

    kept: int
    """The number of messages directly before the summary that are still sent."""
    messages: int
    """The number of messages that it replaced when it was written."""
    enabled: bool = True
    """False if the messages are sent again, and the summary is not."""


@dataclass(frozen=True, slots=True)
class Brought:
    """The place that a message was brought from: in another branch, or a server's prompt."""

    message_id: str = ""
    """The copied reply, or the last message that was summed up; empty for a prompt."""
    messages: int = 0
    """The number of messages that were summed up; 0 for a copied reply."""
    prompt: str = ""
    """The prompt as `SERVER:PROMPT`, and what the server says that it is."""

    @property
    def words(self) -> str:
        """The origin in words."""
        if self.prompt:
            return f"from {self.prompt}"
        branch = "another branch of this conversation"
        if not self.messages:
            return f"from {branch}"
        return f"a summary of {self.messages:,} message{'s' * (self.messages != 1)} of {branch}"


@dataclass(frozen=True, slots=True)
class About:
    """What a message has that no protocol sends. The workspace writes `summary` and `brought`,
    importers `source` and `lore_timers`, and replies the rest.
    """

    references: References = NO_REFERENCES
    """The sources of a reply."""
    is_speaker_chosen: bool = False
    """True if the message's name was chosen for it alone."""
    summary: Summary | None = None
    """The messages that it replaces, if it is a summary of earlier messages."""
    brought: Brought | None = None
    """Its place of origin, if it was brought from another branch or has a server's prompt."""
    source: str = ""
    """The message in another program's file, as compact JSON, for an export back; empty for
    none."""
    lore_timers: tuple[LoreTimer, ...] | None = None
    """The timers of lore entries after it, as an imported chat has them; None to compute them."""
    tokens: str = ""
    """The tokens of a reply with their probabilities, packed by `token_probabilities`; empty if the
    provider sent none."""


NOTHING_ABOUT = About()


MessageRole = Literal["system", "user", "assistant", "tool"]
"""The author of a message. Not a `Role`, which is a named assistant."""

MESSAGE_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Muted:
    """What of a message is left out of requests. The opposite of pinning."""

    whole: bool = False
    """True if all of it is left out."""
    blocks: tuple[int, ...] = ()
    """The indices of the blocks that are left out: reasoning, pictures, sounds and files."""

    def __bool__(self) -> bool:
        return self.whole or bool(self.blocks)


NOT_MUTED = Muted()


def is_words(block: Block) -> bool:
    """Return True for a text that is not a refusal: it is a piece of `content`."""
    return type(block) is TextBlock and not block.is_refusal


def content_of(blocks: tuple[Block, ...]) -> str:
    """Return the text of blocks."""
    if len(blocks) == 1 and type(block := blocks[0]) is TextBlock and not block.is_refusal:
        return block.text
    return "".join(b.text for b in blocks if type(b) is TextBlock and not b.is_refusal)


def text_place(blocks: Sequence[Block]) -> int:
    """Return where the text of a message goes that has none: before files and calls."""
    after = (i for i, block in enumerate(blocks) if isinstance(block, MediaBlock | CallBlock))
    return next(after, len(blocks))


def with_refusal(blocks: list[Block], words: str) -> list[Block]:
    """Return blocks with a refusal, which goes after all others but the calls at the end."""
    place = len(blocks)
    while place and isinstance(blocks[place - 1], CallBlock):
        place -= 1
    return [*blocks[:place], TextBlock(words, is_refusal=True), *blocks[place:]]


def text_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a message that is one text, or none if it is empty."""
    return (TextBlock(text),) if text else ()


def tool_result(
    call_id: str,
    text: str = "",
    media: tuple[MediaBlock, ...] = (),
    *,
    name: str = "",
    failed: bool | None = None,
) -> tuple[Block, ...]:
    """Return the blocks of a message with the result of a call."""
    return (ResultBlock(call_id, name, failed), *text_blocks(text), *media)


class HasBlocks:
    """What the blocks of a message or a turn say in the OpenAI-like form."""

    __slots__ = ()
    if TYPE_CHECKING:
        blocks: tuple[Block, ...]

    @property
    def tool_calls(self) -> tuple[CallBlock, ...]:
        """The tool calls."""
        return tuple(block for block in self.blocks if type(block) is CallBlock)

    @property
    def parts(self) -> tuple[MediaBlock, ...]:
        """The pictures, sounds and files."""
        return tuple(block for block in self.blocks if type(block) is MediaBlock)

    @property
    def reasoning(self) -> tuple[ReasoningBlock, ...]:
        """The reasoning."""
        return tuple(block for block in self.blocks if type(block) is ReasoningBlock)

    @property
    def refusal(self) -> str:
        """The words in which the model refuses; empty for none."""
        return "".join(b.text for b in self.blocks if type(b) is TextBlock and b.is_refusal)

    @property
    def result(self) -> ResultBlock | None:
        """The head of the tool result that it is; None if it is none."""
        first = self.blocks[0] if self.blocks else None
        return first if type(first) is ResultBlock else None

    @property
    def tool_call_id(self) -> str:
        """The id of the call that it answers; empty for none."""
        result = self.result
        return result.call_id if result is not None else ""

    @property
    def tool_name(self) -> str:
        """The name of the tool whose result it is; empty if it is unknown or there is none."""
        result = self.result
        return result.name if result is not None else ""

    @property
    def failed(self) -> bool | None:
        """True for the result of a tool that failed; None if unknown."""
        result = self.result
        return result.failed if result is not None else None


def have_media(many: Iterable[HasBlocks]) -> bool:
    """Return True if one of many messages or turns has a picture, sound or file. A key asks this of
    a whole conversation.
    """
    return MediaBlock in map(type, chain.from_iterable(map(attrgetter("blocks"), many)))


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Message(HasBlocks):
    """A message, independent of the session that contains it."""

    role: MessageRole
    blocks: tuple[Block, ...] = ()
    """In their order. Those of the role `tool` begin with their `ResultBlock`."""
    id: str = ""
    """Unique in the store; empty for messages that were never stored."""
    name: str = ""
    """The name of the author, if known. That of a tool is in the result block."""
    timestamp: float | None = None
    """Seconds since the epoch, UTC."""
    pinned: bool = False
    """Always included: truncation never drops it."""
    muted: Muted = NOT_MUTED
    """What of it is left out of requests; see `context.muted_history`."""
    about: About = NOTHING_ABOUT
    """What no protocol sends of it."""
    extras: Extras | None = None
    """Keys of the message itself, and its form; None if it was not captured."""

    @classmethod
    def of(cls, role: MessageRole, text: str, id: str = "", **fields: Any) -> Message:
        """Return a message that is one text."""
        return cls(role, text_blocks(text), id, **fields)

    @property
    def content(self) -> str:
        """The text: all text blocks together, without refusals."""
        return content_of(self.blocks)

    @property
    def muted_blocks(self) -> tuple[Block, ...]:
        """The blocks that are muted by themselves."""
        count = len(self.blocks)
        return tuple(self.blocks[i] for i in self.muted.blocks if i < count)

    @property
    def is_reasoning_muted(self) -> bool:
        """True if it has reasoning and all of that is muted."""
        places = self._reasoning_places()
        return bool(places) and places.issubset(self.muted.blocks)

    def reasoning_switched(self) -> Muted:
        """Return what is muted after its reasoning was muted, or unmuted if all of it was."""
        places, muted = self._reasoning_places(), set(self.muted.blocks)
        muted = muted - places if places <= muted else muted | places
        return replace(self.muted, blocks=tuple(sorted(muted)))

    def _reasoning_places(self) -> set[int]:
        return {i for i, block in enumerate(self.blocks) if type(block) is ReasoningBlock}

    @property
    def thought(self) -> str:
        """The readable reasoning, its blocks separated by a blank line."""
        return "\n\n".join(block.text for block in self.reasoning if block.text)


def with_blocks(message: Message, blocks: Sequence[Block]) -> Message:
    """Return a message with other blocks. Those of its own that were muted stay muted."""
    muted = message.muted
    if muted.blocks:
        indices = {id(block): index for index, block in enumerate(blocks)}
        kept = (indices[id(b)] for b in message.muted_blocks if id(b) in indices)
        muted = replace(muted, blocks=tuple(kept))
    return replace(message, blocks=tuple(blocks), muted=muted)


def with_content(message: Message, text: str) -> Message:
    """Return a message with another text in place of its own. If it has several texts, the first
    one takes all.
    """
    if text == message.content:
        return message
    blocks = list(message.blocks)
    places = [index for index, block in enumerate(blocks) if is_words(block)]
    if not places:
        blocks.insert(text_place(blocks), TextBlock(text))
        return with_blocks(message, blocks)
    first = blocks[places[0]]
    assert isinstance(first, TextBlock)
    # Ids and signatures belong to the old text.
    extras = first.extras if message.extras is not None else None
    blocks[places[0]] = TextBlock(text, cache=first.cache, extras=extras)
    return with_blocks(message, [b for i, b in enumerate(blocks) if i not in places[1:]])


NAME_LENGTH = 32
"""Characters of the name of a message, which is made of its first words."""


def message_origin(message: Message) -> Origin:
    """Return the origin of a stored message."""
    content, brought = message.content, message.about.brought
    name = " ".join(content[: NAME_LENGTH + 8].split())
    if len(name) > NAME_LENGTH or (name and len(content) > NAME_LENGTH + 8):
        name = name[: NAME_LENGTH - 1].rstrip() + "…"
    note = brought.words if brought is not None else ""
    return Origin(OriginKind.HISTORY, message.id, name or message.role, note=note)


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
