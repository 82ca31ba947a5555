"""The pure function from the inputs of a request to the bytes that are sent.

    Inputs ──build──▶ ChatEnvelope ──encode──▶ Encoded ──render──▶ Payload

The inspector draws the same `Composed` that `send` sends, so what is shown is what is sent.
There is no I/O, clock or randomness: time and seed are inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from tui_chat.context import (
    Inputs,
    build,
    calibrated,
    without_unsent,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import CREDENTIAL_MASK, Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.payload import Payload, render
from tui_chat.models.session import RecordedRequest
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.registry import protocol_of, request_url
from tui_chat.tokens import Counter, counter_for

if TYPE_CHECKING:
    from tui_chat.models.request_edit import EditedBody


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Composed:
    """A request, ready to be shown and sent."""

    envelope: ChatEnvelope
    endpoint: Endpoint
    encoded: Encoded
    payload: Payload
    notes: tuple[Note, ...]
    """Notes of the context builder and the protocol, worst first."""
    inputs: Inputs | None = None
    """The inputs; None if it was encoded from an envelope."""
    edited: EditedBody | None = None
    """The body with and without the edits by hand; None without any."""
    recorded: RecordedRequest | None = None
    """The request as another program sent it; None if it was composed here."""

    @property
    def protocol(self) -> Protocol:
        """The protocol of the request."""
        return self.endpoint.protocol

    @property
    def model(self) -> str:
        """The model of the request."""
        return self.envelope.parameters.values.model

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.recorded.method if self.recorded else "POST"

    @property
    def body(self) -> bytes:
        """The exact body; of a recorded request the one that is kept."""
        return self.recorded.body if self.recorded else self.payload.body

    @property
    def url(self) -> str:
        """The whole URL."""
        if self.recorded is not None and self.recorded.url:
            return self.recorded.url
        return request_url(self.endpoint, self.encoded.path)

    @property
    def shown_url(self) -> str:
        """The whole URL as it may be shown: see `Endpoint.without_secrets`."""
        if self.recorded is not None and self.recorded.url:
            return self.recorded.url
        url = request_url(self.endpoint.without_secrets(), self.encoded.path)
        return url.replace(quote(CREDENTIAL_MASK), CREDENTIAL_MASK)

    @property
    def shown_headers(self) -> tuple[tuple[str, str], ...]:
        """The headers as they may be shown: see `Endpoint.without_secrets`."""
        if self.has_recorded_headers:
            return self.headers
        theirs = self.endpoint.without_secrets().headers
        return (*self.headers[: len(self.headers) - len(theirs)], *theirs)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """All headers except the key's, in the order in which they are sent. Of a recorded request
        all of them, with credentials masked.
        """
        if self.has_recorded_headers and self.recorded is not None:
            return self.recorded.headers or ()
        ours = (
            ("Content-Type", "application/json"),
            ("Accept", self._reply_type),
            *self.encoded.headers,
        )
        theirs = self.endpoint.headers
        named = {name.lower() for name, _ in theirs}
        return (*(header for header in ours if header[0].lower() not in named), *theirs)

    @property
    def has_recorded_headers(self) -> bool:
        """True if the headers are those that another program sent."""
        return self.recorded is not None and self.recorded.headers is not None

    @property
    def _reply_type(self) -> str:
        """The media type of the reply."""
        return protocol_of(self.protocol).stream_type if self.streams else "application/json"

    @property
    def key_header(self) -> tuple[str, str] | None:
        """The key's header and prefix; None if no key is sent, or if the headers have it masked."""
        if self.has_recorded_headers:
            return None
        return self.endpoint.key_header(self.encoded.key_header)

    @property
    def streams(self) -> bool:
        """True if a streamed reply is requested."""
        return self.envelope.parameters.values.stream

    @property
    def errors(self) -> tuple[Note, ...]:
        """The notes of level error."""
        return tuple(note for note in self.notes if note.level is Level.ERROR)


def compose(inputs: Inputs, counter: Callable[[str], Counter] = counter_for) -> Composed:
    """Compose a request. `counter` gives the token counter of a model by its name. Raises nothing:
    problems of the inputs are notes.
    """
    envelope = build(inputs, counter)
    return encode(envelope, inputs.endpoint, inputs, counter)


def encode(
    envelope: ChatEnvelope,
    endpoint: Endpoint,
    inputs: Inputs | None = None,
    counter: Callable[[str], Counter] = counter_for,
) -> Composed:
    """Encode an envelope for an endpoint: the second half of `compose`.

    `inputs` are those of the envelope, if known; their edits by hand change the body.
    """
    encoded = protocol_of(endpoint.protocol).encode(envelope, endpoint)
    envelope = without_unsent(envelope, encoded.notes)
    edited: EditedBody | None = None
    if inputs is not None and inputs.edits:
        from tui_chat.edited_request import edit_request  # few requests are edited

        count = counter(envelope.parameters.values.model).corrected(inputs.correction)
        protocol, edits = endpoint.protocol, inputs.edits
        envelope, encoded, edited = edit_request(envelope, encoded, protocol, edits, count)
    notes = sorted((*envelope.notes, *encoded.notes), key=lambda note: _RANK[note.level])
    payload = render(encoded.tree)
    return Composed(envelope, endpoint, encoded, payload, tuple(notes), inputs, edited)


def calibrate(composed: Composed, reported: int | None) -> Composed:
    """Return a captured request whose tokens add up to the input that its reply reported."""
    return replace(composed, envelope=calibrated(composed.envelope, reported))


_RANK = {Level.ERROR: 0, Level.WARNING: 1, Level.INFO: 2}
