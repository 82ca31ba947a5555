"""What SillyTavern adds for a kind of generation, and what it sends if nothing is typed.

1. `continue` ends with the message that is continued, and a nudge to continue it unless the message
   alone is enough (a prefill); `impersonate` and `quiet` end with their prompts.
2. These requests are the system's messages, except for protocols that would move a system message
   to the top. Where depths are not joined they are the user's, as the core's.
3. The beginning of the reply that the preset has goes to Anthropic alone, and neither with quiet
   prompts nor where the last message is continued without a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from tui_chat.context.generation import (
    CONTROL,
    expanded_turns,
    reply_start_turns,
    setting_line,
    uses_prefill,
)
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Placement, Turn, text_turn
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, Text
from tui_chat.plugins.sillytavern.policies import policies_of

_PREFILL = Placement("after", rule="The preset has it as the beginning of the reply.")
_EMPTY = Placement("draft", rule="It is sent because nothing is typed.")
_HOISTING = frozenset({Protocol.ANTHROPIC, Protocol.GEMINI})
"""Protocols that have one place for system messages, before the conversation."""


def control_turns(inputs: Inputs, expander: Expander) -> Iterator[Turn]:
    """Yield the turns that end a request of its kind of generation."""
    chat, policies, role = inputs.chat, policies_of(inputs.preset), _control_role(inputs)
    if chat.kind != "impersonate":
        yield from reply_start_turns(inputs, expander)
    if chat.kind == "impersonate" and policies.impersonation_prompt:
        line = setting_line("impersonation_prompt", role, policies.impersonation_prompt)
        yield from expanded_turns(line, expander, CONTROL)
    if chat.kind == "quiet" and chat.prompt:
        line = setting_line("quiet_prompt", role, chat.prompt)
        yield from expanded_turns(line, expander, CONTROL)
    yield from _prefill_turns(inputs, expander)


def _control_role(inputs: Inputs) -> Literal["system", "user"]:
    """Return the role of the message that asks for a continuation, user message or quiet answer."""
    is_system = policies_of(inputs.preset).depths == "joined"
    return "system" if is_system and inputs.endpoint.protocol not in _HOISTING else "user"


def _prefill_turns(inputs: Inputs, expander: Expander) -> Iterator[Turn]:
    kind, policies = inputs.chat.kind, policies_of(inputs.preset)
    field = "assistant_impersonation" if kind == "impersonate" else "assistant_prefill"
    start: str = getattr(policies, field)
    is_continued = kind == "continue" and uses_prefill(inputs)
    is_anthropic = inputs.endpoint.protocol is Protocol.ANTHROPIC
    if start and is_anthropic and kind != "quiet" and not is_continued:
        yield from expanded_turns(setting_line(field, "assistant", start), expander, _PREFILL)


def nudge_turns(inputs: Inputs, expander: Expander, continued: Turn) -> Iterator[Turn]:
    """Yield the request to continue a message; none if the message alone is sent."""
    nudge = policies_of(inputs.preset).continue_nudge
    if nudge and not uses_prefill(inputs):
        expander.set("lastchatmessage", continued.text.plain.strip())
        line = setting_line("continue_nudge", _control_role(inputs), nudge)
        yield from expanded_turns(line, expander, CONTROL)


@Memo
def without_name(turn: Turn) -> Turn:
    """Return a turn without its name: SillyTavern names no message that is to be continued."""
    return replace(turn, name="")


def empty_draft_turn(inputs: Inputs, expander: Expander) -> Turn | None:
    """Return the turn that is sent if nothing is typed; None if it is nothing."""
    content = policies_of(inputs.preset).send_if_empty
    if not content:
        return None
    line = setting_line("send_if_empty", "user", content)
    text = expander.expand(line)
    return _empty_draft(text, line.origin) if text.plain.strip() else None


@lru_cache(maxsize=16)
def _empty_draft(text: Text, origin: Origin) -> Turn:
    """Return the turn: the same object for the same text."""
    return text_turn("user", text.stripped(), origin, _EMPTY)
