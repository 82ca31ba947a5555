"""What the layout of a message depends on besides the message and the width."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.session import SpeakerNames
from tui_chat.models.usage import NO_TIMING, Timing
from tui_chat.ui.chat.code_blocks import WRAPPED, CodeView

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.ui.chat.tool_calls import ResultState


class Neighbors(NamedTuple):
    """Facts of the messages around a message that its layout depends on."""

    day: str = ""
    """The day it was written, if the message before it was written on another day."""
    results: Mapping[int, ResultState] = MappingProxyType({})
    """What the results that follow it say, by the positions of its tool calls."""
    is_last: bool = True
    """True if nothing but results of its calls follows."""


NO_NEIGHBORS = Neighbors()


@dataclass(slots=True)
class LayoutOptions:
    """Options that the layout of all messages depends on besides the width."""

    is_focused: bool = True
    """True if the transcript has the focus, so that its own keys work."""
    regenerate: str = ""
    """The key that regenerates the last reply wherever the focus is; empty if there is none."""
    model_key: str = ""
    """The key that switches the model; empty if there is none."""
    code: CodeView = WRAPPED
    subagents: frozenset[str] = frozenset()
    """Ids of the calls that started subagents whose sessions can be opened."""
    speakers: SpeakerNames = SpeakerNames()
    muted: frozenset[str] = frozenset()
    """Ids of the messages that are not sent because they are muted, or go with what is."""
    muted_calls: frozenset[tuple[str, str]] = frozenset()
    """Calls whose results are muted, of messages that are sent: ids of message and call."""
    edited: frozenset[str] = frozenset()
    """Ids of the replies whose requests were edited by hand."""


@dataclass(frozen=True, slots=True)
class ReplyProgress:
    """The progress of a streaming reply."""

    seconds: float
    """Time since the request."""
    reply: Reply | None = None
    timing: Timing = NO_TIMING
