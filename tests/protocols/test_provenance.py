"""Whatever the preset and the conversation, in every protocol: each fragment of the payload names
where it came from, and from there it is found again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.regions import regions
from tests.support.strategies import histories, presets, words
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS as ALL_ENDPOINTS
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile, Role
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import comes_from, origin_rows

ENDPOINTS = {one.protocol: one for one in ALL_ENDPOINTS}
ROLE = Role("translator", "Translator", "You translate for {{user}}.\n你好")
PROFILE = Profile("Ada", "Likes “pines” \\ and\nrain.")
MACROS = [
    "",
    " {{user}}",
    "{{char}}: ",
    " {{random::left::right}}",
    "{{date}}",
    "{{unknown}}",
    "{{card}}",
]
VARIABLES = {"card": "{{char}}, {{persona}}: {{again}}", "again": "{{card}}"}


@st.composite
def spoken(draw: st.DrawFn) -> Preset:
    """A preset some of whose messages have macros in them."""
    preset = draw(presets())
    said = (
        replace(message, content=f"{message.content}{draw(st.sampled_from(MACROS))}")
        if message.content
        else message
        for message in preset.messages
    )
    return replace(preset, messages=tuple(said))


@each_row("protocol", list(Protocol))
@given(spoken(), histories(), words, st.none() | st.integers(20, 300))
@settings(max_examples=25)
def test_every_fragment_names_its_source_and_every_source_its_places(
    protocol: Protocol,
    preset: Preset,
    history: tuple[Message, ...],
    draft: str,
    limit: int | None,
) -> None:
    inputs = Inputs(
        ENDPOINTS[protocol],
        preset,
        history,
        draft,
        role=ROLE,
        profile=PROFILE,
        variables=VARIABLES,
        context_limit=limit,
        reply_reserve=0,
    )
    composed = compose(inputs)
    assert composed.protocol is protocol
    sources = {
        OriginKind.HISTORY: {message.id: message.content for message in history},
        OriginKind.DRAFT: {"draft": draft},
        OriginKind.SYSTEM: {ROLE.role_id: ROLE.system_prompt},
        OriginKind.PRESET: {m.id: m.content for m in preset.messages if m.type == "message"},
        OriginKind.PROFILE: {"Ada": PROFILE.content},
    }
    quoted: dict[tuple[OriginKind, str], str] = defaultdict(str)
    at = 0
    for region in regions(composed.payload):
        piece = region.piece
        is_colon = piece.text == ": " and piece.start is None and not piece.is_key
        raw = ":" if is_colon else piece.text
        assert region.byte == at
        assert composed.payload.body[at : at + len(raw.encode())] == raw.encode()
        at += len(raw.encode())
        if piece.is_key or piece.start is None:
            continue
        around = piece.origin.within
        if around is not None and (around.kind, around.id) == (piece.origin.kind, piece.origin.id):
            assert piece.origin.name  # a field of its source, named: an id, a cache mark
            continue
        text = json.loads(f'"{piece.text}"')
        if piece.origin.kind in sources:
            source = sources[piece.origin.kind][piece.origin.id]
            assert source[piece.start : piece.start + len(text)] == text
        quoted[outermost(piece.origin)] += text
    assert at == len(composed.payload.body)

    layout = PayloadLayout(composed.payload, 60)
    told = {note.origin for note in composed.notes}
    for turn in composed.envelope.turns:
        rows = origin_rows(layout, turn.origin)
        if not rows:  # a protocol refuses blank texts: then it is told
            assert not turn.text.plain.strip()
            assert turn.origin in told
        for row in rows:
            line = layout.line(layout.spot(row))
            assert any(comes_from(run.piece.origin, turn.origin) for run in line.runs)
        assert turn.text.plain.strip() in quoted[outermost(turn.origin)]


def outermost(origin: Origin) -> tuple[OriginKind, str]:
    while origin.within is not None:
        origin = origin.within
    return origin.kind, origin.id
