"""Preset files.

1. A preset file is a list of preset messages, or an object with `presetMessages` (or
   `messages`), `name`, `systemPlacement`, `variables`, `parameters` (settings of the request).
2. A message without an id gets one from its position (`message-3`), an anchor from its type.
   The default role is system, for an anchor user.
3. Unknown keys are kept when the preset is saved.
4. Saving keeps the style of the file it replaces: camelCase or snake_case (whichever more of its
   keys have, else camelCase), indent, list or object. Defaults are omitted. A new file is an
   object in camelCase with an indent of two spaces.
5. Policies are options of a preset's builder, which the core stores and shows. The builder's plugin
   says which there are; without it, a file keeps them as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, input_name, read_text
from tui_chat.hooks import load_part, parts_at
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, with_ids
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.models.boundary import camel_case, plain
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.preset import (
    FIRST_BUILDER,
    CacheLifetime,
    Preset,
    PresetMessage,
    preset_keys,
)
from tui_chat.models.settings import settings_json

if TYPE_CHECKING:
    from tui_chat.library.foreign_files import PresetFiles

_FIELDS = ("name", "messages", "system_placement", "variables", "builder", "policies")
PRESET_KEYS = KnownKeys(
    (*_FIELDS, "parameters"),
    {"messages": ("presetMessages", "preset_messages")},
    dict.fromkeys(("settings", "options", "params"), "parameters"),
)
MESSAGE_KEYS = KnownKeys(
    (field.name for field in fields(PresetMessage) if field.name != "extras"),
    meant={"text": "content", "depth": "insertionPoint", "anchor": "anchorTarget"},
)


@dataclass(frozen=True, slots=True)
class ParsedPreset:
    """A parsed preset file with its findings."""

    preset: Preset | None
    """None if the file has errors."""
    file: JsonFile
    messages: JsonPath = ()
    """The path of the list of messages."""

    def path_of(self, index: int) -> JsonPath:
        """Return the path of the message with this index."""
        return (*self.messages, index)


def load_preset(path: Path) -> Preset:
    """Read a preset file. Raises InputError naming file, place, line and fault."""
    return parse_preset(read_file_text(path), input_name(path), path.stem)


def parse_preset(text: str, source: str, default_name: str) -> Preset:
    """Parse a preset; `source` is what errors call the text. Raises InputError."""
    parsed = read_preset(text, default_name)
    parsed.file.raise_errors(source)
    assert parsed.preset is not None  # it had no errors
    return parsed.preset


def read_preset(text: str, default_name: str) -> ParsedPreset:
    """Parse a preset. Raises nothing: errors are among the file's findings."""
    file = JsonFile(text)
    whole, extras = _whole(file)
    if file.failed:
        return ParsedPreset(None, file)
    path = file.path_of((), "messages")
    if messages := list(file.sort_each(whole.get("messages"), path, MESSAGE_KEYS)):
        whole["messages"] = list(with_ids(messages, "message", _defaults))
    elif "messages" not in whole:
        file.report(Level.ERROR, "missing-key", "“presetMessages” is missing", ())
    place = file.path_of((), "parameters")
    settings, unknown = file.read_settings(whole.pop("parameters", None), place)
    if unknown:
        extras["parameters"] = unknown
    policies = _policies(file, whole, extras)
    fields = file.read_fields(Preset, whole)
    if fields is None or file.failed:
        return ParsedPreset(None, file, path)
    fields["name"] = fields.get("name") or default_name
    preset = Preset(**fields, settings=settings, extras=MappingProxyType(extras))
    return ParsedPreset(policies.complete(preset) if policies else preset, file, path)


def _policies(
    file: JsonFile, whole: dict[str, Any], extras: dict[str, Any]
) -> BuilderPolicies | None:
    """Read the policies of a preset; return those of its builder if a key of the file is its."""
    has_own_keys = any(key in extras for key in preset_keys())
    builder = whole.get("builder", "")
    if not (builder or has_own_keys or "policies" in whole) or not isinstance(builder, str):
        return None
    policies = policies_of_builder(builder)
    values = object_or_none(whole.get("policies"))
    if policies is not None and values is not None:
        path = file.path_of((), "policies")
        keys = KnownKeys(policy.name for policy in fields(policies.kind))
        known, unknown = file.sort_keys(values, path, keys)
        checked = file.read_fields(policies.kind, known, path) or {}
        changed = ((n, value) for n, value in checked.items() if value != policies.default(n))
        whole["policies"] = dict(changed)
        if unknown:
            extras["policies"] = unknown
    return policies if has_own_keys else None


def _whole(file: JsonFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the unknown keys of a preset file, whichever form it has."""
    if file.failed:
        return {}, {}
    if file.is_list:
        file.set_path((), "messages")
        return {"messages": as_array(file.value)}, {}
    sentence = f"must be a list of preset messages, or an object, not {describe_value(file.value)}"
    if (table := object_or_none(file.value)) is not None:
        own = {key: table[key] for key in preset_keys() if key in table}
        rest = {key: table[key] for key in table if key not in own}
        is_ours = bool(PRESET_KEYS.field_of.keys() & table.keys() - {"name"})
        if is_ours or (reader := _foreign_reader(table)) is None:
            taken, extras = file.sort_keys(rest, (), PRESET_KEYS)
            return taken, extras | own
        sentence = f"is a {reader.program} preset: import it with `tui-chat import`"
    file.report(Level.ERROR, "bad-value", sentence, ())
    return {}, {}


def _foreign_reader(table: Mapping[str, Any]) -> PresetFiles | None:
    from tui_chat.library.foreign_files import preset_reader  # few files are another program's

    return preset_reader(table)


def _defaults(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the role of a preset message that names none, and the id of an anchor."""
    kind = message.get("type")
    is_anchor = isinstance(kind, str) and kind != "message"
    return {"role": "user", "id": kind} if is_anchor else {"role": "system"}


@dataclass(frozen=True, slots=True)
class FileStyle:
    """The style of a preset file."""

    spelling: Literal["camel", "snake"] = "camel"
    indent: int | str = 2
    is_list: bool = False
    """True for a list of messages, as long as the preset has nothing else."""
    list_key: str = ""
    """The key of the list of messages; empty for `presetMessages` in the file's spelling."""

    @classmethod
    def of(cls, text: str) -> FileStyle:
        """Return the style of a file's text, or of a new file if the text is not JSON."""
        file = JsonFile(text)
        if file.failed:
            return cls()
        whole = object_or_none(file.value) or {}
        lists = [k for k in whole if PRESET_KEYS.field_of.get(k) == "messages"]
        messages = as_array(whole[lists[0]] if lists else file.value)
        keys = [*whole, *(key for message in messages for key in object_or_none(message) or {})]
        fields = {**MESSAGE_KEYS.field_of, **PRESET_KEYS.field_of}
        snake = sum("_" in key for key in keys if key in fields)
        camels = sum(key != key.lower() for key in keys if key in fields)
        indent = re.search(r"\n([ \t]+)\S", file.text)
        return cls(
            "snake" if snake > camels else "camel",
            indent[1] if indent else 2,
            file.is_list,
            "messages" if lists[:1] == ["messages"] else "",
        )


NEW_FILE = FileStyle()


def dump_preset(preset: Preset, style: FileStyle = NEW_FILE) -> str:
    """Return a preset as JSON text with its unknown keys, without defaults."""
    messages = [_dumped(message, style) for message in preset.messages]
    fields: dict[str, Any] = {"name": preset.name}
    own = ("system_placement", "variables", "builder")
    fields |= {name: value for name, value in plain(preset).items() if name in own}
    for name, values in (
        ("policies", plain(preset.policies)),
        ("parameters", settings_json(preset.settings)),
    ):
        whole = {_spelled(key, style): value for key, value in values.items()}
        if whole := whole | preset.extras.get(name, {}):
            fields[name] = whole
    if style.is_list and len(fields) == 1 and not preset.extras:
        body: object = messages
    else:
        there = {style.list_key or _spelled("preset_messages", style): messages}
        named = {_spelled(name, style): value for name, value in fields.items()}
        unknown = _unknown(preset.extras, PRESET_KEYS)
        last = {key: unknown.pop(key) for key in preset_keys() if key in unknown}
        body = {**named, **unknown, **there, **last}
    return json.dumps(body, indent=style.indent, ensure_ascii=False, allow_nan=False) + "\n"


def _dumped(message: PresetMessage, style: FileStyle) -> dict[str, Any]:
    values = {**plain(message), "role": message.role, "content": message.content}
    if message.is_anchor and message.role == "user":
        del values["role"]
    if message.is_anchor and not message.content:
        del values["content"]
    if message.cache_control is not None:
        values["cache_control"] = _MARKS[message.cache_control]
    values.pop("extras", None)
    first = {name: values.pop(name) for name in _FIRST if name in values}
    named = {_spelled(name, style): value for name, value in (first | values).items()}
    return {**named, **_unknown(message.extras, MESSAGE_KEYS)}


_FIRST = ("id", "name", "type", "role", "content")
_MARKS: dict[CacheLifetime, object] = {
    "5m": True,
    "1h": {"type": "ephemeral", "ttl": "1h"},
}


def _spelled(name: str, style: FileStyle) -> str:
    return name if style.spelling == "snake" else camel_case(name)


def _unknown(extras: Mapping[str, Any], keys: KnownKeys) -> dict[str, Any]:
    return {key: value for key, value in extras.items() if key not in keys.field_of}


def style_of(path: Path | None) -> FileStyle:
    """Return the style of a preset file, or that of a new file if it is None or unreadable."""
    if path is None:
        return NEW_FILE
    try:
        return FileStyle.of(read_text(path, max_bytes=MAX_BYTES))
    except InputError:
        return NEW_FILE


# --- policies --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PolicyField:
    """A policy in the form of a preset's settings."""

    name: str
    label: str
    choices: Mapping[str, object] = field(default_factory=dict[str, object])
    """The values by the words for them; empty for a text."""


@dataclass(frozen=True, slots=True)
class BuilderPolicies:
    """The policies of a builder."""

    kind: type
    """A frozen dataclass of them. A preset has those that differ from its defaults."""
    fields: tuple[PolicyField, ...]
    complete: Callable[[Preset], Preset]
    """Returns a preset as it was read from a file with what the builder's own keys of the file
    say."""

    def default(self, name: str) -> object:
        """Return the value of a policy that a preset does not have."""
        return next(policy.default for policy in fields(self.kind) if policy.name == name)


def policies_of_builder(name: str) -> BuilderPolicies | None:
    """Return the policies of a builder, of the first one for the core's, which has none."""
    name = name or FIRST_BUILDER
    for plugin, builder in parts_at("builder"):
        if builder.name == name and "policies" in builder.about:
            with suppress(InputError):  # the missing builder is a note of the request
                return load_part(plugin, builder.about["policies"])
    return None
