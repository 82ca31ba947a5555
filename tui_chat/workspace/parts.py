"""A desk's parts, put together, and what can be read of them without asking the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from tui_chat.compose import Composed
from tui_chat.config import Config
from tui_chat.library import Library
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Part
from tui_chat.models.session import Entry
from tui_chat.models.timing import Timing
from tui_chat.providers import HttpClient
from tui_chat.send import PartialReply
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.capturing import Capturing
from tui_chat.workspace.carrying import Carrying
from tui_chat.workspace.changes import Change
from tui_chat.workspace.choosing import Choosing
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.drafts import Drafts
from tui_chat.workspace.elsewhere import Elsewhere
from tui_chat.workspace.opening import Opening
from tui_chat.workspace.organising import Organising
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.past import Past
from tui_chat.workspace.presets import Presets
from tui_chat.workspace.replies import Replies
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.state import State
from tui_chat.workspace.tools import OpenCall, Tools
from tui_chat.workspace.undo import Undo
from tui_chat.workspace.unsaved import UnsavedWrites

if TYPE_CHECKING:
    from tui_chat.store import Store


class Parts(State):
    """What does the work of a desk; the parts share the state and the outside."""

    def __init__(
        self,
        config: Config,
        store: Store,
        client: HttpClient,
        shelf: Library,
        *,
        tell: Callable[[Change], None],
        now: Callable[[], datetime],
        clock: Callable[[], float] = monotonic,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        super().__init__(config)
        outside = Outside(store, client, shelf, tell, now, clock, new_id)
        self._outside = outside
        self._composing = Composing(self, outside)
        self._presets = Presets(self, outside, self._composing)
        self._choosing = Choosing(self, outside, self._composing, self._presets)
        self._roles = Roles(self, outside, self._composing, self._choosing)
        self._opening = Opening(self, outside, self._composing, self._choosing, self._roles)
        self._unsaved = UnsavedWrites(outside, self._opening)
        self._drafts = Drafts(self, outside)
        self._carrying = Carrying(outside, self._opening)
        self._past = Past(outside)
        self._captured = Capturing(self, outside, self._opening)
        self._replies = Replies(self, outside, self._composing, self._opening, self._past)
        self._elsewhere = Elsewhere(self, outside, self._opening, self._replies)
        self._tools = Tools(self, outside, self._composing, self._opening, self._replies)
        self._replies.then = self._tools.go_on_alone
        self._undo = Undo(outside)
        self._branches = Branches(self, outside, self._opening, self._replies, self._undo)
        self._organising = Organising(self, outside, self._opening, self._replies, self._undo)

    @property
    def presets(self) -> tuple[str, ...]:
        """Names of the presets that can be chosen."""
        return self._outside.shelf.names("presets")

    @property
    def profiles(self) -> tuple[str, ...]:
        """Names of the profiles that can be chosen."""
        return self._outside.shelf.names("profiles")

    @property
    def lorebooks(self) -> tuple[str, ...]:
        """Names of the lorebooks that can be chosen."""
        return self._outside.shelf.names("lorebooks")

    @property
    def is_whole(self) -> bool:
        """Whether the shown branch is read. While it is not, `entries` is empty, and what sends
        or adds something waits for it.
        """
        return self._opening.is_whole

    @property
    def is_streaming(self) -> bool:
        """Whether a reply is arriving in the shown session."""
        return self._replies.is_streaming

    @property
    def running(self) -> frozenset[str]:
        """The ids of the sessions in which a reply is arriving."""
        return self._replies.running

    @property
    def partial(self) -> PartialReply | None:
        """What has arrived of the reply that is arriving in the shown session."""
        return self._replies.partial

    @property
    def unsaved(self) -> str:
        """Why something is in memory only, as a sentence; empty if everything is stored."""
        fault = self._unsaved.fault
        partial = self.partial
        return str(fault) if fault else partial.unsaved if partial else ""

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The tool calls at the end of the shown branch that wait for an answer."""
        return self._tools.open_calls

    def timing(self, entry: Entry) -> Timing:
        """Return how quickly a reply came and what it cost, as far as that is known."""
        return self._replies.timing(entry)

    @property
    def is_lore_searched(self) -> bool:
        """True if composing need not search many lore entries or messages first."""
        return self._composing.is_lore_searched

    async def search_lore(self) -> None:
        """Search the lorebooks in a thread, if that takes long, so that composing does not."""
        await self._composing.search_lore()

    def composed(
        self, draft: str, protocol: Protocol | None = None, attachments: tuple[Part, ...] = ()
    ) -> Composed:
        """Return the request that sending `draft` with its attachments now would send.

        With a `protocol` that is not the endpoint's own: the same context, said the way that
        protocol would want it. Pure, and the same object until something changes.
        """
        return self._composing.composed(draft, protocol, attachments)
