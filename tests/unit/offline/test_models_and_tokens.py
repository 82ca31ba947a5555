"""Tokens and their limits, model names, samples of schemas, quoting in Markdown."""

import json

from tests.support.tables import each_row
from tui_chat.offline.json_answers import sample_of
from tui_chat.offline.models import MODELS, blocks, find_model


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
