"""What lies on the desk: the open session, the draft, the request they make.

The state of the program without its screen. It decides, and tells its listener; the screen
shows. Everything a person can do to a conversation is a method here.

1. `session` is None until a first message is sent: a chat that was never begun leaves nothing
   behind. Its role and model can be chosen all the same.
2. `composed` is pure composition over the current state, and returns the same object for the
   same state: the one the inspector draws is the one `submit` sends.
3. Replies stream in tasks of their own, one a session at most; another session can be opened
   meanwhile.
4. What goes wrong is told as `Trouble`, never raised at the screen.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_chat import __version__
from tui_chat.compose import Composed, compose, encode
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.context import Inputs, Settings
from tui_chat.errors import InputError, TuiChatError
from tui_chat.model.endpoint import Endpoint, Protocol
from tui_chat.model.message import Message
from tui_chat.model.preset import Preset
from tui_chat.model.role import Role
from tui_chat.model.session import Entry, Session, SessionSummary
from tui_chat.model.text import clean
from tui_chat.send import Begun, Ended, Grown, Progress, Waiting, send
from tui_chat.tokens import NO_CORRECTION, Correction
from tui_chat.transport import Transport, discover

if TYPE_CHECKING:
    from tui_chat.store import Store

TITLE_LENGTH = 60
"""A session that nobody named is called by its first words, up to so many characters."""

FIRST_ROLE = Role(
    role_id="assistant",
    name="Assistant",
    system_prompt=(
        "You are a helpful assistant. Answer in Markdown, precisely and to the point, and say so "
        "when you do not know."
    ),
)
"""The role that an empty database starts with."""


@dataclass(frozen=True, slots=True)
class SessionsChanged:
    """The list of sessions is another."""


@dataclass(frozen=True, slots=True)
class BranchChanged:
    """The shown session, its settings or its messages are others."""


@dataclass(frozen=True, slots=True)
class ReplyGrew:
    """A reply of the shown session has more text."""

    grown: Grown


@dataclass(frozen=True, slots=True)
class ReplyWaits:
    """The provider refused for now; the shown session's request is sent again by itself."""

    waiting: Waiting


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something could not be done; the sentence and the advice are for a person."""

    error: TuiChatError


Change: TypeAlias = SessionsChanged | BranchChanged | ReplyGrew | ReplyWaits | Trouble


class Desk:
    """The program's state. Call `start` first; from one event loop only."""

    def __init__(
        self,
        config: Config,
        store: Store,
        transport: Transport,
        load_preset: Callable[[str], Preset],
        presets: tuple[str, ...],
        *,
        tell: Callable[[Change], None],
        now: Callable[[], datetime],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.config = config
        self.sessions: tuple[SessionSummary, ...] = ()
        self.session: Session | None = None
        """None for a chat that was not begun yet."""
        self.role: Role | None = None
        self.role_missing = False
        """Whether the session is bound to a role that is gone."""
        self.entries: tuple[Entry, ...] = ()
        self.endpoint: Endpoint = config.endpoint_named(config.endpoint)
        self.model: str = config.model
        """What this session asks; empty leaves it to the role and the endpoint."""
        self.preset: Preset = Preset("plain")
        self.presets = presets
        """Names of the presets that can be chosen."""
        self._store = store
        self._transport = transport
        self._load_preset = load_preset
        self._tell = tell
        self._now = now
        self._clock = clock
        self._history: tuple[Message, ...] = ()
        self._running: dict[str, asyncio.Task[Entry]] = {}
        self._partial: dict[str, Grown] = {}
        self._composed: dict[tuple[str, Protocol], Composed] = {}
        self._sending = False
        self._draft_fault = ""
        self._seed = _dice()
        """Kept until something is sent, so that what is shown stands still."""
        self._corrections: dict[tuple[str, str], Correction] = {}
        """What replies taught of token estimates, by endpoint and model."""

    # --- reading -------------------------------------------------------------------------

    @property
    def is_streaming(self) -> bool:
        """Whether a reply is arriving in the shown session."""
        return self.session is not None and self.session.session_id in self._running

    @property
    def is_offline(self) -> bool:
        """Whether the endpoint is the built-in provider, which needs no network."""
        return self.endpoint.base_url.startswith(LOOPBACK_URL)

    @property
    def partial(self) -> Grown | None:
        """What has arrived of the reply that is arriving in the shown session."""
        return self._partial.get(self.session.session_id) if self.session else None

    def composed(self, draft: str, protocol: Protocol | None = None) -> Composed:
        """Return the request that sending `draft` now would send.

        With a `protocol` that is not the endpoint's own: the same context, said the way that
        protocol would want it. Pure, and the same object until something changes.
        """
        own = self.endpoint.protocol
        wanted = protocol or own
        # A change meanwhile, on another thread, puts another memory in this one's place: what
        # was composed before it must not be found after it.
        memory = self._composed
        found = memory.get((draft, wanted))
        if found is None:
            base = memory.get((draft, own)) or compose(self._inputs(draft, self._history))
            found = base if wanted is own else encode(base.envelope, self._said_as(wanted))
            for key in [key for key in tuple(memory) if key[0] != draft]:
                memory.pop(key, None)
            memory |= {(draft, own): base, (draft, wanted): found}
        return found

    def _inputs(self, draft: str, history: tuple[Message, ...]) -> Inputs:
        session = self.session
        return Inputs(
            endpoint=self.endpoint,
            preset=self.preset,
            history=history,
            draft=draft,
            role=self.role,
            settings=Settings(
                model=self.model,
                temperature=session.temperature if session else None,
                max_tokens=session.max_tokens if session else None,
            ),
            now=self._now(),
            seed=random.getrandbits(32),
        )

    @property
    def _asked(self) -> tuple[str, str]:
        role_model = self.role.model if self.role else ""
        return self.endpoint.name, self.model or role_model

    def _said_as(self, protocol: Protocol) -> Endpoint:
        """Return the endpoint that shows what another protocol would make of the request."""
        here = self.endpoint
        siblings = [e for e in self.config.endpoints if e.protocol is protocol]
        host = here.base_url.partition("://")[2].partition("/")[0]
        same_host = [e for e in siblings if f"://{host}" in e.base_url]
        return (same_host or siblings)[0]

    def _forget_composed(self) -> None:
        self._composed = {}

    # --- opening -------------------------------------------------------------------------

    async def start(self) -> None:
        """Read the sessions and open the one that was open last. Sends nothing.

        Raises StoreError where the store cannot be read.
        """
        if not await self._store.roles():
            await self._store.save_role(FIRST_ROLE)
        last = await self._store.recall("session")
        await self._list_sessions()
        if last is not None and await self._store.session(last) is not None:
            await self._open(last)
        else:
            await self._clear()

    async def open(self, session_id: str) -> None:
        """Show a session."""
        with self._telling():
            await self._open(session_id)

    async def new(self) -> None:
        """Begin a new chat; it is stored with its first message."""
        with self._telling():
            await self._clear()
            await self._store.remember("session", "")

    async def _open(self, session_id: str) -> None:
        session = await self._store.session(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await self._store.role(session.role_id) if session.role_id else None
        self.session = session
        self.role = role
        self.role_missing = bool(session.role_id) and role is None
        self._choose_endpoint(session.endpoint)
        self.model = session.model
        self._choose_preset(session.preset or (role.preset if role else ""))
        await self._store.remember("session", session_id)
        await self._reload()

    async def _clear(self) -> None:
        roles = [role for role in await self._store.roles() if role.status == "enabled"]
        self.session = None
        self.role = roles[0] if roles else None
        self.role_missing = False
        self.endpoint = self.config.endpoint_named(self.config.endpoint)
        self.model = self.config.model
        self._choose_preset(self.role.preset if self.role else "")
        self._show(())

    def _choose_endpoint(self, name: str) -> None:
        try:
            self.endpoint = self.config.endpoint_named(name or self.config.endpoint)
        except InputError as error:
            self.endpoint = self.config.endpoint_named(self.config.endpoint)
            self._tell(
                Trouble(InputError(f"{error} The session goes to “{self.endpoint.name}” now."))
            )

    def _choose_preset(self, name: str) -> None:
        try:
            self.preset = self._load_preset(name or "plain")
        except InputError as error:
            self.preset = Preset("plain")
            self._tell(Trouble(InputError(f"{error}; the session goes on without a preset")))

    async def _reload(self) -> None:
        if self.session is None:
            return
        session_id = self.session.session_id
        entries = await self._store.branch(session_id)
        # Another session may have been opened meanwhile; its own reload shows it.
        if self._shows(session_id):
            self._show(entries)

    def _show(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries
        self._history = _sendable(entries)
        self._forget_composed()
        self._tell(BranchChanged())

    def _shows(self, session_id: str) -> bool:
        return self.session is not None and self.session.session_id == session_id

    async def _list_sessions(self) -> None:
        self.sessions = await self._store.sessions()
        self._tell(SessionsChanged())

    # --- changing ------------------------------------------------------------------------

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        with self._telling():
            session = await self._store.update_session(session_id, title=_first_words(title))
            if self._shows(session_id):
                self.session = session
                self._tell(BranchChanged())
            await self._list_sessions()

    async def delete(self, session_id: str) -> None:
        """Delete a session with all its messages; a reply that is arriving is stopped."""
        with self._telling():
            await self._stop(session_id)
            await self._store.delete_session(session_id)
            if self._shows(session_id):
                await self._clear()
            await self._list_sessions()

    async def choose(self, endpoint: str, model: str) -> None:
        """Ask another model from the next message on."""
        with self._telling():
            self.endpoint = self.config.endpoint_named(endpoint)
            self.model = model
            self._forget_composed()
            if self.session is not None:
                self.session = await self._store.update_session(
                    self.session.session_id, endpoint=endpoint, model=model
                )
            self._tell(BranchChanged())

    async def discover(self) -> None:
        """Look for model servers on this machine, and offer the models they have."""
        with self._telling():
            found = await discover(self.config.endpoints, self._transport)
            at = {endpoint.base_url: endpoint for endpoint in found}
            known = [at.pop(known.base_url, known) for known in self.config.endpoints]
            self.config = replace(self.config, endpoints=(*known, *at.values()))

    async def choose_preset(self, name: str) -> None:
        """Use another preset from the next message on."""
        with self._telling():
            self.preset = self._load_preset(name)
            self._forget_composed()
            if self.session is not None:
                self.session = await self._store.update_session(
                    self.session.session_id, preset=name
                )
            self._tell(BranchChanged())

    # --- drafts --------------------------------------------------------------------------

    async def draft(self) -> str:
        """Return what was being typed in the shown session."""
        with self._telling():
            if self.session is None:
                return await self._store.recall("draft") or ""
            return await self._store.draft(self.session.session_id)
        return ""

    async def keep_draft(self, session: Session | None, text: str) -> None:
        """Keep what is being typed in a session (None: in the chat not yet begun)."""
        try:
            if session is None:
                await self._store.remember("draft", text)
            else:
                await self._store.save_draft(session.session_id, text)
        except TuiChatError as error:
            if str(error) != self._draft_fault:  # once, not with every word that is typed
                self._draft_fault = str(error)
                self._tell(Trouble(error))
        else:
            self._draft_fault = ""

    # --- talking -------------------------------------------------------------------------

    async def submit(self, draft: str) -> bool:
        """Send what was typed; True once it is on disk and on its way.

        False, with `Trouble` told, where it could not be sent; the draft is to be kept then.
        """
        if not self._may_send():
            return False
        if await self._was_changed_elsewhere():
            return False
        draft = clean(draft)
        composed = self.composed(draft)
        user = Message("user", draft)
        parent = self.entries[-1].message.id if self.entries else None
        return await self._exchange(composed, parent, user, draft)

    async def retry(self, entry_id: str) -> bool:
        """Ask again for a reply, as a sibling of the one that is there."""
        if not self._may_send():
            return False
        index = next(
            (i for i, entry in enumerate(self.entries) if entry.message.id == entry_id), None
        )
        if index is None or self.entries[index].message.role != "assistant":
            return False
        before = self.entries[:index]
        composed = compose(self._inputs("", _sendable(before)))
        return await self._exchange(composed, self.entries[index].parent_id, None, "")

    async def _was_changed_elsewhere(self) -> bool:
        """Whether another window went on with this session; it is shown as it is now then."""
        with self._telling():
            if self.session is None:
                return False
            stored = await self._store.session(self.session.session_id)
            seen = self.entries[-1].message.id if self.entries else None
            if stored is None or stored.head_id == seen:
                return False
            await self._reload()
            self._tell(
                Trouble(
                    InputError(
                        "Another window went on with this conversation.",
                        advice="It is shown as it is now. Read it, and send again.",
                    )
                )
            )
        return True

    def _may_send(self) -> bool:
        if self._sending or self.is_streaming:
            self._tell(Trouble(InputError("A reply is still arriving. Esc stops it.")))
            return False
        return True

    async def stop(self) -> None:
        """Stop the reply that is arriving in the shown session; what came is kept."""
        if self.session is not None:
            await self._stop(self.session.session_id)

    async def close(self) -> None:
        """Stop all replies, each kept as far as it came, and let go of store and network."""
        for session_id in tuple(self._running):
            await self._stop(session_id)
        await self._transport.aclose()
        await self._store.close()

    async def _stop(self, session_id: str) -> None:
        task = self._running.get(session_id)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def _exchange(
        self, composed: Composed, parent_id: str | None, user: Message | None, draft: str
    ) -> bool:
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._telling(), self._until_begun():
            session = self.session or await self._begin_session(draft)
            session_id = session.session_id

            def emit(progress: Progress) -> None:
                if isinstance(progress, Begun) and not begun.done():
                    begun.set_result(None)
                if isinstance(progress, Ended) and budget is not None:
                    known = self._corrections.get(asked, NO_CORRECTION)
                    reported = progress.entry.usage.input
                    self._corrections[asked] = known.after(budget.uncorrected, reported)
                self._follow(session_id, progress)

            asked, budget = self._asked, composed.envelope.budget
            self._seed = _dice()
            task = asyncio.create_task(
                send(
                    composed,
                    session_id=session_id,
                    parent_id=parent_id,
                    user=user,
                    recipe=self._recipe(composed, parent_id, draft),
                    store=self._store,
                    transport=self._transport,
                    emit=emit,
                    clock=self._clock,
                )
            )
            self._running[session_id] = task
            task.add_done_callback(lambda done: self._done(session_id, done))
            await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
            if not begun.done():
                return False
            await self._refresh(session_id)
            return True
        return False

    @contextmanager
    def _until_begun(self) -> Generator[None]:
        """Let nothing else be sent until this is on its way."""
        self._sending = True
        try:
            yield
        finally:
            self._sending = False

    async def _begin_session(self, draft: str) -> Session:
        self.session = await self._store.create_session(
            title=_first_words(draft),
            role_id=self.role.role_id if self.role else None,
            model=self.model,
            endpoint=self.endpoint.name,
            preset=self.preset.name,
        )
        await self._store.remember("session", self.session.session_id)
        await self._store.remember("draft", "")
        return self.session

    def _recipe(self, composed: Composed, parent_id: str | None, draft: str) -> dict[str, Any]:
        """Return what is needed, with the store, to compose the same bytes again."""
        return {
            "version": __version__,
            "preset": self.preset.name,
            "role": self.role.role_id if self.role else None,
            "parent": parent_id,
            "draft": bool(draft),
            "settings": {"model": composed.model, "stream": composed.streams},
        }

    def _follow(self, session_id: str, progress: Progress) -> None:
        match progress:
            case Grown():
                self._partial[session_id] = progress
                if self._shows(session_id):
                    self._tell(ReplyGrew(progress))
            case Waiting():
                if self._shows(session_id):
                    self._tell(ReplyWaits(progress))
            case Begun() | Ended():
                pass

    def _done(self, session_id: str, task: asyncio.Task[Entry]) -> None:
        self._running.pop(session_id, None)
        self._partial.pop(session_id, None)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, TuiChatError):
            self._tell(Trouble(error))
        elif error is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a reply failed", "exception": error, "task": task}
            )
        self._refreshing = asyncio.ensure_future(self._refresh(session_id))

    async def _refresh(self, session_id: str) -> None:
        with self._telling():
            if self._shows(session_id):
                await self._reload()
            await self._list_sessions()

    def _telling(self) -> _Telling:
        return _Telling(self._tell)


class _Telling:
    """Tells our errors instead of raising them."""

    def __init__(self, tell: Callable[[Change], None]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        if isinstance(error, TuiChatError):
            self._tell(Trouble(error))
            return True
        return False


def _sendable(entries: tuple[Entry, ...]) -> tuple[Message, ...]:
    """Return the messages that the model is to see: a reply of which nothing came is none."""
    return tuple(
        entry.message
        for entry in entries
        if entry.message.role != "assistant"
        or entry.message.content.strip()
        or entry.message.tool_calls
        or entry.message.semantics.refusal
    )


def _dice() -> int:
    return random.getrandbits(32)


def _first_words(text: str) -> str:
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"
