"""Imported SillyTavern presets, and that they make the same requests.

    python -m tests.plugins.sillytavern.test_presets

writes anew what they become, after a change that is meant.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.golden import cases, update
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tui_chat.context import Inputs, build
from tui_chat.errors import InputError
from tui_chat.library.presets import dump_preset, parse_preset
from tui_chat.models.boundary import plain
from tui_chat.models.role import Role
from tui_chat.plugins.sillytavern.presets import ImportedPreset, parse_sillytavern_preset
from tui_chat.tokens import counter_for

IMPORTS = Path(__file__).parent / "presets"


def prompt(identifier: str, content: str = "", **more: object) -> dict[str, object]:
    """A prompt of one's own, as SillyTavern writes it."""
    return {
        "identifier": identifier,
        "name": identifier.title(),
        "role": "system",
        "content": content,
        "system_prompt": False,
        **more,
    }


def deep(identifier: str, depth: object, role: object = "system", order: object = 100, **more: Any):
    place = {"injection_position": 1, "injection_depth": depth, "injection_order": order}
    return prompt(identifier, f"{identifier}.", role=role, **place, **more)


def convert(prompts: list[dict[str, object]], order: list[str], **more: object) -> ImportedPreset:
    """The import of a preset whose order is this; what begins with `-` is off in it."""
    rows = [{"identifier": each.lstrip("-"), "enabled": each[0] != "-"} for each in order]
    lists = [{"character_id": 100000, "order": []}, {"character_id": 100001, "order": rows}]
    text = json.dumps({"prompts": prompts, "prompt_order": lists, **more})
    return parse_sillytavern_preset(text, "x.json", "x")


NOT_ASKED = [
    *("-worldInfoBefore", "-worldInfoAfter", "-charDescription"),
    *("-charPersonality", "-scenario", "-personaDescription"),
]


def imported(whole: dict[str, Any]) -> dict[str, Any]:
    """Return what a file becomes, with policies that another file would not have, and what is said
    of it. The file itself is kept beside it.
    """
    found = parse_sillytavern_preset(json.dumps(whole), "x.json", "x")
    usual = parse_sillytavern_preset('{"prompts": []}', "x.json", "x").preset.policies
    preset = {key: value for key, value in plain(found.preset).items() if key != "extras"}
    own = {k: v for k, v in preset["policies"].items() if (k, v) not in usual.items()}
    preset["policies"] = own
    return {"preset": preset, "notes": [note.sentence for note in found.notes]}


@each_row(
    ("whole", "expected"),
    [(whole, expected) for _, whole, expected in cases(IMPORTS)],
    ids=[name for name, *_ in cases(IMPORTS)],
)
def test_a_preset_is_imported(whole: dict[str, Any], expected: Any) -> None:
    assert json.loads(json.dumps(imported(whole))) == expected


FORMATS = {
    "personality_format": "[<char> is {{personality}}.]",
    "scenario_format": "Scene: {{scenario}}",
    "wi_format": "<lore>{0}</lore>",
}


@each_row("place", [{}, {"injection_position": 1, "injection_depth": 2}])
@each_row("formats", [{}, FORMATS])
@each_row("empty", ["", " \n", "{{noop}}"])
def test_empty_character_fields_are_not_sent(
    place: dict[str, Any], formats: dict[str, str], empty: str
) -> None:
    markers = ["charDescription", "charPersonality", "scenario"]
    found = convert(
        [{"identifier": marker, "marker": True, **place} for marker in markers],
        [*markers, "worldInfoBefore", "worldInfoAfter", "personaDescription", "chatHistory"],
        **formats,
    ).preset
    found = parse_preset(dump_preset(found), "again", "x")

    def sent(**values: str) -> list[str]:
        endpoint = next(one for one in ENDPOINTS if one.name == "loopback")
        inputs = Inputs(endpoint, found, draft="D", role=Role("r", "Mira"), variables=values)
        return [turn.text.plain for turn in build(inputs, counter_for).turns]

    assert sent() == ["D"]
    assert sent(description=empty, personality=empty, scenario=empty) == ["D"]
    full = sent(personality="{{user}}'s friend", scenario="a {{weekday}}", description=empty)
    both = (
        ["[Mira is User's friend.]", "Scene: a Thursday"]
        if formats
        else [*("User's friend", "a Thursday")]
    )
    assert sorted(full) == sorted(["D", *(["\n".join(both)] if place else both)])


@each_row("text", ["{", "[]", '{"presetMessages": []}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"x\.json"):
        parse_sillytavern_preset(text, "x.json", "x")


def test_a_sillytavern_file_among_our_presets_has_advice() -> None:
    with pytest.raises(InputError, match="tui-chat import"):
        parse_preset('{"prompts": [], "prompt_order": []}', "x.json", "x")


if __name__ == "__main__":
    update(IMPORTS, imported)
