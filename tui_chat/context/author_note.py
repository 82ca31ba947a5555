"""The author's note: a contributor that inserts the setting `author_note` into the conversation."""

from __future__ import annotations

from tui_chat.context.contributors import NOTHING_TO_ADD, Contribution
from tui_chat.context.inputs import Inputs
from tui_chat.context.resolved_message import ResolvedMessage
from tui_chat.models.memo import Memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.settings import AuthorNote
from tui_chat.models.text import Origin, OriginKind
from tui_chat.tokens import Counter

NAME = "author_note"


def add_author_note(inputs: Inputs, count: Counter) -> Contribution:
    """Return the note of the first place that sets one; an empty one takes away those of others."""
    for settings, by in inputs.setting_places:
        note = settings.author_note
        if note is not None:
            return _contribution(note, by) if note.text.strip() else NOTHING_TO_ADD
    return NOTHING_TO_ADD


@Memo
def _contribution(note: AuthorNote, by: str) -> Contribution:
    # Depth 1 is before the message that is being answered, which is the history's end.
    at_depth = PresetMessage(
        NAME,
        note.role,
        note.text,
        name="Author's note",
        insertion_point=-note.depth if note.depth else None,
        anchor_point=None if note.depth else "after",
    )
    origin = Origin(OriginKind.LORE, NAME, f"author's note, set by the {by}")
    return Contribution((ResolvedMessage(at_depth, origin, stays=True),))
