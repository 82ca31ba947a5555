"""The turns that depend on the kind of generation, and those of example dialogues.

1. `continue` ends with the message that is continued, and a request to continue it unless the
   message alone is enough (a prefill); `impersonate` and `quiet` end with their prompts.
2. These requests are the user's messages by our rules, as every model takes them, and the system's
   by SillyTavern's, except for protocols that would move a system message to the top.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.inputs import Inputs, prefilled_history
from tui_chat.context.macros.preset_expansion import EXAMPLES, Expander
from tui_chat.context.parameters import parameters
from tui_chat.context.resolved_message import ResolvedMessage, card_origin, turn_of
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.policies import GenerationKind, Policies
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Role
from tui_chat.models.text import Origin, OriginKind, Text

_CONTROL = Placement("after", rule="The kind of generation puts it at the end.")
_REPLY_START = Placement("after", rule="The setting “reply_start” puts it at the end.")
_PREFILL = Placement("after", rule="The preset has it as the beginning of the reply.")
_EMPTY = Placement("draft", rule="It is sent because nothing is typed.")


@lru_cache(maxsize=64)
def _line(identity: str, role: MessageRole, content: str, name: str, kind: OriginKind):
    return ResolvedMessage(
        PresetMessage(identity, role, content, name=name), Origin(kind, identity, name)
    )


def _policy_line(policies: Policies, field: str, role: MessageRole = "system") -> ResolvedMessage:
    """Return one of the texts of a preset's policies as a message."""
    name = field.replace("_", " ")
    return _line(field, role, getattr(policies, field), name, OriginKind.SETTING)


_HOISTING = frozenset({Protocol.ANTHROPIC, Protocol.GEMINI})
"""Protocols that have one place for system messages, before the conversation."""


def _control_role(inputs: Inputs) -> MessageRole:
    """Return the role of the message that requests a continuation, the user's message or a quiet
    answer.
    """
    is_system = inputs.preset.policies.depths == "joined"
    return "system" if is_system and inputs.endpoint.protocol not in _HOISTING else "user"


# --- continuing ----------------------------------------------------------------------------


def uses_prefill(inputs: Inputs) -> bool:
    """Return True if a request to continue a message ends with that message (a prefill): if the
    preset says so, else if the model is known to accept it; never if it is known not to.
    """
    takes = inputs.endpoint.facts_of(parameters(inputs).model.value).prefill
    wanted = inputs.preset.policies.continue_prefill
    return takes is True if wanted is None else wanted and takes is not False


def may_continue(policies: Policies, role: MessageRole) -> bool:
    """Return True if the rest of a message can be requested: the model's, and by SillyTavern's
    rules the user's too.
    """
    return role == "assistant" or (role == "user" and policies.depths == "joined")


def as_continuation(inputs: Inputs) -> Inputs:
    """Return the inputs of a request for the rest of their last message."""
    inputs = replace(inputs, draft="", draft_parts=(), chat=replace(inputs.chat, kind="continue"))
    if uses_prefill(inputs):
        inputs = replace(inputs, history=prefilled_history(inputs.history))
    return inputs


def continued_text(inputs: Inputs) -> str:
    """Return the text that a continuation is appended to."""
    text = inputs.history[-1].content
    postfix = inputs.preset.policies.continue_postfix
    if postfix is None:
        postfix = "" if uses_prefill(inputs) else " "
    return text if text[-1:].isspace() else text + postfix


def of_kind(inputs: Inputs, kind: GenerationKind) -> Inputs:
    """Return the inputs of a request of a kind; the draft is the prompt of a quiet one, and
    otherwise only sent with `normal`. Raises InputError if there is nothing to continue.
    """
    if kind == "normal":
        return inputs
    history, prompt = inputs.history, inputs.draft if kind == "quiet" else ""
    if kind in ("regenerate", "swipe") and history and history[-1].role == "assistant":
        history = history[:-1]
    if kind == "continue":
        while history and history[-1].role == "system":
            history = history[:-1]
        if not history or not may_continue(inputs.preset.policies, history[-1].role):
            raise InputError("There is no reply to continue.")
    inputs = replace(inputs, history=history, draft="", draft_parts=())
    return with_kind(inputs, kind, prompt)


def with_kind(inputs: Inputs, kind: GenerationKind, prompt: str = "") -> Inputs:
    """Return inputs without a draft as those of a kind; `prompt` is that of a quiet one.

    Requests for something else than a reply offer no tools. If the history has calls, the tools
    stay: Anthropic refuses calls of tools that the request does not define.
    """
    if kind == "continue":
        return as_continuation(inputs)
    chat = replace(inputs.chat, kind=kind, quiet_prompt=prompt)
    has_tools = inputs.tools is not None and kind in ("impersonate", "quiet")
    if has_tools and not any(each.tool_calls or each.role == "tool" for each in inputs.history):
        inputs = replace(inputs, tools=None)
    return replace(inputs, chat=chat)


# --- the turns at the end --------------------------------------------------------------------


def control_turns(inputs: Inputs, expander: Expander) -> tuple[Turn, ...]:
    """Return the turns that end a request of its kind of generation."""
    chat, policies = inputs.chat, inputs.preset.policies
    lines: list[ResolvedMessage] = []
    started: list[ResolvedMessage] = []
    if (start := inputs.reply_start) and chat.kind not in ("continue", "impersonate"):
        name = "start of the reply"
        started.append(_line("reply_start", "assistant", start, name, OriginKind.SETTING))
    if chat.kind == "impersonate" and policies.impersonation_prompt:
        lines.append(_policy_line(policies, "impersonation_prompt", _control_role(inputs)))
    if chat.kind == "quiet" and chat.quiet_prompt:
        role = _control_role(inputs)
        line = _line("quiet_prompt", role, chat.quiet_prompt, "quiet prompt", OriginKind.SETTING)
        lines.append(line)
    return (
        *_turns(started, expander, _REPLY_START),
        *_turns(lines, expander, _CONTROL),
        *_prefill_turns(inputs, expander),
    )


def _prefill_turns(inputs: Inputs, expander: Expander) -> Iterator[Turn]:
    """Yield the beginning of the reply, which SillyTavern sends to Anthropic only, and neither with
    quiet prompts nor where the last message is continued without a request.
    """
    kind, policies = inputs.chat.kind, inputs.preset.policies
    field = "assistant_impersonation" if kind == "impersonate" else "assistant_prefill"
    is_continued = kind == "continue" and uses_prefill(inputs)
    if (
        inputs.endpoint.protocol is Protocol.ANTHROPIC
        and getattr(policies, field)
        and kind != "quiet"
        and not is_continued
    ):
        yield from _turns([_policy_line(policies, field, "assistant")], expander, _PREFILL)


def nudge_turns(inputs: Inputs, expander: Expander, continued: Turn | None) -> tuple[Turn, ...]:
    """Return the request to continue a message; empty if the message alone is sent."""
    policies = inputs.preset.policies
    if uses_prefill(inputs) or not policies.continue_nudge:
        return ()
    if continued is not None:
        expander.environment.set("lastchatmessage", continued.text.plain.strip())
    line = _policy_line(policies, "continue_nudge", _control_role(inputs))
    return tuple(_turns([line], expander, _CONTROL))


@Memo
def without_name(turn: Turn) -> Turn:
    """Return a turn without its name: SillyTavern names no message that is to be continued."""
    return replace(turn, name="")


def _turns(
    lines: list[ResolvedMessage], expander: Expander, placement: Placement
) -> Iterator[Turn]:
    for line in lines:
        text = expander.expand(line)
        if text.plain:
            yield turn_of(line, text, placement)


def empty_draft_turn(preset: Preset, expander: Expander) -> Turn | None:
    """Return the turn that is sent if nothing is typed; None if it is nothing."""
    if not preset.policies.send_if_empty:
        return None
    line = _policy_line(preset.policies, "send_if_empty", "user")
    text = expander.expand(line)
    return _empty_draft(text, line.origin) if text.plain.strip() else None


@lru_cache(maxsize=16)
def _empty_draft(text: Text, origin: Origin) -> Turn:
    """Return the turn: the same object for the same text."""
    return Turn("user", text.stripped(), origin, _EMPTY)


# --- example dialogues ---------------------------------------------------------------------


@Memo
def examples_line(role: Role) -> ResolvedMessage | None:
    """Resolve the example dialogues of a role's character card; None if it has none."""
    content = role.character.example_dialogues.strip() if role.character else ""
    if not content:
        return None
    message = PresetMessage(EXAMPLES, "system", content, name="example dialogues")
    return ResolvedMessage(message, card_origin(role, "example dialogues"), is_card=True)


def separator_turn(preset: Preset, anchor: ResolvedMessage, expander: Expander) -> Turn | None:
    """Return the system message before each block; None if it is empty."""
    line = _policy_line(preset.policies, "example_separator")
    text = expander.expand(line)
    return turn_of(line, text, _example_placement(anchor)) if text.plain else None


def _example_placement(anchor: ResolvedMessage) -> Placement:
    rule = "It is an example dialogue of the character, at its anchor."
    return Placement("skeleton", anchor.message.id, rule=rule)


_known: dict[tuple[str, Text], Turn] = {}


def example_turn(text: Text, name: str, anchor: ResolvedMessage) -> Turn:
    """Return the turn of a message of an example: the same object for the same text."""
    known = _known.get((name, text))
    placement = _example_placement(anchor)
    if known is not None and known.placement == placement:
        return known
    if len(_known) > 1_000:
        _known.clear()
    origin = text.spans[0].origin.outermost if text.spans else anchor.origin
    turn = _known[name, text] = Turn("system", text, origin, placement, name=name)
    return turn
