"""The texts of a role, a profile and lore that a request does not carry, as warnings.

1. What counts is the request: a text is carried if a message around the conversation has it,
   whichever anchor, macro or variable brought it there.
2. Short texts occur by chance, so a place must have asked for the text, too: a macro was read, or a
   message stands for the field.
3. Of a text with macros the literal pieces are looked for; white space does not count.
4. A note says which texts are missing, why, and what sends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tui_chat.context.examples import has_examples
from tui_chat.context.macros.expander import Expander
from tui_chat.context.macros.syntax import Literal, has_macros, parse
from tui_chat.context.resolved_message import resolve_role_prompt, text_of
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import CARD_PRESET, Character, Profile, Role
from tui_chat.models.text import Origin, OriginKind, Text

if TYPE_CHECKING:
    from tui_chat.context.inputs import Inputs
    from tui_chat.context.scan import MessageGroups
    from tui_chat.context.session_texts import Places


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a character card."""

    name: str
    """The attribute of `Character`."""
    called: str
    words: tuple[str, ...]
    """The macros that insert it."""
    place: str
    """What a preset can have to send it, as a note cites it."""


_EXAMPLES = _Field(
    "example_dialogues",
    "example dialogues",
    ("mesexamples", "mesexamplesraw"),
    "an anchor for example dialogues",
)
_FIELDS = (
    _Field("description", "description", ("description",), "{{description}}"),
    _Field("personality", "personality", ("personality",), "{{personality}}"),
    _Field("scenario", "scenario", ("scenario",), "{{scenario}}"),
    _EXAMPLES,
    _Field("system_prompt", "system prompt", ("charprompt",), "{{charPrompt}}"),
    _Field(
        "post_history", "post-history instructions", ("charinstruction",), "{{charInstruction}}"
    ),
    _Field("depth_prompt", "depth prompt", ("chardepthprompt",), "{{charDepthPrompt}}"),
)
_OF_CONVERSATION = (OriginKind.HISTORY, OriginKind.DRAFT)


def unsent_fields(
    inputs: Inputs,
    groups: MessageGroups,
    expander: Expander,
    examples: Sequence[Turn],
    turns: Sequence[Turn],
    places: Places,
    *,
    has_role_prompt: bool,
) -> Iterator[Note]:
    """Yield warnings about what `turns`, the whole request, does not carry.

    `examples` are the example dialogues at their anchor, whether or not they fit; `places` the
    active lore entries at places by name. `has_role_prompt` is True if the role's own prompt is
    sent, or a note says why not.
    """
    request = _Request(expander, groups, turns)
    role, profile = inputs.active_role, inputs.profile
    if role is not None:
        yield from _of_role(
            inputs, role, request, expander, examples, has_role_prompt=has_role_prompt
        )
    if profile is not None and (note := _of_profile(profile, inputs.preset, request)) is not None:
        yield note
    yield from _of_lore(inputs.preset, places, request, expander)


# --- a role ----------------------------------------------------------------------------------


def _of_role(
    inputs: Inputs,
    role: Role,
    request: _Request,
    expander: Expander,
    examples: Sequence[Turn],
    *,
    has_role_prompt: bool,
) -> Iterator[Note]:
    preset, origin = inputs.preset, resolve_role_prompt(role).origin
    if not has_role_prompt and role.system_prompt.strip():
        words = ("description",) if role.character is None else ()
        if not request.carries(words, "", _pieces(role.system_prompt)):
            sentence = (
                f"The system prompt of the role “{role.name}” is not sent: the preset "
                f"“{preset.name}” has no place for it."
            )
            cure = "Add a message with {{description}} to it." if words else _other_preset(preset)
            yield Note(Level.WARNING, "role-prompt-skipped", f"{sentence} {cure}".strip(), origin)
    if role.character is None:
        return
    missing = [
        field
        for field in _FIELDS
        if field.called in (texts := _card_pieces(role))
        and not _is_carried(field, role, texts[field.called], request, examples)
    ]
    if _EXAMPLES in missing and request.groups.examples_anchor is not None:
        missing.remove(_EXAMPLES)
        if has_examples(inputs, expander):
            why = f"the preset “{preset.name}” strips them (stripExamples in its policies)."
        else:
            why = "no line begins with “{{char}}:” or “{{user}}:”. Edit the character (/roles)."
        sentence = f"The example dialogues of “{role.name}” are not sent: {why}"
        yield Note(Level.WARNING, "character-not-sent", sentence, origin)
    idle = {field: _idle(preset, field, inputs) for field in missing}
    lost = [field for field, message in idle.items() if message is None]
    if lost:
        sentence = (
            f"{_listed(lost, role)} not sent: the preset “{preset.name}” has no place for "
            f"{'it' if len(lost) == 1 else 'them'}. {_cure(preset, lost)}"
        )
        yield Note(Level.WARNING, "character-not-sent", sentence, origin)
    for field, message in idle.items():
        if message is None:
            continue
        called = message.name or message.id
        why = "is not for this kind of request" if message.enabled else "is disabled"
        sentence = (
            f"{_listed([field], role)} not sent: “{called}” in the preset “{preset.name}” {why}."
        )
        cure = "" if message.enabled else " Enable it in the preset editor (F3)."
        yield Note(Level.WARNING, "character-not-sent", sentence + cure, origin)
    character = role.character
    if character.world and character.book is None and not inputs.lorebooks:
        sentence = (
            f"The lorebook “{character.world}”, to which the character is linked, is not searched. "
            "/lorebook chooses it; import it first if it is not in the list."
        )
        yield Note(Level.WARNING, "lore-not-sent", sentence, origin)


def _listed(fields: Sequence[_Field], role: Role) -> str:
    names = [field.called for field in fields]
    words = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    is_one = len(names) == 1 and not words.endswith("s")
    return f"The {words} of “{role.name}” {'is' if is_one else 'are'}"


def _cure(preset: Preset, fields: Iterable[_Field]) -> str:
    places = list(dict.fromkeys(field.place for field in fields))
    listed = " and ".join(filter(None, (", ".join(places[:-1]), places[-1])))
    other = _other_preset(preset)
    return f"{other} Or add {listed} to it." if other else f"Add {listed} to it."


def _other_preset(preset: Preset) -> str:
    if preset.name == CARD_PRESET:
        return ""
    return (
        f"The preset “{CARD_PRESET}” sends all of a character: /preset {CARD_PRESET}, or --preset "
        f"{CARD_PRESET} on the command line."
    )


def _is_carried(
    field: _Field,
    role: Role,
    pieces: tuple[str, ...],
    request: _Request,
    examples: Sequence[Turn],
) -> bool:
    own = f"{role.role_id}/{field.name.replace('_', ' ')}"
    if field is _EXAMPLES and any(turn.origin.id == own for turn in examples):
        return True
    return request.carries(field.words, own, pieces)


def _idle(preset: Preset, field: _Field, inputs: Inputs) -> PresetMessage | None:
    """Return a message of the preset that would send a field, but is not sent in this request."""
    for message in preset.messages:
        is_sent = message.enabled and (not message.triggers or inputs.chat.kind in message.triggers)
        if not is_sent and (
            message.card_field == field.name
            or (message.type == field.name)
            or any(f"{{{{{word}}}}}" in message.content.casefold() for word in field.words)
        ):
            return message
    return None


@Memo
def _card_pieces(role: Role) -> dict[str, tuple[str, ...]]:
    """Return the pieces of each field of the card that has a text, by what the field is called."""
    assert role.character is not None  # the caller has asked
    texts = {field.called: _card_text(role.character, field) for field in _FIELDS}
    return {
        called: _example_piece(text) if called == _EXAMPLES.called else _pieces(text)
        for called, text in texts.items()
        if text.replace("<START>", "").strip()
    }


def _card_text(character: Character, field: _Field) -> str:
    value = getattr(character, field.name)
    if field.name == "depth_prompt":
        return value.content if value is not None else ""
    return value


# --- a profile and lore ----------------------------------------------------------------------


def _of_profile(profile: Profile, preset: Preset, request: _Request) -> Note | None:
    if profile.placement == "none" or not profile.content.strip() or request.has_profile:
        return None
    if request.carries(("persona",), "", _pieces(profile.content)):
        return None
    origin = Origin(OriginKind.PROFILE, profile.name, profile.name)
    if profile.placement in ("note_top", "note_bottom"):
        sentence = f"The profile “{profile.name}” is not sent: its author's note is not due."
        return Note(Level.INFO, "profile-not-sent", sentence, origin)
    sentence = (
        f"The profile “{profile.name}” is not sent: the preset “{preset.name}” has no place for "
        "it. Add an anchor for the profile or {{persona}} to the preset, or give the profile a "
        "depth (/profile)."
    )
    return Note(Level.WARNING, "profile-not-sent", sentence, origin)


_LORE_PLACES = {
    "before_character": "lore before the character ({{worldInfoBefore}})",
    "after_character": "lore after the character ({{worldInfoAfter}})",
    "examples_top": "example dialogues",
    "examples_bottom": "example dialogues",
}


def _of_lore(
    preset: Preset, places: Places, request: _Request, expander: Expander
) -> Iterator[Note]:
    for place, lines in places.items():
        for line in lines:
            text = text_of(line, expander.texts)
            if not text.plain.strip() or request.has_lore(line.origin, text):
                continue
            if place in ("note_top", "note_bottom"):
                sentence = f"{line.called} is active, but its author's note is not due."
                yield Note(Level.INFO, "lore-not-sent", sentence, line.origin)
                continue
            outlet = f"{{{{outlet::{place.removeprefix('outlet ')}}}}}"
            what = _LORE_PLACES.get(place, outlet)
            cure = "Add one to it, or choose another preset (/preset)."
            sentence = (
                f"The lore entry {line.called} is active and not sent: the preset “{preset.name}” "
                f"has no place for {what}. {cure}"
            )
            yield Note(Level.WARNING, "lore-not-sent", sentence, line.origin)


# --- what a request carries ------------------------------------------------------------------


class _Request:
    """Answers what the messages around the conversation carry."""

    def __init__(self, expander: Expander, groups: MessageGroups, turns: Sequence[Turn]) -> None:
        self.groups = groups
        self._turns = turns

    @cached_property
    def _around(self) -> list[Turn]:
        """The messages around the conversation."""
        return [turn for turn in self._turns if turn.origin.kind not in _OF_CONVERSATION]

    @cached_property
    def _fields(self) -> set[str]:
        """The ids of what the preset's messages stand for."""
        return {line.origin.id for line in self.groups.listed}

    def carries(self, words: tuple[str, ...], field: str, pieces: tuple[str, ...]) -> bool:
        """True if a macro of `words` was read, or a message stands for `field`, and a message has
        all the pieces.
        """
        return self._has(pieces, self._around) or self._has(pieces, self._turns)

    @staticmethod
    def _has(pieces: tuple[str, ...], turns: Sequence[Turn]) -> bool:
        texts = (_squeezed(turn.text) for turn in turns)
        return any(all(piece in text for piece in pieces) for text in texts)

    @property
    def has_profile(self) -> bool:
        """True if the profile is sent at its own place."""
        return any(
            span.origin.outermost.kind is OriginKind.PROFILE
            for turn in self._around
            for span in turn.text.spans
        )

    def has_lore(self, origin: Origin, text: Text) -> bool:
        """True if a message has an entry's text."""
        return any(
            span.origin.lore_entry == origin for turn in self._around for span in turn.text.spans
        ) or self._has((_squeezed(text),), self._turns)


@Memo
def _squeezed(text: Text) -> str:
    return " ".join(text.plain.split())


def _pieces(text: str) -> tuple[str, ...]:
    """Return the literal pieces of a text, white space aside; none if it is all macros."""
    if not has_macros(text, is_card=True):
        return (" ".join(text.split()),)
    literals = (node for node in parse(text, is_card=True).nodes if isinstance(node, Literal))
    pieces = (" ".join(text[node.start : node.stop].split()) for node in literals)
    return tuple(piece for piece in pieces if piece)


def _example_piece(text: str) -> tuple[str, ...]:
    """Return the longest piece of a line of example dialogues, whose lines are put elsewhere."""
    pieces = [piece for line in text.splitlines() for piece in _pieces(line)]
    pieces = [piece for piece in pieces if piece.upper() != "<START>"]
    return tuple(sorted(pieces, key=len)[-1:])
