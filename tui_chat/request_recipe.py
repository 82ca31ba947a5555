"""Recipes: what is stored with every request, so that it can be composed again.

1. What changes rarely (preset, role, profile, lorebooks, tools, endpoint) is a revision, which is
   stored once and named by the SHA-256 of its JSON.
2. The history is named by its last message: messages never change and have their parent. Only pins
   change, what is muted, and which summaries are on, so they are listed.
3. The draft is the message after the history that was sent with the request.
4. It contains no secret: the endpoint is stored without its key reference and proxy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeVar

from tui_chat import __version__
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.inputs import prefilled_history
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.generation import NO_CHAT_SETTINGS, ChatSettings
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import NOT_MUTED, Message, Muted
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import RequestEdit, edit_fault
from tui_chat.models.role import Profile, Role
from tui_chat.models.settings import with_nested_settings
from tui_chat.tokens import NO_CORRECTION, Correction

T = TypeVar("T")

FORMAT = 1
"""The version of recipes; others are not read."""

_NO_SETTINGS = SessionSettings()


@dataclass(frozen=True, slots=True)
class Recipe:
    """The inputs of a request. Presets, roles, ... are hashes of revisions."""

    app: str
    """The version that made the request."""
    endpoint: str
    preset: str
    now: datetime
    role: str = ""
    """Empty for none, as for the others below."""
    profile: str = ""
    tools: str = ""
    lorebooks: tuple[str, ...] = ()
    parent: str = ""
    """Id of the history's last message; empty for no history."""
    messages: int = 0
    """The number of messages in the history."""
    pinned: tuple[str, ...] = ()
    """Ids of the pinned messages."""
    muted: tuple[tuple[str, Muted], ...] = ()
    """Id of each message of which something is muted, and what."""
    summaries: tuple[str, ...] = ()
    """Ids of the summaries that are on."""
    prefill: bool = False
    """True if the history's last message is the beginning of the reply, and ends the request."""
    draft: bool = False
    """True if a user message was sent after the history."""
    settings: SessionSettings = _NO_SETTINGS
    stream: bool = True
    context_limit: int | None = None
    reply_reserve: int | None = None
    seed: int = 0
    session_seed: int = 0
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    correction: Correction = NO_CORRECTION
    role_missing: bool = False
    keeps_role_prompt: bool = False
    chat: ChatSettings = field(default_factory=lambda: NO_CHAT_SETTINGS)
    edits: tuple[RequestEdit, ...] = ()
    is_edited: bool = False
    """True if an edit changed the body: one whose place is gone changes nothing."""
    format: int = 0
    """0 if missing."""

    @property
    def continues(self) -> bool:
        """True if the reply continues the history's last message."""
        return self.prefill or self.chat.kind == "continue"


_SAME = (
    *("now", "settings", "stream", "context_limit", "reply_reserve", "seed", "session_seed"),
    *("variables", "correction", "role_missing", "keeps_role_prompt", "chat", "edits"),
)
"""The inputs that a recipe has as they are."""


def _revised(inputs: Inputs) -> Iterator[tuple[str, object]]:
    """Yield what is stored as revisions, each after its kind."""
    yield "endpoint", inputs.endpoint.without_secrets()
    yield "preset", inputs.preset.without_builder_keys()
    for book in inputs.lorebooks:
        yield "lorebook", book
    for kind, value in (
        ("role", inputs.role),
        ("profile", inputs.profile),
        ("tools", inputs.tools),
    ):
        if value is not None:
            yield kind, value


def revisions_of(inputs: Inputs) -> dict[str, tuple[str, str]]:
    """Return the revisions that a recipe refers to: kind and JSON by hash."""
    packed = [(kind, pack(value)) for kind, value in _revised(inputs)]
    return {_hash(text): (kind, text) for kind, text in packed}


def recipe_of(inputs: Inputs, *, prefill: bool = False, is_edited: bool = False) -> Recipe:
    """Return the recipe of a request with these inputs."""
    history = inputs.history
    hashes = [(kind, _hash(pack(value))) for kind, value in _revised(inputs)]
    return Recipe(
        app=__version__,
        **{kind: name for kind, name in hashes if kind != "lorebook"},
        lorebooks=tuple(name for kind, name in hashes if kind == "lorebook"),
        parent=history[-1].id if history else "",
        messages=len(history),
        pinned=tuple(message.id for message in history if message.pinned),
        muted=tuple((message.id, message.muted) for message in history if message.muted),
        summaries=tuple(
            message.id for message in history if (s := message.about.summary) and s.enabled
        ),
        prefill=prefill,
        draft=bool(inputs.draft or inputs.draft_parts),
        is_edited=is_edited,
        format=FORMAT,
        **{name: getattr(inputs, name) for name in _SAME},
    )


def preset_revision(preset: Preset) -> str:
    """Return the hash by which recipes name a preset."""
    return _hash(pack(preset.without_builder_keys()))


def dump_recipe(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as JSON values."""
    return json.loads(pack(recipe))


def read_recipe(stored: Mapping[str, Any]) -> Recipe:
    """Return a recipe from JSON values. Raises InputError if this version cannot read it."""
    try:
        recipe: Recipe = unpack(Recipe, json.dumps(stored))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError("The recipe of this request was not stored.") from error
    if edit_fault(recipe.edits) is not None:
        raise InputError("The edits by hand of this request cannot be read.")
    if recipe.format != FORMAT:
        raise InputError("The recipe of this request was stored by another version.")
    return recipe


def rebuilt_inputs(
    recipe: Recipe,
    revisions: Mapping[str, str],
    history: tuple[Message, ...],
    sent: Message | None,
) -> Inputs:
    """Return a request's inputs with this history and user message. Raises InputError."""
    if len(history) != recipe.messages:
        raise InputError(
            f"The request had {recipe.messages:,} messages, of which {len(history):,} still exist."
        )
    if recipe.draft and sent is None:
        raise InputError("The user message of the request no longer exists.")

    def revision(kind: Any, name: str) -> Any:
        if name not in revisions:
            raise InputError(
                "A preset, role, profile, lorebook or endpoint of the request is missing."
            )
        plain = json.loads(revisions[name])
        return unpack(kind, json.dumps(with_nested_settings(plain) if kind is Role else plain))

    pinned, summaries = frozenset(recipe.pinned), frozenset(recipe.summaries)
    muted = dict(recipe.muted)
    history = tuple(
        _as_sent(
            message,
            message.id in pinned,
            muted.get(message.id, NOT_MUTED),
            message.id in summaries,
        )
        for message in history
    )
    return Inputs(
        endpoint=revision(Endpoint, recipe.endpoint),
        preset=revision(Preset, recipe.preset),
        history=prefilled_history(history) if recipe.prefill else history,
        draft=sent.content if recipe.draft and sent is not None else "",
        draft_parts=sent.parts if recipe.draft and sent is not None else (),
        role=revision(Role, recipe.role) if recipe.role else None,
        profile=revision(Profile, recipe.profile) if recipe.profile else None,
        lorebooks=tuple(revision(Lorebook, name) for name in recipe.lorebooks),
        tools=revision(tuple[ToolDefinition, ...], recipe.tools) if recipe.tools else None,
        **{name: getattr(recipe, name) for name in _SAME},
    )


def _as_sent(message: Message, pinned: bool, muted: Muted, summary_on: bool) -> Message:
    """Return a message as it was; the same object if nothing about it changed."""
    if message.pinned != pinned:
        message = replace(message, pinned=pinned)
    if message.muted != muted:
        message = replace(message, muted=muted)
    summary = message.about.summary
    if summary is not None and summary.enabled != summary_on:
        summary = replace(summary, enabled=summary_on)
        message = replace(message, about=replace(message.about, summary=summary))
    return message


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()
