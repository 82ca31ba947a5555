"""The one pure road from what a request depends on to the bytes that are sent.

    Inputs ──build_context──▶ ChatEnvelope ──encode──▶ Encoded ──render──▶ Payload

The inspector draws the very `Composed` that `send` sends, so what is seen is what is sent.
No clock, no chance, no I/O: both come in with the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_chat.context import CONTRIBUTORS, Contributor, Inputs, build_context
from tui_chat.models.base_url import request_url
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.payload import Payload, render
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.registry import protocol_of
from tui_chat.tokens import Counter, counter_for


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """A request, ready to be shown and sent."""

    envelope: ChatEnvelope
    endpoint: Endpoint
    encoded: Encoded
    payload: Payload
    notes: tuple[Note, ...]
    """Of the context builder and of the protocol, worst first."""
    inputs: Inputs | None = None
    """What it was composed from; None where it was said from an envelope alone."""

    @property
    def protocol(self) -> Protocol:
        """How the request is said."""
        return self.endpoint.protocol

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.envelope.parameters.model.value

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "POST"

    @property
    def url(self) -> str:
        """The whole URL."""
        return request_url(self.endpoint, self.encoded.path)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """All headers but the key's, in the order they are sent."""
        ours = (
            ("Content-Type", "application/json"),
            ("Accept", "text/event-stream" if self.streams else "application/json"),
            *self.encoded.headers,
        )
        theirs = self.endpoint.headers
        named = {name.lower() for name, _ in theirs}
        return (*(header for header in ours if header[0].lower() not in named), *theirs)

    @property
    def key_header(self) -> tuple[str, str] | None:
        """The header that carries the key and what stands before it; None where none is sent."""
        return self.endpoint.key_header(self.encoded.key_header)

    @property
    def streams(self) -> bool:
        """Whether the reply is asked for as a stream."""
        return self.envelope.parameters.stream

    @property
    def errors(self) -> tuple[Note, ...]:
        """The notes that make sending doubtful."""
        return tuple(note for note in self.notes if note.level is Level.ERROR)


def compose(
    inputs: Inputs,
    counter: Callable[[str], Counter] = counter_for,
    contributors: Sequence[Contributor] = CONTRIBUTORS,
) -> Composed:
    """Compose a request.

    `counter` gives the token counter of a model by its name; `contributors` add to the preset's
    list. Raises nothing: what is wrong with the inputs is told in notes.
    """
    envelope = build_context(inputs, counter, contributors)
    return encode(envelope, inputs.endpoint, inputs)


def encode(envelope: ChatEnvelope, endpoint: Endpoint, inputs: Inputs | None = None) -> Composed:
    """Say an envelope the way an endpoint wants it: the second half of `compose`.

    `inputs` are what the envelope was built from, where they are known.
    """
    encoded = protocol_of(endpoint.protocol).encode(envelope, endpoint)
    notes = sorted((*envelope.notes, *encoded.notes), key=lambda note: _RANK[note.level])
    return Composed(envelope, endpoint, encoded, render(encoded.tree), tuple(notes), inputs)


_RANK = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}
