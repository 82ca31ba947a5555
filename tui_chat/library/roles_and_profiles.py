"""Role files and profile files.

A role is `{"name", "system_prompt", "model", "parameters", "preset", "status"}`, where
`parameters` is an object of settings (`temperature` and `max_tokens` may stand beside the name as
well), a profile `{"name", "content", "placement", "depth", "role"}`. Keys are snake_case or
camelCase.
"""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tui_chat.errors import FieldError
from tui_chat.files import input_name
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text
from tui_chat.library.typed_fields import Field, FieldRows, Values, shown_values, typed_values
from tui_chat.models.boundary import Range
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_object, describe_value, object_or_none
from tui_chat.models.role import PROFILE_ROLES, Profile, Role


@dataclass(frozen=True, slots=True)
class _SettingsBesideName:
    """Settings that a role file may have beside the role's name."""

    temperature: float | None = None
    max_tokens: Annotated[int, Range(1)] | None = None


_BESIDE = tuple(setting.name for setting in fields(_SettingsBesideName))
_ROLE_KEYS = KnownKeys(
    ("role_id", "name", "system_prompt", "model", "preset", "status", "parameters", *_BESIDE),
    {"role_id": ("id",)},
    {
        **dict.fromkeys(("settings", "options", "params"), "parameters"),
        **dict.fromkeys(("system", "prompt", "instructions", "content"), "system_prompt"),
    },
)
_PROFILE_KEYS = KnownKeys(
    (field.name for field in fields(Profile)),
    meant=dict.fromkeys(("persona", "text", "prompt"), "content"),
)

_PLACES = (
    ("anchor", "the preset's anchor"),
    ("note_top", "top of the author's note"),
    ("note_bottom", "bottom of the author's note"),
    ("depth", "at a depth"),
    ("none", "only where {{persona}} is"),
)
PROFILE_FIELDS: FieldRows = (
    (Field("name", "Name"),),
    (Field("content", "What the model should know about you", "text"),),
    (Field("placement", "Place in the request", "choice", _PLACES),
     Field("depth", "Depth, in messages", "number"),
     Field("role", "Role at a depth", "choice", tuple((each, each) for each in PROFILE_ROLES))),
)  # fmt: skip
"""The fields of a profile as people edit them, in rows."""
_FIELDS = {field.name: field for row in PROFILE_FIELDS for field in row}


def doubtful_keys(text: str, kind: Literal["roles", "profiles"]) -> JsonFile:
    """Return the file of a role or profile with its unknown keys as findings."""
    file, values = _fields(text, _ROLE_KEYS if kind == "roles" else _PROFILE_KEYS, "it")
    if kind == "roles":
        file.read_settings(values.get("parameters"), file.path_of((), "parameters"))
    return file


def load_role(path: Path) -> Role:
    """Read a role file. Raises InputError naming file, place, line and fault."""
    return parse_role(read_file_text(path), input_name(path), path.stem)


def parse_role(text: str, source: str, default_id: str) -> Role:
    """Read a role from JSON text; `source` is what errors call it. Raises InputError."""
    file, values = _fields(text, _ROLE_KEYS, "a role")
    settings, _ = file.read_settings(values.pop("parameters", None), file.path_of((), "parameters"))
    beside = file.read_fields(
        _SettingsBesideName, {name: values.pop(name) for name in _BESIDE if name in values}
    )
    role = file.read(Role, {**values, "role_id": values.get("role_id") or default_id})
    file.raise_errors(source)
    assert role is not None  # there were no errors
    assert beside is not None
    missing = {name: value for name, value in beside.items() if getattr(settings, name) is None}
    return replace(role, settings=replace(settings, **missing))


def load_profile(path: Path) -> Profile:
    """Read a profile file. Raises InputError naming file, place, line and fault."""
    return parse_profile(read_file_text(path), input_name(path))


def parse_profile(text: str, source: str) -> Profile:
    """Read a profile from JSON text; `source` is what errors call it. Raises InputError."""
    file, values = _fields(text, _PROFILE_KEYS, "a profile")
    profile = file.read(Profile, values)
    file.raise_errors(source)
    assert profile is not None  # there were no errors
    return profile


def dump_profile(profile: Profile, before: str = "") -> str:
    """Return a profile as JSON text, with the other keys of the text `before` it."""
    body: dict[str, Any] = dict(as_object(JsonFile(before).value))
    body |= {"name": profile.name, "content": profile.content}
    if profile.placement != "anchor":
        body["placement"] = profile.placement
    else:
        body.pop("placement", None)
    for key, value in (("depth", profile.depth), ("role", profile.role)):
        if profile.placement == "depth" or key in body:
            body[key] = value
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def profile_values(profile: Profile) -> Values:
    """Return what the fields of a profile show."""
    return shown_values(profile, _FIELDS.values())


def typed_profile(values: Values, before: Profile) -> Profile:
    """Return a profile with other values of its fields. Raises FieldError."""
    shown = profile_values(before)
    changed = {name: value for name, value in values.items() if value != shown[name]}
    after = replace(before, **typed_values(changed, _FIELDS, Profile))
    if not after.name:
        raise FieldError("name", "A profile needs a name.")
    return after


def _fields(text: str, keys: KnownKeys, what: str) -> tuple[JsonFile, dict[str, Any]]:
    """Return a file and its fields; `what` it is, for errors."""
    file = JsonFile(text)
    value = object_or_none(file.value)
    if value is not None:
        return file, file.sort_keys(value, (), keys)[0]
    if not file.failed:
        sentence = f"{what} must be an object, not {describe_value(file.value)}"
        file.report(Level.ERROR, "bad-value", sentence, ())
    return file, {}
