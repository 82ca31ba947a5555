"""SillyTavern requests described in one file: a preset with everything that goes with it.

    {"preset": {...}, "card": {...}, "chat": [...], "user_input": "...", "settings": {...}, ...}

A case is written as the folder of a user, imported into a configuration of its own, and built
there: so it goes the way of any other folder. `settings` are the values in effect, which go before
those of the preset. Unknown fields, such as a captured request, are ignored.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tui_chat.errors import InputError
from tui_chat.models.json_text import as_array, as_object, as_string, object_or_none, parse_json
from tui_chat.plugins.sillytavern.policies import GENERATION_KINDS

_PERSONA, _CARD, _PRESET = "persona.png", "Card", "Case"
_POWER_USER = (
    *("pin_examples", "strip_examples", "collapse_newlines"),
    *("prefer_character_prompt", "prefer_character_jailbreak"),
)
_OTHER_SETTINGS = (
    *("macro_engine", "world_info", "note_allow_wi_scan", "regex_scripts", "global_variables"),
    *("preset_allowed_regex", "character_allowed_regex"),
)
"""Settings of a case that are not in the preset in use."""
_ROLES = {"system": 0, "user": 1, "assistant": 2}
_PLACES = {"after": 0, "chat": 1, "before": 2}
_MODEL = "gpt-4o"


def build_case(text: str, source: str) -> tuple[list[Any], list[dict[str, str]]]:
    """Return the messages of a case's request, and the notes of its import and of the request, each
    with level, code and sentence; `source` is what errors call the text. Raises InputError.
    """
    case = object_or_none(parse_json(text, source))
    if case is None or object_or_none(case.get("preset")) is None:
        advice = "It is an object with “preset”, “card”, “chat”, “user_input” and “settings”."
        raise InputError(f"{source} is not a case of SillyTavern.", advice=advice)
    kind = case.get("generation_type", "normal")
    if kind not in GENERATION_KINDS:
        raise InputError(f"{source}: “generation_type” cannot be {kind!r}.")
    draft = as_string(case.get("user_input")) if kind == "normal" else ""
    if kind == "quiet":
        draft = as_string(as_object(case.get("generate_options")).get("quiet_prompt"))
    model = as_string(as_object(case.get("oracle")).get("tokenizer")) or _MODEL
    with TemporaryDirectory(prefix="tui-chat-") as name:
        home = Path(name)
        try:
            folder = write_folder(case, home / "default-user")
        except (TypeError, ValueError) as error:
            raise InputError(f"{source} cannot be written as a folder: {error}.") from error
        (report,) = json.loads(_run(home, source, "import", "--json", str(folder)))
        words = ("--endpoint", "openai", "--model", model, "--kind", kind)
        (session,) = report["session_ids"]
        build = ("build", "--session", session, *words)
        body = json.loads(_run(home, source, *build, "--", draft))
        envelope = json.loads(_run(home, source, *build, "--show", "envelope", "--", draft))
    of_import = [
        {"level": "info", "code": "import", "sentence": note["sentence"]}
        for note in report["notes"]
    ]
    notes = of_import + envelope["notes"]
    keys = ("level", "code", "sentence")
    return body.get("messages", []), [{key: note[key] for key in keys} for note in notes]


def _run(home: Path, source: str, *words: str) -> bytes:
    """Run a command of this program on a configuration; return what it prints."""
    # -P: a file in the current folder must not be imported as a module.
    program = (sys.executable, "-P", "-m", "tui_chat", "--config-dir", home)
    command = [*program, "--data-dir", home / "data", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE)  # noqa: S603  it is this program
    if not done.stdout:
        raise InputError(f"{source}: `tui-chat {words[0]}` ended with {done.returncode}.")
    return done.stdout


def write_folder(case: Mapping[str, Any], folder: Path) -> Path:
    """Write what a case says as SillyTavern keeps it; return the folder."""
    files = {
        f"OpenAI Settings/{_PRESET}.json": case["preset"],
        "settings.json": _settings(case),
    }
    for name, book in as_object(as_object(case.get("lorebooks")).get("files")).items():
        files[f"worlds/{name}.json"] = book
    if picture := as_string(case.get("card_png_b64")):
        _write(folder / f"characters/{_CARD}.png", base64.b64decode(picture))
    else:
        files[f"characters/{_CARD}.json"] = _card(case)
    for path, value in files.items():
        _write(folder / path, json.dumps(value).encode())
    lines = "\n".join(map(json.dumps, _chat(case)))
    _write(folder / f"chats/{_CARD}/Case.jsonl", lines.encode())
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _card(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the card as SillyTavern imported it, else as it was given."""
    imported = as_object(as_object(case.get("imported_card")).get("data"))
    card = imported or as_object(case.get("card")) or {"name": "Character"}
    if "spec" not in card and "data" not in card and "name" in card:
        return {"spec": "chara_card_v2", "spec_version": "2.0", "data": card}
    return card


def _settings(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `settings.json` of a case."""
    settings, persona = as_object(case.get("settings")), as_object(case.get("persona"))
    note, lorebooks = as_object(case.get("authors_note")), as_object(case.get("lorebooks"))
    name = as_string(persona.get("name")) or "User"
    searched = settings.get("note_allow_wi_scan") or note.get("allow_wi_scan")
    world_info = {"globalSelect": lorebooks.get("active_global", [])}
    used = {k: v for k, v in settings.items() if k not in (*_POWER_USER, *_OTHER_SETTINGS)}
    runs_preset = settings.get("preset_allowed_regex", True)
    runs_card = settings.get("character_allowed_regex", True)
    return {
        "main_api": "openai",
        "username": name,
        "user_avatar": _PERSONA,
        "world_info_settings": {**as_object(settings.get("world_info")), "world_info": world_info},
        "oai_settings": {**case["preset"], **used, "preset_settings_openai": _PRESET},
        "power_user": {
            **{key: settings[key] for key in _POWER_USER if key in settings},
            "personas": {_PERSONA: name},
            "persona_descriptions": {_PERSONA: dict(persona)},
        },
        "extension_settings": {
            "note": {"allowWIScan": searched},
            "regex": settings.get("regex_scripts", []),
            "preset_allowed_regex": {"openai": [_PRESET] if runs_preset else []},
            "character_allowed_regex": [f"{_CARD}.png"] if runs_card else [],
            "variables": {"global": settings.get("global_variables", {})},
        },
    }


def _chat(case: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the lines of the chat."""
    metadata = dict(as_object(case.get("chat_metadata")))
    note = as_object(case.get("authors_note"))
    metadata |= {f"note_{key}": value for key, value in note.items() if key != "allow_wi_scan"}
    for command in as_array(case.get("slash_before")):
        _obey(as_string(command), metadata)
    yield {"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}
    yield from as_array(case.get("chat"))


def _obey(command: str, metadata: dict[str, Any]) -> None:
    """Do to the metadata of a chat what a slash command does."""
    word, _, rest = command.partition(" ")
    named: dict[str, str] = {}
    words = shlex.split(rest) if word == "/setvar" else rest.split(" ")
    while words and re.fullmatch(r"\w+=\S+", words[0]):
        key, _, value = words.pop(0).partition("=")
        named[key] = value
    if word == "/setvar":
        metadata.setdefault("variables", {})[named.get("key", "")] = " ".join(words)
    elif word == "/inject":
        metadata.setdefault("script_injects", {})[named.get("id", "")] = {
            "value": " ".join(words),
            "position": _PLACES.get(named.get("position", "after"), -1),
            "depth": int(named.get("depth", 4)),
            "scan": named.get("scan") == "true",
            "role": _ROLES.get(named.get("role", ""), 0),
        }
