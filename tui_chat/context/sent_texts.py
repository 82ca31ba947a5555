"""The messages that a turn is made of, the texts that a request carries, and a note about a profile
that it does not. Several messages can be squashed, joined at a depth, or merged into one turn.

1. A text is carried if a message around the conversation has it, whichever anchor, macro or
   variable brought it there.
2. Of a text with macros the literal pieces are looked for; white space does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.syntax import Literal, has_macros, parse
from tui_chat.models.envelope import Level, Note, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.text import Origin, OriginKind, Text


def split_turn(turn: Turn) -> tuple[Turn, ...]:
    """Return the messages that a turn is made of; the turn itself if it is one message."""
    return turn.pieces or (turn,)


def split_turns(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the messages that turns are made of."""
    for turn in turns:
        yield from turn.pieces or (turn,)


def with_shares(turn: Turn, tokens: int) -> Iterator[tuple[Turn, int]]:
    """Yield a turn's messages with their shares of its tokens, by length. The shares add up."""
    pieces = split_turn(turn)
    length = sum(len(piece.text.plain) for piece in pieces)
    end = done = 0
    for piece in pieces:
        end += len(piece.text.plain)
        share = tokens * end // length - done if length else tokens // len(pieces)
        done += share
        yield piece, share


@Memo
def preset_ids(turn: Turn) -> tuple[str, ...]:
    """Return the ids of a turn's preset messages, also of those that a card's prompt cites."""
    origins = [piece.origin for piece in split_turn(turn)]
    origins += (span.origin.outermost for span in turn.text.spans)
    return tuple(dict.fromkeys(each.id for each in origins if each.kind is OriginKind.PRESET))


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
