"""Exchanges: a user's message and the request that leaves with it, until its reply has ended; and
the targets that they go to besides the session's own choice, each with a branch of its own.

What a store returned for an exchange is what the state takes over: nothing is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from tui_chat.compose import Composed, encode
from tui_chat.context import Inputs, count_envelope
from tui_chat.context.generation import uses_prefill
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.library import Library
from tui_chat.models.message import Message
from tui_chat.models.request_edit import RequestEdit, edits_after
from tui_chat.models.session import (
    Begun,
    Entry,
    NewExchange,
    RecordedRequest,
    RequestRecord,
    SessionSummary,
)
from tui_chat.models.settings import NO_SETTINGS, Settings
from tui_chat.request_recipe import dump_recipe, recipe_of
from tui_chat.send import FinishedReply, new_exchange
from tui_chat.tokens import counter_for
from tui_chat.workspace.state import WorkspaceState

if TYPE_CHECKING:
    from tui_chat.analysis.captured_request import CapturedRequest


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint and model with a preset and settings. A request to it is composed like any other,
    from the state with its choices. Edits by hand hold where the protocol is theirs.
    """

    endpoint: str
    model: str
    preset: str = ""
    """The name of its preset; empty for the session's."""
    settings: Settings = NO_SETTINGS
    """Settings that count before the session's."""

    def applied_to(self, state: WorkspaceState, library: Library) -> WorkspaceState:
        """Return the state with the target's choices. Raises InputError if they cannot be used."""
        preset, name = state.preset, state.preset_name
        if self.preset and self.preset != name:
            opened, name = state.open_presets.get(self.preset), self.preset
            preset = opened.edits.preset if opened is not None else library.preset(name)
        chosen = {
            each.name: value
            for each in fields(self.settings)
            if (value := getattr(self.settings, each.name)) is not None
        }
        return replace(
            state,
            endpoint=state.config.endpoint_named(self.endpoint),
            model=self.model,
            preset=preset,
            preset_name=name,
            settings=replace(state.settings, **chosen),
            edits=tuple(edit for edit in state.edits if edit.path[:1] != ("model",)),
        )


@dataclass(frozen=True, slots=True)
class Slot:
    """A target and the branch that it continues."""

    target: Target
    entries: tuple[Entry, ...]
    """First message first."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A composed request and where its reply belongs."""

    composed: Composed
    parent_id: str | None
    """What `user` follows or, without one, what the reply follows."""
    user: Message | None = None
    """The message that is sent, with its id; None for another reply to a stored one."""
    begin_with: str = ""
    """The text that the reply continues, and begins with."""
    target: Target | None = None
    """None for the session's own choice."""
    before: tuple[Entry, ...] = ()
    """The branch that it continues, if that is another one than the active branch."""

    @property
    def inputs(self) -> Inputs:
        """What the request was composed from."""
        assert self.composed.inputs is not None  # every request that is sent has its inputs
        return self.composed.inputs

    @property
    def sent_edits(self) -> tuple[RequestEdit, ...]:
        """The edits by hand that changed the request."""
        return self.composed.edited.applied if self.composed.edited is not None else ()

    @property
    def stored(self) -> NewExchange:
        """What is stored of it before it leaves."""
        recipe = recipe_of(
            self.inputs,
            prefill=bool(self.begin_with) and uses_prefill(self.inputs),
            is_edited=bool(self.sent_edits),
        )
        return new_exchange(self.composed, self.parent_id, self.user, dump_recipe(recipe))


@dataclass(slots=True, eq=False)
class Exchange:
    """A request that was sent, while its reply arrives."""

    session_id: str
    composed: Composed
    target: Target | None
    """None for the session's own choice."""
    reply_id: str = ""
    """Empty until the reply is stored."""
    end: FinishedReply | None = None
    """The reply as it ended; None until then, and if its session is gone."""


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
        count = counter_for(self.composed.envelope.parameters.values.model)
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


def edits_after_all(
    edits: tuple[RequestEdit, ...], requests: Iterable[Outgoing]
) -> tuple[RequestEdit, ...]:
    """Return a session's edits by hand after these requests have left."""
    for request in requests:
        answered = request.user.id if request.user is not None else request.parent_id or ""
        edits = edits_after(
            edits,
            sent=request.sent_edits,
            answered=answered,
            is_one_of_several=request.target is not None,
        )
    return edits


def changes_when_begun(
    state: WorkspaceState, begun: Begun, requests: tuple[Outgoing, ...]
) -> dict[str, Any]:
    """Return the fields of the state that change once exchanges of a session are stored."""
    entries = list(state.entries)
    for request, stored in zip(requests, begun.exchanges, strict=True):
        entries += [*request.before, *filter(None, (stored.user, stored.reply))]
    return {
        "session": begun.session or state.session,
        "entries": _branch_to(begun.exchanges[-1].reply, entries),
        "edits": edits_after_all(state.edits, requests),
    }


def _branch_to(last: Entry, known: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the branch that an entry ends, first message first."""
    by_id = {entry.message.id: entry for entry in known}
    path = [last]
    while (parent := by_id.get(path[-1].parent_id or "")) is not None:
        path.append(parent)
    return tuple(reversed(path))


def with_known(entries: Iterable[Entry], known: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return a branch that was read again, with the known objects for entries that did not change:
    memos find what was made of them by their identity.
    """
    by_id = {entry.message.id: entry for entry in known}
    pairs = ((entry, by_id.get(entry.message.id, entry)) for entry in entries)
    return tuple(before if before == entry else entry for entry, before in pairs)


def with_entry(entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
    """Return a branch with a newer form of one of its entries; the same object without it."""
    for index in range(len(entries) - 1, -1, -1):
        if entries[index].message.id == entry.message.id:
            return (*entries[:index], entry, *entries[index + 1 :])
    return entries


def with_summary(
    sessions: tuple[SessionSummary, ...], summary: SessionSummary
) -> tuple[SessionSummary, ...]:
    """Return the list with a session that something has just happened in: it is on top."""
    return (summary, *(each for each in sessions if each.session_id != summary.session_id))


def with_status(
    sessions: tuple[SessionSummary, ...], session_id: str, entry: Entry
) -> tuple[SessionSummary, ...]:
    """Return the list with the status of a session whose reply ended and is not stored."""
    return tuple(
        each._replace(status=entry.status) if each.session_id == session_id else each
        for each in sessions
    )
