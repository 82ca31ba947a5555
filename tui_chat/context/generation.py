"""The kinds of generation: what a request of each is composed from, and what it ends with. With
`normal` that is the draft: what is typed, or the stored message in its place.

`continue` ends with the message that is continued, and a request to continue it unless the message
alone is enough (a prefill). That request is the user's message, as every model takes it. What the
requests of other kinds end with is said by the builder that adds the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.history import answered_turn
from tui_chat.context.inputs import Inputs, parameters, prefilled_history
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage, turn_of
from tui_chat.context.rules import rules_of
from tui_chat.errors import InputError
from tui_chat.models.envelope import Level, Note, Placement, Turn, text_turn
from tui_chat.models.generation import GenerationKind, side_kind
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.text import Origin, OriginKind, Text, clean

CONTINUE_NUDGE = (
    "Continue your last message from the point where it ends. Write only what follows; "
    "repeat nothing of it."
)
"""The message that asks for the rest of the last message."""
CONTROL = Placement("after", rule="The kind of generation puts it at the end.")
_REPLY_START = Placement("after", rule="The setting “reply_start” puts it at the end.")


@lru_cache(maxsize=64)
def setting_line(identity: str, role: MessageRole, content: str, name: str = "") -> ResolvedMessage:
    """Return a text that a setting has as a message: the same object for the same text."""
    name = name or identity.replace("_", " ")
    return ResolvedMessage(
        PresetMessage(identity, role, content, name=name),
        Origin(OriginKind.SETTING, identity, name),
    )


_BLANK = re.compile(r"\{\{\?\w[\w -]{0,39}\}\}")
MAX_BLANKS = 8
"""Unfilled blanks of a draft that have a note each."""
_TYPED = Placement("draft", rule="Your draft follows the history.")

# --- continuing ----------------------------------------------------------------------------


def uses_prefill(inputs: Inputs) -> bool:
    """Return True if a request to continue a message ends with that message (a prefill): if the
    preset says so, else if the model is known to accept it; never if it is known not to.
    """
    takes = inputs.endpoint.facts_of(parameters(inputs).values.model).prefill
    wanted = inputs.rules.continue_prefill
    return takes is True if wanted is None else wanted and takes is not False


def may_continue(preset: Preset, role: MessageRole) -> bool:
    """Return True if the rest of a message can be requested: the model's, perhaps the user's."""
    return role == "assistant" or (role == "user" and rules_of(preset).continues_user)


def as_continuation(inputs: Inputs) -> Inputs:
    """Return the inputs of a request for the rest of their last message."""
    inputs = replace(inputs, draft="", draft_parts=(), chat=replace(inputs.chat, kind="continue"))
    if uses_prefill(inputs):
        inputs = replace(inputs, history=prefilled_history(inputs.history))
    return inputs


def continued_text(inputs: Inputs) -> str:
    """Return the text that a continuation is appended to."""
    text = inputs.history[-1].content
    postfix = inputs.rules.continue_postfix
    if postfix is None:
        postfix = "" if uses_prefill(inputs) else " "
    return text if text[-1:].isspace() else text + postfix


def of_kind(inputs: Inputs, kind: GenerationKind) -> Inputs:
    """Return the inputs of a request of a kind; the draft is the instruction of a kind that takes
    one, and otherwise only sent with `normal`. Raises InputError if there is nothing to continue.
    """
    if kind == "normal":
        return inputs
    history = inputs.history
    if kind in ("regenerate", "swipe") and history and history[-1].role == "assistant":
        history = history[:-1]
    if kind == "continue":
        while history and history[-1].role == "system":
            history = history[:-1]
        if not history or not may_continue(inputs.preset, history[-1].role):
            raise InputError("There is no reply to continue.")
    prompt = inputs.draft
    inputs = replace(inputs, history=history, draft="", draft_parts=())
    return with_kind(inputs, kind, prompt)


def with_kind(inputs: Inputs, kind: GenerationKind, prompt: str = "") -> Inputs:
    """Return inputs without a draft as those of a kind; `prompt` is the instruction of one that
    takes it.

    Requests for something else than a reply offer no tools. If the history has calls, the tools
    stay: Anthropic refuses calls of tools that the request does not define.
    """
    if kind == "continue":
        return as_continuation(inputs)
    side = side_kind(kind)
    if side is None:
        return replace(inputs, chat=replace(inputs.chat, kind=kind))
    chat = replace(inputs.chat, kind=kind, prompt=prompt if side.takes_prompt else "")
    has_calls = any(each.tool_calls or each.role == "tool" for each in inputs.history)
    return replace(inputs, chat=chat, tools=inputs.tools if has_calls else None)


# --- the turns at the end --------------------------------------------------------------------


def reply_start_turns(inputs: Inputs, expander: Expander) -> Iterator[Turn]:
    """Yield the beginning that a setting gives to every reply."""
    if (start := inputs.reply_start) and inputs.chat.kind != "continue":
        line = setting_line("reply_start", "assistant", start, "start of the reply")
        yield from expanded_turns(line, expander, _REPLY_START)


def nudge_turns(
    inputs: Inputs, expander: Expander, history: Sequence[Turn], draft: Turn | None
) -> Iterator[Turn]:
    """Yield the request to continue the last message; none if that message alone is sent."""
    if inputs.chat.kind == "continue" and history and draft is None and not uses_prefill(inputs):
        line = setting_line("continue_nudge", "user", CONTINUE_NUDGE)
        yield from expanded_turns(line, expander, CONTROL)


def expanded_turns(
    line: ResolvedMessage, expander: Expander, placement: Placement
) -> Iterator[Turn]:
    """Yield the turn of a message, unless nothing is left of it once its macros are expanded."""
    text = expander.expand(line)
    if text.plain:
        yield turn_of(line, text, placement)


def draft_turn(inputs: Inputs, notes: list[Note]) -> Turn | None:
    """Return the turn that ends the conversation; None without one."""
    if not inputs.has_draft:
        return None
    if inputs.answered is not None:
        return answered_turn(inputs.answered)
    origin = Origin(OriginKind.DRAFT, "draft")
    for blank in sorted(set(_BLANK.findall(inputs.draft)))[:MAX_BLANKS]:
        sentence = f"The draft has “{blank}”, as an unfilled blank of a snippet looks."
        notes.append(Note(Level.WARNING, "unfilled-blank", sentence, origin))
    text = Text.of(clean(inputs.draft), origin)
    turn = text_turn("user", text, origin, _TYPED)
    return replace(turn, blocks=turn.blocks + inputs.draft_parts) if inputs.draft_parts else turn
