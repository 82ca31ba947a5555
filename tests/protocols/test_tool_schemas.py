"""The schema of a tool says that it is of an object, which providers require."""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import chat, user
from tui_chat.cli.captured import convert
from tui_chat.compose import compose
from tui_chat.context.inputs import Inputs
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.preset import Preset


def schemas(body: Any) -> list[Any]:
    """Return the schemas of all tools of a request, whatever its protocol."""
    if isinstance(body, list):
        return [schema for entry in body for schema in schemas(entry)]
    if not isinstance(body, dict):
        return []
    names = ("parameters", "parametersJsonSchema", "input_schema")
    own = [body[name] for name in names if name in body]
    return own or [schema for value in body.values() for schema in schemas(value)]


def test_a_schema_without_type_gets_one_with_a_note() -> None:
    wrong: list[str] = []
    for target in Protocol:
        for schema in ({"properties": {}}, {"properties": {"q": {}}, "type": None}):
            tools = (ToolDefinition("look", "", schema), ToolDefinition("odd/name", "", schema))
            composed = compose(
                Inputs(Endpoint("e", target, ""), Preset("p"), draft="hi", tools=tools)
            )
            found = schemas(json.loads(composed.payload.body).get("tools"))
            said = [note for note in composed.notes if "schema of the tool" in note.sentence]
            if [each.get("type") for each in found] != ["object"] * 2 or len(said) != 2:
                wrong.append(f"{target}: {found} {said}")
            if any(each["properties"] != schema["properties"] for each in found):
                wrong.append(f"{target}: {found}")
    assert not wrong, "\n".join(wrong)


def test_a_request_keeps_its_schemas_in_its_own_protocol_only() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {}}}}
    request = chat(user(), tools=[tool])
    wrong: list[str] = []
    for target in Protocol:
        made, notes = convert(
            json.dumps(request).encode(), Protocol.OPENAI_CHAT, Endpoint("e", target, ""), model="m"
        )
        body = json.loads(made)
        if target is Protocol.OPENAI_CHAT:
            assert body == request
        elif [each.get("type") for each in schemas(body["tools"])] != ["object"]:
            wrong.append(f"{target}: {body['tools']}")
        elif not any("schema of the tool" in note.sentence for note in notes):
            wrong.append(f"{target}: no note")
    assert not wrong, "\n".join(wrong)
