"""Themes from TOML files, ours and the user's, in the format that `themes/*.toml` show: read at the
start, and chosen on the screen.

A theme becomes a `textual.theme.Theme` with a variable `origin-<kind>` for each kind of
origin. A file with a fault gives an `InputError` instead, which names file, key and fault;
the other themes are there all the same.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from tui_chat.errors import InputError
from tui_chat.files import read_toml, write_private
from tui_chat.models.text import OriginKind
from tui_chat.paths import bundled
from tui_chat.ui.notifications import show_error
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from tui_chat.config import Config

_OURS = "tui-chat-"
"""The beginning of our themes' names, which may be left out."""
DARK = f"{_OURS}dark"
LIGHT = f"{_OURS}light"

_COLORS = (
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
    OriginKind.TOOL: "#d79ed0",
    OriginKind.SETTING: "#b4e39a",
    OriginKind.EDIT: "#90ff00",
    OriginKind.GLUE: "#989ca4",
}
_LIGHT_ORIGINS = {
    OriginKind.SYSTEM: "#5f2d9c",
    OriginKind.PRESET: "#2450e0",
    OriginKind.PROFILE: "#084a31",
    OriginKind.LORE: "#bd2016",
    OriginKind.HISTORY: "#2b313c",
    OriginKind.DRAFT: "#4f2200",
    OriginKind.MACRO: "#960560",
    OriginKind.TOOL: "#944655",
    OriginKind.SETTING: "#33701d",
    OriginKind.EDIT: "#0000cc",
    OriginKind.GLUE: "#5f6268",
}


def color_defaults(dark: bool) -> dict[str, str]:
    """Return the variables `origin-<kind>` and `label` for a theme that has none, such as Textual's
    own. A label is text that is not content.

    For `App.get_theme_variable_defaults`: the widgets' CSS cannot do without them.
    """
    colors = _DARK_ORIGINS if dark else _LIGHT_ORIGINS
    origins = {f"origin-{kind}": color for kind, color in colors.items()}
    return {**origins, "label": colors[OriginKind.GLUE]}


def sorted_theme_names(names: Iterable[str]) -> list[str]:
    """Return names of themes in the order in which they are offered: ours first."""
    return sorted(
        names, key=lambda name: (name not in (DARK, LIGHT), not name.startswith(_OURS), name)
    )


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
    # Files from before the key was spelled `colors` have `colours`.
    section = "colours" if "colours" in table and "colors" not in table else "colors"
    _check_keys(table, ("name", "dark", section, "origins"), "", path)
    name = table.get("name")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError(f"{path}: name must be a name in quotes")
    dark = table.get("dark", True)
    if not isinstance(dark, bool):
        raise InputError(f"{path}: dark must be true or false, not {dark!r}")
    colors = _colors(table, section, (*_COLORS, "label"), path)
    if "primary" not in colors:
        raise InputError(f"{path}: {section}.primary is missing")
    origins = _colors(table, "origins", _ORIGINS, path)
    own = {f"origin-{kind}": color for kind, color in origins.items()}
    own |= {"label": colors.pop("label")} if "label" in colors else {}
    return Theme(
        name=name,
        dark=dark,
        primary=colors.pop("primary"),
        variables={**color_defaults(dark), **own},
        **cast("dict[str, Any]", colors),
    )


def _colors(
    table: Mapping[str, Any], section: str, keys: tuple[str, ...], path: Path
) -> dict[str, str]:
    content = table.get(section, {})
    if not isinstance(content, dict):
        raise InputError(f"{path}: {section} must be a table, [{section}]")
    values = cast("dict[str, object]", content)
    _check_keys(values, keys, f"{section}.", path)
    colors: dict[str, str] = {}
    for key, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"{path}: {section}.{key} must be a color in quotes, not {value!r}")
        try:
            color = Color.parse(value)
        except ColorParseError as error:
            raise InputError(f"{path}: {section}.{key}: {value!r} is not a color") from error
        if color.a < 1 or color.ansi is not None:
            raise InputError(f"{path}: {section}.{key}: {value!r} must be written as #rrggbb")
        colors[key] = color.hex6
    return colors


def _check_keys(
    table: Mapping[str, object], keys: tuple[str, ...], prefix: str, path: Path
) -> None:
    for key in table:
        if key not in keys:
            raise InputError(
                f"{path}: {prefix}{key} is unknown",
                advice=f"Known here: {', '.join(keys)}.",
            )


def theme_error(config: Config) -> InputError | None:
    """Return an error if the configured theme does not exist."""
    themes, _ = load_themes((bundled("themes"), config.config_dir / "themes"))
    known = BUILTIN_THEMES.keys() | {theme.name for theme in themes}
    return None if _full_name(config.theme, known) else _unknown_theme(config.theme, known)


def _full_name(name: str, known: Container[str]) -> str:
    """Return the name of a known theme, which may be given as `light`; empty if there is none."""
    return next((each for each in (name, f"{_OURS}{name}") if each in known), "")


def _unknown_theme(name: str, known: Iterable[str]) -> InputError:
    return InputError(
        f"There is no theme “{name}”.", advice=f"Available: {', '.join(sorted_theme_names(known))}."
    )


class ThemeFiles:
    """Registers the themes with the app and remembers which one the user chose."""

    def __init__(self, app: App[None], config: Config) -> None:
        self._app = app
        self._folders = (bundled("themes"), config.config_dir / "themes")
        self._choice_file = config.data_dir / "theme"
        self._configured = config.theme

    def load(self) -> list[InputError]:
        """Register the themes and apply the chosen one; return the errors in their files.

        Call it before the app runs: a later change of theme would parse the style sheets twice.
        """
        app = self._app
        themes, errors = load_themes(self._folders)
        for loaded in themes:
            app.register_theme(loaded)
        chosen, known = chosen_theme(self._choice_file, self._configured), app.available_themes
        theme = _full_name(chosen, known) or _full_name(self._configured, known)
        if not theme:
            errors.append(_unknown_theme(self._configured, known))
            theme = DARK if DARK in app.available_themes else app.theme
        app.set_reactive(App.theme, theme)
        dark = app.current_theme.dark
        app.set_class(dark, "-dark-mode", update=False)
        app.set_class(not dark, "-light-mode", update=False)
        app.stylesheet.set_variables(app.get_css_variables())
        return errors

    async def choose_or_ask(self, name: str) -> None:
        """Switch to a theme; without a name ask which, with a preview."""
        before, themes = self._app.theme, self._app.available_themes
        choices = (
            (theme_name, theme_name, "dark" if themes[theme_name].dark else "light")
            for theme_name in sorted_theme_names(themes)
        )

        def show(chosen: str) -> None:
            self._app.theme = chosen

        chosen = name or await ask(self._app, "Theme", choices, before, show)
        if chosen is None:
            self._app.theme = before
        else:
            self.choose(chosen)

    def choose(self, name: str) -> None:
        """Switch to a theme, also for the next start; show an error if there is none so named."""
        if theme := _full_name(name, self._app.available_themes):
            self._app.theme = theme
            save_choice(self._choice_file, theme, self._configured)
        else:
            show_error(self._app, _unknown_theme(name, self._app.available_themes))


def chosen_theme(choice_file: Path, configured: str) -> str:
    """Return the theme that was chosen on the screen, else the configured one.

    A choice is valid until the configuration names another theme than it did then.
    """
    try:
        chosen, then = choice_file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # UnicodeDecodeError is one
        return configured
    return chosen if then == configured and chosen else configured


def save_choice(choice_file: Path, chosen: str, configured: str) -> None:
    """Save a choice. If it cannot be saved, the next start has the configured theme."""
    with suppress(InputError):
        write_private(f"{chosen}\n{configured}\n", choice_file)
