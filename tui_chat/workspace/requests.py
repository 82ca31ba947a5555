"""Requests: composed from the workspace's state, and what they would be if something changed.

1. Composing is pure, and remembered until the state changes: the same state and draft give the same
   object. The one that the inspector shows is the one that is sent.
2. A request may be composed in a thread. It reads the state once, and is not remembered if the
   state changed meanwhile.
3. What lorebooks find in a message is remembered, too, but the first search of a long conversation
   may take seconds; see `is_lore_searched`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
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
from tui_chat.models.boundary import pack
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note, ToolDefinition
from tui_chat.models.generation import GenerationKind
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import forget_recent, recent_memo
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import edits_for
from tui_chat.models.role import ROLE_FAULTS
from tui_chat.models.session import Entry
from tui_chat.models.tool import Tool
from tui_chat.workspace.calibration import TokenCalibration
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.state import WhatIf, WorkspaceState, unanswered_calls

if TYPE_CHECKING:
    from tui_chat.analysis.captured_request import CapturedRequest
    from tui_chat.models.request import RecordedRequest
    from tui_chat.workspace.exchange import Slot

LONG_SEARCH = 200
"""Lore entries and messages from which a first search may take longer than a frame."""

_ingredients = attrgetter(
    "config",
    "session_id",
    "entries",
    "endpoint",
    "model",
    "settings",
    "edits",
    "role",
    "role_missing",
    "preset",
    "profile",
    "lorebooks",
    "variables",
    "tools",
    "is_streamed",
)
"""The fields of the state that a request is composed from."""

_Key: TypeAlias = tuple[str, tuple[Part, ...], Protocol]
"""Draft, attachments and protocol of a composed request."""


class Requests:
    """Composes requests."""

    def __init__(self, core: WorkspaceCore, calibration: TokenCalibration) -> None:
        self.core = core
        self._calibration = calibration
        core.watch(self._follow)
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
        self._newest: tuple[tuple[Message, ...], int | None, tuple[Message, ...]] = ((), None, ())
        """A history, a number of messages, and so many of the newest messages of it."""
        self._searched: tuple[object, ...] | None = None
        """The inputs of the last search of the lorebooks; see `_search_key`."""

    # --- when the state changes ----------------------------------------------------------

    def _follow(self, before: WorkspaceState, now: WorkspaceState) -> None:
        """Forget composed requests if the state that they are composed from changed."""
        if now.session_id != before.session_id:
            self._release_conversation()
        changed = zip(_ingredients(before), _ingredients(now), strict=True)
        if not any(old is not new for old, new in changed):
            return
        if now.entries is not before.entries:
            previous, self._history = self._history, sendable_messages(now.entries)
            if not previous or previous[:1] != self._history[:1]:
                self._searched = None  # it was another session, or not loaded yet
        self._forget()

    def _release_conversation(self) -> None:
        """Free what is remembered of a conversation that is left."""
        self._history, self._newest, self._others = (), ((), None, ()), {}
        self._searched = None
        self._forget()
        forget_recent()

    def reseed(self) -> None:
        """Let random macros give other results in the next request."""
        self._seed = random.getrandbits(32)
        self._forget()

    def _forget(self) -> None:
        self._composed = {}
        self._version += 1
        self._saved_presets = {}

    # --- lorebooks -------------------------------------------------------------------------

    @property
    def is_lore_searched(self) -> bool:
        """True if composing need not search many lore entries or messages first.

        What was found in a message is remembered; that of another session, or with other books or
        names, is not known yet, and finding it may take seconds.
        """
        state = self.core.state
        books = state.searched_lorebooks
        if not books or self._searched == _search_key(state):
            return True
        work = sum(len(book.entries) for book in books)
        work += min(max(map(_scan_depth, books)), len(self._history))
        return work < LONG_SEARCH

    async def search_lore(self) -> None:
        """Search the lorebooks in a thread if that takes long, so that composing does not."""
        while not self.is_lore_searched:
            await asyncio.to_thread(self.compose, "")

    # --- composing -------------------------------------------------------------------------

    def compose(
        self, draft: str, protocol: Protocol | None = None, parts: tuple[Part, ...] = ()
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
        if memory is self._composed:
            self._searched = _search_key(state)
        return composed

    def inputs(self, draft: str, parts: tuple[Part, ...] = ()) -> Inputs:
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

    def what_if(
        self,
        draft: str,
        changes: WhatIf,
        protocol: Protocol | None = None,
        parts: tuple[Part, ...] = (),
    ) -> Composed:
        """Return the request that `draft` would be with some changes. The session stays as it is.

        Raises InputError if the endpoint or the preset cannot be used.
        """
        preset = self._preset_of(changes)

        def compose_it() -> Composed:
            inputs = self._what_if_inputs(draft, changes, preset, parts)
            return self.in_protocol(compose(inputs), protocol)

        # What is shown and what it is compared with are remembered both.
        use = "what-if", preset is None, changes.history is None
        return self._remembered(use, (draft, changes, preset, protocol, parts), compose_it)

    def _preset_of(self, changes: WhatIf) -> Preset | None:
        """Return the preset of a what-if; None for the session's. Raises InputError."""
        state, preset = self.core.state, changes.preset
        if not isinstance(preset, str):
            return preset
        if preset == state.preset_name and state.preset_edits is not None:
            return state.preset_edits.saved
        if preset and preset not in self._saved_presets:
            self._saved_presets[preset] = self.core.library.preset(preset)
        return self._saved_presets.get(preset)

    def _what_if_inputs(
        self, draft: str, changes: WhatIf, preset: Preset | None, parts: tuple[Part, ...]
    ) -> Inputs:
        state, history = self.core.state, changes.history
        endpoint = state.endpoint
        if changes.endpoint:
            endpoint = state.config.endpoint_named(changes.endpoint)
        if history is None:
            history = self._newest_messages(changes, draft, parts)
        inputs = self._inputs(state, draft, history, parts)
        settings: SessionSettings = inputs.settings
        if changes.model or changes.endpoint:
            settings = replace(settings, model=changes.model)
        return replace(
            inputs,
            endpoint=endpoint,
            preset=preset or inputs.preset,
            settings=settings,
            context_limit=inputs.context_limit if changes.limit is None else changes.limit,
        )

    def _newest_messages(
        self, changes: WhatIf, draft: str, parts: tuple[Part, ...]
    ) -> tuple[Message, ...]:
        """Return the messages of the branch that a what-if sends; the same object for the same."""
        count, history = changes.messages, self._history
        is_answered = bool(history) and history[-1].role == "user" and not (draft or parts)
        if count is not None and is_answered:
            count += 1  # the message to be answered takes the draft's place
        if self._newest[:2] != (history, count):
            start = 0 if count is None else len(history) - min(count, len(history))
            self._newest = history, count, history[start:]
        return self._newest[2]

    def compose_for(self, slot: Slot, draft: str, parts: tuple[Part, ...] = ()) -> Composed:
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
        parts: tuple[Part, ...] = (),
    ) -> Inputs:
        inputs = Inputs(
            endpoint=state.endpoint,
            preset=state.preset,
            history=history,
            draft=draft,
            draft_parts=parts,
            draft_prompts=state.prompts_in(draft),
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
            correction=self._calibration.correction(state.endpoint.name, state.effective_model),
            role_missing=state.role_missing,
            keeps_role_prompt=True,
            edits=edits_for(state.edits, answered_id(draft, history, parts)) if state.edits else (),
        )
        if not inputs.lorebooks:
            return inputs
        return prepared(inputs)

    def _endpoint_for(self, protocol: Protocol) -> Endpoint:
        """Return an endpoint of a protocol, on the active endpoint's host if there is one."""
        state = self.core.state
        host = state.endpoint.base_url.partition("://")[2].partition("/")[0]
        candidates = [
            endpoint for endpoint in state.config.endpoints if endpoint.protocol is protocol
        ]
        same_host = [endpoint for endpoint in candidates if f"://{host}" in endpoint.base_url]
        return (same_host or candidates)[0]


@recent_memo()
def _definitions(tools: tuple[Tool, ...]) -> tuple[ToolDefinition, ...]:
    """Return tools' definitions, the same object for the same tools: it is a key of memos."""
    return tuple(tool.definition for tool in tools)


def answered_id(draft: str, history: tuple[Message, ...], parts: tuple[Part, ...] = ()) -> str:
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
    ends = [index for index in range(len(entries))[-2:] if _is_said(entries[index])]
    if not ends:
        raise NotYet("There is no message in this session yet.")
    last = ends[-1]
    return last if entries[last].message.role == "assistant" else last + 1


def _is_said(entry: Entry) -> bool:
    return entry.message.semantics.summary is None


def _search_key(state: WorkspaceState) -> tuple[Any, ...]:
    """Return the session, the lorebooks, and who gives the names that their keys may contain."""
    return state.session_id, state.lorebooks, state.role, state.profile, state.settings


def _scan_depth(book: Lorebook) -> int:
    """Return how many messages are searched for the entries of a lorebook."""
    own = (entry.scan_depth for entry in book.entries if entry.scan_depth is not None)
    return max(book.scan_depth, *own, 0)
