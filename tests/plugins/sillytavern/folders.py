"""A case of SillyTavern, as captures describe it: written as a user's folder, imported, built."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.reading import import_into
from tests.support.workspace import MakeWorkspace
from tui_chat.compose import Composed

PERSONA, CARD, PRESET = "persona.png", "Card", "Case"
_POWER_USER = (
    *("pin_examples", "strip_examples", "collapse_newlines"),
    *("prefer_character_prompt", "prefer_character_jailbreak"),
)
_ROLES = {"system": 0, "user": 1, "assistant": 2}
_PLACES = {"after": 0, "chat": 1, "before": 2}


_USUAL: Mapping[str, Any] = {
    "settings": {
        "note_allow_wi_scan": False,
        "macro_engine": "new",
        "world_info": {},
        **dict.fromkeys(_POWER_USER[:3], False),
        **dict.fromkeys(_POWER_USER[3:], True),
    },
    "persona": {"name": "User", "description": ""},
    "authors_note": {},
    "chat": [],
    "card": {"name": "Rook"},
    "generation_type": "normal",
}
"""What a case has that does not say it."""


async def composed_case(
    make_workspace: MakeWorkspace, number: int, found: Mapping[str, Any]
) -> Composed:
    """Import a case, of which `found` says what is not usual, and return its request."""
    case = {**_USUAL, **found, "settings": _USUAL["settings"] | found.get("settings", {})}
    made = make_workspace.of_row(number)
    workspace, _ = await made("openai", "gpt-4o")
    folder = write_folder(case, workspace.state.config.config_dir / "default-user")
    (report,) = await import_into(workspace, [folder])
    await workspace.sessions.open(report.session_ids[0])
    kind = case["generation_type"]
    if kind == "normal":
        return workspace.requests.compose(case["user_input"])
    prompt = case.get("generate_options", {}).get("quiet_prompt", "")
    return workspace.requests.compose_kind(kind, prompt)


def write_folder(case: Mapping[str, Any], folder: Path) -> Path:
    """Write what a case says as SillyTavern keeps it; return the folder."""
    files = {
        f"OpenAI Settings/{PRESET}.json": case["preset"],
        "settings.json": _settings(case),
    }
    for name, book in case.get("lorebooks", {}).get("files", {}).items():
        files[f"worlds/{name}.json"] = book
    card = _card(case)
    if "card_png_b64" in case:
        _write(folder / f"characters/{CARD}.png", base64.b64decode(case["card_png_b64"]))
    else:
        files[f"characters/{CARD}.json"] = card
    for path, value in files.items():
        _write(folder / path, json.dumps(value).encode())
    lines = "\n".join(json.dumps(line) for line in _chat(case))
    _write(folder / f"chats/{CARD}/Case.jsonl", lines.encode())
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _card(case: Mapping[str, Any]) -> Any:
    imported = case.get("imported_card") or {}
    data = imported.get("data") or case["card"]
    if "spec" not in data and "data" not in data and "name" in data:
        data = {"spec": "chara_card_v2", "spec_version": "2.0", "data": data}
    return data


def _settings(case: Mapping[str, Any]) -> dict[str, Any]:
    settings, persona = case["settings"], case["persona"]
    lorebooks = case.get("lorebooks", {})
    searched = settings["note_allow_wi_scan"] or case["authors_note"].get("allow_wi_scan")
    note: dict[str, Any] = {"allowWIScan": searched}
    world_info = dict(settings["world_info"])
    world_info["world_info"] = {"globalSelect": lorebooks.get("active_global", [])}
    oai = {
        key: value
        for key, value in settings.items()
        if key not in (*_POWER_USER, "macro_engine", "world_info", "note_allow_wi_scan")
        and key not in ("regex_scripts", "preset_allowed_regex", "character_allowed_regex")
    }
    return {
        "main_api": "openai",
        "username": persona["name"],
        "user_avatar": PERSONA,
        "world_info_settings": world_info,
        "oai_settings": {**case["preset"], **oai, "preset_settings_openai": PRESET},
        "power_user": {
            **{key: settings[key] for key in _POWER_USER},
            "experimental_macro_engine": settings["macro_engine"] == "new",
            "personas": {PERSONA: persona["name"]},
            "persona_descriptions": {PERSONA: dict(persona)},
        },
        "extension_settings": {
            "note": note,
            "regex": settings.get("regex_scripts", []),
            "preset_allowed_regex": {
                "openai": [PRESET] if settings.get("preset_allowed_regex", True) else []
            },
            "character_allowed_regex": (
                [f"{CARD}.png"] if settings.get("character_allowed_regex", True) else []
            ),
            "variables": {"global": settings.get("global_variables", {})},
        },
    }


def _chat(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of the chat."""
    metadata = dict(case.get("chat_metadata") or {})
    note = case["authors_note"]
    metadata |= {f"note_{key}": value for key, value in note.items() if key != "allow_wi_scan"}
    for command in case.get("slash_before", ()):
        _obey(command, metadata)
    header = {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}
    return [header, *case["chat"]]


def _obey(command: str, metadata: dict[str, Any]) -> None:
    """Do to the metadata of a chat what a slash command does."""
    word, _, rest = command.partition(" ")
    named: dict[str, str] = {}
    words = shlex.split(rest) if word == "/setvar" else rest.split(" ")
    while words and re.fullmatch(r"\w+=\S+", words[0]):
        key, _, value = words.pop(0).partition("=")
        named[key] = value
    if word == "/setvar":
        metadata.setdefault("variables", {})[named["key"]] = " ".join(words)
    elif word == "/inject":
        place = _PLACES.get(named.get("position", "after"), -1)
        metadata.setdefault("script_injects", {})[named["id"]] = {
            "value": " ".join(words),
            "position": place,
            "depth": int(named.get("depth", 4)),
            "scan": named.get("scan") == "true",
            "role": _ROLES[named.get("role", "system")],
        }
