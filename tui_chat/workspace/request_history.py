"""Requests that were sent: as they were, what came back, and composed again.

1. The exact bytes are shown while they are kept. Otherwise the request is composed again from its
   recipe and compared with the SHA-256 of what was sent; `SentRequest.how` says which it is.
2. A request that can be composed again has everything that the inspector shows of a live one: the
   origin of each character, what was dropped, and why.
3. It can be sent again, to any endpoint; see `Replies.replay`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast
from weakref import WeakKeyDictionary

from tui_chat import __version__
from tui_chat.compose import Composed, calibrate, compose, encode
from tui_chat.context import Inputs, count_envelope
from tui_chat.context.inputs import sendable_messages
from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.request import RECORDED_SOURCES, RecordedRequest, RequestRecord, StoredRequest
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import Entry, Session, last_reply
from tui_chat.models.text import clean
from tui_chat.request_recipe import read_recipe, rebuilt_inputs, revisions_of
from tui_chat.tokens import counter_for
from tui_chat.turn_file import TurnReply, dump_turn
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.state import ForeignReply, LastSent

if TYPE_CHECKING:
    from tui_chat.analysis.captured_request import CapturedRequest
    from tui_chat.store import Store


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was sent."""

    record: RequestRecord
    how: Literal["kept", "rebuilt", "differs", "lost"]
    """`kept`: the exact bytes. `rebuilt`: composed again, with the same bytes. `differs`: composed
    again, with other bytes. `lost`: neither kept nor to be composed again."""
    why: str = ""
    """The reason why it differs or cannot be composed again; empty otherwise."""
    body: bytes | None = None
    """None if it is lost."""
    composed: Composed | None = None
    """The request composed again; None if that is not possible."""
    captured: CapturedRequest | None = None
    """The kept body, read as that of another program; None if it was composed again."""

    @property
    def continued(self) -> bool:
        """True if the reply continues the history's last message."""
        chat = self.record.recipe.get("chat")
        kind = cast("Mapping[str, Any]", chat).get("kind") if isinstance(chat, Mapping) else ""
        return self.record.recipe.get("prefill") is True or kind == "continue"

    @property
    def is_exact(self) -> bool:
        """True if `composed` has the bytes that were sent."""
        composed = self.composed
        return composed is not None and composed.payload.sha256 == self.record.sha256

    @property
    def sent_at(self) -> str:
        """The local time of day at which it was sent."""
        return datetime.fromtimestamp(self.record.created).astimezone().strftime("%H:%M")

    @property
    def description(self) -> str:
        """The time of sending and the exactness of `shown`."""
        match self.how:
            case "kept" if (recorded := self.record.recorded) is not None:
                return recorded_words(recorded, self.sent_at, is_exact=self.is_exact)
            case "kept" if self.captured is not None:
                how = f"read from the kept bytes. {self.why}"
            case "kept" if self.is_exact:
                how = "exact bytes"
            case "kept":
                how = f"read from the kept bytes. {self.why}"
            case "rebuilt":
                how = "rebuilt, same SHA-256"
            case _:
                how = f"rebuilt, NOT the same bytes. {self.why}"
        return f"as sent at {self.sent_at} · {how}"

    @property
    def shown(self) -> Composed | None:
        """The request to show: the sent bytes, else composed again; None if it is lost."""
        if self.composed is None or self.is_exact or self.how != "kept" or self.body is None:
            return self.composed
        if self.captured is not None:
            return self.composed
        from tui_chat.analysis.captured_request import read_captured  # needed for old requests only

        captured = read_captured(self.body.decode("utf-8", "replace"), self.record.protocol)
        count = counter_for(self.composed.envelope.parameters.model.value)
        return encode(count_envelope(captured.envelope, count), self.composed.endpoint)


def recorded_words(recorded: RecordedRequest, time: str, *, is_exact: bool) -> str:
    """Return when another program sent a request, and how exact what is shown of it is."""
    at = f" at {time}" if time else ""
    if recorded.missing:
        return f"rebuilt from the transcript · sent{at} · without {recorded.missing}"
    how = "exact bytes" if is_exact else "the same JSON, laid out anew"
    if recorded.is_masked:
        how = "credentials masked in the body"
    headers = "" if recorded.headers is not None else " · headers rebuilt"
    edited = " · edited by hand" if recorded.came else ""
    return f"recorded{at} · {how}{headers}{edited}"


class RequestHistory:
    """Remembers what requests are composed from, and composes them again."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._stored: WeakKeyDictionary[Store, dict[str, str]] = WeakKeyDictionary()
        """Revisions that a store has: the hash in recipes, and the store's hash of each."""

    def new_revisions(self, inputs: Inputs) -> dict[str, tuple[str, str]]:
        """Return kind and text of what a request's recipe names and the store of the active session
        is not known to have, by the name. Call `note_stored` with it once it is stored.
        """
        stored = self._stored.get(self.core.active_store, {})
        return {name: it for name, it in revisions_of(inputs).items() if name not in stored}

    def note_stored(self, store: Store, revisions: Mapping[str, tuple[str, str]]) -> None:
        """Note that a store has these revisions."""
        names = self._stored.setdefault(store, {})
        for name, (_, text) in revisions.items():
            names[name] = sha256(clean(text).encode()).hexdigest()

    # --- use cases -----------------------------------------------------------------------

    @reported(None)
    async def sent_request(self, entry_id: str) -> SentRequest | None:
        """Return the request that produced a reply; None, reported, if there was none."""
        return await self.request(entry_id, self.core.state.entries)

    async def foreign_reply(
        self, store: Store, session: Session, entries: Sequence[Entry]
    ) -> ForeignReply | None:
        """Return the last reply of a branch if another program's request produced it: a recorded
        one, or that of an imported conversation. Raises StoreError.
        """
        reply = last_reply(entries)
        if reply is None or reply.status == "streaming":
            return None
        stored_source = await store.requests.source(reply.message.id)
        if stored_source is not None:
            source, is_kept = stored_source
            is_foreign = source in RECORDED_SOURCES
            return ForeignReply(reply.message.id, is_kept) if is_foreign else None
        is_own = bool(session.endpoint) or any(entry.endpoint for entry in entries)
        return None if is_own else ForeignReply(reply.message.id, False)

    async def edited_replies(self, session_id: str) -> frozenset[str]:
        """Return the ids of a session's replies to hand-edited requests. Raises StoreError."""
        return await self.core.store_of(session_id).requests.edited_replies(session_id)

    @reported(())
    async def of_session(self) -> tuple[StoredRequest, ...]:
        """Return the requests of the active session, oldest first."""
        core = self.core
        return await core.active_store.requests.list(core.state.session_id)

    async def last_sent(self, endpoint: str, before: str = "") -> LastSent | None:
        """Return the last request of the active session that an endpoint accepted, however long
        ago; before that of a reply if one is given. None, unreported, if there is none that can be
        shown.
        """
        with suppress(TuiChatError):
            state = self.core.state
            store, entries = self.core.active_store, state.entries
            sent = await store.requests.last_accepted(state.session_id, endpoint, before)
            if sent is None:
                return None
            composed = (await self.request(sent.message_id, entries)).shown
            return None if composed is None else LastSent(sent.message_id, composed)
        return None

    async def before(self, entry_id: str, protocol: Protocol) -> Composed | None:
        """Return the last request in a protocol before that of a reply in its session. None,
        unreported, if there is none that can be shown.
        """
        with suppress(TuiChatError):
            sent = await self.core.active_store.requests.list(self.core.state.session_id)
            ids = [request.message_id for request in sent]
            older = sent[: ids.index(entry_id)] if entry_id in ids else ()
            of_protocol = [request for request in older if request.request.protocol is protocol]
            newest = of_protocol[-1] if of_protocol else None
            if newest is not None:
                return (await self.request(newest.message_id)).shown
        return None

    @reported(None)
    async def export_turn(self, entry_id: str) -> str | None:
        """Return a reply, its request and everything it was composed from as one JSON text, from
        which `tui-chat build --turn` makes the same bytes anywhere; None, reported, if that is not
        possible.
        """
        sent = await self.request(entry_id)
        entry = await self.core.active_store.messages.get(entry_id)
        if sent.composed is None or sent.body is None or entry is None:
            raise InputError(f"This turn cannot be put into a file. {sent.why}".strip())
        if sent.composed.inputs is None:
            sentence = "This turn cannot be put into a file: it was not composed here."
            raise InputError(sentence, advice="Export the session, which has the request.")
        return dump_turn(sent.composed, sent.body, TurnReply.of(entry))

    # --- composing again -------------------------------------------------------------------

    async def request(self, entry_id: str, loaded: Iterable[Entry] = ()) -> SentRequest:
        """Return the request that produced a reply. Raises InputError if there was none.

        The messages of `loaded` entries are used instead of equal ones from the store, because
        memos find what was made of them by their identity.
        """
        record = await self.core.active_store.requests.get(entry_id)
        if record is None:
            raise InputError("No request is stored for this message.")
        if record.is_recorded and record.body is not None:
            sent = await asyncio.to_thread(self._read_kept, record, record.body, "")
            entry = await self.core.active_store.messages.get(entry_id)
            if sent.composed is None or entry is None:
                return sent
            return replace(sent, composed=calibrate(sent.composed, entry.usage.input))
        try:
            inputs = await self._inputs(entry_id, record.recipe, loaded)
            # With a long history that takes longer than a frame.
            composed = await asyncio.to_thread(compose, inputs)
        except InputError as error:
            why = str(error)
        except (ValueError, TypeError, LookupError, AttributeError):  # an imported recipe
            why = "What this request was made from cannot be read."
        else:
            return self._compared(record, composed)
        if record.body is None:
            return SentRequest(record, "lost", why)
        return await asyncio.to_thread(self._read_kept, record, record.body, why)

    def _read_kept(self, record: RequestRecord, body: bytes, why: str) -> SentRequest:
        """Return a request as its kept body says, read like that of another program."""
        from tui_chat.analysis.captured_request import (  # needed for such requests only
            read_captured,
            with_edits,
        )

        recorded = record.recorded
        try:
            captured = read_captured(body.decode("utf-8", "replace"), record.protocol)
            endpoint, model = self._endpoint(record), _model_in_url(record.url)
            composed = captured.composed(endpoint, model)
            if recorded is not None and recorded.came:
                came = read_captured(recorded.came, record.protocol)
                composed = with_edits(came.composed(endpoint, model), composed)
            composed = replace(composed, recorded=recorded)
        except (InputError, ValueError, RecursionError) as error:
            return SentRequest(record, "kept", why or str(error), body)
        return SentRequest(record, "kept", why, body, composed, captured)

    def _endpoint(self, record: RequestRecord) -> Endpoint:
        """Return the endpoint that a request went to; one at its URL if that is not configured."""
        for endpoint in self.core.state.config.endpoints:
            if endpoint.name == record.endpoint and endpoint.protocol is record.protocol:
                return endpoint
        scheme, _, rest = record.url.partition("://")
        return Endpoint(record.endpoint, record.protocol, f"{scheme}://{rest.partition('/')[0]}")

    @staticmethod
    def _compared(record: RequestRecord, composed: Composed) -> SentRequest:
        """Return a request that was composed again."""
        body = composed.payload.body
        if composed.payload.sha256 == record.sha256:
            how = "rebuilt" if record.body is None else "kept"
            return SentRequest(record, how, "", body, composed)
        version = one_line(str(record.recipe.get("app", "")), 20)
        why = "Rebuilt, it is not the same: something that it was made from has changed."
        if version != __version__:
            why = f"Version {version} of tui-chat made it; this is {__version__}."
        if record.body is not None:
            return SentRequest(record, "kept", why, record.body, composed)
        return SentRequest(record, "differs", why, body, composed)

    async def _inputs(
        self, entry_id: str, stored_recipe: Mapping[str, Any], loaded: Iterable[Entry]
    ) -> Inputs:
        """Return what a request was composed from. Raises InputError if that is gone, and
        ValueError and the like if the recipe cannot be read.
        """
        store = self.core.active_store
        stored = self._stored.get(store, {})
        recipe = read_recipe(stored_recipe)
        names = [recipe.endpoint, recipe.preset, recipe.role, recipe.profile, recipe.tools]
        revisions: dict[str, str] = {}
        for name in filter(None, (*names, *recipe.lorebooks)):
            text = await store.revisions.get(stored.get(name, name))
            if text is not None and sha256(text.encode()).hexdigest() == name:
                revisions[name] = text
        path = with_known_messages(await store.branches.path_to(entry_id), loaded)
        ids = [entry.message.id for entry in path]
        if recipe.parent and recipe.parent not in ids and not recipe.continues:
            raise InputError("The messages that it contained are gone.")
        entries = path[:-1]
        draft: Message | None = None
        if recipe.draft and entries:
            draft, entries = entries[-1].message, entries[:-1]
        if recipe.continues:
            begun = await store.branches.path_to(recipe.parent)
            entries = (*entries, *begun[-1:])
        return await asyncio.to_thread(
            lambda: rebuilt_inputs(recipe, revisions, sendable_messages(entries), draft)
        )


def _model_in_url(url: str) -> str:
    """Return the model that a URL names, as Gemini's do; empty for none."""
    match = re.search(r"/models/([^/:?]+):", url)
    return match.group(1) if match else ""


def with_known_messages(path: Iterable[Entry], loaded: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return a branch with the message objects of `known` in place of equal ones."""
    messages = {entry.message.id: entry.message for entry in loaded}

    def with_known(entry: Entry) -> Entry:
        message = messages.get(entry.message.id)
        return replace(entry, message=message) if message == entry.message else entry

    return tuple(map(with_known, path)) if messages else tuple(path)


def with_target(inputs: Inputs, endpoint: Endpoint, model: str) -> Inputs:
    """Return a context for another endpoint and model, with its edits save of the model."""
    edits = tuple(edit for edit in inputs.edits if edit.path[:1] != ("model",))
    settings = replace(inputs.settings, model=model)
    return replace(inputs, endpoint=endpoint, settings=settings, edits=edits)
