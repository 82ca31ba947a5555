"""Notes on images, audio and video that are sent to a model which is known not to accept them.

1. The request stays as the protocol has it: the server decides, and a fact may be out of date.
2. There is no note where nothing is known, on a part that the protocol left out, and on a captured
   request for its own model.
3. There is none for PDF files either: servers make text or images of them for models without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.protocols.common.encoding import is_captured

_NOUNS = {"image": "An image", "audio": "A sound", "video": "A video"}


def media_notes(
    envelope: ChatEnvelope, endpoint: Endpoint, encoding_notes: Collection[Note]
) -> Iterator[Note]:
    """Yield a note for each turn and medium. `encoding_notes` are those of the encoder."""
    model = envelope.parameters.values.model
    accepted = endpoint.facts_of(model).input_media
    if accepted is None or set(_NOUNS) <= set(accepted):
        return
    is_own = envelope.source is endpoint.protocol
    if is_own and is_captured(envelope.parameters.origin("model")):
        return
    left_out = [note.origin for note in encoding_notes if note.code == "piece-left-out"]
    for turn in envelope.turns:
        for medium in dict.fromkeys(map(_medium, turn.parts)):
            if medium and medium not in accepted and turn.origin not in left_out:
                sentence = f"{_NOUNS[medium]} is sent to {model}, which accepts none as far as is "
                sentence += "known; the request may be refused."
                yield Note(Level.WARNING, "medium-not-accepted", sentence, turn.origin)


def _medium(part: MediaBlock) -> str:
    """Return the medium of a part; empty for text and documents."""
    if part.text:
        return ""
    kind = part.mime.partition("/")[0] if part.media == "file" else part.media
    return kind if kind in _NOUNS else ""
