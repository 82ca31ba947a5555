"""The texts that a request carries, and a note about a profile that it does not.

1. A text is carried if a message around the conversation has it, whichever anchor, macro or
   variable brought it there.
2. Of a text with macros the literal pieces are looked for; white space does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.syntax import Literal, has_macros, parse
from tui_chat.models.envelope import Level, Note
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.models.turn import Turn


def carries(turns: Sequence[Turn], text: str) -> bool:
    """True if one of the turns has all literal pieces of a text."""
    pieces = literal_pieces(text)
    words = (_squeezed(turn.text) for turn in turns)
    return any(all(piece in each for piece in pieces) for each in words)


def around(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns around the conversation, and those that several messages are sent as."""
    return [t for t in turns if t.pieces or t.placement.kind not in ("history", "draft")]


@Memo
def _squeezed(text: Text) -> str:
    return " ".join(text.plain.split())


def literal_pieces(text: str) -> list[str]:
    """Return the pieces of a text around its macros; none if it is all macros."""
    literals = [text]
    if has_macros(text, is_card=True):
        nodes = parse(text, is_card=True).nodes
        literals = [text[node.start : node.stop] for node in nodes if isinstance(node, Literal)]
    return list(filter(None, (" ".join(each.split()) for each in literals)))


def profile_notes(inputs: Inputs, turns: Sequence[Turn]) -> Iterator[Note]:
    """Yield a warning if the turns around the conversation do not carry the profile."""
    profile = inputs.profile
    if profile is None or profile.placement == "none" or not profile.content.strip():
        return
    kinds = {span.origin.outermost.kind for turn in turns for span in turn.text.spans}
    if OriginKind.PROFILE in kinds or carries(turns, profile.content):
        return
    origin = Origin(OriginKind.PROFILE, profile.name, profile.name)
    if profile.placement in ("note_top", "note_bottom"):
        sentence = f"The profile “{profile.name}” is not sent: its author's note is not due."
        yield Note(Level.INFO, "profile-not-sent", sentence, origin)
        return
    sentence = (
        f"The profile “{profile.name}” is not sent: the preset “{inputs.preset.name}” has no place "
        "for it. Add an anchor for the profile or {{persona}} to the preset, or give the profile a "
        "depth (/profile)."
    )
    yield Note(Level.WARNING, "profile-not-sent", sentence, origin)
