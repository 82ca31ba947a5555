"""Time travel: the request that produced a reply, whenever that was.

1. The exact bytes, while they are kept. Else the request is composed again from its recipe and
   held against the SHA-256 of what was sent; which of these it is, is said.
2. A request that could be composed again has all that the inspector shows of a live one: where
   each character comes from, what was dropped, and why.
3. It can be sent again, to the same or to another endpoint: the reply is a sibling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal

from tui_chat import __version__
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, counted
from tui_chat.errors import InputError
from tui_chat.models.message import Message
from tui_chat.models.request import RequestRecord
from tui_chat.models.session import Entry
from tui_chat.models.visible import one_line
from tui_chat.recipe import (
    CameBack,
    Recipe,
    dump_turn,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
    sendable,
)
from tui_chat.tokens import counter_for
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import LONG, LastSent


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was sent once."""

    record: RequestRecord
    how: Literal["kept", "rebuilt", "differs", "lost"]
    """`kept`: the exact bytes. `rebuilt`: composed again, the same to the byte. `differs`: composed
    again, and not the same. `lost`: neither kept nor to be composed again."""
    why: str = ""
    """Why it is not the same, or cannot be composed again; empty where it can."""
    body: bytes | None = None
    """None where it is lost."""
    composed: Composed | None = None
    """The request as it is composed again; None where it cannot be."""

    @property
    def continued(self) -> bool:
        """True if the request ended with the beginning of the reply."""
        return self.record.recipe.get("prefill") is True

    @property
    def is_exact(self) -> bool:
        """Whether `composed` is what was sent, to the byte."""
        made = self.composed
        return made is not None and made.payload.sha256 == self.record.sha256

    @property
    def shown(self) -> Composed | None:
        """What is to be shown of it: the very bytes, wherever they are known; None where neither
        they are nor it can be composed again.
        """
        if self.composed is None or self.is_exact or self.how != "kept" or self.body is None:
            return self.composed
        from tui_chat.analysis import read_captured  # only who looks at old requests needs it

        captured = read_captured(self.body.decode("utf-8", "replace"), self.record.protocol)
        count = counter_for(self.composed.envelope.parameters.model.value)
        return encode(counted(captured.envelope, count), self.composed.endpoint)


class Past:
    """Remembers what requests are made of, and makes them again."""

    def __init__(self, outside: Outside) -> None:
        self._store = outside.store
        self._kept: dict[str, str] = {}
        """Revisions that the store has: ours by hash, the store's hash of each."""

    async def remember(self, inputs: Inputs, *, prefill: bool = False) -> Recipe:
        """Return the recipe of a request that is about to leave, its revisions kept."""
        for name, (kind, text) in revisions_of(inputs).items():
            if name not in self._kept:
                self._kept[name] = await self._store.revisions.save(kind, text)
        return recipe_of(inputs, prefill=prefill)

    async def request(self, entry_id: str, known: Iterable[Entry] = ()) -> SentRequest:
        """Return the request that produced a reply. Raises InputError where there was none.

        `known` are entries whose very messages are used where the store has the same: what was
        worked out for them is found again.
        """
        record = await self._store.requests.get(entry_id)
        if record is None:
            raise InputError("No request is remembered for this message.")
        try:
            inputs = await self._inputs(entry_id, record.recipe, known)
            # Of a long history that takes longer than a frame.
            composed = await asyncio.to_thread(compose, inputs)
        except InputError as error:
            how = "lost" if record.body is None else "kept"
            return SentRequest(record, how, str(error), record.body)
        except (ValueError, TypeError, LookupError, AttributeError):  # from a stranger's file
            why = "What this request was made of cannot be read."
            return SentRequest(record, "lost" if record.body is None else "kept", why, record.body)
        if composed.payload.sha256 == record.sha256:
            how = "rebuilt" if record.body is None else "kept"
            return SentRequest(record, how, "", composed.payload.body, composed)
        made_by = one_line(str(record.recipe.get("app", "")), 20)
        why = "Composed again it is not the same: something that it was made of has changed."
        if made_by != __version__:
            why = f"Version {made_by} of tui-chat made it; this is {__version__}."
        if record.body is not None:
            return SentRequest(record, "kept", why, record.body, composed)
        return SentRequest(record, "differs", why, composed.payload.body, composed)

    async def turn(self, entry_id: str) -> str:
        """Return a turn as one self-contained JSON text. Raises InputError where it cannot be."""
        sent = await self.request(entry_id)
        entry = await self._store.messages.get(entry_id)
        if sent.composed is None or sent.body is None or entry is None:
            raise InputError(f"This turn cannot be put into a file. {sent.why}".strip())
        came = CameBack(
            message=entry.message,
            status=entry.status,
            model=entry.model,
            endpoint=entry.endpoint,
            error=entry.error,
            finish=entry.finish,
            usage=entry.usage,
            seconds=entry.seconds,
        )
        return dump_turn(sent.composed, sent.body, came)

    async def last(self, endpoint: str, known: Iterable[Entry]) -> LastSent | None:
        """Return the last request that was sent to an endpoint, whoever sent it and when, as far
        as it can be shown; None where there is none, and where it is a long one of another
        session: little of that can come again, and all of it would have to be read and kept.
        """
        sent = await self._store.requests.last(endpoint)
        if sent is None:
            return None
        known = tuple(known)
        if all(entry.message.id != sent.message_id for entry in known):
            record = await self._store.requests.get(sent.message_id)
            if record is None or len(record.body or b"") >= LONG:
                return None
        found = (await self.request(sent.message_id, known)).shown
        return None if found is None else LastSent(sent.message_id, found)

    async def _inputs(
        self, entry_id: str, stored: Mapping[str, Any], known: Iterable[Entry]
    ) -> Inputs:
        recipe = read_recipe(stored)
        names = [recipe.endpoint, recipe.preset, recipe.role, recipe.profile, recipe.tools]
        revisions: dict[str, str] = {}
        for name in filter(None, (*names, *recipe.lorebooks)):
            text = await self._store.revisions.get(self._kept.get(name, name))
            if text is not None and sha256(text.encode()).hexdigest() == name:
                revisions[name] = text
        path = same_messages(await self._store.branches.path_to(entry_id), known)
        ids = [entry.message.id for entry in path]
        if recipe.parent and recipe.parent not in ids and not recipe.prefill:
            raise InputError("The messages that it was shown are gone.")
        asked = path[:-1]
        sent: Message | None = None
        if recipe.draft and asked:
            sent, asked = asked[-1].message, asked[:-1]
        if recipe.prefill:
            begun = await self._store.branches.path_to(recipe.parent)
            asked = (*asked, *begun[-1:])
        return await asyncio.to_thread(
            lambda: rebuilt_inputs(recipe, revisions, sendable(asked), sent)
        )


def same_messages(path: Iterable[Entry], known: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return a branch with the very message objects of `known` where they say the same."""
    messages = {entry.message.id: entry.message for entry in known}

    def same(entry: Entry) -> Entry:
        message = messages.get(entry.message.id)
        return replace(entry, message=message) if message == entry.message else entry

    return tuple(map(same, path)) if messages else tuple(path)


def replayed(inputs: Inputs, endpoint: Any, model: str) -> Inputs:
    """Return the same context for another endpoint and model."""
    return replace(inputs, endpoint=endpoint, settings=replace(inputs.settings, model=model))
