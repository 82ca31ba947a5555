"""The conversation as SillyTavern sends it: names of speakers, scripts, macros.

1. `Speakers` applies the names policy of a preset to a message.
2. Scripts replace what they find in the text of a message; then its macros are expanded, after
   those of the preset, the newest message first. Carriage returns are removed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tui_chat.context.history import HistoryCosts, history_turn
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.macros.syntax import has_macros
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Turn, with_text
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, message_origin
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import GLUE, Origin, Span, Text, clean
from tui_chat.plugins.sillytavern.context.examples import without_returns
from tui_chat.plugins.sillytavern.context.scripts import RequestScripts, scripts_for
from tui_chat.plugins.sillytavern.policies import NamesPolicy, policies_of
from tui_chat.tokens import Counter

MAX_NAME = 64
"""Characters of the name of a message that OpenAI takes."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(frozen=True, slots=True)
class Speakers:
    """How the names of speakers are sent, and the names of those who have no other."""

    policy: NamesPolicy
    user: str
    char: str

    @staticmethod
    def of(inputs: Inputs) -> Speakers:
        """Return the rule of the preset."""
        return Speakers(policies_of(inputs.preset).names, inputs.user_name, inputs.char_name)

    def prefix(self, message: Message) -> str:
        """Return what goes before the text of a message."""
        if self.policy == "content" and message.role in ("user", "assistant"):
            return f"{self._name_of(message)}: "
        if self.policy == "other_speakers" and message.about.is_speaker_chosen:
            name = self._name_of(message) if message.role in ("user", "assistant") else ""
            return f"{name}: " if name and name != self.user else ""
        return ""

    def _name_of(self, message: Message) -> str:
        return message.name or {"user": self.user, "assistant": self.char}.get(message.role, "")

    def __call__(self, message: Message) -> Turn:
        """Return the turn of a message of the history."""
        return self.named(history_turn(message), message)

    def named(self, turn: Turn, message: Message) -> Turn:
        """Return the turn of a message with its name; the same object each time."""
        name = message.name if self.policy == "field" else ""
        if self.policy == "name":
            name = _NOT_IN_NAMES.sub("_", self._name_of(message))[:MAX_NAME]
        prefix = self.prefix(message)
        return _named(turn, name, prefix) if prefix or name != turn.name else turn


@Memo
def _named(turn: Turn, name: str, prefix: str) -> Turn:
    named = replace(turn, name=name)
    return with_text(named, Text((Span(prefix, GLUE), *turn.text.spans))) if prefix else named


def draft_message(inputs: Inputs) -> Message:
    """Return the draft as a message: the stored one in its place, or what is typed."""
    return inputs.answered or Message.of("user", clean(inputs.draft), "draft")


def expanded_conversation(
    inputs: Inputs,
    costs: HistoryCosts,
    draft: Turn | None,
    count: Counter,
    speakers: Speakers,
    expander: Expander,
    scripts: RequestScripts,
) -> tuple[HistoryCosts, Turn | None]:
    """Return a history and the draft with their scripts applied and their macros expanded: the
    newest message's first, so that a variable that a message sets has its value in older ones.
    """
    expands = policies_of(inputs.preset).expand_history

    def sent_text(message: Message, turn: Turn, depth: int) -> Text:
        is_draft = turn.placement.kind == "draft"
        if is_draft or scripts_for(scripts.scripts, message.role, depth):
            stored = Text.of(message.content, turn.origin)
            text = scripts.apply(stored, message.role, depth, expander)
            if expands and has_macros(text.plain, is_card=True):
                text = expander.expand(_text_line(message, text.plain, turn.origin))
        elif expands:
            text = expander.expand(_message_line(message))
        else:
            text = Text.of(message.content, turn.origin)
        prefix = speakers.prefix(message)
        text = without_returns(text)
        return Text((Span(prefix, GLUE), *text.spans)) if prefix else text

    if draft is not None:
        draft = _with_text(draft, sent_text(draft_message(inputs), draft, 0))
    every = range(len(inputs.history))
    changed: dict[int, Turn] = {}
    length = len(inputs.history) + inputs.has_draft - (inputs.chat.kind == "continue")
    for index in reversed(every if scripts.scripts else _changing(inputs.history)):
        turn = costs.turns[index]
        sent = _with_text(turn, sent_text(inputs.history[index], turn, length - 1 - index))
        if sent is not turn:
            changed[index] = sent
    return (_with_changed(costs, tuple(changed.items()), count) if changed else costs), draft


@recent_memo()
def _with_changed(
    costs: HistoryCosts, changed: tuple[tuple[int, Turn], ...], count: Counter
) -> HistoryCosts:
    """Return the costs with other turns at some indices."""
    turns, tokens = list(costs.turns), list(costs.costs)
    for index, turn in changed:
        turns[index] = turn
        tokens[index] = count.turn(turn)
    emptied = (index for index, _ in changed if costs.turns[index].text.plain)
    blank = sorted(i for i in {*costs.blank, *emptied} if not turns[i].text.plain)
    return replace(costs, turns=tuple(turns), costs=tuple(tokens), blank=tuple(blank))


def _with_text(turn: Turn, text: Text) -> Turn:
    return turn if text.plain == turn.text.plain else _changed(turn, text)


@Memo
def _changed(turn: Turn, text: Text) -> Turn:
    return with_text(turn, text)


@recent_memo()
def _changing(history: tuple[Message, ...]) -> tuple[int, ...]:
    """Return the indices of the messages that have macros or carriage returns."""
    return tuple(
        index
        for index, message in enumerate(history)
        if has_macros(message.content, is_card=True) or "\r" in message.content
    )


@Memo
def _message_line(message: Message) -> ResolvedMessage:
    """Return a stored message as one whose macros can be expanded."""
    return ResolvedMessage(
        PresetMessage(message.id, message.role, message.content, name=message.role),
        message_origin(message),
        is_card=True,
    )


def _text_line(message: Message, text: str, origin: Origin) -> ResolvedMessage:
    line = PresetMessage(origin.id, message.role, text, name=message.role)
    return ResolvedMessage(line, origin, is_card=True)
