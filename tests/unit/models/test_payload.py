import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.regions import regions
from tests.support.strategies import sources, trees
from tests.support.tables import each_row
from tui_chat.models.payload import Obj, Str, plain, render, tree_of
from tui_chat.models.text import GLUE, Origin, OriginKind, Text

DRAFT = Origin(OriginKind.DRAFT, "draft")


@pytest.mark.slow
@given(st.data())
def test_the_body_and_the_pretty_text_are_the_same_json(data: st.DataObject):
    tree = data.draw(trees(data.draw(sources)))
    payload = render(tree)
    assert payload.text == json.dumps(plain(tree), indent=2, ensure_ascii=False)
    assert json.loads(payload.text) == json.loads(payload.body) == plain(tree)
    assert (
        payload.body == json.dumps(plain(tree), ensure_ascii=False, separators=(",", ":")).encode()
    )


@pytest.mark.slow
@given(st.data())
def test_the_characters_of_a_region_come_from_its_origin(data: st.DataObject):
    source = data.draw(sources)
    payload = render(data.draw(trees(source)))
    lines = payload.text.split("\n")
    for region in regions(payload):
        shown = region.piece.text
        assert lines[region.line][region.column : region.column + len(shown)] == shown
        if region.piece.start is not None:
            said = json.loads(f'"{shown}"')
            start = region.piece.start
            assert source[region.piece.origin.id][start : start + len(said)] == said


@pytest.mark.slow
@given(st.data())
def test_regions_cover_the_body_without_a_gap(data: st.DataObject):
    payload = render(data.draw(trees(data.draw(sources))))
    at = 0
    for region in regions(payload):
        is_colon = region.piece.text == ": " and region.piece.start is None
        shown = ":" if is_colon and not region.piece.is_key else region.piece.text
        assert region.byte == at
        assert payload.body[at : at + len(shown.encode())] == shown.encode()
        at += len(shown.encode())
    assert at == len(payload.body)


@pytest.mark.slow
@given(st.data())
def test_a_slice_of_lines_equals_the_slice_of_the_text(data: st.DataObject):
    payload = render(data.draw(trees(data.draw(sources))))
    lines = payload.text.split("\n")
    start = data.draw(st.integers(0, len(lines)))
    stop = data.draw(st.integers(0, len(lines)))
    assert len(payload.lines) == len(lines)
    assert [line.text for line in payload.lines[start:stop]] == lines[start:stop]
    if start < len(lines):
        assert payload.lines[start].text == lines[start]


@each_row("number", [float("nan"), float("inf"), float("-inf")])
def test_values_outside_json_are_refused(number: float):
    with pytest.raises(ValueError, match="not a JSON number"):
        tree_of({"temperature": number})


def test_a_lone_surrogate_cannot_break_the_body():
    assert render(tree_of({"text": "a\ud800b"}, GLUE)).body == '{"text":"a\ufffdb"}'.encode()


def test_a_written_colon_keeps_its_space() -> None:
    text = Text.of("Ada", Origin(OriginKind.MACRO, "char")) + Text.of(
        ": ", Origin(OriginKind.DRAFT)
    )
    payload = render(Obj((("content", Str(text + Text.glue("!"))),)))
    last = next(region for region in regions(payload) if region.piece.text == "!")
    assert payload.body[last.byte :] == b'!"}'
