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

from tui_chat.files import input_name
from tui_chat.library.file_model import FileModel
from tui_chat.library.file_reader import (
    JsonFile,
    KnownKeys,
    as_object,
    describe_value,
    read_file_text,
    require_number,
)
from tui_chat.models.envelope import Level
from tui_chat.models.role import (
    MAX_PROFILE_DEPTH,
    PROFILE_DEPTH,
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
    """Return a profile as JSON text, with the unknown keys of the text `before` it."""
    known = as_object(JsonFile(before).value) or {}
    unknown = {key: value for key, value in known.items() if key not in _PROFILE_KEYS.field_of}
    body: dict[str, Any] = {"name": profile.name, "content": profile.content, **unknown}
    if profile.placement != "anchor":
        body["placement"] = profile.placement
    if profile.placement == "depth":
        body |= {"depth": profile.depth, "role": profile.role}
    return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _read(text: str, source: str, model: type[M], keys: KnownKeys, what: str) -> tuple[M, Settings]:
    """Return the fields of a file, and the settings in its `parameters`."""
    file, settings = JsonFile(text), NO_SETTINGS
    value = as_object(file.value)
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
