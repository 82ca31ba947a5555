"""Requests that are no part of a conversation: they ask a model for a title, a summary, the rest of
the user's message, or a text of a kind that a plugin adds.

1. Each is stored when it has ended, however it ended, so that what it cost is counted. Of one in a
   new chat, which has no session that it could be deleted with, only that is stored.
2. A session is titled by its role and its first words at once. After its first complete reply the
   model that `title_model` in config.toml names is asked once, in the background, with the
   beginning of both messages. A title that differs from that is never replaced.
3. A failure of that is silent, and nothing is asked again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError, StoreError, TuiChatError
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.generation import GenerationKind
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.reply import Reply
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, SideRequest
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.models.text import clean
from tui_chat.models.usage import cost_of, source_of_cost
from tui_chat.send import receive
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import BranchChanged, ReplySettled
from tui_chat.workspace.requests import Requests, require_usable_role
from tui_chat.workspace.session_list import TITLE_LENGTH, SessionList, default_title
from tui_chat.workspace.sessions import session_title
from tui_chat.workspace.usage import UsageReports

REPLY_KEPT = 100_000
"""Characters of a reply that are kept with its request."""

EXCERPT = 600
"""Characters of each message that the model is sent."""

OUTPUT = 24
"""Most output tokens of a model that does not reason here."""

REASONING_OUTPUT = 1_024
"""Most output tokens of a model whose reasoning cannot be switched off."""

_PRESET = Preset(
    "title",
    (
        PresetMessage(
            "instructions",
            content="You name conversations. Reply with the title alone: at most six words, in the "
            "language of the conversation, without quotation marks and without a full stop.",
        ),
        PresetMessage("history", type="chat_history"),
    ),
)
_AROUND = re.compile(r"^(?:title:|#+)?\s*[\"'“”«»„*_`]*|[\"'“”«»*_`.\s]*$", re.IGNORECASE)


class Aside:
    """Sends side requests, stores each with its cost, and asks for titles."""

    def __init__(
        self, core: WorkspaceCore, requests: Requests, usage: UsageReports, listed: SessionList
    ) -> None:
        self.core = core
        self._requests, self._usage, self._list = requests, usage, listed
        self._titling: dict[str, asyncio.Task[None]] = {}
        """What asks for titles, by session id: first replies may be several."""

    async def ask(
        self,
        kind: str,
        session_id: str,
        composed: Composed,
        on_text: Callable[[str], None] = lambda text: None,
    ) -> Reply:
        """Send a request of a session, or of the new chat with this id, and return the reply.

        Calls `on_text` with the text that has arrived so far. Raises TuiChatError if the request
        fails. If the record of the request cannot be stored, that is not an error.
        """
        require_usable_role(composed.errors)
        reply = Reply()
        state = self.core.state
        is_new = state.session is None and state.session_id == session_id

        def grow(more: Reply, _: int) -> None:
            nonlocal reply
            reply = more
            on_text(reply.text)

        try:
            await receive(composed, self.core.client, grow, lambda pause: None)
        except asyncio.CancelledError:
            await self._store(kind, session_id, is_new, composed, reply, "stopped")
            raise
        except TuiChatError as error:
            await self._store(kind, session_id, is_new, composed, reply, "failed", str(error))
            raise
        await self._store(kind, session_id, is_new, composed, reply, "complete")
        return reply

    async def generate(
        self,
        kind: GenerationKind,
        composed: Composed,
        on_text: Callable[[str], None],
        *,
        for_user: bool = False,
    ) -> str:
        """Send a request of `Requests.compose_kind` for the active session, and return its text;
        the conversation does not change. Calls `on_text` with the text that has arrived so far. If
        it is written `for_user`, it goes without his name at its beginning. Reports an error and
        returns an empty text if the request fails.
        """
        core = self.core
        session_id, inputs = core.state.session_id, composed.inputs

        def spoken(text: str) -> str:
            text = clean(text).strip()
            if for_user and inputs is not None:  # models like to begin with the name
                text = text.removeprefix(f"{inputs.user_name}:").lstrip()
            return text

        self._requests.reseed()
        with core.reporting():
            reply = await self.ask(kind, session_id, composed, lambda text: on_text(spoken(text)))
            if not (text := spoken(reply.text)):
                raise InputError("The model wrote no text.")
            return text
        return ""

    async def _store(
        self,
        kind: str,
        session_id: str,
        is_new: bool,
        composed: Composed,
        reply: Reply,
        status: Literal["complete", "stopped", "failed"],
        error: str = "",
    ) -> None:
        core = self.core
        known = await self._usage.prices()
        prices = known.prices_of_request(composed, core.now())(reply.usage.tier)
        media = frozenset(part.media for turn in composed.envelope.turns for part in turn.parts)
        cost = cost_of(reply.usage, prices, media)
        request = SideRequest(
            "" if is_new else session_id,
            kind,
            composed.endpoint.name,
            composed.model,
            status,
            reply.text[:REPLY_KEPT],
            reply.usage,
            cost,
            source_of_cost(reply.usage, prices, cost),
            error,
        )
        with suppress(StoreError):  # the session may have been deleted meanwhile
            await core.store_of(session_id).side_requests.add(request)

    # --- titles ------------------------------------------------------------------------------

    def follow(self, event: ReplySettled) -> None:
        """Ask for the title of a session in the background, if this is its first reply."""
        session_id, reply = event.session_id, event.entry
        is_asked = not self.core.state.config.title_model or session_id in self._titling
        if reply is not None and reply.status == "complete" and not is_asked:
            task = self._titling[session_id] = asyncio.create_task(self._title(session_id, reply))
            task.add_done_callback(lambda _: self._titling.pop(session_id))

    async def stop(self) -> None:
        """Stop asking for titles."""
        for task in tuple(self._titling.values()):
            task.cancel()
            await asyncio.wait((task,))

    async def _title(self, session_id: str, reply: Entry) -> None:
        with suppress(TuiChatError):
            core, store = self.core, self.core.store_of(session_id)
            session = await store.sessions.get(session_id)
            path = await store.branches.path_to(reply.message.id)
            question = _question(path)
            if session is None or session.fork_of or question is None:
                return
            role = await store.roles.get(session.role_id) if session.role_id else None
            first_title = session_title(role, question.content, question.parts)
            if session.title != first_title or not question.content.strip():
                return
            name, _, model = core.state.config.title_model.partition("/")
            endpoint = core.state.config.endpoint_named(name)
            composed = title_request(endpoint, model, question.content, path[-1].message.content)
            answer = await self.ask("title", session_id, composed)
            if not (title := read_title(answer.text)):
                return
            titled = await store.sessions.replace_title(session_id, first_title, title)
            if titled is not None and core.state.is_active(session_id):
                core.update(BranchChanged(), session=titled)
            await self._list.refresh()


def _question(path: tuple[Entry, ...]) -> Message | None:
    """Return the user's message of a branch that ends with its first reply; else None."""
    roles = [entry.message.role for entry in path]
    if roles.count("assistant") != 1 or roles[-1] != "assistant" or "user" not in roles:
        return None
    question = path[roles.index("user")].message
    return None if question.muted.whole else question


def title_request(endpoint: Endpoint, model: str, question: str, reply: str) -> Composed:
    """Return the request for the title of a conversation that begins with these two messages."""
    facts = endpoint.facts_of(model)
    efforts = facts.efforts or ()
    reasons = bool(efforts or facts.reasons) and "none" not in efforts
    settings = SessionSettings(
        effort=efforts[0] if efforts else None,
        max_tokens=REASONING_OUTPUT if reasons else OUTPUT,
        model=model,
    )
    draft = f"User: {question[:EXCERPT]}\n\nAssistant: {reply[:EXCERPT]}\n\nTitle?"
    endpoint = replace(endpoint, settings=NO_SETTINGS)  # those of the conversations
    return compose(Inputs(endpoint, _PRESET, draft=draft, settings=settings))


def read_title(reply: str) -> str:
    """Return the title in a model's reply; empty if there is none."""
    lines = (line.strip() for line in clean(reply[: 20 * TITLE_LENGTH]).splitlines())
    line = _AROUND.sub("", next(filter(None, lines), ""))
    return default_title(one_line(line))
