"""Findings about a preset, from its text and from the context that it makes.

1. From the text: errors, misspelled and duplicate keys (see `file_reader`), and settings of a
   message that have no effect.
2. From the context builder, run on a sample conversation: its notes about a preset message are
   findings at that message's line. A message that is neither sent nor noted can never be sent.
3. A lorebook is checked too; a file with `entries` is one.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator

from tui_chat.context import Inputs, build
from tui_chat.context.rules import rules_of
from tui_chat.context.sent_texts import preset_ids
from tui_chat.library.file_reader import Finding
from tui_chat.library.lorebooks import read_lorebook
from tui_chat.library.presets import PRESET_KEYS, ParsedPreset, read_preset
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import object_or_none
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Character, Profile, Role
from tui_chat.tokens import Counter

SAMPLE_MESSAGES = 40
"""Long enough that no sensible depth is clamped."""

_LETTERS = Counter("letters", False, len)
"""Token counts do not matter here, and vocabularies take time to load."""


_CHARACTER = Character(
    description="Somebody.",
    personality="Calm.",
    scenario="A room.",
    example_dialogues="<START>\n{{user}}: Yes?\n{{char}}: No.",
)
_LORE = Lorebook(
    "sample",
    tuple(
        LorebookEntry(place, "Lore.", constant=True, position=place)
        for place in ("before_character", "after_character")
    ),
)


def check_preset(text: str, default_name: str) -> tuple[Finding, ...]:
    """Return the findings about a preset or lorebook, by line."""
    parsed = read_preset(text, default_name)
    whole = object_or_none(parsed.file.value) or {}
    has_messages = any(PRESET_KEYS.field_of.get(key) == "messages" for key in whole)
    if "entries" in whole and not has_messages:
        return read_lorebook(text, default_name).file.findings()
    if parsed.preset is not None:
        messages = parsed.preset.messages
        ids = Tally(message.id for message in messages if not message.is_anchor)
        for index, message in enumerate(messages):
            for level, code, sentence in _message_lints(message, ids):
                parsed.file.report(level, code, sentence, parsed.path_of(index))
        _check_built(parsed, parsed.preset)
    return parsed.file.findings()


def _message_lints(message: PresetMessage, ids: Tally[str]) -> Iterator[tuple[Level, str, str]]:
    called = f"“{message.name or message.id}”"
    if not message.is_anchor and ids[message.id] > 1:
        sentence = f"“{message.id}” is the id of {ids[message.id]} messages; each needs its own."
        yield Level.WARNING, "doubled-id", sentence
    if message.is_anchor and message.content:
        sentence = f"{called} is an anchor; its own content is not sent."
        yield Level.WARNING, "anchor-content", sentence
    position = (message.insertion_point, message.anchor_point, message.anchor_target)
    if message.is_anchor and position != (None, None, None):
        sentence = (
            f"{called} is an anchor, whose place is that in the list; its position is ignored."
        )
        yield Level.WARNING, "position-ignored", sentence
    if message.role == "tool":
        sentence = f"{called} has the role tool, but answers no tool call."
        yield Level.WARNING, "tool-role", sentence


def _check_built(parsed: ParsedPreset, preset: Preset) -> None:
    envelope = build(_sample(preset), lambda _: _LETTERS)
    explained: set[str] = set()
    places: dict[tuple[str, str], list[int]] = {}
    for index, message in enumerate(preset.messages):
        if message.enabled:
            places.setdefault((message.id, message.name), []).append(index)
    for note in envelope.notes:
        if note.code in ("depth-clamped", "texts-not-sent"):
            continue  # about the sample, which says nothing of a real conversation
        about = note.origin.preset_message if note.origin is not None else None
        if about is not None and (there := places.get((about.id, about.name))):
            explained.add(about.id)
            index = there[-1] if note.code == "doubled-anchor" else there[0]
            parsed.file.report(note.level, note.code, note.sentence, parsed.path_of(index))
        elif note.origin is None:
            parsed.file.report(note.level, note.code, note.sentence, ())
    for turn in envelope.turns:
        explained.update(preset_ids(turn))
    explained.update(envelope.set_variables, envelope.without_value)
    for index, message in enumerate(preset.messages):
        if message.triggers and "normal" not in message.triggers:
            continue  # it is sent with another action
        if message.card_field in rules_of(preset).card_prompts:
            continue  # a card's own prompt can stand for it
        if message.enabled and not message.is_anchor and message.id not in explained:
            sentence = f"“{message.name or message.id}” can never be sent."
            parsed.file.report(Level.WARNING, "never-sent", sentence, parsed.path_of(index))


def _sample(preset: Preset) -> Inputs:
    """Return a conversation with everything that a preset can refer to."""
    history = tuple(
        Message.of("assistant" if index % 2 else "user", f"Message {index + 1}.", str(index + 1))
        for index in range(SAMPLE_MESSAGES)
    )
    return Inputs(
        Endpoint("sample", Protocol.OPENAI_CHAT, "https://sample.invalid/v1", models=("sample",)),
        preset,
        history,
        "What is being typed.",
        role=Role("sample", "Assistant", character=_CHARACTER),
        profile=Profile("User", "Somebody."),
        lorebooks=(_LORE,),
    )
