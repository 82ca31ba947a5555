"""A request with edits by hand: its body, and what else of it follows from that.

1. Only edits of the request's protocol are applied; of others a note says so.
2. What decides the URL or how the reply is read follows the edited body: `model` and `stream`. A
   protocol that has them in the URL refuses edits of them.
3. The edited body is decoded. If its protocol cannot read it, an error note says so before it is
   sent. Only what edits touch is decoded, so that a long conversation costs nothing; all of it if
   that is faulty, because the note names a place of the body.
4. The budget changes by the difference of the tokens that are decoded with and without the edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.budget import budget_notes, count_envelope
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note, Parameters
from tui_chat.models.payload import Arr, Lit, Obj, Tree, body_of
from tui_chat.models.request_edit import (
    EDITED,
    NOT_APPLIED,
    EditedBody,
    EditResult,
    RequestEdit,
    apply_edits,
)
from tui_chat.models.text import Origin, OriginKind
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.registry import protocol_of
from tui_chat.tokens import Counter

OTHER_PROTOCOL, INVALID = "edit-of-other-protocol", "edited-body-invalid"
"""Codes of notes about all edits; see also `models.request_edit`."""


def edit_request(
    envelope: ChatEnvelope, encoded: Encoded, protocol: Protocol, edits: Sequence[RequestEdit],
    count: Counter,
) -> tuple[ChatEnvelope, Encoded, EditedBody]:  # fmt: skip
    """Return an encoded request with edits; `count` counts the tokens of its model. The envelope
    has model, stream flag and budget of the edited body, but the turns of the context.
    """
    own = [edit for edit in edits if edit.protocol is protocol]
    refused = [EditResult(edit, fault=fault) for edit in own if (fault := refusal(edit))]
    body = apply_edits(encoded.tree, [edit for edit in own if not refusal(edit)])
    body = EditedBody(body.original, body.tree, (*body.results, *refused))
    notes = [*map(_note, body.results), *_other_protocols(edits, protocol)]
    if body.tree is not encoded.tree:
        before, after = _touched_parts(encoded.tree, body.tree)
        decoded = _decoded(protocol, body_of(after))
        if isinstance(decoded, str):
            before, after = encoded.tree, body.tree
            decoded = _decoded(protocol, body_of(after))
        notes += _faults(protocol, decoded, body)
        if isinstance(decoded, ChatEnvelope):
            was = _decoded(protocol, body_of(before))
            difference = _tokens(decoded, count) - _tokens(was, count)
            envelope = _with_tokens(envelope, difference)
            envelope = replace(envelope, parameters=_parameters(envelope, decoded, body))
    encoded = replace(encoded, tree=body.tree, notes=(*encoded.notes, *notes))
    return envelope, encoded, body


def refusal(edit: RequestEdit) -> str:
    """Return why an edit cannot be made, as the end of a sentence; empty if it can."""
    definition = protocol_of(edit.protocol)
    if definition.model_in_path and edit.path[0] in ("model", "stream"):
        return (
            f"{edit.protocol.label} has {edit.path[0]} in the URL and not in the body; "
            "change it in the session"
        )
    return ""


# What is read from the body


def _parameters(envelope: ChatEnvelope, decoded: ChatEnvelope, body: EditedBody) -> Parameters:
    """Return the parameters with the model and the stream flag of the edited body."""
    parameters = envelope.parameters
    changed = {result.path[0] for result in body.results if not result.fault}
    if "model" in changed and (model := decoded.parameters.values.model):
        origin = Origin(OriginKind.EDIT, "/model", "edited by hand", parameters.origin("model"))
        parameters = parameters.with_value("model", model, origin)
    if "stream" in changed:
        parameters = parameters.with_values(stream=decoded.parameters.values.stream)
    return parameters


def _touched_parts(before: Obj, after: Obj) -> tuple[Obj, Obj]:
    """Return both bodies without common list elements, save one that keeps a list from emptying."""
    olds: list[tuple[str, Tree]] = []
    news: list[tuple[str, Tree]] = []
    for key, value in before.items:
        other = after.get(key)
        if isinstance(value, Arr) and isinstance(other, Arr):
            old, new = _touched_items(value.items, other.items)
            olds.append((key, Arr(old, value.origin)))
            news.append((key, Arr(new, value.origin)))
        else:
            olds.append((key, value))
            news += [(key, other)] if other is not None else []
    known = {key for key, _ in before.items}
    news += [(key, value) for key, value in after.items if key not in known]
    return Obj(tuple(olds)), Obj(tuple(news))


def _touched_items(
    old: tuple[Tree, ...], new: tuple[Tree, ...]
) -> tuple[tuple[Tree, ...], tuple[Tree, ...]]:
    in_old, in_new = set(map(id, old)), set(map(id, new))
    common = next(((item,) for item in old if id(item) in in_new), ())
    olds = (item for item in old if id(item) not in in_new)
    news = (item for item in new if id(item) not in in_old)
    return (*common, *olds), (*common, *news)


@lru_cache(maxsize=8)
def _decoded(protocol: Protocol, body: bytes) -> ChatEnvelope | str:
    """Return the envelope of a body; if it is not one of the protocol, why."""
    try:
        return protocol_of(protocol).decode(body)
    except InputError as error:
        return str(error)


def _tokens(decoded: ChatEnvelope | str, count: Counter) -> int:
    budget = count_envelope(decoded, count).budget if isinstance(decoded, ChatEnvelope) else None
    return budget.total if budget is not None else 0


def _with_tokens(envelope: ChatEnvelope, difference: int) -> ChatEnvelope:
    """Return an envelope whose budget has the tokens of edits, and says if it is exceeded."""
    budget = envelope.budget
    if budget is None or not difference:
        return envelope
    after = replace(budget, edits=difference)
    notes = [note for note in envelope.notes if note.code != "over-budget"]
    over = [note for note in budget_notes(after, 0) if note.code == "over-budget"]
    return replace(envelope, budget=after, notes=(*over, *notes))


# Notes


def _note(result: EditResult) -> Note:
    edit = result.edit
    origin = Origin(OriginKind.EDIT, edit.pointer)
    if result.fault:
        sentence = f"The edit by hand of {edit.pointer} is not applied: {result.fault}."
        return Note(Level.WARNING, NOT_APPLIED, sentence, origin)
    scope = "in every request of this session" if edit.kept else "in this request"
    new, old = _short(edit.value), "" if result.before is None else _short(body_text(result.before))
    match edit.operation:
        case "remove":
            sentence = f"{edit.pointer} is removed by hand {scope}; it was {old}."
        case "add" | "set" if not old:
            sentence = f"{result.pointer} is added by hand {scope}: {new}."
        case _:
            sentence = f"{result.pointer} is edited by hand {scope}: {new} instead of {old}."
    return Note(Level.INFO, EDITED, sentence, origin, result.pointer)


def body_text(node: Tree) -> str:
    """Return a value's JSON as text."""
    return body_of(node).decode()


_LONGEST = 60


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _other_protocols(edits: Iterable[RequestEdit], protocol: Protocol) -> Iterator[Note]:
    others = [edit.protocol for edit in edits if edit.protocol is not protocol]
    for other in dict.fromkeys(others):
        count = others.count(other)
        are = "1 edit by hand is" if count == 1 else f"{count:,} edits by hand are"
        sentence = f"{are} for requests to {other.label} and not applied to this one."
        yield Note(Level.INFO, OTHER_PROTOCOL, sentence)


def _faults(protocol: Protocol, decoded: ChatEnvelope | str, body: EditedBody) -> Iterator[Note]:
    """Yield why the provider cannot read the edited body."""
    faults: list[str] = []
    if isinstance(decoded, str):
        faults.append(decoded.removesuffix("."))
    elif not (protocol_of(protocol).model_in_path or decoded.parameters.values.model):
        faults.append("it names no model")
    stream = body.tree.get("stream")
    if stream is not None and not (isinstance(stream, Lit) and isinstance(stream.value, bool)):
        faults.append("stream must be true or false")
    for fault in faults:
        sentence = f"With the edits by hand the body is not a request to {protocol.label}: {fault}."
        yield Note(Level.ERROR, INVALID, sentence)
