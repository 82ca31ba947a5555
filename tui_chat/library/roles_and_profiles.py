"""Role files and profile files.

A role is `{"name", "system_prompt", "model", "parameters", "preset", "status"}`, where
`parameters` is an object of settings (`temperature` and `max_tokens` may stand beside the name as
well), a profile `{"name", "content", "placement", "depth", "role"}`. Keys are snake_case or
camelCase.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, PlainValidator, StrictInt, StrictStr

from tui_chat.errors import FieldError
from tui_chat.files import input_name
from tui_chat.library.file_model import FileModel
from tui_chat.library.file_reader import JsonFile, KnownKeys, read_file_text, require_number
from tui_chat.library.typed_fields import Field as FormField
from tui_chat.library.typed_fields import FieldRows, Values, shown_values, typed_values
from tui_chat.models.envelope import Level
from tui_chat.models.json_text import as_object, describe_value, object_or_none
from tui_chat.models.role import (
    MAX_PROFILE_DEPTH,
    PROFILE_DEPTH,
    PROFILE_ROLES,
    Profile,
    ProfilePlacement,
    Role,
)
from tui_chat.models.settings import NO_SETTINGS, Settings

M = TypeVar("M", bound=FileModel)


class _RoleFile(FileModel):
    role_id: StrictStr = ""
    name: StrictStr
    system_prompt: StrictStr = ""
    model: StrictStr = ""
    temperature: Annotated[float, PlainValidator(require_number)] | None = None
    max_tokens: Annotated[StrictInt, Field(gt=0)] | None = None
    preset: StrictStr = ""
    status: Literal["enabled", "disabled"] = "enabled"


class _ProfileFile(FileModel):
    name: StrictStr
    content: StrictStr = ""
    placement: ProfilePlacement = "anchor"
    depth: Annotated[StrictInt, Field(ge=0, le=MAX_PROFILE_DEPTH)] = PROFILE_DEPTH
    role: Literal["system", "user", "assistant"] = "system"


_ROLE_KEYS = KnownKeys((*_RoleFile.model_fields, "parameters"), {"role_id": ("id",)})
_PROFILE_KEYS = KnownKeys(_ProfileFile.model_fields)

_PLACES = (
    ("anchor", "the preset's anchor"),
    ("note_top", "top of the author's note"),
    ("note_bottom", "bottom of the author's note"),
    ("depth", "at a depth"),
    ("none", "only where {{persona}} is"),
)
PROFILE_FIELDS: FieldRows = (
    (FormField("name", "Name"),),
    (FormField("content", "What the model should know about you", "text"),),
    (FormField("placement", "Place in the request", "choice", _PLACES),
     FormField("depth", "Depth, in messages", "number"),
     FormField("role", "Role at a depth", "choice", tuple((each, each) for each in PROFILE_ROLES))),
)  # fmt: skip
"""The fields of a profile as people edit them, in rows."""
_FIELDS = {field.name: field for row in PROFILE_FIELDS for field in row}


def load_role(path: Path) -> Role:
    """Read a role file. Raises InputError naming file, place, line and fault."""
    return parse_role(read_file_text(path), input_name(path), path.stem)


def parse_role(text: str, source: str, default_id: str) -> Role:
    """Read a role from JSON text; `source` is what errors call it. Raises InputError."""
    found, settings = _read(text, source, _RoleFile, _ROLE_KEYS, "a role")
    beside = {"temperature": found.temperature, "max_tokens": found.max_tokens}
    missing = {name: each for name, each in beside.items() if getattr(settings, name) is None}
    return Role(
        role_id=found.role_id or default_id,
        name=found.name,
        system_prompt=found.system_prompt,
        model=found.model,
        settings=replace(settings, **missing),
        preset=found.preset,
        status=found.status,
    )


def load_profile(path: Path) -> Profile:
    """Read a profile file. Raises InputError naming file, place, line and fault."""
    return parse_profile(read_file_text(path), input_name(path))


def parse_profile(text: str, source: str) -> Profile:
    """Read a profile from JSON text; `source` is what errors call it. Raises InputError."""
    found, _ = _read(text, source, _ProfileFile, _PROFILE_KEYS, "a profile")
    return Profile(found.name, found.content, found.placement, found.depth, found.role)


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
    after = replace(before, **typed_values(changed, _FIELDS, _ProfileFile, name=before.name))
    if not after.name:
        raise FieldError("name", "A profile needs a name.")
    return after


def _read(text: str, source: str, model: type[M], keys: KnownKeys, what: str) -> tuple[M, Settings]:
    """Return the fields of a file, and the settings in its `parameters`."""
    file, settings = JsonFile(text), NO_SETTINGS
    value = object_or_none(file.value)
    found = None
    if value is not None:
        fields = file.sort_keys(value, (), keys).fields
        place = file.path_of((), "parameters")
        settings, _ = file.read_settings(fields.pop("parameters", None), place)
        found = file.validate(model, fields)
    elif not file.failed:
        sentence = f"{what} must be an object, not {describe_value(file.value)}"
        file.report(Level.ERROR, "bad-value", sentence, ())
    file.raise_errors(source)
    assert found is not None  # it had no errors
    return found, settings
