"""Presets as SillyTavern's: what was imported, with the changes that were made since.

1. The file that was imported is kept with the preset. It is read again, and what differs from the
   preset is written into it: an export without edits is equal to the file.
2. Other presets become new files.
3. The result is read again, and what is not as in the preset is named in a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any, cast

from tui_chat.library.foreign_files import ExportedFile, ImportNote, PresetFiles
from tui_chat.models.boundary import camel_case
from tui_chat.models.json_text import as_array, as_object, object_or_none, objects_in
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.settings import SETTINGS
from tui_chat.plugins.sillytavern.policies import Policies, policies_of
from tui_chat.plugins.sillytavern.preset_settings import SECRETS, setting_changes
from tui_chat.plugins.sillytavern.presets import (
    APPENDED,
    BUILT_IN,
    CARD_FIELDS,
    DEFAULT_ORDER,
    FORMATS,
    GLOBAL_ORDER,
    NAMES_POLICIES,
    import_preset,
    is_sillytavern,
    parse_sillytavern_preset,
    source_of,
    with_texts,
)

_ANCHORS = {
    "chat_history": "chatHistory",
    "user_profile": "personaDescription",
    "example_dialogues": "dialogueExamples",
}
_LORE = ("worldInfoBefore", "worldInfoAfter")
_TEXT_KEYS = {
    "example_separator": "new_example_chat_prompt",
    "continue_nudge": "continue_nudge_prompt",
    "continue_prefill": "continue_prefill",
    "continue_postfix": "continue_postfix",
    "impersonation_prompt": "impersonation_prompt",
    "send_if_empty": "send_if_empty",
    "assistant_prefill": "assistant_prefill",
    "assistant_impersonation": "assistant_impersonation",
    "squash_system": "squash_system_messages",
    "post_processing": "custom_prompt_post_processing",
}
"""Policies that have the same value there."""
_NEW: Mapping[str, Any] = {
    **dict.fromkeys(_TEXT_KEYS.values(), ""),
    "continue_prefill": False,
    "squash_system_messages": False,
    "new_chat_prompt": "",
    "wi_format": "{0}",
    "scenario_format": "{{scenario}}",
    "personality_format": "{{personality}}",
    "use_sysprompt": True,
    "prompts": [],
    "prompt_order": [{"character_id": GLOBAL_ORDER, "order": []}],
}
"""A preset that sends nothing."""
_Place = tuple[int, int, int]
"""Position, depth and order of a prompt."""


def export_preset(preset: Preset) -> ExportedFile:
    """Return a preset as SillyTavern's."""
    exporter = _PresetExporter(preset)
    exporter.write()
    return ExportedFile(exporter.whole, tuple(exporter.notes()))


class _PresetExporter:
    def __init__(self, preset: Preset) -> None:
        self.preset = preset
        source = with_texts(preset) if source_of(preset) else {**_NEW}
        source = {key: value for key, value in source.items() if key not in SECRETS or value}
        self.whole: dict[str, Any] = deepcopy(source)
        self.before = import_preset(self.whole, preset.name).preset
        self.old = {message.id: message for message in self.before.messages}
        written = [prompt.get("identifier") for prompt in self._prompts()]
        self.line = next(
            (m for m in self.before.messages if m.id not in written and m.anchor_point == "before"),
            None,
        )
        """The line before a new chat, which is no prompt there."""
        taken = {each for each in written if isinstance(each, str)} | {*self.old, *BUILT_IN}
        self.ids: dict[str, str] = {}
        """The identifiers of the messages by id; of equal ids the first counts."""
        for message in preset.messages:
            if message.id in self.ids or message.type == "placeholder":
                continue
            wanted = message.id if message.id in self.old else _counterpart(message)
            if not wanted or wanted in self.ids.values():
                wanted = _free(message.id, taken)
            self.ids[message.id] = wanted
            taken.add(wanted)

    def _prompts(self) -> list[dict[str, Any]]:
        return [prompt for prompt in objects_in(self.whole.get("prompts")) if prompt]

    def _prompt(self, identity: str) -> dict[str, Any]:
        """Return the prompt with an identifier, added if the file does not have it."""
        for prompt in self._prompts():
            if prompt.get("identifier") == identity:
                return prompt
        added = {"identifier": identity, "system_prompt": identity in BUILT_IN}
        self.whole["prompts"].append(added)
        return added

    def write(self) -> None:
        """Write the changes."""
        messages = {message.id: message for message in reversed(self.preset.messages)}
        for message_id, identity in self.ids.items():
            message, old = messages[message_id], self.old.get(identity)
            if old is not None and old is self.line:
                self._set("new_chat_prompt", _line(old), _line(message))
            elif old is None and message.type == "message":
                self._add(identity, message)
            elif old is not None:
                self._change(identity, old, message)
        if self.line is not None and self.line.id not in self.ids:
            self.whole["new_chat_prompt"] = ""
        self._write_order()
        self._write_policies()
        for key, value in setting_changes(self.before.settings, self.preset.settings).items():
            self.whole[key] = value
            if value is None:
                del self.whole[key]
        self._write_enabled(messages)

    def _set(self, key: str, old: object, new: object) -> None:
        if old != new:
            self.whole[key] = new

    # --- prompts ---------------------------------------------------------------------------

    def _add(self, identity: str, message: PresetMessage) -> None:
        position, depth, order = self._place(message) or _RELATIVE
        self.whole["prompts"].append(
            {
                "identifier": identity,
                "name": message.name or identity,
                "system_prompt": identity in BUILT_IN,
                "role": message.role if message.role != "tool" else "system",
                "content": message.content,
                "marker": False,
                "injection_position": position,
                "injection_depth": depth,
                "injection_order": order,
                "injection_trigger": list(message.triggers),
                "forbid_overrides": False,
            }
        )

    def _change(self, identity: str, old: PresetMessage, message: PresetMessage) -> None:
        """Write the fields of a message that were changed."""
        changed: dict[str, Any] = {}
        if message.name != old.name:
            changed["name"] = message.name or identity
        if message.role != old.role and not message.is_anchor and message.role != "tool":
            changed["role"] = message.role
        if message.triggers != old.triggers:
            changed["injection_trigger"] = list(message.triggers)
        if message.card_field != old.card_field and identity in CARD_FIELDS:
            changed["forbid_overrides"] = not message.card_field
        is_moved = any(getattr(message, name) != getattr(old, name) for name in _PLACE_FIELDS)
        if is_moved and (place := self._place(message)) is not None:
            changed |= zip(_PLACE_KEYS, place, strict=True)
        if message.content != old.content and not message.is_anchor:
            if identity in _LORE:
                macro = f"{{{{{identity}}}}}"
                self.whole["wi_format"] = message.content.replace(macro, "{0}")
            elif identity in FORMATS:
                self.whole[FORMATS[identity]] = message.content
            elif identity not in _FIXED:
                changed["content"] = message.content
        if changed:
            self._prompt(identity).update(changed)

    def _place(self, message: PresetMessage) -> _Place | None:
        """Return where a prompt is; None if SillyTavern has no such place."""
        depth = message.insertion_point
        if message.is_anchor or self._is_hoisted(message):
            return _RELATIVE
        if depth is not None:
            return (1, -depth, message.order + DEFAULT_ORDER) if depth < 0 else None
        if _is_after_history(message, self.preset):
            return 1, 0, message.order + DEFAULT_ORDER
        return _RELATIVE

    def _is_hoisted(self, message: PresetMessage) -> bool:
        is_system = message.role == "system" and not message.is_anchor
        return is_system and self.preset.system_placement == "hoist"

    def _is_beside_anchor(self, message: PresetMessage) -> bool:
        is_beside = bool(message.anchor_target or message.anchor_point)
        is_written = message.id == _id(self.line) or self._is_hoisted(message)
        return is_beside and not is_written and self._place(message) == _RELATIVE

    # --- order -----------------------------------------------------------------------------

    def _write_order(self) -> None:
        line = self.line.id if self.line is not None else None
        before = [m.id for m in self.before.messages if m.id != line]
        target = [self.ids[m.id] for m in self.preset.messages if self.ids.get(m.id, line) != line]
        target = list(dict.fromkeys(target))
        if target == before:
            return
        rows, there = self._rows(), set(self.ids.values())
        known = {identity: as_object(row) for identity, row in reversed(rows)}
        implied = [each for each in before if each not in known]
        while implied and target and target[-1] == implied[-1]:
            implied.pop()
            target.pop()
        usual = {"enabled": True}
        written = [known.get(each, {"identifier": each, **usual}) for each in target]
        own = [known[each] for each in before if each in known]
        written += [row for _, row in rows if not any(row is each for each in own)]
        gone = [each for each in before if each not in there]
        for identity in gone:
            if identity in APPENDED:  # without a row it would be sent last
                row = known.get(identity, {"identifier": identity})
                written.append({**row, "enabled": False})
        self._order_entry()["order"] = written
        self.whole["prompts"] = [
            each
            for each in as_array(self.whole["prompts"])
            if (identity := as_object(each).get("identifier")) not in gone or identity in BUILT_IN
        ]

    def _order_entry(self) -> dict[str, Any]:
        for each in as_array(self.whole.get("prompt_order")):
            entry = object_or_none(each)
            if entry is not None and str(entry.get("character_id")) == str(GLOBAL_ORDER):
                return entry
        rows = [{"identifier": key, "enabled": key != "enhanceDefinitions"} for key in BUILT_IN]
        added = {"character_id": GLOBAL_ORDER, "order": rows}
        self.whole["prompt_order"] = [*as_array(self.whole.get("prompt_order")), added]
        return added

    def _rows(self) -> list[tuple[str, object]]:
        """Return the identifier of each row of the order, and the row."""
        rows = as_array(self._order_entry().get("order"))
        found = [as_object(row).get("identifier") for row in rows]
        return [
            (key if isinstance(key, str) else "", row) for key, row in zip(found, rows, strict=True)
        ]

    def _write_enabled(self, messages: Mapping[str, PresetMessage]) -> None:
        """Write which prompts are enabled, where it is not as in the preset."""
        now = {m.id: m for m in import_preset(self.whole, "").preset.messages}
        for message_id, identity in self.ids.items():
            message, found = messages[message_id], now.get(identity)
            if found is None or found.enabled == message.enabled or found.id == _id(self.line):
                continue
            rows = self._rows()
            row = next((object_or_none(row) for key, row in rows if key == identity), None)
            if row is None:
                row = cast("dict[str, Any]", {"identifier": identity})
                self._order_entry()["order"] = [each for _, each in rows] + [row]
            row["enabled"] = message.enabled
            if message.enabled and identity not in BUILT_IN:
                prompt = self._prompt(identity)
                prompt["system_prompt"] = False
                prompt.setdefault("role", message.role)

    # --- the rest --------------------------------------------------------------------------

    def _write_policies(self) -> None:
        old, new = policies_of(self.before), policies_of(self.preset)
        for field, key in _TEXT_KEYS.items():
            if (value := getattr(new, field)) is not None:
                self._set(key, getattr(old, field), value)
        if new.names != old.names:
            numbers = {name: number for number, name in NAMES_POLICIES.items()}
            self.whole["names_behavior"] = numbers.get(new.names, 0)
        self._set("use_sysprompt", not old.system_as_user, not new.system_as_user)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each thing in the preset that the export does not have."""
        result = import_preset(self.whole, self.preset.name).preset
        now = {message.id: message for message in result.messages}
        for message in self.preset.messages:
            name = one_line(message.name or message.id, 60)
            found = now.get(self.ids.get(message.id, ""))
            if message.id == _id(self.line) and message.id in self.ids:
                found = found or message
            if found is None:
                yield f"“{name}” is not written: SillyTavern has no prompt for it."
            elif lost := list(self._lost(message, found)):
                yield f"Not written of “{name}”: {', '.join(lost)}."
        rules = (field.name for field in fields(Policies))
        policies = _different(policies_of(result), policies_of(self.preset), rules)
        if policies:
            written = ", ".join(map(camel_case, policies))  # as in preset files
            yield f"Not written, since SillyTavern has its own rules: {written}."
        if settings := _different(result.settings, self.preset.settings, SETTINGS):
            yield f"Not written, since its presets have no such settings: {', '.join(settings)}."
        variables = [
            one_line(name, 40)
            for name, value in self.preset.variables.items()
            if value != result.variables.get(name, "")
        ]
        if variables:
            yield f"Not written, since it keeps variables in chats: {', '.join(variables)}."

    def _lost(self, message: PresetMessage, found: PresetMessage) -> Iterator[str]:
        names = ("cache_control",) if message.is_anchor else _LOST
        for name in names:
            if getattr(message, name) != getattr(found, name):
                yield _LOST[name]
        if self._place(message) is None:
            yield "a depth that counts from the oldest message"
        elif self._is_beside_anchor(message):
            yield "its place beside an anchor"


_LOST = {
    "cache_control": "its cache mark",
    "requires": "the variable that it requires",
    "card_field": "that a card's prompt replaces it",
    "role": "its role",
    "content": "its text",
    "enabled": "that it is enabled or not",
}
"""What an export may not have of a message, by the field."""


def _counterpart(message: PresetMessage) -> str:
    """Return the identifier of the prompt of SillyTavern that a message is like; empty for none."""
    macros = {"{{description}}": "charDescription", "{{personality}}": "charPersonality"}
    macros |= {"{{scenario}}": "scenario", **{f"{{{{{word}}}}}": word for word in _LORE}}
    by_field = {field: identity for identity, field in CARD_FIELDS.items()}
    return (
        _ANCHORS.get(message.type)
        or by_field.get(message.card_field)
        or macros.get(message.content, "")
    )


_RELATIVE: _Place = (0, 4, DEFAULT_ORDER)
_PLACE_KEYS = ("injection_position", "injection_depth", "injection_order")
_PLACE_FIELDS = ("insertion_point", "anchor_point", "anchor_target", "order")
_FIXED = ("charDescription", "personaDescription")
"""Markers whose text no key of a preset changes."""


def _id(message: PresetMessage | None) -> str:
    return message.id if message is not None else ""


def _line(message: PresetMessage) -> str:
    return message.content if message.enabled else ""


def _is_after_history(message: PresetMessage, preset: Preset) -> bool:
    if message.is_anchor or message.anchor_point == "before" or message.insertion_point is not None:
        return False
    history = next((m for m in preset.messages if m.type == "chat_history"), None)
    target = message.anchor_target or (CHAT_HISTORY if message.anchor_point else "")
    return target == CHAT_HISTORY or (history is not None and target == history.id)


def _different(one: object, other: object, names: Iterable[str]) -> list[str]:
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def _free(wanted: str, taken: set[str]) -> str:
    number, found = 2, wanted
    while found in taken:
        found = f"{wanted}-{number}"
        number += 1
    return found


def _report(preset: Preset) -> tuple[ImportNote, ...]:
    return import_preset(with_texts(preset), preset.name).notes if source_of(preset) else ()


PRESET_FILES = PresetFiles(
    program="SillyTavern",
    detect=is_sillytavern,
    parse=parse_sillytavern_preset,
    write=export_preset,
    report=_report,
)
