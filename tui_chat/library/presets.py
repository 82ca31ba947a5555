"""Preset files.

1. A preset file is a list of preset messages, or an object with `presetMessages` (or
   `messages`), `name`, `systemPlacement`, `variables`, `parameters` (settings of the request).
2. A message without an id gets one from its position (`message-3`), an anchor from its type.
   The default role is system, for an anchor user.
3. Unknown keys are kept when the preset is saved.
4. Saving keeps the style of the file it replaces: camelCase or snake_case (whichever more of its
   keys have, else camelCase), indent, list or object. Defaults are omitted. A new file is an
   object in camelCase with an indent of two spaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from tui_chat.errors import InputError
from tui_chat.files import MAX_BYTES, input_name, read_text, write_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, to_camel_case
from tui_chat.library.json_locations import Path as JsonPath
from tui_chat.library.sillytavern_scripts import scripts_in
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_array, describe_value, object_or_none
from tui_chat.models.message import MESSAGE_ROLES, MessageRole
from tui_chat.models.policies import (
    OWN_POLICIES,
    GenerationKind,
    Policies,
)
from tui_chat.models.preset import (
    AnchorPoint,
    CacheLifetime,
    CardField,
    Preset,
    PresetMessage,
    PresetMessageType,
    SystemPlacement,
)
from tui_chat.models.setting_json import settings_json

if TYPE_CHECKING:
    from tui_chat.library.preset_model import MessageFile, PresetFile


def _is_text(value: object) -> bool:
    return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class MessageFields:
    """The fields of a message in a preset file."""

    id: str | None = None
    name: str = ""
    type: PresetMessageType = "message"
    role: MessageRole | None = None
    content: str = ""
    enabled: bool = True
    insertion_point: int | None = None
    anchor_point: AnchorPoint | None = None
    anchor_target: str | None = None
    order: int = 0
    cache_control: CacheLifetime | None = None
    requires: str = ""
    triggers: tuple[GenerationKind, ...] = ()
    card_field: CardField = ""


@dataclass(frozen=True, slots=True)
class PresetFields:
    """The fields of a preset file."""

    preset_messages: tuple[MessageFields, ...]
    name: str | None = None
    system_placement: SystemPlacement = "hoist"
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    policies: Policies = OWN_POLICIES
    sillytavern: Mapping[str, Any] = field(default_factory=dict[str, Any])


_PLAIN: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("id", "name", "content", "anchor_target", "requires"), _is_text),
    **dict.fromkeys(("insertion_point", "order"), lambda value: type(value) is int),
    "type": lambda value: value in get_args(PresetMessageType),
    "role": lambda value: value in MESSAGE_ROLES,
    "enabled": lambda value: type(value) is bool,
    "anchor_point": lambda value: value in get_args(AnchorPoint),
}
"""For each field of a message, whether a value needs no closer look."""


def _plain(whole: Mapping[str, Any]) -> PresetFields | None:
    """Return the fields of a file in which every value is as usual; None for pydantic to decide.

    Loading pydantic takes 0.2 s and 13 MB, and the first screen needs a preset.
    """
    values = dict(whole)
    messages = values.pop("preset_messages", None)
    if not isinstance(messages, list | tuple) or values.keys() - {"name"}:
        return None
    found: list[MessageFields] = []
    for message in cast("Sequence[object]", messages):
        fields = object_or_none(message)
        if fields is None or not all(
            name in _PLAIN and _PLAIN[name](value) for name, value in fields.items()
        ):
            return None
        found.append(MessageFields(**fields))
    name = values.get("name")
    return PresetFields(tuple(found), name) if name is None or _is_text(name) else None


PRESET_KEYS = KnownKeys(
    (*(each.name for each in fields(PresetFields)), "parameters"),
    {"preset_messages": ("messages",)},
)
MESSAGE_KEYS = KnownKeys(each.name for each in fields(MessageFields))
_SOURCE = "sillytavern"
_POLICY_NAMES = tuple(each.name for each in fields(Policies))
_POLICY_KEYS = KnownKeys(_POLICY_NAMES)


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
    found = read_preset(text, default_name)
    found.file.raise_errors(source)
    assert found.preset is not None  # it had no errors
    return found.preset


def read_preset(text: str, default_name: str) -> ParsedPreset:
    """Parse a preset. Raises nothing: errors are among the file's findings."""
    file = JsonFile(text)
    whole, extras = _whole(file)
    at = file.path_of((), "preset_messages")
    messages, kept = file.sort_each(whole.get("preset_messages"), at, MESSAGE_KEYS)
    whole = {**whole, "preset_messages": messages} if messages else whole
    place = file.path_of((), "parameters")
    settings, unknown = file.read_settings(whole.pop("parameters", None), place)
    if unknown:
        extras["parameters"] = unknown
    if (policies := object_or_none(whole.get("policies"))) is not None:
        taken = file.sort_keys(policies, file.path_of((), "policies"), _POLICY_KEYS)
        whole = {**whole, "policies": taken.fields}
        if taken.extras:
            extras["policies"] = taken.extras
    found = None if file.failed else _plain(whole) or _checked(file, whole)
    if found is None:
        return ParsedPreset(None, file, at)
    given = found.policies
    if not isinstance(given, Policies):
        given = Policies(**given.model_dump())
    preset = Preset(
        name=found.name or default_name,
        messages=tuple(_messages(found.preset_messages, kept)),
        system_placement=found.system_placement,
        variables=MappingProxyType(found.variables),
        settings=settings,
        policies=given,
        sillytavern=MappingProxyType(dict(found.sillytavern)),
        scripts=scripts_in(found.sillytavern.get("extensions")),
        extras=MappingProxyType(extras),
    )
    return ParsedPreset(preset, file, at)


def _checked(file: JsonFile, whole: Mapping[str, Any]) -> PresetFile | None:
    from tui_chat.library.preset_model import PresetFile

    return file.validate(PresetFile, whole)


def _whole(file: JsonFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields and the unknown keys of a preset file, whichever form it has."""
    if file.failed:
        return {}, {}
    if file.is_list:
        file.set_path((), "preset_messages")
        return {"preset_messages": as_array(file.value)}, {}
    found = object_or_none(file.value)
    if found is None:
        sentence = (
            f"must be a list of preset messages, or an object, not {describe_value(file.value)}"
        )
        file.report(Level.ERROR, "bad-value", sentence, ())
        return {}, {}
    if isinstance(found.get("prompts"), list) and not PRESET_KEYS.field_of.keys() & found.keys() - {
        "name"
    }:
        sentence = "is a SillyTavern preset: import it with `tui-chat presets import`"
        file.report(Level.ERROR, "bad-value", sentence, ())
        return {}, {}
    taken = file.sort_keys(found, (), PRESET_KEYS)
    return taken.fields, taken.extras


def _messages(
    found: Sequence[MessageFields | MessageFile], extras: Sequence[Mapping[str, Any]]
) -> Iterator[PresetMessage]:
    used = {message.id for message in found}
    for index, (message, unknown) in enumerate(zip(found, extras, strict=True)):
        is_anchor = message.type != "message"
        number = index + 1
        while not is_anchor and f"message-{number}" in used:
            number += 1
        identity = message.id or (message.type if is_anchor else f"message-{number}")
        used.add(identity)
        yield PresetMessage(
            id=identity,
            role=message.role or ("user" if is_anchor else "system"),
            content=message.content,
            type=message.type,
            name=message.name,
            enabled=message.enabled,
            insertion_point=message.insertion_point,
            anchor_point=message.anchor_point,
            anchor_target=message.anchor_target,
            order=message.order,
            cache_control=message.cache_control,
            requires=message.requires,
            triggers=message.triggers,
            card_field=message.card_field,
            extras=MappingProxyType(unknown),
        )


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
        lists = [k for k in whole if PRESET_KEYS.field_of.get(k) == "preset_messages"]
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
    if preset.system_placement != "hoist":
        fields["system_placement"] = preset.system_placement
    if preset.variables:
        fields["variables"] = dict(preset.variables)
    policies: dict[str, Any] = {
        _spelled(name, style): list(cast("tuple[str, ...]", value))
        if isinstance(value, tuple)
        else value
        for name in _POLICY_NAMES
        if (value := getattr(preset.policies, name)) != getattr(OWN_POLICIES, name)
    }
    policies |= preset.extras.get("policies", {})
    if policies:
        fields["policies"] = policies
    plain = settings_json(preset.settings)
    parameters = {_spelled(name, style): value for name, value in plain.items()}
    parameters |= preset.extras.get("parameters", {})
    if parameters:
        fields["parameters"] = parameters
    if style.is_list and len(fields) == 1 and not (preset.extras or preset.sillytavern):
        body: object = messages
    else:
        there = {style.list_key or _spelled("preset_messages", style): messages}
        named = {_spelled(name, style): value for name, value in fields.items()}
        body = {**named, **_unknown(preset.extras, PRESET_KEYS), **there}
        if preset.sillytavern:
            body[_SOURCE] = dict(preset.sillytavern)
    return json.dumps(body, indent=style.indent, ensure_ascii=False, allow_nan=False) + "\n"


def _dumped(message: PresetMessage, style: FileStyle) -> dict[str, Any]:
    optional = {
        "name": message.name or None,
        "type": None if message.type == "message" else message.type,
        "role": None if message.is_anchor and message.role == "user" else message.role,
        "content": message.content if message.content or not message.is_anchor else None,
        "enabled": None if message.enabled else False,
        "insertion_point": message.insertion_point,
        "anchor_point": message.anchor_point,
        "anchor_target": message.anchor_target,
        "order": message.order or None,
        "cache_control": _MARKS[message.cache_control],
        "requires": message.requires or None,
        "triggers": list(message.triggers) or None,
        "card_field": message.card_field or None,
    }
    fields = {_spelled(name, style): value for name, value in optional.items() if value is not None}
    return {"id": message.id, **fields, **_unknown(message.extras, MESSAGE_KEYS)}


_MARKS: dict[CacheLifetime | None, object] = {
    None: None,
    "5m": True,
    "1h": {"type": "ephemeral", "ttl": "1h"},
}


def _spelled(name: str, style: FileStyle) -> str:
    return name if style.spelling == "snake" else to_camel_case(name)


def _unknown(extras: Mapping[str, Any], keys: KnownKeys) -> dict[str, Any]:
    return {key: value for key, value in extras.items() if key not in keys.field_of}


def save_preset(preset: Preset, path: Path, like: Path | None = None) -> None:
    """Write a preset file atomically, in the style of the file that it replaces.

    A new file has the style of the file `like`, if given. Raises InputError if it cannot be
    written.
    """
    write_text(dump_preset(preset, _style_of(path if path.is_file() else like)), path)


def _style_of(path: Path | None) -> FileStyle:
    if path is None:
        return NEW_FILE
    try:
        return FileStyle.of(read_text(path, max_bytes=MAX_BYTES))
    except InputError:
        return NEW_FILE  # an unreadable file has no style to keep
