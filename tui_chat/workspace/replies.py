"""Replies: what a user does to get one, and whether that is possible now.

1. A message waits until no reply arrives in its session; sending it sooner is refused. Only
   `submit_to` has several replies arrive in one session: each at the end of a branch of its own,
   and a message to a branch waits for the reply at its end.
2. A request that is composed now waits for the tools of servers (`ToolSources.ready`). If the user
   stops that, nothing is sent.
3. Whatever stores a message or a reply holds `Sessions.lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tui_chat.compose import Composed, compose
from tui_chat.context.generation import as_continuation, continued_text, uses_prefill
from tui_chat.errors import (
    InputError,
    NotYet,
)
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.generation import GenerationKind
from tui_chat.models.message import Message, text_blocks
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.workspace.core import reported
from tui_chat.workspace.events import (
    Done,
    Failed,
)
from tui_chat.workspace.exchange import (
    Outgoing,
    Slot,
)
from tui_chat.workspace.exchanges import Exchanges
from tui_chat.workspace.requests import (
    last_reply_index,
    require_answered_calls,
)
from tui_chat.workspace.sent import with_target


class Replies(Exchanges):
    """Sends messages, and requests and receives replies and other versions of them."""

    # --- what a user does to get a reply ---------------------------------------------------

    async def submit(
        self,
        draft: str,
        parts: tuple[MediaBlock, ...] = (),
        session_id: str | None = None,
        stored: Callable[[], None] | None = None,
    ) -> bool:
        """Send a draft and its attachments; True once it is on disk and on its way.

        `session_id` is that of the session it was typed for; None for the active one. `stored` is
        called as soon as the message is on disk. False, with `Failed` published, if it could not be
        sent, and if another session is active by now; the caller then keeps the draft.
        """
        session_id = session_id or self.core.state.session_id
        if not await self._sources.ready():
            return False
        async with self._sessions.locked():
            if session_id != self.core.state.session_id or not self.may_send():
                return False
            draft = clean(draft)
            composed = self._requests.compose(draft, parts=parts)
            parent = _last_id(self.core.state.entries)
            request = Outgoing(composed, parent, self._message(draft, parts))
            return bool(await self.begin((request,), draft, stored, is_at_head=True))

    def _message(self, draft: str, parts: tuple[MediaBlock, ...]) -> Message:
        """Return the message of a draft."""
        return Message("user", (*text_blocks(draft), *parts), self.core.new_id())

    async def submit_to(
        self,
        slots: Sequence[Slot],
        draft: str = "",
        parts: tuple[MediaBlock, ...] = (),
        stored: Callable[[], None] | None = None,
    ) -> tuple[str, ...]:
        """Send a draft with its attachments to targets of the active session, each at the end of
        its own branch; without both, request the replies to what the branches end with.

        The user's message is stored once after each message that it follows. Return the ids of the
        replies that are on their way: all, or with `Failed` published none. `stored` is called as
        soon as they are on disk.
        """
        core, draft = self.core, clean(draft)
        session_id = core.state.session_id
        if not await self._sources.ready():
            return ()
        async with self._sessions.locked():
            with core.reporting():
                if session_id == core.state.session_id:
                    requests = self._requests_to(slots, draft, parts)
                    return await self.begin(requests, draft, stored)
        return ()

    def _requests_to(
        self, slots: Sequence[Slot], draft: str, parts: tuple[MediaBlock, ...]
    ) -> tuple[Outgoing, ...]:
        """Return the requests to targets. Raises InputError if one of them cannot be made."""
        has_message = bool(draft or parts)
        for slot in slots:
            if slot.entries and slot.entries[-1].status == "streaming":
                raise NotYet("A reply is still arriving.", advice="Esc stops it.")
            if not has_message:
                require_answered_calls(slot.entries)
        questions: dict[str | None, str] = {}
        requests: list[Outgoing] = []
        for slot in slots:
            composed = self._requests.compose_for(slot, draft, parts)
            parent_id, user = _last_id(slot.entries), None
            if has_message and parent_id not in questions:
                user = self._message(draft, parts)
                questions[parent_id] = user.id
            elif has_message:
                parent_id = questions[parent_id]
            requests.append(
                Outgoing(composed, parent_id, user, target=slot.target, before=slot.entries)
            )
        return tuple(requests)

    async def regenerate(
        self, entry_id: str, kind: Literal["regenerate", "swipe"] = "regenerate"
    ) -> bool:
        """Request another version of a reply; for a message of another role, the reply to it.

        The two kinds differ for presets and lorebooks with triggers only.
        """
        if not await self._sources.ready():
            return False
        async with self._sessions.locked():
            if not self.may_send():
                return False
            entries = self.core.state.entries
            index = _index_of(entry_id, entries)
            if index is None:
                return False
            if entries[index].message.role != "assistant":
                while index + 1 < len(entries) and entries[index + 1].message.role == "tool":
                    index += 1  # the reply follows all tool results
                return await self._reply_to(entries[index].message.id, kind)
            composed = self._requests.compose_reply(kind, index)
            return bool(await self.begin((Outgoing(composed, entries[index].parent_id),)))

    @reported(False)
    async def replay(self, entry_id: str, endpoint: str, model: str) -> bool:
        """Send the context that produced a reply to an endpoint and model; the new reply is a
        version of it. The session's settings stay as they are.
        """
        core = self.core
        async with self._sessions.locked():
            index = _index_of(entry_id, core.state.entries)
            if index is None or not self.may_send():
                return False
            entry = core.state.entries[index]
            sent = await self._sent.request(entry_id)
            target = core.state.config.endpoint_named(endpoint)
            if sent.captured is not None:
                inputs = sent.captured.inputs(target, model, core.now())
            elif sent.composed is not None and sent.composed.inputs is not None:
                inputs = with_target(sent.composed.inputs, target, model)
            else:
                raise InputError(f"This request cannot be sent again. {sent.why}")
            begun = ""
            if sent.continued and inputs.history:
                inputs = as_continuation(inputs)
                begun = continued_text(inputs)
            request = Outgoing(compose(inputs), entry.parent_id, begin_with=begun)
            return bool(await self.begin((request,)))

    @reported(False)
    async def continue_reply(self, entry_id: str) -> bool:
        """Have the model continue the last reply, given by its own id or by that of a system
        message after it; the longer reply is a version of it.

        The request ends with the reply if the model takes that (prefill), else with a request to
        continue it; `Done` says which. For a last message of another role, request the reply to it.
        """
        if not await self._sources.ready():
            return False
        async with self._sessions.locked():
            entries = self.core.state.entries
            index = last_reply_index(entries)
            if entry_id not in (e.message.id for e in entries[-1 if index is None else index :]):
                raise InputError(
                    "Only the last reply can be continued.",
                    advice="To continue an earlier one, fork the session at it.",
                )
            if index is None:
                return await self._reply_to(entries[-1].message.id)
            if not self.may_send():
                return False
            composed = self._requests.compose_kind("continue")
            assert composed.inputs is not None
            text = continued_text(composed.inputs)
            request = Outgoing(composed, entries[index].parent_id, begin_with=text)
            if not await self.begin((request,)):
                return False
            muted = " It stays muted; the longer version is not."
            is_muted = entries[index].message.muted.whole
            self.core.publish(Done(continuation_in_words(composed) + muted * is_muted))
            return True

    async def reply_to(self, entry_id: str) -> bool:
        """Request the reply to a message; False if it is not on the active branch."""
        if not await self._sources.ready():
            return False
        async with self._sessions.locked():
            return await self._reply_to(entry_id)

    @reported(False)
    async def _reply_to(self, entry_id: str, kind: GenerationKind = "normal") -> bool:
        entries = self.core.state.entries
        index = _index_of(entry_id, entries)
        if index is None or not self.may_send():
            return False
        before = entries[: index + 1]
        require_answered_calls(before)
        composed = self._requests.compose_reply(kind, len(before))
        return bool(await self.begin((Outgoing(composed, before[-1].message.id),)))

    def may_send(self) -> bool:
        """Return True if something can be sent in the active session now; report why if not."""
        entries = self.core.state.entries
        if self.core.state.is_streaming:
            fault = NotYet("A reply is still arriving. Esc stops it.")
        elif entries and entries[-1].status == "streaming":
            fault = NotYet(
                "A reply is still arriving here, in another window.",
                advice="Wait until it ends, or stop it there.",
            )
        else:
            return True
        self.core.publish(Failed(fault))
        return False


def _last_id(entries: Sequence[Entry]) -> str | None:
    return entries[-1].message.id if entries else None


def _index_of(entry_id: str, entries: tuple[Entry, ...]) -> int | None:
    return next((i for i, entry in enumerate(entries) if entry.message.id == entry_id), None)


def continuation_in_words(composed: Composed) -> str:
    """Return how a request continues a reply, and why so, as a sentence."""
    assert composed.inputs is not None
    by_preset = composed.inputs.rules.continue_prefill
    if uses_prefill(composed.inputs):
        why = "as the preset says" if by_preset else f"{composed.model} accepts a prefill"
        return f"Continued by prefill: the request ends with the reply ({why})."
    if by_preset is False:
        why = "as the preset says"
    elif composed.endpoint.facts_of(composed.model).prefill is False:
        why = f"{composed.model} does not accept a prefill"
    else:
        why = f"{composed.model} is not known to accept a prefill"
    return f"Continued by a message that asks for the rest ({why})."
