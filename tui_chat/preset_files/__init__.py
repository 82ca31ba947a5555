"""Preset files, role files, profile files: JSON on disk <-> values.

1. A preset file is a list of preset messages, or an object with `presetMessages` (or
   `messages`), `name`, `systemPlacement`. Keys are camelCase; snake_case is read too.
2. Keys that we do not know are kept, and are there again after a save.
3. A broken file is an `InputError` that names the file, the place in it (as a JSON path) and
   the fault; nothing is half-loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from tui_chat.errors import InputError
from tui_chat.model.message import MessageRole
from tui_chat.model.preset import AnchorPoint, Preset, PresetMessage, PresetMessageType
from tui_chat.model.profile import Profile
from tui_chat.model.role import Role
from tui_chat.model.text import clean

M = TypeVar("M", bound=BaseModel)


def _cleaned(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


Words = Annotated[StrictStr, BeforeValidator(_cleaned)]


def _either(camel: str, *others: str) -> AliasChoices:
    """Return the spellings of a key: camelCase first, then what else is read."""
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in camel)
    return AliasChoices(camel, snake, *others)


class _FileModel(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class _PresetMessageFile(_FileModel):
    id: Words | None = None
    role: MessageRole | None = None
    content: Words | None = None
    type: PresetMessageType = "message"
    name: Words | None = None
    enabled: StrictBool = True
    insertion_point: StrictInt | None = Field(
        None, validation_alias=_either("insertionPoint"), serialization_alias="insertionPoint"
    )
    anchor_point: AnchorPoint | None = Field(
        None, validation_alias=_either("anchorPoint"), serialization_alias="anchorPoint"
    )
    anchor_target: Words | None = Field(
        None, validation_alias=_either("anchorTarget"), serialization_alias="anchorTarget"
    )
    order: StrictInt = 0


class _PresetFile(_FileModel):
    name: Words | None = None
    messages: list[_PresetMessageFile] = Field(
        validation_alias=_either("presetMessages", "messages"),
        serialization_alias="presetMessages",
    )
    system_placement: Literal["hoist", "in_place"] = Field(
        "hoist",
        validation_alias=_either("systemPlacement"),
        serialization_alias="systemPlacement",
    )


class _RoleFile(_FileModel):
    id: Words | None = Field(None, validation_alias=_either("roleId", "id"))
    name: Words
    system_prompt: Words = Field("", validation_alias=_either("systemPrompt"))
    model: Words = ""
    temperature: StrictFloat | StrictInt | None = None
    max_tokens: StrictInt | None = Field(None, validation_alias=_either("maxTokens"), gt=0)
    preset: Words = ""
    status: Literal["enabled", "disabled"] = "enabled"


class _ProfileFile(_FileModel):
    name: Words
    content: Words = ""


def load_preset(path: Path) -> Preset:
    """Read a preset file. Raises InputError."""
    return parse_preset(read_text(path), str(path), path.stem)


def parse_preset(text: str, source: str, default_name: str) -> Preset:
    """Read a preset from JSON text; `source` is what errors call it. Raises InputError."""
    value = parse_json(text, source)
    bare = isinstance(value, list)
    whole: object = {"presetMessages": cast("list[object]", value)} if bare else value
    found = _validated(_PresetFile, whole, source, bare)
    return Preset(
        name=found.name or default_name,
        messages=tuple(
            _preset_message(message, index) for index, message in enumerate(found.messages)
        ),
        system_placement=found.system_placement,
        extras=_extras(found),
    )


def _preset_message(found: _PresetMessageFile, index: int) -> PresetMessage:
    is_anchor = found.type != "message"
    return PresetMessage(
        id=found.id or (found.type if is_anchor else f"message-{index + 1}"),
        role=found.role or ("user" if is_anchor else "system"),
        content=found.content or "",
        type=found.type,
        name=found.name or "",
        enabled=found.enabled,
        insertion_point=found.insertion_point,
        anchor_point=found.anchor_point,
        anchor_target=found.anchor_target,
        order=found.order,
        extras=_extras(found),
    )


def dump_preset(preset: Preset) -> str:
    """Return a preset as JSON text, unknown keys included; what is at its default is left out."""
    body: dict[str, Any] = {"name": preset.name}
    if preset.system_placement != "hoist":
        body["systemPlacement"] = preset.system_placement
    body["presetMessages"] = [_dumped(message) for message in preset.messages]
    body.update(preset.extras)
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _dumped(message: PresetMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"id": message.id}
    optional = {
        "name": message.name or None,
        "type": None if message.type == "message" else message.type,
        "role": message.role,
        "content": message.content if message.content or not message.is_anchor else None,
        "enabled": None if message.enabled else False,
        "insertionPoint": message.insertion_point,
        "anchorPoint": message.anchor_point,
        "anchorTarget": message.anchor_target,
        "order": message.order or None,
    }
    body.update((key, value) for key, value in optional.items() if value is not None)
    body.update(message.extras)
    return body


def save_preset(preset: Preset, path: Path) -> None:
    """Write a preset file, wholly or not at all. Raises InputError where it cannot."""
    try:
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                file.write(dump_preset(preset))
                file.flush()
                os.fsync(file.fileno())
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def load_role(path: Path) -> Role:
    """Read a role file. Raises InputError."""
    found = _validated(_RoleFile, parse_json(read_text(path), str(path)), str(path))
    return Role(
        role_id=found.id or path.stem,
        name=found.name,
        system_prompt=found.system_prompt,
        model=found.model,
        temperature=found.temperature,
        max_tokens=found.max_tokens,
        preset=found.preset,
        status=found.status,
    )


def load_profile(path: Path) -> Profile:
    """Read a profile file. Raises InputError."""
    found = _validated(_ProfileFile, parse_json(read_text(path), str(path)), str(path))
    return Profile(found.name, found.content)


def read_text(path: Path) -> str:
    """Read a UTF-8 file (a byte order mark is ignored). Raises InputError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from error


def parse_json(text: str, source: str) -> object:
    """Parse JSON text. Raises InputError with line and column."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{source}: is not JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise InputError(f"{source}: is nested too deeply") from error


def _validated(model: type[M], value: object, source: str, bare: bool = False) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InputError(f"{source}: {_first_fault(error, bare)}") from error


def _first_fault(error: ValidationError, bare: bool) -> str:
    faults = error.errors(include_url=False)
    first = faults[0]
    steps = first["loc"][1:] if bare else first["loc"]
    path = "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{path}: {first['msg'][:1].lower()}{first['msg'][1:]}{more}"


def _extras(found: BaseModel) -> Mapping[str, Any]:
    return MappingProxyType(found.model_extra or {})
