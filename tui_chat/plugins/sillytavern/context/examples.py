"""Example dialogues: blocks of messages that show how a character speaks.

1. A text is split at each `<START>`, whatever its case; without one at its beginning it is one
   block more. Blocks are stripped.
2. In a block, a line that begins with `Name:`, the user's or the character's, begins a message;
   other lines belong to the current one. Lines before the first speaker belong to his message. A
   block without a speaker has no messages.
3. The first `Name:` of the speaker is removed from a message, which is then stripped.
4. Lore at the top and bottom of the examples is read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeAlias

from tui_chat.context.generation import setting_line
from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage, card_origin, turn_of
from tui_chat.context.scan import MessageGroups
from tui_chat.context.session_texts import Places
from tui_chat.models.envelope import Placement, Turn, text_turn
from tui_chat.models.memo import Memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.role import Role
from tui_chat.models.text import Text
from tui_chat.plugins.sillytavern.policies import policies_of

ExampleMessage: TypeAlias = tuple[Literal["example_user", "example_assistant"], Text]
ExampleBlock: TypeAlias = tuple[ExampleMessage, ...]

_START = re.compile("<START>", re.IGNORECASE)


def examples_anchor(groups: MessageGroups) -> ResolvedMessage | None:
    """Return the anchor that stands for the example dialogues: the first of its type."""
    anchors = (line for line in groups.skeleton if line.message.type == "example_dialogues")
    return next(anchors, None)


def example_turns(
    inputs: Inputs, anchor: ResolvedMessage | None, places: Places, expander: Expander
) -> Sequence[tuple[Turn, ...]]:
    """Return the turns of each block of example dialogues, each with its separator; none without
    an anchor for them.
    """
    role, policies = inputs.active_role, policies_of(inputs.preset)
    if anchor is None or policies.strip_examples:
        return ()
    texts = [expander.expand(line) for line in reversed(places.get("examples_top", ()))]
    if role is not None and (line := _line_of(role)) is not None:
        texts.append(expander.expand(line))
    texts += (expander.expand(line) for line in places.get("examples_bottom", ()))
    blocks = [
        tuple(_turn_of(anchor, said, name) for name, said in block)
        for text in texts
        for block in example_blocks(text, inputs.user_name, inputs.char_name)
    ]
    line = setting_line("example_separator", "system", policies.example_separator)
    text = expander.expand(line)
    if not text.plain:
        return blocks
    separator = turn_of(line, text, _placement(anchor))
    return [(separator, *block) for block in blocks]


@Memo
def _line_of(role: Role) -> ResolvedMessage | None:
    content = role.character.example_dialogues.strip() if role.character else ""
    if not content:
        return None
    message = PresetMessage("example_dialogues", "system", content, name="example dialogues")
    return ResolvedMessage(message, card_origin(role, "example dialogues"), is_card=True)


def _placement(anchor: ResolvedMessage) -> Placement:
    rule = "It is an example dialogue of the character, at its anchor."
    name = anchor.message.name or anchor.message.id
    return Placement("skeleton", anchor.message.id, rule=rule, anchor_name=name)


@lru_cache(maxsize=1_000)
def _turn_of(anchor: ResolvedMessage, text: Text, name: str) -> Turn:
    """Return the turn of a message of an example: the same object for the same text."""
    origin = text.spans[0].origin.outermost if text.spans else anchor.origin
    return replace(text_turn("system", text, origin, _placement(anchor)), name=name)


def example_blocks(text: Text, user: str, char: str) -> Iterator[ExampleBlock]:
    """Yield the blocks of an expanded text; `user` and `char` are the speakers' names."""
    plain = text.plain
    if not plain or plain == "<START>":
        return
    starts = [found.span() for found in _START.finditer(plain)]
    if not plain.startswith("<START>"):
        starts.insert(0, (0, 0))
    ends = [start for start, _ in starts[1:]] + [len(plain)]
    for (_, begin), end in zip(starts, ends, strict=True):
        yield tuple(_messages(without_returns(text[begin:end].stripped()), user, char))


def _messages(block: Text, user: str, char: str) -> Iterator[ExampleMessage]:
    speaker: Literal["", "example_user", "example_assistant"] = ""
    names = {"example_user": user, "example_assistant": char}
    begin = at = 0
    for line in block.plain.split("\n"):
        says = next((who for who, name in names.items() if line.startswith(f"{name}:")), "")
        if says and speaker and says != speaker:
            yield speaker, _said(block[begin : max(at - 1, begin)], names[speaker])
            begin = at
        if says == "example_user" or says == "example_assistant":
            speaker = says
        at += len(line) + 1
    if speaker:
        yield speaker, _said(block[begin:], names[speaker])


def _said(lines: Text, name: str) -> Text:
    """Return what is said, without the speaker's name."""
    at = lines.plain.find(f"{name}:")
    if at >= 0:
        lines = lines[:at] + lines[at + len(name) + 1 :]
    return lines.stripped()


def without_returns(text: Text) -> Text:
    """Return a text without carriage returns."""
    if "\r" not in text.plain:
        return text
    pieces: list[Text] = []
    at = 0
    for part in text.plain.split("\r"):
        pieces.append(text[at : at + len(part)])
        at += len(part) + 1
    return Text.join("", pieces)
