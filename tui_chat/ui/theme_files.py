"""The app's themes: read from their files, chosen on the screen, and read again when edited."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from tui_chat.errors import InputError
from tui_chat.files import make_private_folder
from tui_chat.paths import bundled
from tui_chat.ui.notifications import show_error
from tui_chat.ui.themes import DARK, LIGHT, load_themes

if TYPE_CHECKING:
    from tui_chat.config import Config

POLL_SECONDS = 1.0
"""Seconds between looks at the theme files."""

FileStates = tuple[tuple[str, int, int], ...]
"""Path, modification time in ns and size of each theme file."""


class ThemeFiles:
    """Registers the themes with the app and remembers which one the user chose."""

    def __init__(self, app: App[None], config: Config) -> None:
        self._app = app
        self._folders = (bundled("themes"), config.config_dir / "themes")
        self._choice_file = config.data_dir / "theme"
        self._configured = config.theme
        self._states: FileStates = ()
        """The files as they were read last."""

    def load(self) -> list[InputError]:
        """Register the themes and apply the chosen one; return the errors in their files.

        Call it before the app runs: a later change of theme would parse the style sheets twice.
        """
        app = self._app
        errors = self._register()
        wanted = chosen_theme(self._choice_file, self._configured)
        if wanted not in app.available_themes:
            wanted = self._configured
        if wanted not in app.available_themes:
            errors.append(self._unknown(wanted))
            wanted = DARK if DARK in app.available_themes else app.theme
        app.set_reactive(App.theme, wanted)
        dark = app.current_theme.dark
        app.set_class(dark, "-dark-mode", update=False)
        app.set_class(not dark, "-light-mode", update=False)
        app.stylesheet.set_variables(app.get_css_variables())
        return errors

    def _register(self) -> list[InputError]:
        self._states = file_states(self._folders)
        themes, errors = load_themes(self._folders)
        for theme in themes:
            self._app.register_theme(theme)
        return errors

    def _unknown(self, name: str) -> InputError:
        known = ", ".join(sorted(self._app.available_themes))
        return InputError(f"There is no theme “{name}”.", advice=f"There are: {known}.")

    def watch(self) -> None:
        """Read the files again whenever one has changed; the app must be running."""
        self._app.set_interval(POLL_SECONDS, self.reload_if_changed)

    def reload_if_changed(self) -> None:
        """Read the files again if one has changed, and show the errors in them."""
        if file_states(self._folders) == self._states:
            return
        before = self._app.current_theme
        for error in self._register():
            show_error(self._app, error)
        if self._app.current_theme != before:
            self._app.mutate_reactive(App.theme)

    async def choose_or_ask(self, name: str) -> None:
        """Switch to a theme; without a name ask which, with a preview."""
        from tui_chat.ui.dialogs.questions import ask_theme

        before = self._app.theme
        chosen = name or await ask_theme(self._app)
        if chosen is None:
            self._app.theme = before
        else:
            self.choose(chosen)

    def choose(self, name: str) -> None:
        """Switch to a theme, also for the next start; show an error if there is none so named."""
        if name in self._app.available_themes:
            self._app.theme = name
            save_choice(self._choice_file, name, self._configured)
        else:
            show_error(self._app, self._unknown(name))

    def toggle_light(self) -> None:
        """Switch to the other theme of a dark and light pair."""
        now, dark = self._app.theme, self._app.current_theme.dark
        other = now.replace("dark", "light") if dark else now.replace("light", "dark")
        if other == now or other not in self._app.available_themes:
            other = LIGHT if dark else DARK
        self.choose(other)


def file_states(folders: Iterable[Path]) -> FileStates:
    """Return the state of the theme files; equal as long as none is touched."""
    found: list[tuple[str, int, int]] = []
    for folder in folders:
        try:
            for path in folder.glob("*.toml"):
                status = path.stat()
                found.append((str(path), status.st_mtime_ns, status.st_size))
        except OSError:  # a file was removed meanwhile; the next look will notice
            continue
    return tuple(sorted(found))


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
    try:
        make_private_folder(choice_file.parent)
        choice_file.write_text(f"{chosen}\n{configured}\n", encoding="utf-8")
    except OSError:
        return
