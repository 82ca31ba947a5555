"""The regex scripts of SillyTavern, in presets, cards and settings.

Those that change what is sent are run in requests; so are those that would change a message when it
is stored, because stored messages stay as they are here. Others only change what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tui_chat.models.json_text import as_array, as_object, object_or_none
from tui_chat.models.settings import TextScript

_Kind: TypeAlias = Literal["user", "assistant", "lore"]
_TARGETS: Mapping[int, _Kind] = {1: "user", 2: "assistant", 5: "lore"}
_SUBSTITUTES: Mapping[float, Literal["raw", "escaped"]] = {1: "raw", 2: "escaped"}


def read_scripts(found: object) -> tuple[TextScript, ...]:
    """Return the enabled scripts of a list that change requests; faulty ones do nothing."""
    return tuple(script for each in as_array(found) if (script := _script(each)) is not None)


def scripts_in(extensions: object) -> tuple[TextScript, ...]:
    """Return the scripts in the `extensions` of a preset or a card."""
    return read_scripts(as_object(extensions).get("regex_scripts"))


def script_names(extensions: object) -> tuple[list[str], list[str]]:
    """Return the names of the scripts in `extensions` that are run, and those of the others."""
    names: tuple[list[str], list[str]] = [], []
    for each in as_array(as_object(extensions).get("regex_scripts")):
        name = as_object(each).get("scriptName")
        is_run = _script(each) is not None
        names[not is_run].append(name if isinstance(name, str) and name else "without a name")
    return names


def _script(item: object) -> TextScript | None:
    found = object_or_none(item) or {}
    pattern = _text(found, "findRegex")
    is_sent, is_shown = bool(found.get("promptOnly")), bool(found.get("markdownOnly"))
    if found.get("disabled") or not pattern or (is_shown and not is_sent):
        return None
    placement = [each for each in as_array(found.get("placement")) if not isinstance(each, bool)]
    kinds: list[_Kind] = [kind for number, kind in _TARGETS.items() if number in placement]
    if not is_sent and "lore" in kinds:
        kinds.remove("lore")
    least, most = _number(found.get("minDepth")), _number(found.get("maxDepth"))
    return TextScript(
        _text(found, "scriptName"),
        pattern,
        _text(found, "replaceString"),
        tuple(kinds),
        least if is_sent and least is not None and least >= -1 else None,
        most if is_sent and most is not None and most >= 0 else None,
        tuple(each for each in as_array(found.get("trimStrings")) if isinstance(each, str)),
        _SUBSTITUTES.get(_number(found.get("substituteRegex")) or 0, ""),
        is_stored=not is_sent,
    )


def _text(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    """Return what JavaScript takes for a number; None for others, and for null."""
    if isinstance(value, str):
        try:
            value = float(value.strip() or 0)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not -1e9 < value < 1e9:
        return None
    return value
