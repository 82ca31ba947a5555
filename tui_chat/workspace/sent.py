"""Requests that were sent: as they were, what came back, composed again, and shown in the inspector
in place of the live one, as captured and exported ones are.

1. The exact bytes are shown while they are kept. Otherwise the request is composed again from its
   recipe and compared with the SHA-256 of what was sent; `SentRequest.how` says which it is.
2. A request that can be composed again has everything that the inspector shows of a live one: the
   origin of each character, what was dropped, and why. It can be sent again, to any endpoint.
3. Looking at a request changes nothing in the session; saving a captured one creates a session.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tui_chat import __version__
from tui_chat.compose import Composed, calibrate, compose
from tui_chat.context import Inputs
from tui_chat.context.inputs import sendable_messages
from tui_chat.errors import InputError, TuiChatError
from tui_chat.files import LARGEST_REQUEST, read_file
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import (
    Entry,
    RecordedRequest,
    RequestRecord,
    Session,
    SessionTranscript,
    StoredRequest,
    last_reply,
)
from tui_chat.models.text import clean
from tui_chat.request_recipe import read_recipe, rebuilt_inputs, revisions_of
from tui_chat.tokens import counter_for
from tui_chat.turn_file import TurnReply, dump_turn
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import RequestComposed, RequestOutdated
from tui_chat.workspace.exchange import SentRequest, with_known
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.session_list import default_title
from tui_chat.workspace.state import (
    DiffBase,
    LastSent,
    ReceivedResponse,
    ViewedRequest,
    WorkspaceState,
)
from tui_chat.workspace.usage import UsageReports

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast
    from tui_chat.models.usage import CacheLoss
    from tui_chat.store import Store
    from tui_chat.turn_file import TurnFile

_LONGEST_LIST = 300
"""Characters of the list of things that were not kept."""
_LONGEST_PATH = 4_096
"""Characters from which a text is not a path."""


async def _open_nothing(session_id: str) -> None: ...


class Sent:
    """Remembers what requests are composed from, composes them again, and shows them."""

    def __init__(self, core: WorkspaceCore, requests: Requests, usage: UsageReports) -> None:
        self.core = core
        self._requests, self._usage = requests, usage
        self.open_session: Callable[[str], Awaitable[None]] = _open_nothing
        """Opens a session that was just stored."""
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

    # --- what was sent -----------------------------------------------------------------------

    @reported(None)
    async def sent_request(self, entry_id: str) -> SentRequest | None:
        """Return the request that produced a reply; None, reported, if there was none."""
        return await self.request(entry_id, self.core.state.entries)

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
        composed = sent.composed
        if composed is None or composed.inputs is None or sent.body is None or entry is None:
            raise InputError(
                f"This turn cannot be put into a file. {sent.why}".strip(),
                advice="Export the session, which has the request if that was recorded.",
            )
        return dump_turn(composed, sent.body, TurnReply.of(entry))

    # --- composing again -------------------------------------------------------------------

    async def request(self, entry_id: str, loaded: Iterable[Entry] = ()) -> SentRequest:
        """Return the request that produced a reply. Raises InputError if there was none.

        The `loaded` entries are used instead of equal ones from the store; see `with_known`.
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
        path = with_known(await store.branches.path_to(entry_id), loaded)
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

    # --- showing requests ----------------------------------------------------------------------

    async def view_recorded(self) -> None:
        """Show the recorded request of the last reply, if there is one, until something is typed:
        the active session is another program's.
        """
        state = self.core.state
        reply, viewed = last_reply(state.entries), state.request.viewed
        shown_id = viewed.entry.message.id if viewed is not None and viewed.entry else ""
        if reply is not None and reply.message.id != shown_id:
            with suppress(TuiChatError):
                await self._view_sent(reply.message.id, is_automatic=True)

    @reported(False)
    async def view_sent(self, entry_id: str) -> bool:
        """Show the request that produced a reply. Return False, with the fault reported, if there
        is none or nothing is known of it.
        """
        return await self._view_sent(entry_id)

    async def _view_sent(self, entry_id: str, *, is_automatic: bool = False) -> bool:
        core = self.core
        entries, session_id = core.state.entries, core.state.session_id
        sent = await self.request(entry_id, entries)
        if (composed := sent.shown) is None:
            sentence = "What was sent is no longer kept, and cannot be composed again."
            if sent.body is not None:
                sentence = "What was sent is kept, but it cannot be read as a request."
            raise InputError(sentence, advice=sent.why)
        entry = next((e for e in entries if e.message.id == entry_id), None)
        viewed = ViewedRequest(
            composed,
            sent.description,
            entry,
            sent.captured,
            is_automatic=is_automatic,
            is_of_session=True,
        )
        if sent.record.is_recorded:
            before = await self.before(entry_id, composed.endpoint.protocol)
            viewed = replace(viewed, before=before)
        elif (last := await self.last_sent(composed.endpoint.name, before=entry_id)) is not None:
            viewed = replace(viewed, before=last.composed)
        if core.state.session_id != session_id:
            return False
        self._requests.view(viewed)
        return True

    async def load_response(self, entry_id: str) -> None:
        """Load the stored response to a request, and publish `RequestComposed`."""
        core = self.core
        loading = ReceivedResponse(entry_id, None, is_loading=True)
        core.update(request=replace(core.state.request, received=loading))
        response = None
        with core.reporting():
            response = await core.active_store.requests.get_response(entry_id)
        received = core.state.request.received
        if received is not None and received.entry_id == entry_id:
            loaded = ReceivedResponse(entry_id, response)
            core.update(RequestComposed(), request=replace(core.state.request, received=loaded))

    async def compare_with(self, choice: str) -> None:
        """Compare the request shown with something else; see `DiffBase.choice`."""
        core, session_id = self.core, self.core.state.session_id
        kind, _, name = choice.partition(" ")
        base = DiffBase(choice)
        if kind == "request":
            sent = await self.sent_request(name)
            if sent is None or sent.shown is None:
                return
            base = DiffBase(choice, f"the request of {sent.sent_at}", composed=sent.shown)
        elif kind == "preset":
            base = DiffBase(choice, f"the same with preset {name}", preset=name)
        if core.state.session_id == session_id:
            self._requests.compare_with(base)

    # --- of files and other programs -------------------------------------------------------

    @reported(False)
    async def open(self, text: str) -> bool:
        """Show the request in a text, or in the file whose path the text is, in the inspector.
        Return False, with the fault reported, if there is none.
        """
        from tui_chat.analysis.captured_request import read_captured
        from tui_chat.analysis.http_text import read_http
        from tui_chat.turn_file import holds_turn, read_turn

        text = await asyncio.to_thread(text_or_file, text)
        if holds_turn(text):
            turn = read_turn(text, "The exported turn")
            viewed = await asyncio.to_thread(viewed_turn, turn)
        else:
            recorded = read_http(text)
            captured = read_captured(recorded.body.decode() if recorded is not None else text)
            if recorded is None:
                recorded = RecordedRequest("POST", "", None, captured.body)
            composed = self._requests.from_captured(captured, recorded)
            description = f"captured {captured.protocol.label} request"
            if not captured.settings.model:
                description += " · names no model"
            viewed = ViewedRequest(composed, description, source=captured)
        self._requests.view(viewed)
        return True

    @reported(None)
    async def save(self, name: str, viewed: ViewedRequest) -> None:
        """Create a session of a captured request, with a preset of its own, and open it."""
        core, source = self.core, viewed.source
        if source is None:
            return
        self._requests.return_to_live()
        settings, messages = source.settings, source.messages
        preset_name = core.library.add_preset(source.preset(name))
        entries: list[Entry] = []
        for message in messages:
            parent = entries[-1].message.id if entries else None
            entry = self._entry(message, viewed.entry)
            entries.append(replace(entry, parent_id=parent))
        endpoint = core.state.endpoint
        session = Session(
            core.new_id(),
            default_title(name),
            endpoint=endpoint.name,
            model=settings.model if settings.model in endpoint.models else "",
            settings=settings.without_model,
            preset=preset_name,
            head_id=entries[-1].message.id if entries else None,
        )
        await core.store.transcripts.add(SessionTranscript(session, tuple(entries)))
        await self.open_session(session.session_id)

    def _entry(self, message: Message, reply: Entry | None) -> Entry:
        """Return a stored message; `reply` describes how one of them was received."""
        entry = reply if reply is not None and reply.message is message else Entry(message)
        return replace(entry, message=replace(message, id=self.core.new_id()))


class PromptCache:
    """Forecasts for the requests of the active session: how much of one the provider will find in
    its prompt cache, compared with the last one that the same endpoint accepted; and what requests
    that were sent lost of it.
    """

    def __init__(
        self, core: WorkspaceCore, requests: Requests, sent: Sent, usage: UsageReports
    ) -> None:
        self.core = core
        self._requests, self._sent, self._usage = requests, sent, usage
        self._recalled: set[str] = set()
        """The endpoints whose last request was looked up since the session was opened."""
        core.watch(self._follow_session)

    def _follow_session(self, before: WorkspaceState, now: WorkspaceState) -> None:
        if now.session_id != before.session_id:
            self._recalled = set()

    def forecast(self, composed: Composed) -> Forecast | None:
        """Return the forecast for a request; None if its endpoint accepted none of the session."""
        last = self.core.state.last_sent.get(composed.endpoint.name)
        return None if last is None else _forecast(composed, last.composed)

    def should_recall(self, endpoint: str) -> bool:
        """Return True once for an endpoint without a known request, for `recall` to look it up."""
        if endpoint in self.core.state.last_sent or endpoint in self._recalled:
            return False
        self._recalled.add(endpoint)
        return True

    async def recall(self, endpoint: str, draft: str) -> None:
        """Look up the session's last request that an endpoint accepted in the store, and publish
        `RequestOutdated` if there is one now that was not known before.
        """
        core, session_id = self.core, self.core.state.session_id
        last = await self._sent.last_sent(endpoint)
        is_active = core.state.is_active(session_id)
        if last is None or not is_active or endpoint in core.state.last_sent:
            return
        if core.state.request.session_id != session_id:
            # Its first request is still being composed, in a thread if it is long.
            self._recalled.discard(endpoint)
            return
        if core.state.endpoint.name == endpoint:
            # Counting all of it takes a while; from then on only what changes is counted.
            await asyncio.to_thread(_forecast, self._requests.compose(draft), last.composed)
            if not core.state.is_active(session_id):
                return
        core.update(RequestOutdated(), last_sent={endpoint: last, **core.state.last_sent})

    async def losses(self, entries: Sequence[Entry]) -> list[CacheLoss]:
        """Return what the requests of a branch lost of the cache that the one before at the same
        endpoint had filled, as far as the usage of their replies says so, oldest first. Requests
        that cannot be composed again are passed over. Raises StoreError.
        """
        from tui_chat.analysis.cache_forecast import Idle, cache_loss, cache_seconds, reported_loss

        losses: list[CacheLoss] = []
        known = await self._usage.prices()
        last: dict[str, tuple[Entry, float, Composed]] = {}
        for reply in entries:
            if not reply.endpoint or reply.status != "complete":
                continue
            with suppress(InputError):
                sent = await self._sent.request(reply.message.id, entries)
                if (now := sent.shown) is None:
                    continue
                before = last.get(reply.endpoint)
                last[reply.endpoint] = reply, sent.record.created, now
                if before is None:
                    continue
                entry, began, composed = before
                if not reported_loss(now.protocol, entry.usage, reply.usage):
                    continue
                seconds = max(0.0, sent.record.created - began - (entry.seconds or 0.0))
                idle = Idle(seconds, cache_seconds(now.protocol, composed.body))
                forecast = await asyncio.to_thread(_forecast, now, composed)
                prices = known.prices_of_request(now, self.core.now())(reply.usage.tier)
                loss = cache_loss(forecast, now.protocol, entry.usage, reply.usage, prices, idle)
                losses += [loss] if loss else []
        return losses


@recent_memo()
def _forecast(composed: Composed, last: Composed) -> Forecast:
    from tui_chat.analysis.cache_forecast import forecast_cache

    counter = counter_for(composed.model)
    if composed.inputs is not None:  # corrected as the figures beside it are
        counter = counter.corrected(composed.inputs.correction)
    return forecast_cache(last, composed, counter)


def _model_in_url(url: str) -> str:
    """Return the model that a URL names, as Gemini's do; empty for none."""
    match = re.search(r"/models/([^/:?]+):", url)
    return match.group(1) if match else ""


def with_target(inputs: Inputs, endpoint: Endpoint, model: str) -> Inputs:
    """Return a context for another endpoint and model, with its edits save of the model."""
    edits = tuple(edit for edit in inputs.edits if edit.path[:1] != ("model",))
    settings = replace(inputs.settings, model=model)
    return replace(inputs, endpoint=endpoint, settings=settings, edits=edits)


def save_summary(not_kept: tuple[str, ...], named_model: str, used_model: str) -> tuple[str, bool]:
    """Return what became of a captured request in sentences, and whether all of it was kept.

    `named_model` is the model that it names, empty for none; `used_model` the one that the session
    uses.
    """
    lines = ["Saved as a session with its preset."]
    if not named_model:
        lines.append(f"It names no model: the session uses {used_model}.")
    elif named_model != used_model:
        lines.append(f"Its model {named_model} is not offered here: the session uses {used_model}.")
    if not_kept:
        listed = one_line(", ".join(not_kept), _LONGEST_LIST + 1)
        cut = listed if len(listed) <= _LONGEST_LIST else f"{listed[:_LONGEST_LIST]}…"
        lines.append(f"Not kept: {cut}.")
    return "\n".join(lines), len(lines) == 1


def viewed_turn(turn: TurnFile) -> ViewedRequest:
    """Compose the request of an exported turn again; the description says if it is the same."""
    from tui_chat.compose import compose

    composed = compose(turn.inputs)
    description = "exported turn · rebuilt, same SHA-256"
    if composed.payload.sha256 != turn.request.sha256:
        version = one_line(turn.app, 20)
        description = f"exported turn · NOT the same bytes: version {version} made it"
    entry = turn.reply.entry if turn.reply is not None else None
    return ViewedRequest(composed, description, entry, turn)


def text_or_file(text: str) -> str:
    """Return the contents of the file that the text names, else the text. Raises InputError."""
    name = text.strip().strip("'\"")
    if "\n" in name or len(name) > _LONGEST_PATH or "{" in name:
        return text
    try:
        path = Path(name).expanduser()
        if path.is_dir() or not path.exists():
            return text
        return read_file(path, LARGEST_REQUEST).decode("utf-8", "replace")
    except (OSError, RuntimeError, ValueError) as error:  # unreadable; no home; a null character
        raise InputError(f"{name} cannot be read: {error}") from error
