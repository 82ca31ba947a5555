"""Themes from TOML files: ours and the user's, in the one format that `themes/*.toml` tells.

A theme becomes a `textual.theme.Theme` with a variable `origin-<kind>` for each kind of
origin. A file with a fault gives an `InputError` instead, which names file, key and fault;
the other themes are there all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui_chat.errors import InputError
from tui_chat.files import read_toml
from tui_chat.models.text import OriginKind

DARK = "tui-chat-dark"
LIGHT = "tui-chat-light"

_COLOURS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
THEME_DEFAULTS = {"foreground-disabled": "ansi_default 38%"}
"""Variables that the widgets' CSS needs and that Textual's own ANSI themes do not define."""

_ORIGINS = tuple(str(kind) for kind in OriginKind)

_DARK_ORIGINS = {
    OriginKind.SYSTEM: "#c893fc",
    OriginKind.PRESET: "#3ed5f3",
    OriginKind.PROFILE: "#1fb57c",
    OriginKind.LORE: "#c9973a",
    OriginKind.HISTORY: "#d3d9e2",
    OriginKind.DRAFT: "#fbf070",
    OriginKind.MACRO: "#f79aa4",
    OriginKind.SETTING: "#b4e39a",
    OriginKind.GLUE: "#8a94a5",
}
_LIGHT_ORIGINS = {
    OriginKind.SYSTEM: "#5f2d9c",
    OriginKind.PRESET: "#2450e0",
    OriginKind.PROFILE: "#084a31",
    OriginKind.LORE: "#bd2016",
    OriginKind.HISTORY: "#2b313c",
    OriginKind.DRAFT: "#4f2200",
    OriginKind.MACRO: "#960560",
    OriginKind.SETTING: "#33701d",
    OriginKind.GLUE: "#5f6280",
}


def origin_defaults(dark: bool) -> dict[str, str]:
    """Return `origin-<kind>` variables for a theme that has none, such as Textual's own.

    For `App.get_theme_variable_defaults`: the widgets' CSS cannot do without them.
    """
    colours = _DARK_ORIGINS if dark else _LIGHT_ORIGINS
    return {f"origin-{kind}": colour for kind, colour in colours.items()}


def sorted_theme_names(names: Iterable[str]) -> list[str]:
    """Return names of themes in the order in which they are offered: ours first."""
    return sorted(names, key=lambda name: (name not in (DARK, LIGHT), name[:8] != "tui-chat", name))


def load_themes(folders: Iterable[Path]) -> tuple[list[Theme], list[InputError]]:
    """Load every theme of some folders; a later theme takes the place of a namesake.

    Raises nothing: what is wrong with a file is in the second list.
    """
    themes: dict[str, Theme] = {}
    faults: list[InputError] = []
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            try:
                theme = load_theme(path)
            except InputError as fault:
                faults.append(fault)
            else:
                themes[theme.name] = theme
    return list(themes.values()), faults


def load_theme(path: Path) -> Theme:
    """Load one theme file. Raises InputError, which names file, key and fault."""
    table = read_toml(path)
    return _theme(table, path)


def _theme(table: Mapping[str, Any], path: Path) -> Theme:
    _check_keys(table, ("name", "dark", "colours", "origins"), "", path)
    name = table.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(f"{path}: name must be a name in quotes")
    dark = table.get("dark", True)
    if not isinstance(dark, bool):
        raise InputError(f"{path}: dark must be true or false, not {dark!r}")
    colours = _colours(table, "colours", _COLOURS, path)
    if "primary" not in colours:
        raise InputError(f"{path}: colours.primary is missing")
    origins = _colours(table, "origins", _ORIGINS, path)
    own = {f"origin-{kind}": colour for kind, colour in origins.items()}
    return Theme(
        name=name,
        dark=dark,
        primary=colours.pop("primary"),
        variables={**origin_defaults(dark), **own},
        **cast("dict[str, Any]", colours),
    )


def _colours(
    table: Mapping[str, Any], section: str, keys: tuple[str, ...], path: Path
) -> dict[str, str]:
    found = table.get(section, {})
    if not isinstance(found, dict):
        raise InputError(f"{path}: {section} must be a table, [{section}]")
    values = cast("dict[str, object]", found)
    _check_keys(values, keys, f"{section}.", path)
    colours: dict[str, str] = {}
    for key, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"{path}: {section}.{key} must be a colour in quotes, not {value!r}")
        try:
            colour = Color.parse(value)
        except ColorParseError as error:
            raise InputError(f"{path}: {section}.{key}: {value!r} is not a colour") from error
        if colour.a < 1 or colour.ansi is not None:
            raise InputError(f"{path}: {section}.{key}: {value!r} must be written as #rrggbb")
        colours[key] = colour.hex6
    return colours


def _check_keys(
    table: Mapping[str, object], keys: tuple[str, ...], prefix: str, path: Path
) -> None:
    for key in table:
        if key not in keys:
            raise InputError(
                f"{path}: {prefix}{key} is unknown",
                advice=f"Known here: {', '.join(keys)}.",
            )
