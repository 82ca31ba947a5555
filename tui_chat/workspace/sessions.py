"""Sessions: which one is the active one, its branch as it is read, new chats, and drafts.

1. A new chat has an id, settings and a draft, but is stored only with its first message: one that
   was never begun leaves nothing behind.
2. `lock` is held while the active session is switched and while a message is stored in it, so that
   each waits for the other: a message never reaches a session that it was not written for.
3. Until the branch is read, `state.is_branch_loaded` is False, and nothing is composed, sent or
   added.
4. The temporary session has a store of its own, in memory: nothing of it is written to disk. It is
   in no list and no search, and ends when another session becomes the active one, unless it is
   kept.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tui_chat.context.macros.expansion import Expander
from tui_chat.errors import InputError, NotYet, StoreError, TuiChatError
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message
from tui_chat.models.role import FIRST_ROLE_NAME, Role
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, NewSession, Session
from tui_chat.models.text import Origin, OriginKind
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import BranchChanged, Done, Failed
from tui_chat.workspace.exchange import with_known
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.roles import Roles
from tui_chat.workspace.sent import Sent
from tui_chat.workspace.session_list import (
    TITLE_LENGTH,
    SessionList,
    default_title,
    described,
    quoted_title,
)
from tui_chat.workspace.settings import NEW_CHAT_EDITS, SessionSetup

if TYPE_CHECKING:
    from tui_chat.store import Store

TRASH_KEPT = 30 * 24 * 3600.0
"""Seconds after which deleted sessions and messages are purged."""
TEMPORARY_TITLE = "Temporary session"

_STARTING = "starting"
"""The name of the stored setting that holds the id of the session which is being opened at the
start, until it has been on the screen."""
_MARKDOWN = re.compile(r"\s*(#{1,6}|[-*+>]|\d+[.)])\s+(?=\S)")
"""What a block of Markdown begins with."""
_MANY_MESSAGES = 500
"""Messages from which comparing two branches takes long enough to be felt on the event loop."""


async def _nothing(session_id: str) -> None: ...


class Sessions:
    """Opens sessions and new chats, reads their branches, and keeps their drafts."""

    def __init__(
        self,
        core: WorkspaceCore,
        requests: Requests,
        sent: Sent,
        roles: Roles,
        settings: SessionSetup,
        sessions: SessionList,
    ) -> None:
        self.core = core
        self._requests, self._sent, self._roles = requests, sent, roles
        self._settings, self._list = settings, sessions
        self.stop_replies: Callable[[str], Awaitable[None]] = _nothing
        """Stops what arrives in a session."""
        self.stop_tools: Callable[[], object] = lambda: None
        """Cancels the commands of the active session."""
        self._loading: object = None
        """Identifies the latest load of a branch; earlier ones keep nobody waiting."""
        self._loaded = asyncio.Event()
        """Set while `state.is_branch_loaded`."""
        self._loaded.set()
        self.lock = asyncio.Lock()
        """Held while the active session is switched and while a message is stored in it. Not held
        while a branch is read. Not reentrant.
        """
        self._ended: set[str] = set()
        """The ids of temporary sessions that were not kept."""
        self._drafting = asyncio.Lock()
        """One draft at a time: what was typed last is what is stored."""
        self._stored_files: dict[str, str] = {}
        """The paths stored last, by session id: they seldom change."""

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Hold `lock`, once the branch is loaded and its lorebooks are searched."""
        while True:
            await self.branch_loaded()
            await self._requests.prepare()
            async with self.lock:
                if self.core.state.is_branch_loaded:
                    yield
                    return

    # --- at the start ----------------------------------------------------------------------

    async def open_last(self, *, guarded: bool) -> None:
        """Open the session that was open last, else a new chat; see `Workspace.start`."""
        store = self.core.store
        last = await store.settings.get("session")
        await self._list.refresh()
        has_failed = guarded and bool(last) and await store.settings.get(_STARTING) == last
        if has_failed or not last or await store.sessions.get(last) is None:
            await self._start_new_chat()
        else:
            if guarded:
                await store.settings.set(_STARTING, last)
            await self.activate(last)
        if has_failed:
            await store.settings.set("session", "")
            sentence = "tui-chat ended while it was opening the last session: this is a new one."
            advice = "It is in the session list; everything in it is kept, and can be exported."
            self.core.publish(Failed(InputError(sentence, advice=advice)))
        await store.sessions.purge_trash(TRASH_KEPT)

    async def confirm_start(self) -> None:
        """Note that the session which was opened at the start has been shown."""
        with suppress(StoreError):  # the consequence: it is not opened at the next start
            await self.core.store.settings.set(_STARTING, "")

    # --- stored sessions -------------------------------------------------------------------

    @reported(None)
    async def open(self, session_id: str) -> None:
        """Make a session the active one."""
        await self.activate(session_id)

    @reported(None)
    async def open_at(self, session_id: str, message_id: str) -> None:
        """Open a session on the branch of a message, such as one that was searched for."""
        await self.activate(session_id)
        if all(entry.message.id != message_id for entry in self.core.state.entries):
            await self.core.store.branches.activate(session_id, message_id)
            await self.activate(session_id)

    async def activate(self, session_id: str) -> None:
        """Make a session the active one. Raises InputError if it is gone, and StoreError."""
        core, store = self.core, self.core.store_of(session_id)
        session = await store.sessions.get(session_id)
        if session is None:
            raise InputError("This session is gone; another window may have deleted it.")
        role = await core.store.roles.get(session.role_id) if session.role_id else None
        with self.loading_branch():
            async with self.lock:
                if is_other := not core.state.is_active(session_id):
                    # Another session's messages must not be sent in its name.
                    await self._switch(session, session_id)
                else:
                    core.update(session=session)
                await self._settings.apply_session(session, role)
            entries = await self._read_branch(session)
        # Nothing may be awaited from here to the update: tasks that wait for the branch go on then.
        if core.state.is_active(session_id):
            core.update(BranchChanged(), entries=entries)
        if is_other and session.client:
            await self._sent.view_recorded()
        if store is core.store:
            await core.remember("session", session_id)
        await self._list.mark_read(session_id)

    async def open_added(self, session_id: str) -> None:
        """Make a session that was just stored the active one, and list it. Raises StoreError."""
        await self.activate(session_id)
        await self._list.refresh()

    async def refresh(self, session_id: str) -> None:
        """Read the list again, and a session if it is the active one. Raises StoreError."""
        if self.core.state.is_active(session_id):
            await self.activate(session_id)
        await self._list.refresh()

    async def leave(self, session_ids: Collection[str]) -> bool:
        """Open a new chat if one of these sessions is the active one; return True if it was."""
        async with self.lock:
            session = self.core.state.session
            if session is None or session.session_id not in session_ids:
                return False
            await self._switch_to_new_chat(None)
            return True

    @reported(None)
    async def delete(self, session_ids: Collection[str]) -> None:
        """Delete sessions, and stop replies that arrive there. `Workspace.undo` restores them."""
        core, ids = self.core, tuple(session_ids)
        for session_id in ids:
            await self.stop_replies(session_id)
        deleted, state = self._list.summaries(ids), core.state
        active_id = state.session_id if state.session is not None else ""
        await core.store.sessions.delete(ids)
        await self.leave(ids)
        await self._list.refresh()

        async def restore() -> None:
            await core.store.sessions.restore(ids)
            await self._list.refresh()
            if active_id in ids and core.state.session is None:
                await self.activate(active_id)

        core.push_undo(described(deleted), restore)

    async def _switch(self, session: Session | None, session_id: str) -> None:
        """Make a session, or None for a new chat with this id, the active one, without anything of
        it or of the one before, and end the temporary session. The caller holds the lock.
        """
        core = self.core
        if core.state.is_temporary:
            self.stop_tools()
        core.update(
            session=session,
            session_id=session_id,
            entries=(),
            last_sent={},
            request=core.state.request.without_session(),
        )
        if (store := core.temporary_store) is not None:
            self._ended.add(core.state.temporary_id)
            await self.stop_replies(core.state.temporary_id)
            await self._close_temporary(store)

    # --- the branch ------------------------------------------------------------------------

    @contextmanager
    def loading_branch(self) -> Generator[None]:
        """Let whatever needs the branch wait meanwhile, unless another one is loaded by then."""
        self._loading = this = object()
        self._set_loaded(False)
        try:
            yield
        finally:
            if self._loading is this:
                self._set_loaded(True)

    def _set_loaded(self, loaded: bool) -> None:
        if loaded:
            self._loaded.set()
        else:
            self._loaded.clear()
        self.core.update(is_branch_loaded=loaded)

    async def branch_loaded(self) -> None:
        """Wait until the active branch is loaded, or could not be."""
        await self._loaded.wait()

    async def _read_branch(self, session: Session) -> tuple[Entry, ...]:
        """Return a session's branch. Entries that did not change stay the same objects."""
        store = self.core.store_of(session.session_id)
        entries = await store.branches.load(session.session_id)
        shown, unsaved = self.core.state.entries, self.core.state.unsaved_replies
        if unsaved:
            entries = tuple(unsaved.get(entry.message.id, entry) for entry in entries)
        if len(shown) < _MANY_MESSAGES:
            return with_known(entries, shown)
        return await asyncio.to_thread(with_known, entries, shown)

    async def reload_branch(self) -> None:
        """Read the active branch again."""
        core, session = self.core, self.core.state.session
        if session is None:
            return
        while True:
            shown = core.state.entries
            entries = await self._read_branch(session)
            # Nothing may be awaited from here to the update.
            if not core.state.is_active(session.session_id):
                return  # another session was opened meanwhile
            if core.state.entries is shown:
                break  # else what was shown meanwhile may be newer than what was read
        core.update(BranchChanged(), entries=entries)
        viewed = core.state.request.viewed
        if viewed is not None and viewed.is_automatic:
            await self._sent.view_recorded()

    # --- new chats ---------------------------------------------------------------------------

    @reported(None)
    async def new(self, role_id: str | None = None) -> None:
        """Open a new chat with a role; empty for none, None for the role that was used last."""
        await self._start_new_chat(role_id)
        await self.core.remember("session", "")

    async def _start_new_chat(self, role_id: str | None = None) -> None:
        async with self.lock:
            await self._switch_to_new_chat(role_id)

    async def _switch_to_new_chat(self, role_id: str | None) -> None:
        """Open a new chat, see `new`. The caller holds the lock. Raises InputError for the role."""
        role = await self._roles.to_start_with(role_id)
        await self._switch(None, self.core.new_id())
        await self._settings.apply_new_chat(role)
        self._loading = None  # nobody waits for a branch that is not shown any more
        self._set_loaded(True)
        self.show_opening()

    @reported(None)
    async def choose_role(self, role_id: str) -> None:
        """Give the new chat another role; empty for none. A session keeps its own: reported."""
        if self.core.state.session is not None:
            raise InputError(
                "A session keeps the role it began with.", advice="Start a new session for it."
            )
        await self._settings.apply_new_chat(await self._roles.to_start_with(role_id))
        self.show_opening()

    def show_opening(self) -> None:
        """Show the first greeting of the new chat's role, or nothing if it has none."""
        self.core.update(BranchChanged(), entries=self._greeting(0))

    def show_greeting(self, step: int) -> None:
        """Show the greeting of a new chat that is `step` after the shown one, if there is one."""
        entries = self.core.state.entries
        if entries and 0 <= entries[0].sibling + step < entries[0].siblings:
            shown = self._greeting(entries[0].sibling + step)
            self.core.update(BranchChanged(), entries=shown)

    def _greeting(self, number: int) -> tuple[Entry, ...]:
        """Return the opening of a new chat: a greeting of the role's character card, with its
        macros expanded; empty if it has none. It is stored when the session is created.
        """
        core = self.core
        character = core.state.role.character if core.state.role is not None else None
        greetings = character.greetings if character is not None else ()
        if not greetings:
            return ()
        origin = Origin(OriginKind.SYSTEM, "greeting")
        expander = Expander(self._requests.inputs(""))
        text = expander.expand_text(greetings[number], origin, is_card=True)
        message = Message.of("assistant", text, id=core.new_id(), timestamp=core.now().timestamp())
        return (Entry(message, sibling=number, siblings=len(greetings)),)

    def new_session(
        self, draft: str, parts: Sequence[MediaBlock] = (), *, title: str = ""
    ) -> NewSession:
        """Return the active new chat as the session that is stored with its first message: it is
        titled by `draft` and its attachments, unless it has a `title`.

        The draft stays that of the new chat until then; see `settings_when_begun`.
        """
        state = self.core.state
        session = Session(
            session_id=state.session_id,
            title=title or session_title(state.role, draft, parts),
            role_id=state.role.role_id if state.role else None,
            model=state.model,
            endpoint=state.endpoint.name,
            preset=state.preset_name,
            profile=state.profile_name,
            lorebooks=state.lorebook_names,
            settings=state.settings,
            edits=state.edits,
        )
        if not state.entries:
            return NewSession(session, tools=self.core.new_chat_tools)
        shown = state.entries[0]
        greetings = tuple(
            (shown if number == shown.sibling else self._greeting(number)[0]).message
            for number in range(shown.siblings)
        )
        return NewSession(session, greetings, shown.message.id, self.core.new_chat_tools)

    def settings_when_begun(self) -> dict[str, str]:
        """Return the settings that are stored with the first message of the active session: it was
        open last, its role was used last, and the draft is empty.
        """
        state = self.core.state
        if state.is_temporary or not self.core.remembers:
            return {}
        by_role = self._roles.settings_after_use(state.role.role_id if state.role else "")
        return {"draft": "", NEW_CHAT_EDITS: "", "session": state.session_id, **by_role}

    def changes_when_begun(self, session: Session) -> dict[str, Any]:
        """Return the fields of the state that change once a new session is stored."""
        return {"session": session, "roles": self._roles.after_use(session.role_id or "")}

    # --- the temporary session ---------------------------------------------------------------

    @reported(None)
    async def new_temporary(self, role_id: str | None = None) -> None:
        """Open a temporary session with a role; see `new`."""
        from tui_chat.store import Store

        core = self.core
        store = await Store.open_in_memory(now=lambda: core.now().timestamp(), new_id=core.new_id)
        try:
            async with self.lock:
                await self._switch_to_new_chat(role_id)
                core.update(edits=())  # those of the new chat wait there for it, as its draft does
                if core.state.role is not None:
                    await store.roles.save(core.state.role)
                new = self.new_session("", title=TEMPORARY_TITLE)
                session = await store.messages.begin_session(new)
                core.temporary_store = store
                core.update(BranchChanged(), session=session, temporary_id=session.session_id)
        except BaseException:
            await store.close()
            raise

    @reported(False)
    async def keep(self) -> bool:
        """Store the temporary session like any other; False, reported, if that is not possible."""
        core = self.core
        async with self.lock:
            title = await self._keep()
        session_id = core.state.session_id
        await self._list.refresh()
        await core.remember("session", session_id)
        core.publish(Done(f"Kept as {quoted_title(title)}."))
        return True

    async def _keep(self) -> str:
        """Copy the session to the file, and return its title. Raises InputError and StoreError."""
        core, store = self.core, self.core.temporary_store
        session_id = core.state.session_id
        if store is None or not core.state.is_temporary:
            raise InputError("This session is not a temporary one.")
        if core.state.is_streaming:
            raise NotYet("A reply is still arriving.", advice="Esc stops it.")
        transcript = await store.transcripts.get(session_id)
        if transcript is None or not transcript.entries:
            raise NotYet("There is no message in this session yet.")
        title = transcript.session.title
        if title == TEMPORARY_TITLE:
            messages = [entry.message for entry in transcript.entries]
            first = next((each for each in messages if each.role == "user"), messages[0])
            title = session_title(core.state.role, first.content, first.parts)
        session = replace(transcript.session, title=title)
        result = await core.store.transcripts.add(replace(transcript, session=session))
        if result.fault:
            raise InputError(result.fault)
        for here, there in (
            (store.draft_files, core.store.draft_files),
            (store.queues, core.store.queues),
            (store.chosen_tools, core.store.chosen_tools),
        ):
            await there.save(session_id, await here.get(session_id))
        stored = await core.store.sessions.get(session_id)
        await self._close_temporary(store)
        core.update(BranchChanged(), session=stored)
        return title

    async def _close_temporary(self, store: Store) -> None:
        core = self.core
        core.temporary_store = None
        core.forget_messages(store)
        core.update(temporary_id="")
        await store.close()

    # --- drafts ------------------------------------------------------------------------------

    @reported("")
    async def draft(self) -> str:
        """Return the stored draft of the active session."""
        return await self.core.active_store.drafts.get(_draft_id(self.core.state.session))

    async def draft_files(self) -> tuple[str, ...]:
        """Return the paths of the files attached to the active session's draft."""
        session_id, paths = _draft_id(self.core.state.session), ""
        with self.core.reporting():
            paths = await self.core.active_store.draft_files.get(session_id)
        self._stored_files[session_id] = paths
        return tuple(paths.split("\n")) if paths else ()

    async def save_draft(
        self, session: Session | None, text: str, files: tuple[str, ...] = ()
    ) -> None:
        """Store the draft of a session (None: of the new chat) and the paths of its attachments.
        A fault is reported once, not with every word, and stays in the state until it is stored.
        """
        session_id, paths = _draft_id(session), "\n".join(files)
        if session_id in self._ended:
            return
        async with self._drafting:
            core, known = self.core, self.core.state.unsaved_draft
            try:
                store = core.store_of(session_id)
                await store.drafts.save(session_id, text)
                if self._stored_files.get(session_id, "") != paths:
                    await store.draft_files.save(session_id, paths)
                    self._stored_files[session_id] = paths
            except TuiChatError as error:
                if str(error) != known:
                    core.update(BranchChanged(), Failed(error), unsaved_draft=str(error))
            else:
                if known:
                    core.update(BranchChanged(), unsaved_draft="")


def _draft_id(session: Session | None) -> str:
    """Return the id by which the draft of a session is stored; empty for the new chat's."""
    return "" if session is None else session.session_id


def session_title(role: Role | None, text: str, parts: Sequence[MediaBlock] = ()) -> str:
    """Return the title of a session that begins with a role and a message: the role's name, unless
    that is the first role, which nobody chose, and the message's first words.
    """
    words = _first_words(text, parts)
    if role is None or role.name == FIRST_ROLE_NAME:
        return words or "Files"
    return default_title(": ".join(filter(None, (role.name, words))))


def _first_words(text: str, parts: Sequence[MediaBlock]) -> str:
    """Return the first words of a message, of Markdown the first line without its mark, else the
    names of its attachments; empty without both.
    """
    first = next((line for line in text[: 4 * TITLE_LENGTH].splitlines() if line.strip()), "")
    mark = _MARKDOWN.match(first)
    if title := default_title(first[mark.end() :] if mark else text):
        return title
    return default_title(", ".join(one_line(part.name) for part in parts if part.name))
