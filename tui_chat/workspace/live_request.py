"""The request that Enter would send, kept up to date while the user types, and what the inspector
shows in its place: a what-if, a request that was sent, or a captured one.

1. Whatever changes the request publishes an event, and whoever shows it calls `compose`, at most
   once a frame. `WorkspaceState.request` then holds the result, and `RequestComposed` is published.
2. Composing after a keystroke takes a few milliseconds. The first request with a vocabulary, the
   first one of a long session or with a new long message, and a very long draft take longer than a
   frame: `takes_long` says so, and `compose_in_thread` keeps the event loop free.
3. Looking at another request changes nothing in the session.
4. Generating something else than a reply to the draft (continue, impersonate, ...) is a kind of
   request. It is shown while its command is typed, or when it is chosen; sending it sends the same
   object.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tui_chat.compose import Composed
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Part
from tui_chat.models.payload import Payload
from tui_chat.models.preset import Preset
from tui_chat.models.session import Entry
from tui_chat.tokens import is_loaded
from tui_chat.workspace.branches import Branches
from tui_chat.workspace.compaction import Compaction
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import RequestComposed, RequestOutdated
from tui_chat.workspace.request_history import RequestHistory
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.state import DiffBase, LiveRequestState, ViewedRequest, WhatIf
from tui_chat.workspace.titles import Titles

_ELSE = "Press a to compare with something else."
NOTHING_BEFORE = (
    f"This session has no earlier accepted request to this endpoint to compare with. {_ELSE}"
)
NO_RECORD_BEFORE = f"No earlier {{}} request of this session is recorded. {_ELSE}"
LONG_DRAFT = 30_000
"""Characters from which composing may take longer than a frame."""
LONG_TEXT = 1_000_000
"""Characters of a branch from which composing after a keystroke may take longer than a frame."""
LONG_MESSAGE = 100_000
"""Characters of a new message from which composing for the first time may take longer than a
frame: its tokens are counted, 40,000 characters in up to 15 ms."""
LONG_BRANCH = 500
"""Messages from which composing for the first time may take longer than a frame."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The request with which the one shown is compared."""

    name: str
    """For example `the session's last request`."""
    payload: Payload | None
    """None if there is nothing to compare with."""
    reason: str = ""
    """The reason why there is nothing, as a sentence."""


@dataclass(eq=False)
class LiveRequest:
    """Composes the live request, and what is shown in its place."""

    core: WorkspaceCore
    _requests: Requests
    _history: RequestHistory
    _branches: Branches
    _titles: Titles
    _compaction: Compaction

    def __post_init__(self) -> None:
        self._first_in = ""
        """The id of the long session whose first request is being composed in a thread."""
        self._measured: tuple[tuple[Entry, ...], bool] = (), False
        """The branch that was measured last, and whether it is long."""
        self._has_long_message = False
        """True if that branch has a long message which no request was composed with yet."""

    def _change(self, **changes: Any) -> None:
        core = self.core
        core.update(request=replace(core.state.request, **changes))

    # --- the live request ----------------------------------------------------------------

    def set_draft(
        self, draft: str, parts: tuple[Part, ...] = (), command: str = "normal", argument: str = ""
    ) -> None:
        """Set the text and attachments that Enter would send, or what a command would generate."""
        request = self.core.state.request
        if (request.draft, request.command, request.argument) != (draft, command, argument) or (
            request.parts is not parts
        ):
            self._change(draft=draft, parts=parts, command=command, argument=argument)
            viewed = self.core.state.request.viewed
            if viewed is not None and viewed.is_automatic and self._is_touched:
                self._change(viewed=None)

    @property
    def _is_touched(self) -> bool:
        return not self.core.state.request.is_untouched

    @property
    def takes_long(self) -> bool:
        """True if composing now may take longer than a frame."""
        state = self.core.state
        is_long = self._is_first or self._has_long_text(state.entries)
        # These end the history elsewhere, and what is remembered of it is of little use.
        ends_elsewhere = state.request.kind in ("regenerate", "swipe", "continue", "summary")
        is_long = is_long or (ends_elsewhere and len(state.entries) >= LONG_BRANCH)
        is_long = is_long or not is_loaded(state.effective_model)
        return is_long or len(state.request.draft) > LONG_DRAFT

    @property
    def _is_first(self) -> bool:
        """True if little of the session's request is remembered yet."""
        state = self.core.state
        is_new = state.request.session_id != state.session_id and len(state.entries) >= LONG_BRANCH
        return is_new or not self._requests.is_lore_searched

    def _has_long_text(self, entries: tuple[Entry, ...]) -> bool:
        if self._measured[0] is not entries:
            measured = set(map(id, self._measured[0]))
            sizes = [
                len(entry.message.content)
                + sum(len(call.arguments) for call in entry.message.tool_calls)
                for entry in entries
            ]
            self._has_long_message = self._has_long_message or any(
                size > LONG_MESSAGE and id(entry) not in measured
                for entry, size in zip(entries, sizes, strict=True)
            )
            self._measured = entries, sum(sizes) > LONG_TEXT
        return self._measured[1] or self._has_long_message

    def compose(self) -> None:
        """Compose the live request and what is shown, and publish `RequestComposed`.

        Raises InputError if a what-if names an endpoint or a preset that cannot be used.
        """
        request = self.core.state.request
        live = self._requests.compose(request.draft, request.protocol, request.parts)
        self._show(live)

    async def compose_in_thread(self) -> None:
        """Compose as `compose` does, without blocking the event loop meanwhile. A result that is
        no longer wanted then is dropped. While the first request of a session is being composed,
        further calls for it do nothing; `RequestOutdated` is published at its end.
        """
        core, request = self.core, self.core.state.request
        session_id, is_first = core.state.session_id, self._is_first
        if is_first and session_id == self._first_in:
            return
        self._first_in = session_id if is_first else ""
        try:
            live = await asyncio.to_thread(self._compose_all, request)
        finally:
            if self._first_in == session_id:
                self._first_in = ""
        if session_id != core.state.session_id:
            return
        now = core.state.request
        if (now.draft, now.parts, now.protocol) == (request.draft, request.parts, request.protocol):
            self._show(live)
        else:
            self._change(session_id=session_id)  # what is composed next is not the first
        if is_first:
            core.publish(RequestOutdated())

    def _compose_all(self, request: LiveRequestState) -> Composed:
        """Return the live request, with that of another kind remembered."""
        requests = self._requests
        if request.kind != "normal":
            with suppress(InputError):  # `_show` says it
                self._compose_kind(request)
        return requests.compose(request.draft, request.protocol, request.parts)

    def _compose_kind(self, request: LiveRequestState) -> Composed:
        """Return the request of the kind to be shown. Raises InputError."""
        match request.kind:
            case "title":
                composed = self._titles.request()
            case "summary":
                composed = self._compaction.request()
            case kind:
                requests, prompt = self._requests, request.prompt
                return requests.compose_kind(kind, prompt, request.protocol)
        return self._requests.in_protocol(composed, request.protocol)

    def _show(self, live: Composed) -> None:
        """Store the live request and what is shown in its place."""
        core = self.core
        if core.state.entries is self._measured[0]:
            self._has_long_message = False
        request, session_id = core.state.request, core.state.session_id
        shown: Composed | None = live
        fault = ""
        if request.viewed is not None:
            shown = self._requests.in_protocol(request.viewed.composed, request.protocol)
        elif request.what_if is not None:
            shown = self._requests.what_if(
                request.draft, request.what_if, request.protocol, request.parts
            )
        elif request.kind != "normal":
            try:
                shown = self._compose_kind(request)
            except InputError as error:
                fault = str(error)
        elif core.state.foreign_reply is not None:
            shown = None  # nobody sent it, and nothing was typed
        request = replace(request, live=live, shown=shown, session_id=session_id, kind_fault=fault)
        core.update(RequestComposed(), request=request)

    # --- in place of the live request ----------------------------------------------------

    def show_in(self, protocol: Protocol | None) -> None:
        """Show the request in another protocol, None for its own; the session keeps its own."""
        self._change(protocol=protocol)
        self.core.publish(RequestOutdated())

    def set_what_if(self, changes: WhatIf) -> None:
        """Show the request with hypothetical changes; without any, show the live request."""
        what_if = None if changes.is_empty else changes
        self._change(what_if=what_if, viewed=None, chosen_kind=None, protocol=None)
        self.core.publish(RequestOutdated())

    def show_kind(self, kind: str) -> None:
        """Show what generating something of this kind would send; `normal` for the live request."""
        chosen = None if kind == "normal" else kind
        self._change(chosen_kind=chosen, what_if=None, viewed=None)
        self.core.publish(RequestOutdated())

    def view(self, viewed: ViewedRequest) -> None:
        """Show another request."""
        self._change(viewed=viewed, what_if=None, protocol=None)
        self.core.publish(RequestOutdated())

    def return_to_live(self) -> None:
        """Show the live request again, in its own protocol; in place of a request on which the
        session was opened, and where none is shown since none was recorded.
        """
        viewed = self.core.state.request.viewed
        is_in_place = viewed is not None and viewed.is_automatic
        is_live_chosen = is_in_place or self.core.state.foreign_reply is not None
        self._change(viewed=None, what_if=None, chosen_kind=None, protocol=None)
        if is_live_chosen:
            self._change(is_live_chosen=True)
        self.core.publish(RequestOutdated())

    # --- comparing -----------------------------------------------------------------------

    async def compare_with(self, choice: str) -> None:
        """Compare with something else; see `DiffBase.choice`."""
        core = self.core
        session_id = core.state.session_id
        kind, _, name = choice.partition(" ")
        base = DiffBase(choice)
        if kind == "request":
            sent = await self._history.sent_request(name)
            if sent is None or sent.shown is None:
                return
            base = DiffBase(choice, f"the request of {sent.sent_at}", composed=sent.shown)
        elif kind == "branch":
            changes = WhatIf(history=await self._branches.messages_to(name))
            base = DiffBase(choice, "the same on another branch", what_if=changes)
        elif kind == "preset":
            base = DiffBase(choice, f"the same with preset {name}", what_if=WhatIf(preset=name))
        if core.state.session_id == session_id:
            self._change(diff_base=base)
            core.publish(RequestOutdated())

    def compare_with_preset(self, preset: Preset, description: str) -> None:
        """Compare with the request that a state of a preset would make of the same draft."""
        self._change(diff_base=DiffBase("state", description, what_if=WhatIf(preset=preset)))
        self.core.publish(RequestOutdated())

    def comparison(self) -> Comparison:
        """Return what the request shown is compared with."""
        core, request = self.core, self.core.state.request
        requests, base = self._requests, request.diff_base
        kind, _, name = base.choice.partition(" ")
        match kind:
            case "protocol":
                other = Protocol(name)
                was = requests.compose(request.draft, other, request.parts)
                return Comparison(f"the same as {other.label}", was.payload)
            case _ if base.what_if is not None:
                is_own_preset = base.what_if.preset == core.state.preset_name
                description = base.description + (" as saved" if is_own_preset else "")
                try:
                    was = requests.what_if(
                        request.draft, base.what_if, request.protocol, request.parts
                    )
                except InputError as error:
                    return Comparison(description, None, str(error))
                return Comparison(description, was.payload)
            case "request" if base.composed is not None:
                return Comparison(base.description, base.composed.payload)
            case _ if request.viewed is not None and request.viewed.before is not None:
                return Comparison(request.viewed.before_name, request.viewed.before.payload)
            case _ if request.viewed is not None and request.viewed.is_of_session:
                label = request.viewed.composed.protocol.label
                is_recorded = request.viewed.composed.recorded is not None
                reason = NO_RECORD_BEFORE.format(label) if is_recorded else NOTHING_BEFORE
                return Comparison("the request before it", None, reason)
            case _:
                last = core.state.last_sent.get(core.state.endpoint.name)
                reason = "This endpoint has accepted no request of this session yet."
                payload = last.composed.payload if last is not None else None
                return Comparison("the last accepted request", payload, reason)
