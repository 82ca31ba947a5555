"""The turns that depend on the kind of generation, and those of example dialogues.

`continue` ends with the message that is continued, and a request to continue it unless the message
alone is enough; `impersonate` and `quiet` end with their prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.preset_expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage, card_origin, turn_of
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.generation import Policies
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Role
from tui_chat.models.text import Origin, OriginKind, Text

_CONTROL = Placement("after", rule="The kind of generation puts it last.")
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


def control_turns(inputs: Inputs, expander: Expander) -> tuple[Turn, ...]:
    """Return the turns that end a request of its kind of generation."""
    chat, policies = inputs.chat, inputs.preset.policies
    lines: list[ResolvedMessage] = []
    if chat.reply_start:
        name = "start of the reply"
        line = _line("reply_start", "assistant", chat.reply_start, name, OriginKind.SETTING)
        lines.append(line)
    if chat.kind == "impersonate" and policies.impersonation_prompt:
        lines.append(_policy_line(policies, "impersonation_prompt"))
    if chat.kind == "quiet" and chat.quiet_prompt:
        line = _line(
            "quiet_prompt", "system", chat.quiet_prompt, "quiet prompt", OriginKind.SETTING
        )
        lines.append(line)
    return tuple(_turns(lines, expander, _CONTROL))


def nudge_turns(inputs: Inputs, expander: Expander, continued: Turn | None) -> tuple[Turn, ...]:
    """Return the request to continue a message; empty if the message alone is sent."""
    policies = inputs.preset.policies
    if policies.continue_prefill or not policies.continue_nudge:
        return ()
    if continued is not None:
        expander.environment.set("lastchatmessage", continued.text.plain.strip())
    return tuple(_turns([_policy_line(policies, "continue_nudge")], expander, _CONTROL))


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


@Memo
def empty_draft_turn(preset: Preset) -> Turn:
    """Return the turn that is sent if nothing is typed."""
    line = _policy_line(preset.policies, "send_if_empty", "user")
    return Turn("user", Text.of(line.message.content, line.origin), line.origin, _EMPTY)


# --- example dialogues ---------------------------------------------------------------------


@Memo
def examples_line(role: Role) -> ResolvedMessage | None:
    """Resolve the example dialogues of a role's character card; None if it has none."""
    content = role.character.example_dialogues.strip() if role.character else ""
    if not content:
        return None
    message = PresetMessage("example_dialogues", "system", content, name="example dialogues")
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
