"""All that a person can do to conversations, a method each.

The work is done by the parts; see `desk.parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tui_chat.compose import Composed
from tui_chat.context import Settings
from tui_chat.errors import TuiChatError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.message import Message, Part
from tui_chat.models.preset import Preset
from tui_chat.models.received import Received
from tui_chat.models.request import Sent
from tui_chat.models.search import Hit, Query
from tui_chat.models.session import Entry, Node, Session
from tui_chat.recipe import sendable
from tui_chat.workspace.organising import Order
from tui_chat.workspace.past import SentRequest, same_messages
from tui_chat.workspace.setting import Setting
from tui_chat.workspace.state import LastSent
from tui_chat.workspace.supposing import WhatIf

if TYPE_CHECKING:
    from tui_chat.exporting import Format
    from tui_chat.importing import Report


class Desk(Setting):
    """The program's state. Call `start` first; from one event loop only."""

    # --- opening -------------------------------------------------------------------------

    async def start(self, *, guarded: bool = False) -> None:
        """Read the sessions and open the one that was open last. Sends nothing.

        With `guarded`, a session that cannot be shown, or during whose showing the program ended
        the last time, is left closed with `Trouble` told; call `confirm_start` once the session
        has been on the screen. Raises StoreError where the store cannot be read.
        """
        await self._opening.start(guarded=guarded)

    async def confirm_start(self) -> None:
        """Note that the session which `start` opened could be shown."""
        await self._opening.confirm_start()

    async def open(self, session_id: str) -> None:
        """Show a session."""
        with self._outside.telling():
            await self._opening.open(session_id)

    async def open_at(self, session_id: str, message_id: str) -> None:
        """Show a session on the branch that a message is on, such as one that was searched for."""
        with self._outside.telling():
            await self._opening.open_at(session_id, message_id)

    async def new(self, role_id: str | None = None) -> None:
        """Begin a new chat; it is stored with its first message.

        `role_id` is its role's, empty for none, None for the one that was used last.
        """
        with self._outside.telling():
            await self._opening.clear(role_id)
            await self._outside.store.settings.set("session", "")

    # --- the list ------------------------------------------------------------------------

    async def rename(self, session_id: str, title: str) -> None:
        """Give a session another title."""
        await self._organising.rename(session_id, title)

    async def organise(self, session_ids: Collection[str], order: Order) -> None:
        """Pin, tag, archive or file sessions, mark them read or unread; what `order` leaves at
        None stays. `undo` brings back what was archived.
        """
        await self._organising.organise(session_ids, order)

    async def retag(
        self, session_ids: Collection[str], *, add: Collection[str], drop: Collection[str]
    ) -> None:
        """Give sessions tags and take others from them; the tags that are not named stay."""
        await self._organising.retag(session_ids, add, drop)

    async def search(self, query: Query) -> tuple[Hit, ...]:
        """Find messages and sessions by their words. Raises InputError where there is no word,
        StoreError where the store cannot be read.
        """
        return await self._outside.store.search.find(query)

    async def writers(self) -> tuple[tuple[str, str], ...]:
        """Return the endpoints and models that ever replied, either of them possibly empty.
        Raises StoreError.
        """
        return await self._outside.store.search.writers()

    async def recent_prompts(self) -> tuple[tuple[str, str], ...]:
        """Return session id and text of what the user said last in any session, newest first.
        Raises StoreError.
        """
        return await self._outside.store.messages.recent_prompts()

    async def around(self, message_id: str) -> tuple[Entry, ...]:
        """Return a message with its neighbours; nothing if it is gone. Raises StoreError."""
        return await self._outside.store.branches.around(message_id)

    async def delete(self, session_ids: Collection[str]) -> None:
        """Delete sessions; `undo` brings them back. Replies that arrive there are stopped."""
        await self._organising.delete(session_ids)

    async def undo(self) -> None:
        """Bring back what was deleted or archived last; `Done` tells what."""
        await self._undo.undo()

    # --- files ---------------------------------------------------------------------------

    async def import_files(
        self,
        paths: Iterable[Path],
        progress: Callable[[Report], object] | None = None,
        *,
        dry_run: bool = False,
    ) -> tuple[Report, ...]:
        """Take the conversations of files in, or with `dry_run` only tell what would come of it;
        `progress` is told how far it is, now and then. Nothing is returned, with `Trouble` told,
        where the store cannot take them.
        """
        return await self._carrying.import_files(paths, progress, dry_run)

    async def export(
        self, session_id: str, kind: Format, path: Path, *, overwrite: bool = False
    ) -> bool:
        """Write a session with all its branches into a file, wholly or not at all. False, with
        `Trouble` told, where that cannot be.
        """
        return await self._carrying.export(session_id, kind, path, overwrite=overwrite)

    # --- what was said -------------------------------------------------------------------

    async def tree(self) -> tuple[Node, ...]:
        """Return all messages of the shown session, each behind the one that it follows."""
        return await self._branches.tree()

    async def leading_to(self, message_id: str) -> tuple[Entry, ...]:
        """Return the messages that lead to one, itself included, on whatever branch."""
        with self._outside.telling():
            return await self._outside.store.branches.path_to(message_id)
        return ()

    async def show_branch(self, message_id: str) -> None:
        """Show the branch that a message of the shown session is on."""
        await self._branches.show(message_id)

    async def say_system(self, text: str) -> bool:
        """Add a system message to the conversation, to be sent with it from now on. False, with
        `Trouble` told, where it could not be done.
        """
        return await self._branches.say_system(text)

    async def show_sibling(self, entry_id: str, step: int) -> None:
        """Show the version of a message that is `step` further (back, where negative), with what
        follows it. Beyond the ends nothing happens.
        """
        await self._branches.show_sibling(entry_id, step)

    async def edit(self, entry_id: str, text: str, *, send: bool = False) -> bool:
        """Put another version beside a message, and show that; the old one stays.

        With `send` the reply to it is asked for. False, with `Trouble` told, where it could not
        be done.
        """
        return await self._branches.edit(entry_id, text, send=send)

    async def fork(self, entry_id: str) -> bool:
        """Begin a new session with a copy of the branch up to a message, and show it."""
        return await self._branches.fork(entry_id)

    async def delete_message(self, entry_id: str) -> None:
        """Delete a message with all that follows it; `undo` brings it back."""
        await self._branches.delete(entry_id)

    async def pin(self, entry_id: str, pinned: bool) -> None:
        """Have every truncation keep a message, or no longer."""
        await self._branches.pin(entry_id, pinned)

    # --- what was sent -------------------------------------------------------------------

    async def sent_request(self, entry_id: str) -> SentRequest | None:
        """Return the request that produced a reply: kept, or composed again; None, with `Trouble`
        told, where there was none.
        """
        with self._outside.telling():
            return await self._past.request(entry_id, self.entries)
        return None

    async def received(self, entry_id: str) -> Received | None:
        """Return the response of a reply as it was received; None where it is not kept."""
        with self._outside.telling():
            return await self._outside.store.requests.get_response(entry_id)
        return None

    async def export_turn(self, entry_id: str) -> str | None:
        """Return a reply, its request and all that it was made of as one JSON text, from which
        `tui-chat build --turn` makes the same bytes anywhere; None where that cannot be.
        """
        with self._outside.telling():
            return await self._past.turn(entry_id)
        return None

    async def requests_like(self) -> tuple[Sent, ...]:
        """Return the requests of the shown session, the latest first, to be compared with."""
        with self._outside.telling():
            return await self._outside.store.requests.list(self.session_id)
        return ()

    async def recall_last(self, endpoint: str) -> LastSent | None:
        """Return the last request that was sent to an endpoint, in whatever session and however
        long ago; None, with nothing told, where there is none that can be shown, or a long one
        of another session.
        """
        with suppress(TuiChatError):
            return await self._past.last(endpoint, self.entries)
        return None

    async def branch_to(self, message_id: str) -> tuple[Message, ...]:
        """Return what a model is shown of the branch that leads to a message of the session."""
        entries = await self.leading_to(message_id)
        return sendable(same_messages(entries, self.entries))

    def what_if(
        self,
        draft: str,
        asked: WhatIf,
        protocol: Protocol | None = None,
        parts: tuple[Part, ...] = (),
    ) -> Composed:
        """Return the request that `draft` would be, if. The session stays as it is.

        Raises InputError where the endpoint or the preset that it asks for cannot be used.
        """
        return self._composing.supposed(draft, asked, protocol, parts)

    def after(
        self,
        history: tuple[Message, ...],
        draft: str,
        protocol: Protocol | None = None,
        parts: tuple[Part, ...] = (),
    ) -> Composed:
        """Return the request that `draft` would be behind another history (see `branch_to`), all
        else being as it is.
        """
        return self._composing.after(history, draft, protocol, parts)

    def said_in(self, composed: Composed, protocol: Protocol | None) -> Composed:
        """Return any request as another protocol would say it; None for its own."""
        return self._composing.said_in(composed, protocol)

    def said_of(self, envelope: ChatEnvelope, protocol: Protocol) -> Composed:
        """Return what an envelope, however it was come by, says in a protocol."""
        return self._composing.said_of(envelope, protocol)

    async def keep_captured(
        self,
        name: str,
        messages: tuple[Message, ...],
        preset: Preset,
        settings: Settings,
        reply: Entry | None = None,
    ) -> None:
        """Make a session of messages that were captured, with a preset of its own, and open it.

        `reply` is how the one of them came that is its message, where that is known.
        """
        with self._outside.telling():
            await self._captured.keep(name, messages, preset, settings, reply)

    # --- drafts --------------------------------------------------------------------------

    async def draft(self) -> str:
        """Return what was being typed in the shown session."""
        return await self._drafts.shown()

    async def draft_files(self) -> tuple[str, ...]:
        """Return the paths of the files that were to go with the shown session's draft."""
        return await self._drafts.files()

    async def keep_draft(
        self, session: Session | None, text: str, files: tuple[str, ...] = ()
    ) -> None:
        """Keep what is being typed in a session (None: in the chat not yet begun)."""
        await self._drafts.keep(session, text, files)

    # --- talking -------------------------------------------------------------------------

    async def submit(
        self,
        draft: str,
        attachments: tuple[Part, ...] = (),
        session_id: str | None = None,
        stored: Callable[[], None] | None = None,
    ) -> bool:
        """Send a draft and its attachments; True once it is on disk and on its way.

        `session_id` is that of the session it was typed for; None for the active one. `stored` is
        called as soon as the message is on disk. False, with `Trouble` told, if it could not be
        sent, and if another session is active by now; the draft is to be kept then.
        """
        return await self._replies.submit(draft, attachments, session_id or self.session_id, stored)

    async def retry(self, entry_id: str) -> bool:
        """Ask again for a reply, as a sibling of the one that is there; for a message of another
        role, ask for a reply to it.
        """
        return await self._replies.retry(entry_id)

    async def continue_reply(self, entry_id: str) -> bool:
        """Have the model go on with the last reply, named by its own id or by that of a system
        message behind it: the longer one is a sibling of it.

        Only where it is known that the model takes the beginning of its reply; else that is
        told. After a message of another role it asks for the reply that follows.
        """
        return await self._replies.continue_reply(entry_id)

    async def replay(self, entry_id: str, endpoint: str, model: str) -> bool:
        """Send the context that produced a reply to another endpoint or model, or to the same
        again; the reply is a sibling. The session goes on asking what it asks.
        """
        return await self._replies.replay(entry_id, endpoint, model)

    async def answer_tool(self, entry_id: str, call_id: str, text: str) -> bool:
        """Answer a call of the last reply by hand; with the last answer the reply goes on.

        A command that runs for the call is given up. False, with `Trouble` told, where the call
        waits no more.
        """
        return await self._tools.answer(entry_id, call_id, text)

    async def run_tool(self, entry_id: str, call_id: str) -> bool:
        """Run the command of a call, which a person has just consented to, and answer with what
        it says. False where it was given up, or there is no command (that is told).
        """
        return await self._tools.run(entry_id, call_id)

    async def stop(self) -> None:
        """Stop the reply that is arriving in the shown session, or the tools that run for it;
        what came is kept.
        """
        if self.session is not None and not self._tools.stop():
            await self._replies.stop(self.session.session_id)

    async def look_elsewhere(self) -> float:
        """Take in what other programs did to the conversations since the last look: sessions that
        they made, changed or removed, and a reply that they receive at the end of the shown
        branch. Return in how many seconds to look again. Costs next to nothing where they did
        nothing.
        """
        return await self._elsewhere.look()

    async def close(self) -> None:
        """Stop all replies, each kept as far as it came, and let go of store and network."""
        self._replies.then = None
        try:
            await self._tools.stop_all()
            await self._replies.stop_all()
            await self._opening.stop_listing()
            await self._unsaved.stop()
            await self._outside.client.aclose()
        finally:
            await self._outside.store.close()

    async def stop_all(self) -> None:
        """Stop all replies, each kept as far as it came; no tool runs because of that."""
        then, self._replies.then = self._replies.then, None
        try:
            await self._replies.stop_all()
        finally:
            self._replies.then = then

    async def write_unsaved(self) -> bool:
        """Try to write what is in memory only; return True if everything is stored."""
        return await self._unsaved.write_now()
