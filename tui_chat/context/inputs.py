"""Everything a request depends on. The same inputs give the same bytes.

The newest user message is the draft, typed or stored: `with_answered_as_draft` puts the branch's
final user message into the draft's place, so that depths, macros, lorebooks,
and the budget see no difference between a regeneration and the first send.

A setting is the session's, else the preset's, else the role's, else the endpoint's; the model is
the session's, else the role's, else the endpoint's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.context.rules import BuilderRules, rules_of
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, MediaBlock, TextBlock
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import Note, Parameters, RequestSettings, ToolDefinition
from tui_chat.models.generation import NO_CHAT_SETTINGS, ChatSettings
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import NOTHING_ABOUT, About, Message, text_blocks
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import RequestEdit
from tui_chat.models.role import Profile, Role
from tui_chat.models.session import Entry
from tui_chat.models.settings import NO_SETTINGS, SETTINGS, Settings, setting_values
from tui_chat.models.text import Origin, OriginKind
from tui_chat.tokens import NO_CORRECTION, Correction

NO_PLACES: Mapping[str, tuple[ResolvedMessage, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionSettings(Settings):
    """The session's own settings and model; None and empty leave them to preset, role, endpoint."""

    model: str = ""

    @classmethod
    def of(cls, model: str, settings: Settings) -> SessionSettings:
        """Return settings with a model."""
        return cls(*setting_values(settings), model=model)

    @property
    def without_model(self) -> Settings:
        """The settings alone."""
        return Settings(*setting_values(self))


NO_SESSION_SETTINGS = SessionSettings()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Inputs:
    """The whole input of `compose`."""

    endpoint: Endpoint
    preset: Preset
    history: tuple[Message, ...] = ()
    """Oldest first, each with an id."""
    draft: str = ""
    """What the user is typing; empty for none (a regeneration, or nothing typed yet). The context
    builder finds the answered message's text here; see `answered`."""
    draft_parts: tuple[MediaBlock, ...] = ()
    """Images, audio and files that go with the draft."""
    role: Role | None = None
    profile: Profile | None = None
    settings: SessionSettings = NO_SESSION_SETTINGS
    stream: bool = True
    context_limit: int | None = None
    """Tokens of input and output together; None takes the model's limit, if it is known."""
    reply_reserve: int | None = None
    """Tokens reserved for the reply; None takes max_tokens, if it is set."""
    now: datetime = EPOCH
    """The current time as macros see it, in the user's time zone."""
    seed: int = 0
    """The seed of `{{random}}`, `{{roll}}` and the probability of lore entries. The same seed
    gives the same bytes."""
    session_seed: int = 0
    """The seed of `{{pick}}`, which stays the same for the whole session."""
    lorebooks: tuple[Lorebook, ...] = ()
    """The books whose entries may be activated; earlier books go first."""
    variables: Mapping[str, str] = field(default_factory=lambda: NO_VARIABLES)
    """Variables of the session, for `{{getvar::name}}` and `{{name}}`; they override the
    preset's. Must not be changed afterwards."""
    tools: tuple[ToolDefinition, ...] | None = None
    """The tools that the model may call; None sends no list of tools at all."""
    correction: Correction = NO_CORRECTION
    """The ratio of reported to estimated tokens of the model so far."""
    role_missing: bool = False
    """True if the session's role was deleted."""
    keeps_role_prompt: bool = False
    """True if the role's prompt is sent also where the history begins with a system message. Set
    for sessions: their role was chosen, and a system message is added to its prompt."""
    chat: ChatSettings = field(default_factory=lambda: NO_CHAT_SETTINGS)
    """What the session adds to the request besides its messages."""
    edits: tuple[RequestEdit, ...] = ()
    """Edits of the body by hand. The context does not know them: `compose` applies them."""
    answered: Message | None = None
    """The stored message that takes the draft's place; None if the draft is typed. Set by
    `with_answered_as_draft` alone."""

    @property
    def has_draft(self) -> bool:
        """True if a user message follows the history: typed (attachments count), or stored."""
        return bool(self.draft or self.draft_parts) or self.answered is not None

    @property
    def rules(self) -> BuilderRules:
        """The rules of the preset's builder."""
        return rules_of(self.preset)

    @property
    def active_role(self) -> Role | None:
        """The session's role; None without an enabled one."""
        return self.role if self.role is not None and self.role.status == "enabled" else None

    def first(self, name: str) -> Any:
        """Return a setting of the first place that has it; None if none has."""
        values = (getattr(settings, name) for settings, _ in self.setting_places)
        return next((value for value in values if value is not None), None)

    @property
    def setting_places(self) -> tuple[tuple[Settings, str], ...]:
        """The settings of each place, with its name; the first that has a setting counts."""
        preset = self.preset
        role = self.active_role
        return (
            (self.settings, "session"),
            (preset.settings, f"preset {preset.name}"),
            *(((role.settings, f"role {role.name}"),) if role is not None else ()),
            (self.endpoint.settings, f"endpoint {self.endpoint.name}"),
        )

    @property
    def reply_start(self) -> str:
        """The beginning that every reply is given; empty for none."""
        return self.first("reply_start") or ""

    @property
    def global_variables(self) -> Mapping[str, str]:
        """The variables for `{{getglobalvar::name}}`: those of a setting, else of the chat."""
        found: Mapping[str, str] | None = self.first("global_variables")
        return self.chat.global_variables if found is None else found

    @property
    def user_name(self) -> str:
        """The value of `{{user}}`."""
        set_names = (settings.user_name for settings, _ in self.setting_places)
        by_profile = self.profile.name if self.profile is not None else ""
        return next(filter(None, set_names), by_profile or "User")

    @property
    def char_name(self) -> str:
        """The value of `{{char}}`."""
        set_names = (settings.char_name for settings, _ in self.setting_places)
        by_role = self.role.name if self.role is not None else ""
        return next(filter(None, set_names), by_role or "Assistant")


# --- settings --------------------------------------------------------------------------------

_REASONING = frozenset({"effort", "reasoning_budget"})
RESERVE_SHARE = 4
"""Without a reply limit, at most this fraction (a fourth) of the context is reserved."""

USUAL_RESERVE = 4096
"""Tokens reserved for the reply if neither a setting nor the endpoint says how many."""
_STREAM = {
    True: Origin(OriginKind.SETTING, "stream", "stream: the reply is shown as it arrives"),
    False: Origin(OriginKind.SETTING, "stream", "stream: the reply is wanted whole"),
}


def parameters(inputs: Inputs) -> Parameters:
    """Return the parameters of a request, each with the origin that set it.

    Effort and reasoning budget are one choice: only the one with higher precedence is used.
    """
    model, by = _model(inputs)
    values: dict[str, Any] = {"model": model, "stream": inputs.stream}
    origins = {"model": _origin("model", by), "stream": _STREAM[inputs.stream]}
    for settings, by in inputs.setting_places:
        if settings is NO_SETTINGS:
            continue
        is_chosen = not values.keys().isdisjoint(_REASONING)
        for name, value in zip(SETTINGS, setting_values(settings), strict=True):
            if value is None or name in values or (is_chosen and name in _REASONING):
                continue
            values[name], origins[name] = value, _origin(name, by)
    if values.get("stop") == ():
        del values["stop"], origins["stop"]
    return Parameters(RequestSettings(**values), origins)


def _model(inputs: Inputs) -> tuple[str, str]:
    """Return the model, and who chose it."""
    endpoint, role = inputs.endpoint, inputs.active_role
    if inputs.settings.model:
        return inputs.settings.model, "session"
    if role is not None and role.model:
        return role.model, f"role {role.name}"
    return endpoint.models[0] if endpoint.models else "", f"endpoint {endpoint.name}"


def context_limit(inputs: Inputs, asked: Parameters) -> int | None:
    """Return the limit of input and output together in tokens; None if unknown."""
    if inputs.context_limit is not None:
        return inputs.context_limit
    if asked.values.context_limit is not None:
        return asked.values.context_limit
    return inputs.endpoint.facts_of(asked.values.model).context_limit


def reply_reserve(inputs: Inputs, asked: Parameters, limit: int | None) -> int:
    """Return the tokens reserved for the reply: reply_reserve, else max_tokens, else the endpoint's
    reply limit, but then no more than a share of the context.
    """
    if inputs.reply_reserve is not None:
        return inputs.reply_reserve
    if asked.values.reply_reserve is not None:
        return asked.values.reply_reserve
    if asked.values.max_tokens is not None:
        return asked.values.max_tokens
    if limit is None:
        return 0
    # The protocol's default limit may be most of the context; reserving all of it would leave no
    # room for the history.
    return min(inputs.endpoint.max_tokens or USUAL_RESERVE, limit // RESERVE_SHARE)


def _origin(setting: str, by: str) -> Origin:
    return Origin(OriginKind.SETTING, setting, f"{setting}, set by the {by}")


# --- the conversation ------------------------------------------------------------------------


@recent_memo()
def _without_last(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the same tuple for the same history, since results are remembered by identity."""
    return history[:-1]


def with_answered_as_draft(inputs: Inputs) -> Inputs:
    """Return the inputs with the branch's final user message in the draft's place.

    If a draft is typed, or the branch does not end with a user message, nothing changes.
    """
    history = inputs.history
    if inputs.draft or inputs.draft_parts or not history or history[-1].role != "user":
        return inputs if inputs.answered is None else replace(inputs, answered=None)
    last = history[-1]
    return replace(
        inputs,
        history=_without_last(history),
        draft=last.content,
        draft_parts=last.parts,
        answered=last,
    )


def sendable_messages(entries: Iterable[Entry]) -> tuple[Message, ...]:
    """Return the messages of a branch that are sent: all but empty replies."""
    return tuple(
        entry.message
        for entry in entries
        if entry.message.role != "assistant" or any(map(is_sendable, entry.message.blocks))
    )


def is_sendable(block: Block) -> bool:
    """Return True for a block without which a message would not be sent."""
    if isinstance(block, TextBlock):
        return bool(block.text if block.is_refusal else block.text.strip())
    return isinstance(block, CallBlock | MediaBlock)


def prefilled_history(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return a history whose last message, an assistant's, is the beginning of the next reply.

    Only its text is kept: no provider continues after signed reasoning or a tool call. White space
    at its end is removed, since Anthropic refuses it.
    """
    last = history[-1]
    timers = last.about.lore_timers
    kept = NOTHING_ABOUT if timers is None else About(lore_timers=timers)
    text = replace(last, blocks=text_blocks(last.content.rstrip()), about=kept, extras=None)
    return (*history[:-1], text)


@dataclass(frozen=True, slots=True)
class Contribution:
    """The messages and notes that lorebooks add to a preset's."""

    messages: tuple[ResolvedMessage, ...] = ()
    """In their order in the preset."""
    notes: tuple[Note, ...] = ()
    places: Mapping[str, tuple[ResolvedMessage, ...]] = field(default_factory=lambda: NO_PLACES)
    """Messages for places that `context/session_texts` knows, by the place's name."""


NOTHING_TO_ADD = Contribution()
