"""Requests: composed from the workspace's state, and the one that the inspector shows.

1. Composing is pure, and remembered until the state changes: the same state and draft give the same
   object. The one that the inspector shows is the one that is sent.
2. A request may be composed in a thread. It reads the state once, and is not remembered if the
   state changed meanwhile. Composing after a keystroke takes a few milliseconds; `takes_long` says
   when it may take longer than a frame.
3. Whatever changes the request publishes an event, and whoever shows it calls `compose_shown`, at
   most once a frame. `WorkspaceState.request` then has the result, and `RequestComposed` follows.
4. Generating something else than a reply to the draft (continue, impersonate, ...) is a kind of
   request. It is shown while its command is typed; sending it sends the same object. Looking at
   another request changes nothing in the session.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.builders import prepared
from tui_chat.context.generation import may_continue, with_kind
from tui_chat.context.inputs import sendable_messages
from tui_chat.errors import InputError, NotYet
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.boundary import pack
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note, ToolDefinition
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import forget_recent, recent_memo
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import edits_for
from tui_chat.models.role import ROLE_FAULTS
from tui_chat.models.session import Entry
from tui_chat.models.tool import Tool
from tui_chat.tokens import is_loaded
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import RequestComposed, RequestOutdated
from tui_chat.workspace.state import (
    Comparison,
    DiffBase,
    LiveRequestState,
    ViewedRequest,
    WorkspaceState,
    unanswered_calls,
)
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.analysis.captured_request import CapturedRequest
    from tui_chat.models.session import RecordedRequest
    from tui_chat.workspace.exchange import Slot

LONG_TEXT = 1_000_000
"""Bytes of a request from which composing after a keystroke may take longer than a frame."""
LONG_DRAFT = 30_000
"""Characters of a draft from which it may."""
LONG_MESSAGE = 100_000
"""Characters of new messages from which composing for the first time may: their tokens are counted,
40,000 characters in up to 15 ms."""
LONG_BRANCH = 500
"""New messages from which it may."""

_ingredients = attrgetter(
    *("config", "session_id", "entries", "endpoint", "model", "settings", "edits", "role"),
    *("role_missing", "preset", "profile", "lorebooks", "variables", "tools", "is_streamed"),
)
"""The fields of the state that a request is composed from."""

_Key: TypeAlias = tuple[str, tuple[MediaBlock, ...], Protocol]
"""Draft, attachments and protocol of a composed request."""


class Requests:
    """Composes requests."""

    def __init__(self, core: WorkspaceCore, usage: UsageReports) -> None:
        self.core = core
        self._usage = usage
        core.watch(self._follow)
        self.compose_summary: Callable[[], Composed] | None = None
        """Composes the request for a summary, which is no part of the conversation."""
        self._history: tuple[Message, ...] = ()
        """The messages of the active branch that are sent."""
        self._composed: dict[_Key, Composed] = {}
        self._seed = random.getrandbits(32)
        """The seed of random macros. It changes when a request is sent, so that what is shown
        stands still."""
        self._version = 0
        """Counts the changes that requests are composed anew after."""
        self._others: dict[object, tuple[object, Composed]] = {}
        """The what-ifs, the request of another kind and those to targets which were composed last,
        after what each was composed from."""
        self._saved_presets: dict[str, Preset] = {}
        """Presets that a what-if names, as they are in their files."""
        self._prepared = ""
        """The session whose lorebooks were searched."""
        self._known: tuple[Entry, ...] = ()
        """The entries of the live request that was composed last."""
        self._is_composing = False
        """True while a request is composed in a thread."""
        self._is_wanted_again = False
        """True if it was asked for meanwhile."""

    # --- when the state changes ----------------------------------------------------------

    def _follow(self, before: WorkspaceState, now: WorkspaceState) -> None:
        """Forget composed requests if the state that they are composed from changed."""
        if now.session_id != before.session_id:  # free what is remembered of the one before
            self._history, self._known, self._others = (), (), {}
            self._forget()
            forget_recent()
        changed = zip(_ingredients(before), _ingredients(now), strict=True)
        if not any(old is not new for old, new in changed):
            return
        if now.entries is not before.entries:
            self._history = sendable_messages(now.entries)
        self._forget()

    def reseed(self) -> None:
        """Let random macros give other results in the next request."""
        self._seed = random.getrandbits(32)
        self._forget()

    def _forget(self) -> None:
        self._composed = {}
        self._version += 1
        self._saved_presets = {}

    async def prepare(self) -> None:
        """Search the lorebooks of a session in a thread before its first request is composed: what
        they find in a message is remembered, but the first search may take seconds.
        """
        state = self.core.state
        if state.searched_lorebooks and self._prepared != state.session_id:
            await asyncio.to_thread(self.compose, "")
            self._prepared = state.session_id

    # --- composing -------------------------------------------------------------------------

    def compose(
        self, draft: str, protocol: Protocol | None = None, parts: tuple[MediaBlock, ...] = ()
    ) -> Composed:
        """Return the request that sending `draft` with its attachments now would send.

        With a `protocol` that is not the endpoint's own: the same context in that protocol. Pure,
        and the same object until the state changes. May be called in a thread.
        """
        # If the state changes meanwhile, on the event loop, `_composed` is replaced: what was
        # composed before the change must not be found after it.
        memory, state = self._composed, self.core.state
        own = state.endpoint.protocol
        target = protocol or own
        composed = memory.get((draft, parts, target))
        if composed is None:
            base = memory.get((draft, parts, own))
            base = base or compose(self._inputs(state, draft, self._history, parts))
            composed = self.in_protocol(base, target)
            for key in [key for key in tuple(memory) if key[:2] != (draft, parts)]:
                memory.pop(key, None)
            memory |= {(draft, parts, own): base, (draft, parts, target): composed}
        return composed

    def inputs(self, draft: str, parts: tuple[MediaBlock, ...] = ()) -> Inputs:
        """Return what `compose` composes the request of a draft and its attachments from."""
        return self._inputs(self.core.state, draft, self._history, parts)

    def compose_kind(
        self, kind: GenerationKind, prompt: str = "", protocol: Protocol | None = None
    ) -> Composed:
        """Return the request that generating something else than a reply to the draft would send:
        see `generation_kinds`. `prompt` is the instruction of a kind that takes one.

        Pure, and the same object until the state changes. Raises InputError if there is nothing
        that can be continued, or generated again.
        """
        entries = self.core.state.entries
        match kind:
            case "continue":
                preset = self.core.state.preset
                count = continued_count(entries, takes_user=may_continue(preset, "user"))
            case "regenerate" | "swipe":
                count = replied_count(entries)
            case _:
                require_answered_calls(entries)
                count = len(entries)
        return self.in_protocol(self.compose_reply(kind, count, prompt), protocol)

    def compose_reply(self, kind: GenerationKind, count: int, prompt: str = "") -> Composed:
        """Return the request for a reply to the first `count` messages, the same until a change."""

        def compose_it() -> Composed:
            state = self.core.state
            is_whole = count == len(state.entries)
            history = self._history if is_whole else sendable_messages(state.entries[:count])
            inputs = self._inputs(state, "", history)
            if inputs.edits or state.edits:
                answered = history[-1].id if history else ""
                inputs = replace(inputs, edits=edits_for(state.edits, answered))
            return compose(with_kind(inputs, kind, prompt))

        return self._remembered("kind", (kind, count, prompt), compose_it)

    def _remembered(self, use: object, key: object, compose_it: Callable[[], Composed]) -> Composed:
        """Return the request that was composed last for a use if its key and all that requests are
        composed from are the same, else compose and remember it.
        """
        key = key, self._version
        last = self._others.get(use)
        if last is None or last[0] != key:
            last = self._others[use] = key, compose_it()
        return last[1]

    def compose_with(
        self,
        preset: str | Preset,
        draft: str,
        protocol: Protocol | None = None,
        parts: tuple[MediaBlock, ...] = (),
    ) -> Composed:
        """Return the request that `draft` would be with another preset, see `DiffBase.preset`. The
        session stays as it is. Raises InputError if the preset cannot be used.
        """
        other = self._saved_preset(preset)

        def compose_it() -> Composed:
            inputs = self._inputs(self.core.state, draft, self._history, parts)
            return self.in_protocol(compose(replace(inputs, preset=other)), protocol)

        return self._remembered("preset", (draft, other, protocol, parts), compose_it)

    def _saved_preset(self, preset: str | Preset) -> Preset:
        """Return a preset as it is saved. Raises InputError."""
        state = self.core.state
        if not isinstance(preset, str):
            return preset
        if preset == state.preset_name and state.preset_edits is not None:
            return state.preset_edits.saved
        if preset not in self._saved_presets:
            self._saved_presets[preset] = self.core.library.preset(preset)
        return self._saved_presets[preset]

    def compose_for(self, slot: Slot, draft: str, parts: tuple[MediaBlock, ...] = ()) -> Composed:
        """Return the request that `draft` would be to a target, at the end of its branch; without a
        draft the one for the reply to what the branch ends with. May be called in a thread. Raises
        InputError if the target cannot be used.
        """

        def compose_it() -> Composed:
            state = slot.target.applied_to(self.core.state, self.core.library)
            return compose(self._inputs(state, draft, sendable_messages(slot.entries), parts))

        use = f"target {pack(slot.target)}"
        return self._remembered(use, (slot.entries, draft, parts), compose_it)

    def in_protocol(self, composed: Composed, protocol: Protocol | None) -> Composed:
        """Return any request in another protocol; None for its own."""
        if protocol is None or protocol is composed.protocol:
            return composed
        return encode(composed.envelope, self._endpoint_for(protocol), composed.inputs)

    def from_captured(self, captured: CapturedRequest, recorded: RecordedRequest) -> Composed:
        """Return a captured request as one to an endpoint of its protocol."""
        composed = captured.composed(self._endpoint_for(captured.protocol))
        return replace(composed, recorded=recorded)

    def _inputs(
        self,
        state: WorkspaceState,
        draft: str,
        history: tuple[Message, ...],
        parts: tuple[MediaBlock, ...] = (),
    ) -> Inputs:
        inputs = Inputs(
            endpoint=state.endpoint,
            preset=state.preset,
            history=history,
            draft=draft,
            draft_parts=parts,
            role=state.role,
            profile=state.profile,
            settings=SessionSettings.of(state.model, state.settings),
            stream=state.is_streamed,
            now=self.core.now(),
            seed=self._seed,
            session_seed=crc32(state.session_id.encode()),
            lorebooks=state.searched_lorebooks,
            variables=state.variables,
            tools=_definitions(state.tools) or None,
            correction=self._usage.correction(state.endpoint.name, state.effective_model),
            role_missing=state.role_missing,
            keeps_role_prompt=True,
            edits=edits_for(state.edits, answered_id(draft, history, parts)) if state.edits else (),
        )
        return prepared(inputs) if inputs.lorebooks else inputs

    def _endpoint_for(self, protocol: Protocol) -> Endpoint:
        """Return an endpoint of a protocol, on the active endpoint's host if there is one."""
        state = self.core.state
        host = state.endpoint.base_url.partition("://")[2].partition("/")[0]
        candidates = [
            endpoint for endpoint in state.config.endpoints if endpoint.protocol is protocol
        ]
        same_host = [endpoint for endpoint in candidates if f"://{host}" in endpoint.base_url]
        return (same_host or candidates)[0]

    # --- the request that is shown -----------------------------------------------------------

    def _change(self, **changes: Any) -> None:
        self.core.update(request=replace(self.core.state.request, **changes))

    def set_draft(
        self,
        draft: str,
        parts: tuple[MediaBlock, ...] = (),
        kind: str = "normal",
        argument: str = "",
    ) -> None:
        """Set the text and attachments that Enter would send, or what a command would generate."""
        request = self.core.state.request
        before = request.draft, request.kind, request.argument
        if before == (draft, kind, argument) and request.parts is parts:
            return
        self._change(draft=draft, parts=parts, kind=kind, argument=argument)
        is_typed = bool(draft.strip() or parts) or kind != "normal"
        if is_typed and request.viewed is not None and request.viewed.is_automatic:
            self._change(viewed=None)

    @property
    def takes_long(self) -> bool:
        """True if composing now may take longer than a frame."""
        state, request = self.core.state, self.core.state.request
        if not is_loaded(state.effective_model) or len(request.draft) > LONG_DRAFT:
            return True
        if state.searched_lorebooks and self._prepared != state.session_id:
            return True
        if request.live is not None and len(request.live.payload.body) > LONG_TEXT:
            return True
        # These end the history elsewhere, and what is remembered of it is of little use.
        ends_elsewhere = request.kind in ("regenerate", "swipe", "continue", "summary")
        if ends_elsewhere and len(state.entries) >= LONG_BRANCH:
            return True
        if state.entries is self._known:
            return False
        known = set(map(id, self._known))
        new = [entry.message for entry in state.entries if id(entry) not in known]
        calls = (call for message in new for call in message.tool_calls)
        size = sum(len(message.content) for message in new)
        size += sum(len(call.arguments) for call in calls)
        return len(new) >= LONG_BRANCH or size > LONG_MESSAGE

    def compose_shown(self) -> None:
        """Compose the live request and what is shown, and publish `RequestComposed`.

        Raises InputError if a what-if names a preset that cannot be used.
        """
        request = self.core.state.request
        self._show(self.compose(request.draft, request.protocol, request.parts))

    async def compose_in_thread(self) -> None:
        """Compose as `compose_shown` does, without blocking the event loop meanwhile. A result that
        is no longer wanted then is dropped. If it is called while one is being composed, that is
        all that it does; `RequestOutdated` is published at the end.
        """
        core, request = self.core, self.core.state.request
        session_id, entries = core.state.session_id, core.state.entries
        self._is_wanted_again = self._is_composing
        if self._is_composing:
            return
        self._is_composing = True
        try:
            live = await asyncio.to_thread(self._compose_all, request)
        finally:
            self._is_composing = False
        if session_id == core.state.session_id:
            self._known, self._prepared = entries, session_id
            now = core.state.request
            wanted = now.draft, now.parts, now.protocol
            if wanted == (request.draft, request.parts, request.protocol):
                self._show(live)
                if not self._is_wanted_again:
                    return
        core.publish(RequestOutdated())

    def _compose_all(self, request: LiveRequestState) -> Composed:
        """Return the live request, with that of another kind remembered."""
        if request.kind != "normal":
            with suppress(InputError):  # `_show` says it
                self._compose_shown_kind(request)
        return self.compose(request.draft, request.protocol, request.parts)

    def _compose_shown_kind(self, request: LiveRequestState) -> Composed:
        """Return the request of the kind to be shown. Raises InputError."""
        if request.kind == "summary" and self.compose_summary is not None:
            return self.in_protocol(self.compose_summary(), request.protocol)
        return self.compose_kind(request.kind, request.prompt, request.protocol)

    def _show(self, live: Composed) -> None:
        """Store the live request and what is shown in its place."""
        core = self.core
        request, session_id = core.state.request, core.state.session_id
        self._known = core.state.entries
        shown: Composed | None = live
        fault = ""
        if request.viewed is not None:
            shown = self.in_protocol(request.viewed.composed, request.protocol)
        elif request.kind != "normal":
            try:
                shown = self._compose_shown_kind(request)
            except InputError as error:
                fault = str(error)
        request = replace(request, live=live, shown=shown, session_id=session_id, kind_fault=fault)
        core.update(RequestComposed(), request=request)

    def show_in(self, protocol: Protocol | None) -> None:
        """Show the request in another protocol, None for its own; the session keeps its own."""
        self._show_other(protocol=protocol)

    def view(self, viewed: ViewedRequest) -> None:
        """Show another request."""
        self._show_other(viewed=viewed, protocol=None)

    def return_to_live(self) -> None:
        """Show the live request again, in its own protocol."""
        self._show_other(viewed=None, protocol=None)

    def compare_with(self, base: DiffBase) -> None:
        """Compare what is shown with something else."""
        self._show_other(diff_base=base)

    def _show_other(self, **changes: Any) -> None:
        self._change(**changes)
        self.core.publish(RequestOutdated())

    def comparison(self) -> Comparison:
        """Return what the request shown is compared with."""
        core, request = self.core, self.core.state.request
        base, viewed = request.diff_base, request.viewed
        kind, _, name = base.choice.partition(" ")
        if kind == "protocol":
            other = Protocol(name)
            was = self.compose(request.draft, other, request.parts)
            return Comparison(f"the same as {other.label}", was.payload)
        if base.preset:
            is_own_preset = base.preset == core.state.preset_name
            description = base.description + (" as saved" if is_own_preset else "")
            draft, protocol, parts = request.draft, request.protocol, request.parts
            try:
                was = self.compose_with(base.preset, draft, protocol, parts)
            except InputError as error:
                return Comparison(description, None, str(error))
            return Comparison(description, was.payload)
        if base.composed is not None:
            return Comparison(base.description, base.composed.payload)
        if viewed is not None and viewed.before is not None:
            return Comparison(viewed.before_name, viewed.before.payload)
        if viewed is not None and viewed.is_of_session:
            what = "accepted request to this endpoint"
            if viewed.composed.recorded is not None:
                what = f"recorded {viewed.composed.protocol.label} request"
            reason = f"This session has no earlier {what}. Press a to compare with something else."
            return Comparison("the request before it", None, reason)
        last = core.state.last_sent.get(core.state.endpoint.name)
        reason = "This endpoint has accepted no request of this session yet."
        payload = last.composed.payload if last is not None else None
        return Comparison("the last accepted request", payload, reason)


@recent_memo()
def _definitions(tools: tuple[Tool, ...]) -> tuple[ToolDefinition, ...]:
    """Return tools' definitions, the same object for the same tools: it is a key of memos."""
    return tuple(tool.definition for tool in tools)


def answered_id(
    draft: str, history: tuple[Message, ...], parts: tuple[MediaBlock, ...] = ()
) -> str:
    """Return the id of the message that Enter would have answered; empty if it sends a text."""
    is_typed = bool(draft or parts) or not history
    return "" if is_typed or history[-1].role not in ("user", "tool") else history[-1].id


def require_answered_calls(entries: tuple[Entry, ...]) -> None:
    """Raise InputError if a tool call at the end of a branch waits for its result."""
    if unanswered_calls(entries)[1]:
        advice = "In the conversation, a answers it and x runs it."
        raise InputError("A tool call is still waiting for an answer.", advice=advice)


def require_usable_role(faults: Sequence[Note]) -> None:
    """Raise InputError if a request lacks a role that was disabled or deleted."""
    for note in faults:
        if note.code in ROLE_FAULTS:
            advice = "/roles enables a role. /role continues without it, or starts a new session."
            raise InputError(note.sentence, advice=advice)


def last_reply_index(entries: tuple[Entry, ...]) -> int | None:
    """Return the index of the reply that ends a branch, system messages aside; else None."""
    for index in range(len(entries) - 1, -1, -1):
        role = entries[index].message.role
        if role == "assistant":
            return index
        if role != "system":
            break
    return None


def continued_count(entries: tuple[Entry, ...], *, takes_user: bool = False) -> int:
    """Return how many messages a branch has up to the reply, or with `takes_user` the user's
    message, that can be continued. Raises InputError if there is none.
    """
    index = last_reply_index(entries)
    if index is None and takes_user and entries and entries[-1].message.role == "user":
        index = len(entries) - 1
    if index is None:
        raise InputError("There is no reply to continue.")
    message = entries[index].message
    if not message.content.strip() or message.tool_calls:
        raise InputError("The last message has no text to continue, or has tool calls.")
    return index + 1


def replied_count(entries: tuple[Entry, ...]) -> int:
    """Return how many messages of a branch come before the reply that is generated again: the
    last one, or the one that is missing at its end. Raises InputError for no message.
    """
    ends = range(len(entries))[-2:]
    said = [index for index in ends if entries[index].message.about.summary is None]
    if not said:
        raise NotYet("There is no message in this session yet.")
    last = said[-1]
    return last if entries[last].message.role == "assistant" else last + 1
