"""Replies: what a user does to get one, and whether that is possible now.

1. A message waits until no reply arrives in its session; sending it sooner is refused. Only
   `submit_to` has several replies arrive in one session: each at the end of a branch of its own,
   and a message to a branch waits for the reply at its end.
2. A request that is composed now waits for the tools of servers (`ToolSources.ready`). If the user
   stops that, nothing is sent.
3. Whatever stores a message or a reply holds `ActiveSession.lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from tui_chat.compose import Composed, compose
from tui_chat.context.generation import as_continuation, continued_text, uses_prefill
from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.generation import GenerationKind
from tui_chat.models.message import Message, Part
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, Brought, MessageSemantics
from tui_chat.models.session import Entry
from tui_chat.models.text import clean
from tui_chat.workspace.active_session import ActiveSession
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done, Failed
from tui_chat.workspace.exchanges import Exchanges
from tui_chat.workspace.request_history import RequestHistory, with_target
from tui_chat.workspace.requests import Requests, last_reply_index, require_answered_calls
from tui_chat.workspace.target import Slot
from tui_chat.workspace.tool_sources import ToolSources


@dataclass(eq=False)
class Replies:
    """Sends messages, and requests replies and other versions of them."""

    core: WorkspaceCore
    _requests: Requests
    _history: RequestHistory
    _active: ActiveSession
    _exchanges: Exchanges
    _sources: ToolSources

    # --- use cases -----------------------------------------------------------------------

    async def submit(
        self,
        draft: str,
        parts: tuple[Part, ...] = (),
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
        async with self._active.locked():
            if session_id != self.core.state.session_id:
                return False
            if not self.may_send() or await self._was_changed_externally():
                return False
            draft = clean(draft)
            composed = self._requests.compose(draft, parts=parts)
            entries = self.core.state.entries
            parent = entries[-1].message.id if entries else None
            message = self._message(draft, parts)
            is_sent = await self._exchanges.send(composed, parent, message, draft, stored=stored)
            if is_sent:
                self._forget_prompts(session_id, draft)
            return is_sent

    def _message(self, draft: str, parts: tuple[Part, ...], message_id: str = "") -> Message:
        """Return the message of a draft, which knows the server's prompt in it."""
        semantics = NO_MESSAGE_SEMANTICS
        if prompts := self.core.state.prompts_in(draft):
            semantics = MessageSemantics(brought=Brought(prompt=prompts[0][1]))
        return Message("user", draft, message_id, parts=parts, semantics=semantics)

    def _forget_prompts(self, session_id: str, draft: str) -> None:
        """Forget the prompts in a sent draft: next time its words may be the user's own."""
        prompts = self.core.state.inserted_prompts
        left = (one for one in prompts if one[0] != session_id or one[1] not in draft)
        self.core.update(inserted_prompts=tuple(left))

    async def submit_to(
        self,
        slots: Sequence[Slot],
        draft: str = "",
        parts: tuple[Part, ...] = (),
        stored: Callable[[], None] | None = None,
    ) -> tuple[str, ...]:
        """Send a draft with its attachments to targets of the active session, each at the end of
        its own branch; without both, request the replies to what the branches end with.

        The user's message is stored once after each message that it follows. Return the ids of the
        replies that are on their way, as many as could be stored; `Failed` is published for the
        next one. `stored` is called as soon as the first exchange is on disk.
        """
        core, draft, replies = self.core, clean(draft), list[str]()
        session_id = core.state.session_id
        if not await self._sources.ready():
            return ()
        async with self._active.locked():
            if session_id != core.state.session_id:
                return ()
            is_new = core.state.session is None or not all(slot.entries for slot in slots)
            with core.reporting():
                has_message = bool(draft or parts)
                for slot in slots:
                    _require_ended(slot.entries)
                    if not has_message:
                        require_answered_calls(slot.entries)
                composed = [self._requests.compose_for(slot, draft, parts) for slot in slots]
                questions: dict[str | None, str] = {}
                for slot, request in zip(slots, composed, strict=True):
                    parent_id = slot.entries[-1].message.id if slot.entries else None
                    user = None
                    if has_message and parent_id not in questions:
                        questions[parent_id] = core.new_id()
                        user = self._message(draft, parts, questions[parent_id])
                    elif has_message:
                        parent_id = questions[parent_id]
                    first = stored if not replies else None
                    reply_id = await self._exchanges.begin(
                        request, parent_id, user, draft, stored=first, target=slot.target
                    )
                    if not reply_id:
                        break
                    replies.append(reply_id)
            if replies:
                self._forget_prompts(session_id, draft)
                await self._exchanges.show_begun(is_new)
        return tuple(replies)

    async def regenerate(
        self, entry_id: str, kind: Literal["regenerate", "swipe"] = "regenerate"
    ) -> bool:
        """Request another version of a reply; for a message of another role, the reply to it.

        The two kinds differ for presets and lorebooks with triggers only.
        """
        if not await self._sources.ready():
            return False
        async with self._active.locked():
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
            return await self._exchanges.send(composed, entries[index].parent_id, None, "")

    @reported(False)
    async def replay(self, entry_id: str, endpoint: str, model: str) -> bool:
        """Send the context that produced a reply to an endpoint and model; the new reply is a
        version of it. The session's settings stay as they are.
        """
        core = self.core
        async with self._active.locked():
            index = _index_of(entry_id, core.state.entries)
            if index is None or not self.may_send():
                return False
            entry = core.state.entries[index]
            sent = await self._history.request(entry_id)
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
            composed = compose(inputs)
            return await self._exchanges.send(composed, entry.parent_id, None, "", begin_with=begun)

    @reported(False)
    async def continue_reply(self, entry_id: str) -> bool:
        """Have the model continue the last reply, given by its own id or by that of a system
        message after it; the longer reply is a version of it.

        The request ends with the reply if the model takes that (prefill), else with a request to
        continue it; `Done` says which. For a last message of another role, request the reply to it.
        """
        if not await self._sources.ready():
            return False
        async with self._active.locked():
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
            parent_id = entries[index].parent_id
            if await self._exchanges.send(composed, parent_id, None, "", begin_with=text):
                muted = " It stays muted; the longer version is not."
                is_muted = entries[index].message.muted.whole
                self.core.publish(Done(continuation_in_words(composed) + muted * is_muted))
                return True
            return False

    async def reply_to(self, entry_id: str) -> bool:
        """Request the reply to a message; False if it is not on the active branch."""
        if not await self._sources.ready():
            return False
        async with self._active.locked():
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
        return await self._exchanges.send(composed, before[-1].message.id, None, "")

    # --- whether something can be sent ---------------------------------------------------

    def may_send(self) -> bool:
        """Return True if something can be sent in the active session now; report why if not."""
        if self.core.state.is_streaming:
            fault = NotYet("A reply is still arriving. Esc stops it.")
        elif self._is_arriving_elsewhere():
            fault = NotYet(
                "A reply is still arriving here, in another window.",
                advice="Wait until it ends, or stop it there.",
            )
        else:
            return True
        self.core.publish(Failed(fault))
        return False

    def _is_arriving_elsewhere(self) -> bool:
        """Return True if another program receives the reply at the end of the active branch. An
        own reply that has ended is about to be read again, or could not be.
        """
        entries = self.core.state.entries
        last = entries[-1] if entries else None
        if last is None or last.status != "streaming":
            return False
        return not self._exchanges.was_requested_here(last.message.id)

    @reported(True)
    async def _was_changed_externally(self) -> bool:
        """Return True if another program changed this session; its branch is reloaded then."""
        core = self.core
        state = core.state
        if state.session is None:
            return False
        stored = await core.active_store.sessions.get(state.session.session_id)
        entries = core.state.entries
        seen = entries[-1].message.id if entries else None
        if stored is None or stored.head_id == seen:
            return False
        await self._active.reload_branch()
        raise InputError(
            "Another window has continued this conversation.",
            advice="It is shown as it is now. Read it, and send again.",
        )


def _index_of(entry_id: str, entries: tuple[Entry, ...]) -> int | None:
    return next((i for i, entry in enumerate(entries) if entry.message.id == entry_id), None)


def _require_ended(entries: tuple[Entry, ...]) -> None:
    if entries and entries[-1].status == "streaming":
        raise NotYet("A reply is still arriving.", advice="Esc stops it.")


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
