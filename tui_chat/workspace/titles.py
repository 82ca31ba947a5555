"""Titles that a model writes.

1. A session is titled by its role and its first words at once. After its first complete reply the
   model that `title_model` in config.toml names is asked once, in the background, with the
   beginning of both messages.
2. A title that differs from that was given by the user, or came with an import, and is never
   replaced.
3. A failure is silent, and nothing is asked again; `suggest` asks on demand, without a
   `title_model` the session's own model.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import replace

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import InputError, NotYet, TuiChatError
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.models.text import clean
from tui_chat.workspace.active_session import TITLE_LENGTH, default_title, session_title
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, ReplySettled
from tui_chat.workspace.session_catalog import SessionCatalog
from tui_chat.workspace.side_requests import SideRequests

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


class Titles:
    """Asks for titles."""

    def __init__(
        self, core: WorkspaceCore, catalog: SessionCatalog, side_requests: SideRequests
    ) -> None:
        self.core = core
        self._catalog = catalog
        self._side_requests = side_requests
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking: set[str] = set()
        """The ids of the sessions whose title is being asked for: first replies may be several."""

    def follow(self, event: ReplySettled) -> None:
        """Ask for the title of a session in the background, if this is its first reply."""
        session_id, reply = event.session_id, event.entry
        is_asked = not self.core.state.config.title_model or session_id in self._asking
        if reply is not None and reply.status == "complete" and not is_asked:
            self._asking.add(session_id)
            task = asyncio.create_task(self._title(session_id, reply))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: self._asking.discard(session_id))

    async def stop(self) -> None:
        """Stop what is being asked."""
        for task in tuple(self._tasks):
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
            if any(
                request.kind == "title" for request in await store.side_requests.list(session_id)
            ):
                return
            composed = self._request(question, path[-1].message)
            answer = await self._side_requests.ask("title", session_id, composed)
            if not (title := read_title(answer.text)):
                return
            titled = await store.sessions.replace_title(session_id, first_title, title)
            if titled is not None and core.state.is_active(session_id):
                core.update(BranchChanged(), session=titled)
            await self._catalog.refresh()

    @reported("")
    async def suggest(self) -> str:
        """Return a title for the active session; empty, reported, if that is not possible."""
        core = self.core
        answer = await self._side_requests.ask("title", core.state.session_id, self.request())
        if not (title := read_title(answer.text)):
            raise InputError("The model wrote no title.")
        return title

    def request(self) -> Composed:
        """Return the request for a title of the active session. Raises InputError."""
        state = self.core.state
        messages = [e.message for e in state.entries if not e.message.muted.whole]
        question = next((message for message in messages if message.role == "user"), None)
        if state.session is None or question is None:
            raise NotYet("There is no message in this session yet.")
        replies = (message for message in messages if message.role == "assistant")
        return self._request(question, next(replies, Message("assistant")))

    def _request(self, question: Message, reply: Message) -> Composed:
        state = self.core.state
        endpoint, model = state.endpoint, state.effective_model
        if state.config.title_model:
            name, _, model = state.config.title_model.partition("/")
            endpoint = state.config.endpoint_named(name)
        return title_request(endpoint, model, question.content, reply.content)


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
