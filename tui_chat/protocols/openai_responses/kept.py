"""Continuing what the provider keeps: a request sends only what is new.

1. An endpoint may be told to let the provider keep the conversation. A reply that it keeps then
   stands for itself and all that came before it; the newest of those on the branch counts.
2. A reply whose words were changed since is no longer the one that the provider keeps.
3. The results of the reply's tool calls are among what is new, and stand there without them.
4. What the provider keeps is as it was sent then: a preset that has changed since tells only in
   what comes after. A note says so.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.namespaces import SessionSemantics


def continued(envelope: ChatEnvelope) -> tuple[ChatEnvelope, list[Note]]:
    """Return what is new since the newest reply that the provider keeps, tied to that reply, and
    a note about the rest. The envelope itself where there is no such reply, or nothing new.
    """
    turns = envelope.turns
    for index in range(len(turns) - 2, -1, -1):
        turn = turns[index]
        kept = turn.semantics.kept_as
        if turn.role == "assistant" and kept is not None and kept.fits(turn.text.plain):
            session = SessionSemantics(previous_response_id=kept.id)
            semantics = replace(envelope.semantics, session=session)
            sentence = (
                f"What came before is not sent again: the provider keeps it, as it was sent then, "
                f"under {kept.id}."
            )
            note = Note(Level.INFO, "kept-by-provider", sentence, turn.origin)
            return replace(envelope, turns=turns[index + 1 :], semantics=semantics), [note]
    return envelope, []
