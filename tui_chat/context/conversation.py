"""The conversation as it is sent: names of speakers, scripts, and macros where the preset expands
them.

1. `Speakers` applies the names policy of a preset to a message.
2. Scripts replace what they find in the text of a message; then its macros are expanded, after
   those of the preset, the newest message last. Carriage returns are removed.
3. Messages without any of these keep their turns, so that a keystroke costs nothing for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.context.examples import without_returns
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.preset_expansion import Expander
from tui_chat.context.macros.syntax import has_macros
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.context.scripts import apply_scripts, scripts_for
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Turn
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, MessageOrigin, MessageRole
from tui_chat.models.policies import NamesPolicy
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import GLUE, Origin, Span, Text

MAX_NAME = 64
"""Characters of the name of a message that OpenAI takes."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Speakers:
    """How the names of speakers are sent, and the names of those who have no other."""

    policy: NamesPolicy = "field"
    user: str = ""
    char: str = ""

    @classmethod
    def of(cls, inputs: Inputs) -> Speakers:
        """Return the rule of the preset."""
        policy = inputs.preset.policies.names
        return FIELD if policy == "field" else cls(policy, inputs.user_name, inputs.char_name)

    def name_of(self, message: Message) -> str:
        """Return who speaks."""
        return message.name or {"user": self.user, "assistant": self.char}.get(message.role, "")

    def field(self, message: Message) -> str:
        """Return the name that is sent with a message."""
        if self.policy == "field":
            return message.name
        if self.policy != "name":
            return ""
        return _NOT_IN_NAMES.sub("_", self.name_of(message))[:MAX_NAME]

    def prefix(self, message: Message) -> str:
        """Return the name that goes before the text of a message."""
        if message.role not in ("user", "assistant"):
            return ""
        if self.policy == "content":
            return f"{self.name_of(message)}: "
        if self.policy == "other_speakers" and message.semantics.is_speaker_chosen:
            name = self.name_of(message)
            return "" if name == self.user else f"{name}: "
        return ""


FIELD = Speakers()
"""Names are sent as the names of messages that have one."""


@recent_memo()
def _changing(history: tuple[Message, ...]) -> tuple[int, ...]:
    """Return the indices of the messages that have macros or carriage returns."""
    return tuple(
        index
        for index, message in enumerate(history)
        if has_macros(message.content, aliases=True) or "\r" in message.content
    )


def changed_turns(
    inputs: Inputs, turns: Sequence[Turn], speakers: Speakers, expander: Expander
) -> dict[int, Turn]:
    """Return the turns of a history that differ from the stored messages, by their index."""
    history, scripts = inputs.history, inputs.scripts
    indices: Sequence[int] = range(len(history)) if scripts else _changing(history)
    changed: dict[int, Turn] = {}
    length = len(history) + inputs.has_draft - (inputs.chat.kind == "continue")
    for index in reversed(indices):  # a variable that a message sets has its value in older ones
        message, turn = history[index], turns[index]
        text = sent_text(message, inputs, length - 1 - index, speakers, expander)
        if text.plain != turn.text.plain:
            changed[index] = _with_text(turn, text)
    return changed


@Memo
def _with_text(turn: Turn, text: Text) -> Turn:
    return replace(turn, text=text)


def sent_text(
    message: Message,
    inputs: Inputs,
    depth: int,
    speakers: Speakers,
    expander: Expander,
    origin: Origin | None = None,
) -> Text:
    """Return the text of a message as it is sent; `depth` messages follow it.

    `origin` is that of its text, if it is not stored.
    """
    scripts = scripts_for(inputs.scripts, message.role, depth)
    if scripts or origin is not None:
        text = Text.of(message.content, origin or MessageOrigin(message))
        text = apply_scripts(text, scripts, expander.script_steps, expander.expand_macros)
        if inputs.preset.policies.expand_history and has_macros(text.plain, aliases=True):
            line = _text_line(message.role, text.plain, origin or MessageOrigin(message))
            text = expander.expand(line)
    else:
        text = expander.expand(message_line(message))
    prefix = speakers.prefix(message)
    text = without_returns(text)
    return Text((Span(prefix, GLUE), *text.spans)) if prefix else text


@Memo
def message_line(message: Message) -> ResolvedMessage:
    """Return a stored message as one whose macros can be expanded."""
    return ResolvedMessage(
        PresetMessage(message.id, message.role, message.content, name=message.role),
        MessageOrigin(message),
    )


def _text_line(role: MessageRole, text: str, origin: Origin) -> ResolvedMessage:
    return ResolvedMessage(PresetMessage(origin.id, role, text, name=role), origin)
