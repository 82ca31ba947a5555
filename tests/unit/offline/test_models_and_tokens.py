"""Tokens and their limits, model names, samples of schemas, quoting in Markdown."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.offline import reply as tokens
from tui_chat.offline.json_answers import sample_of
from tui_chat.offline.mirror import fenced, inline_code
from tui_chat.offline.models import MODELS, blocks, find_model
from tui_chat.offline.reply import (
    Finish,
    ReasoningPiece,
    Speed,
    TextPiece,
    ToolCallPiece,
    Wait,
)


def limited(pieces, limit=None, stops=()):
    return list(tokens.limited(pieces, limit, stops, lambda n: "i" * n))


@given(st.text())
def test_tokens_join_to_the_text(text):
    assert "".join(tokens.split_tokens(text)) == text
    assert "".join(piece for piece, _ in tokens.deltas(text)) == text
    assert sum(cost for _, cost in tokens.deltas(text)) == tokens.count_tokens(text)


@given(st.text(alphabet="ab", max_size=30), st.lists(st.text("ab", min_size=1), max_size=3))
def test_stop_sequences_cut_at_the_first(text, stops):
    *pieces, finish = limited([TextPiece(text)], stops=tuple(stops))
    whole = "".join(piece.text for piece in pieces)
    met = [(text.index(stop) + len(stop), -len(stop)) for stop in stops if stop in text]
    assert whole == text[: sum(min(met, default=(len(text), 0)))]
    assert (finish.reason == "stop_sequence") == bool(met)


@given(st.text(min_size=1), st.integers(0, 20))
def test_the_limit_is_never_passed(text, limit):
    *pieces, finish = limited([ReasoningPiece(text), TextPiece(text)], limit=limit)
    assert sum(tokens.count_tokens(piece.text) for piece in pieces) == finish.output <= limit
    assert finish.reasoning == min(limit, tokens.count_tokens(text))
    assert (finish.reason == "length") == (2 * tokens.count_tokens(text) > limit)


def test_waits_come_before_each_token():
    assert limited([Speed(10), TextPiece("one two"), Speed(None), TextPiece("!")]) == [
        Wait(0.1),
        TextPiece("one"),
        Wait(0.1),
        TextPiece(" two"),
        TextPiece("!"),
        Finish("stop", None, 3, 0),
    ]


def test_a_call_that_does_not_fit_is_left_out():
    call = ToolCallPiece("weather", '{"city": "x"}')
    assert limited([call], limit=3) == [Finish("length", None, 0, 0)]
    named, finish = limited([call])
    assert named.id == "i" * 24
    assert finish.reason == "tool_calls"


@each_row("model", MODELS, ids=lambda model: model.name)
def test_every_model_of_the_catalog_exists(model):
    assert find_model(model.name) is not None
    assert model.about.endswith(".")


def test_the_python_of_lorem_runs_without_this_program():
    code = "".join(blocks(400)).partition("```python\n")[2].partition("```")[0]
    assert "import" in code
    assert "tui_chat" not in code
    exec(code, {"__name__": "sample"})


@each_row("name", ["", "Mirror", "lorem:", "lorem:-1", "lorem:١", "lorem:max:max",
                                  "flaky-cut:2", "mirror:0", "echo:max:1"])  # fmt: skip
def test_invalid_names_have_no_model(name):
    assert find_model(name) is None


NODE = {"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}},
        "required": ["l", "r"]}  # fmt: skip

SAMPLES = [
    ({}, "example value"),
    ({"type": "string", "enum": ["a", "b"]}, "a"),
    ({"type": ["null", "integer"]}, 1),
    ({"type": "integer", "minimum": 3, "multipleOf": 5}, 5),
    ({"type": "integer", "exclusiveMinimum": 3}, 4),
    ({"type": "number", "maximum": 0}, 0.0),
    ({"type": "INTEGER"}, 1),
    ({"type": "boolean"}, True),
    ({"type": "null"}, None),
    ({"const": {"a": 1}}, {"a": 1}),
    ({"type": "string", "format": "date"}, "2024-02-29"),
    ({"type": "string", "maxLength": 3}, "exa"),
    ({"type": "string", "minLength": 20}, "example valuexxxxxxx"),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
    ({"anyOf": [{"type": "boolean"}, {"type": "string"}]}, True),
    ({"allOf": [{"type": "object", "properties": {"a": {"type": "null"}}},
                {"properties": {"b": {"type": "boolean"}}}]}, {"a": None, "b": True}),
    ({"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}, {"x": 1}),
    ({"$ref": "#/nowhere"}, "example value"),
    *(
        ({"properties": {name: {"type": "string"}}}, {name: value})
        for name, value in (
            ("source_timezone", "UTC"),
            ("timeZone", "UTC"),
            ("time", "12:00"),
            ("startDate", "2024-02-29"),
            ("update", "example update"),
        )
    ),
    (
        {"properties": {"tz": {"type": "string", "examples": ["Asia/Tokyo"]}}},
        {"tz": "Asia/Tokyo"},
    ),
    ({"type": "integer", "minimum": 10**400}, 1),
]  # fmt: skip


@each_row(("schema", "value"), SAMPLES, ids=lambda value: json.dumps(value)[:40])
def test_samples_fit_their_schema(schema, value):
    assert sample_of(schema) == value


@each_row("schema", [NODE, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_without_end_has_a_sample_of(schema):
    assert len(json.dumps(sample_of(schema))) < 200_000


@given(st.text(alphabet="`a \n"))
def test_fences_and_code_are_balanced(text):
    opening, *inside, closing = fenced(text).split("\n")
    assert "\n".join(inside) == text
    assert opening.startswith(closing)
    assert closing not in text
    assert "\n" not in inline_code(text)
