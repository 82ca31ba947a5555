"""The texts that a session, its role and its profile add: author's note, the card's depth prompt,
the profile at a depth, injected texts, and lore at the places that these have.

1. Each has a name (`slot`) by which those at one depth and role are sorted.
2. The author's note is sent if it is due. Lore and the profile at its top and bottom are then sent
   with it, each on a line of its own, also if the note itself is empty.
3. Lore entries at one depth and role are one text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import Expander
from tui_chat.context.resolved_message import ResolvedMessage, card_origin
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, MessageRole
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage
from tui_chat.models.role import Profile, Role
from tui_chat.models.settings import AuthorNote, Injection, NotePlacement
from tui_chat.models.text import Origin, OriginKind, Text

LORE_WORDS, OUTLET = ("worldinfobefore", "worldinfoafter"), "outlet "
MAIN = "main"
AUTHOR_NOTE = "author_note"
"""The id of the author's note."""
INJECTION = "script_inject_"
"""The start of the ids of injected texts."""
NO_NOTE = AuthorNote("")
_NOTE, _DEPTH_PROMPT, _PROFILE = "2_floating_prompt", "DEPTH_PROMPT", "PERSONA_DESCRIPTION"
_ROLE_NUMBERS: Mapping[MessageRole, int] = {"system": 0, "user": 1, "assistant": 2, "tool": 0}

Places = Mapping[str, tuple[ResolvedMessage, ...]]


def session_lines(
    inputs: Inputs, places: Places, *, keeps_blank: bool = False
) -> Iterator[ResolvedMessage]:
    """Yield the messages; `places` are the lore entries at places by name, in their order.

    `keeps_blank`: an author's note of nothing but white space is one.
    """
    role = inputs.active_role
    if role is not None and (line := depth_prompt(role)) is not None:
        yield line
    yield from _note_lines(inputs, places, keeps_blank)
    profile = inputs.profile
    if profile is not None and profile.placement == "depth" and profile.content:
        yield _profile_line(profile)
    for injection in inputs.first("injections") or ():
        yield _injection_line(injection)
    at_depth: dict[tuple[int, MessageRole], list[ResolvedMessage]] = {}
    for line in places.get("depth", ()):
        key = -(line.message.insertion_point or 0), line.message.role
        at_depth.setdefault(key, []).append(line)
    for (depth, message_role), lines in at_depth.items():
        slot = f"customDepthWI_{depth}_{_ROLE_NUMBERS[message_role]}"
        yield _composed(slot, "depth", depth, message_role, tuple(lines))


def expand_places(expander: Expander, places: Places) -> None:
    """Expand lore, and give the macros that stand for places their values."""
    for place, lines in places.items():
        texts = [text for line in lines if (text := expander.expand(line)).plain]
        word = _WORDS.get(place, place)
        if word in LORE_WORDS:
            expander.set(f"lore {word}", Text.join("\n", texts))
        elif word.startswith(OUTLET):
            expander.set(f"lore {word}", Text.join("\n", reversed(texts)))


_WORDS: Mapping[str, str] = {
    "before_character": LORE_WORDS[0],
    "after_character": LORE_WORDS[1],
}


def author_note(inputs: Inputs) -> tuple[AuthorNote, str]:
    """Return the first place's author's note, and the place; an empty note hides others."""
    for settings, by in inputs.setting_places:
        if settings.author_note is not None:
            return settings.author_note, by
    return NO_NOTE, ""


def _note_lines(inputs: Inputs, places: Places, keeps_blank: bool) -> Iterator[ResolvedMessage]:
    """Yield the author's note with what goes to its top and bottom, if it is due."""
    note, by = author_note(inputs)
    top, bottom = places.get("note_top", ()), places.get("note_bottom", ())
    profile = inputs.profile
    by_profile = profile is not None and profile.placement in ("note_top", "note_bottom")
    text = note.text if keeps_blank else note.text.strip()
    if not (text or top or bottom or by_profile):
        return
    if not note.is_due(user_messages(inputs)):
        return
    own = note_line(note, by)
    pieces = (*top, own, *bottom)
    if by_profile and profile is not None and profile.content:
        line = _profile_line(profile)
        pieces = (line, *pieces) if profile.placement == "note_top" else (*pieces, line)
    if len(pieces) == 1:
        yield own
    else:
        yield _composed(_NOTE, note.placement, note.depth, note.role, pieces)


def user_messages(inputs: Inputs) -> int:
    """Return the number of user messages, the draft included."""
    hidden = inputs.chat.hidden_user_messages
    return _user_messages(inputs.history) + inputs.has_draft + hidden


def searched_texts(inputs: Inputs) -> Iterator[ResolvedMessage]:
    """Yield the texts besides the conversation in which the keys of lorebooks are searched for."""
    note, by = author_note(inputs)
    if note.searched and note.is_due(user_messages(inputs)):
        yield note_line(note, by)
    role = inputs.active_role
    if note.searched and role is not None and (line := depth_prompt(role)) is not None:
        yield line
    profile = inputs.profile
    if profile is not None and profile.placement == "depth" and profile.content:
        yield _profile_line(profile)
    if inputs.chat.prompt:
        yield _injection_line(Injection(f"{inputs.chat.kind} prompt", inputs.chat.prompt))
    injections: tuple[Injection, ...] = inputs.first("injections") or ()
    yield from (_injection_line(each) for each in injections if each.searched)


@recent_memo()
def _user_messages(history: tuple[Message, ...]) -> int:
    return sum(message.role == "user" for message in history)


@Memo
def depth_prompt(role: Role) -> ResolvedMessage | None:
    """Resolve the depth prompt of a role's character card; None if it has none."""
    prompt = role.character.depth_prompt if role.character else None
    if prompt is None or not prompt.content.strip():
        return None
    message = _message(_DEPTH_PROMPT, prompt.content.strip(), "depth", prompt.depth, prompt.role)
    origin = card_origin(role, "depth prompt")
    why = "The character card has a depth prompt."
    return ResolvedMessage(message, origin, why, slot=_DEPTH_PROMPT, is_card=True, stays=True)


@Memo
def _profile_line(profile: Profile) -> ResolvedMessage:
    message = _message(_PROFILE, profile.content, "depth", profile.depth, profile.role)
    origin = Origin(OriginKind.PROFILE, profile.name, profile.name)
    return ResolvedMessage(
        message, origin, "The profile has this place.", slot=_PROFILE, stays=True
    )


@Memo
def note_line(note: AuthorNote, by: str) -> ResolvedMessage:
    """Resolve the author's note; `by` is the place that sets it."""
    message = _message(_NOTE, note.text, note.placement, note.depth, note.role)
    origin = Origin(OriginKind.LORE, AUTHOR_NOTE, f"author's note, set by the {by}")
    return ResolvedMessage(message, origin, slot=_NOTE, stays=True)


@lru_cache(maxsize=256)
def _injection_line(injection: Injection) -> ResolvedMessage:
    slot = f"{INJECTION}{injection.id}"
    message = _message(
        slot, injection.content, injection.placement, injection.depth, injection.role
    )
    origin = Origin(OriginKind.SETTING, slot, f"injected text {injection.id}")
    return ResolvedMessage(
        message, origin, "The setting “injections” has it.", slot=slot, stays=True
    )


@lru_cache(maxsize=256)
def _composed(
    slot: str,
    placement: NotePlacement,
    depth: int,
    role: MessageRole,
    pieces: tuple[ResolvedMessage, ...],
) -> ResolvedMessage:
    """Return a message put together from others: the same object for the same ones."""
    message = _message(slot, "", placement, depth, role)
    first = pieces[0]
    return ResolvedMessage(message, first.origin, first.why, slot=slot, pieces=pieces, stays=True)


def _message(
    slot: str, content: str, placement: NotePlacement, depth: int, role: MessageRole
) -> PresetMessage:
    identity, name = _NAMES.get(slot, (slot, slot))
    message = PresetMessage(identity, role, content, name=name)
    match placement:
        case "before_main":
            return replace(message, anchor_point="before", anchor_target=MAIN)
        case "after_main":
            return replace(message, anchor_point="after", anchor_target=MAIN)
        case _ if depth > 0:
            return replace(message, insertion_point=-depth)
        case _:
            return replace(message, anchor_point="after", anchor_target=CHAT_HISTORY)


_NAMES = {
    _NOTE: (AUTHOR_NOTE, "Author's note"),
    _DEPTH_PROMPT: ("depth_prompt", "Depth prompt"),
    _PROFILE: ("profile", "Profile"),
}
