"""The request that the desk's state makes, remembered until the state changes."""

from __future__ import annotations

import asyncio
import random
from typing import TypeAlias
from zlib import crc32

from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, Settings, counted
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import forget_recent
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.models.session import Entry
from tui_chat.recipe import prefilled, sendable
from tui_chat.tokens import NO_CORRECTION, Correction, counter_for
from tui_chat.workspace.learned import corrections_of, text_of
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import State
from tui_chat.workspace.supposing import WhatIf, supposed

_LEARNED = "corrections"
"""The name of the setting that keeps what replies taught."""

_Key: TypeAlias = tuple[str, tuple[Part, ...], Protocol]
"""Draft, what is attached to it, and how it is said."""


_Searched: TypeAlias = tuple[str, tuple[Lorebook, ...], Role | None, Profile | None]
"""Session, books, and who gives the names that keys may contain."""

LONG_SEARCH = 200
"""Lore entries and messages from which a first search may take longer than a frame."""


def _deepest(book: Lorebook) -> int:
    """Return how many messages are searched for the entries of a book."""
    own = (entry.scan_depth for entry in book.entries if entry.scan_depth is not None)
    return max(book.scan_depth, *own, 0)


class Composing:
    """From state to request."""

    def __init__(self, state: State, outside: Outside) -> None:
        self._state = state
        self._outside = outside
        self._history: tuple[Message, ...] = ()
        self._composed: dict[_Key, Composed] = {}
        self._seed = random.getrandbits(32)
        """Kept until something is sent, so that what is shown stands still."""
        self._corrections: dict[tuple[str, str], Correction] = {}
        """What replies taught of token estimates, by endpoint and model."""
        self._composed_for = 0
        """Counts how often the state changed."""
        self._supposed: tuple[object, Composed] | None = None
        self._behind: tuple[object, Composed] | None = None
        self._other_preset: tuple[str, Preset | None] = ("", None)
        self._cut: tuple[tuple[Message, ...], int | None, tuple[Message, ...]] = ((), None, ())
        self._searched: _Searched | None = None
        """For what the lorebooks were searched last."""

    @property
    def is_lore_searched(self) -> bool:
        """True if composing need not search many lore entries or messages first.

        What was found in a message is remembered; that of another session, or with other books or
        names, is not known yet, and finding it may take seconds.
        """
        state = self._state
        if not state.lore or self._searched == self._searching_for():
            return True
        work = sum(len(book.entries) for book in state.lore)
        work += min(max(map(_deepest, state.lore)), len(self._history))
        return work < LONG_SEARCH

    async def search_lore(self) -> None:
        """Search the lorebooks in a thread, if that takes long, so that composing does not."""
        while not self.is_lore_searched:
            await asyncio.to_thread(self.composed, "")

    def _searching_for(self) -> _Searched:
        state = self._state
        return state.session_id, state.lore, state.role, state.profile

    def composed(
        self, draft: str, protocol: Protocol | None = None, parts: tuple[Part, ...] = ()
    ) -> Composed:
        """Return the request that sending `draft` now would send; see `Desk.composed`."""
        own = self._state.endpoint.protocol
        wanted = protocol or own
        # A change meanwhile, on another thread, puts another memory in this one's place: what
        # was composed before it must not be found after it.
        memory, searching_for = self._composed, self._searching_for()
        found = memory.get((draft, parts, wanted))
        if found is None:
            base = memory.get((draft, parts, own))
            base = base or compose(self._inputs(draft, self._history, parts))
            found = base if wanted is own else encode(base.envelope, self._said_as(wanted))
            for key in [key for key in tuple(memory) if key[:2] != (draft, parts)]:
                memory.pop(key, None)
            memory |= {(draft, parts, own): base, (draft, parts, wanted): found}
        if memory is self._composed:
            self._searched = searching_for
        return found

    def supposed(
        self,
        draft: str,
        asked: WhatIf,
        protocol: Protocol | None = None,
        parts: tuple[Part, ...] = (),
    ) -> Composed:
        """Return the request as it would be if; see `Desk.what_if`. Raises InputError."""
        key = draft, asked, protocol, parts, self._composed_for
        if self._supposed is None or self._supposed[0] != key:
            named = self._state.config.endpoint_named(asked.endpoint) if asked.endpoint else None
            if asked.preset and self._other_preset[0] != asked.preset:
                self._other_preset = asked.preset, self._outside.shelf.preset(asked.preset)
            preset = self._other_preset[1] if asked.preset else None
            kept, cut = asked.messages, self._history
            if kept is not None and cut and cut[-1].role == "user" and not (draft or parts):
                kept += 1  # the message to be answered takes the draft's place
            if self._cut[:2] != (cut, kept):
                newest = cut if kept is None else cut[len(cut) - min(kept, len(cut)) :]
                self._cut = cut, kept, newest
            inputs = self._inputs(draft, self._cut[2], parts)
            composed = compose(supposed(inputs, asked, named, preset))
            self._supposed = key, self.said_in(composed, protocol)
        return self._supposed[1]

    def after(
        self,
        history: tuple[Message, ...],
        draft: str,
        protocol: Protocol | None = None,
        parts: tuple[Part, ...] = (),
    ) -> Composed:
        """Return the request behind another history; see `Desk.after`."""
        key = history, draft, protocol, parts, self._composed_for
        if self._behind is None or self._behind[0] != key:
            composed = compose(self._inputs(draft, history, parts))
            self._behind = key, self.said_in(composed, protocol)
        return self._behind[1]

    def said_in(self, composed: Composed, protocol: Protocol | None) -> Composed:
        """Return a request as another protocol would say it; None for its own."""
        if protocol is None or protocol is composed.protocol:
            return composed
        return encode(composed.envelope, self._said_as(protocol), composed.inputs)

    def said_of(self, envelope: ChatEnvelope, protocol: Protocol) -> Composed:
        """Return an envelope as it would be said at an endpoint of a protocol."""
        count = counter_for(envelope.parameters.model.value)
        return encode(counted(envelope, count), self._said_as(protocol))

    def again(self, before: tuple[Entry, ...], *, prefill: bool = False) -> Composed:
        """Return the request for another reply to what was said `before` it.

        With `prefill` the last of that is the model's own, and the reply is to go on from there.
        """
        history = sendable(before)
        return compose(self._inputs("", prefilled(history) if prefill else history))

    def see(self, entries: tuple[Entry, ...]) -> None:
        """Take another branch for the history."""
        known, self._history = self._history, sendable(entries)
        if not known or known[:1] != self._history[:1]:
            self._searched = None  # it was another session, or not read yet
        self.forget()

    def leave(self) -> None:
        """Let go of the conversation, for another one's to come."""
        self._history, self._supposed, self._cut = (), None, ((), None, ())
        self._searched = None
        self._state.forget_long()
        self.forget()
        forget_recent()

    def forget(self) -> None:
        """Compose anew from now on: something that a request is made of is another."""
        self._composed = {}
        self._composed_for += 1
        self._other_preset = "", None

    async def start(self) -> None:
        """Know again what replies taught before the program ended last."""
        kept = await self._outside.store.settings.get(_LEARNED)
        self._corrections = corrections_of(kept or "") | self._corrections

    async def keep_learned(self) -> None:
        """Have what replies taught known at the next start."""
        await self._outside.store.settings.set(_LEARNED, text_of(self._corrections))

    def learn(self, composed: Composed, reported: int | None) -> None:
        """Learn from a reply how many input tokens its request really had."""
        budget = composed.envelope.budget
        if budget is not None:
            key = composed.endpoint.name, composed.model
            known = self._corrections.pop(key, NO_CORRECTION)  # the latest stands last
            self._corrections[key] = known.after(budget.uncorrected, reported)

    def throw_dice(self) -> None:
        """Let the next request have other chances: the last one's were sent."""
        self._seed = random.getrandbits(32)
        self.forget()

    def _inputs(
        self, draft: str, history: tuple[Message, ...], parts: tuple[Part, ...] = ()
    ) -> Inputs:
        state = self._state
        return Inputs(
            endpoint=state.endpoint,
            preset=state.preset,
            history=history,
            draft=draft,
            draft_parts=parts,
            role=state.role,
            profile=state.profile,
            settings=Settings(state.model, state.temperature, state.max_tokens),
            now=self._outside.now(),
            seed=self._seed,
            session_seed=crc32(state.session_id.encode()),
            lorebooks=state.lore,
            variables=state.variables,
            tools=tuple(tool.definition for tool in state.tools) or None,
            correction=self._corrections.get(
                (state.endpoint.name, state.asked_model), NO_CORRECTION
            ),
            role_missing=state.role_missing,
        )

    def _said_as(self, protocol: Protocol) -> Endpoint:
        """Return the endpoint that shows what another protocol would make of the request."""
        here = self._state.endpoint
        siblings = [e for e in self._state.config.endpoints if e.protocol is protocol]
        host = here.base_url.partition("://")[2].partition("/")[0]
        same_host = [e for e in siblings if f"://{host}" in e.base_url]
        return (same_host or siblings)[0]
