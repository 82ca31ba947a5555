"""Looking: panes and themes."""

from __future__ import annotations

from pathlib import Path

from textual import work
from textual.app import App

from tui_chat.errors import InputError
from tui_chat.paths import bundled
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.panes import SidePane
from tui_chat.ui.theme_files import State, chosen_theme, files_now, keep_choice
from tui_chat.ui.themes import DARK, LIGHT, load_themes, origin_defaults

THEMES_EVERY = 1.0
"""Seconds between looks at the theme files."""


class Looking(Shell):
    """What is on the screen and in which colours."""

    _theme_files: State = ()

    def action_pane(self, name: SidePane) -> None:
        """Show a pane and go there; from there, close it and go back."""
        self._panes.go(name)

    def action_find(self) -> None:
        """Show the sessions and go to the line that narrows them."""
        self.find_session("")

    def find_session(self, words: str) -> None:
        """Show the sessions that have these words, and go there to type more."""
        self._panes.open("sessions")
        self._sessions.filter.value = words
        self.call_after_refresh(self._sessions.action_filter)

    # --- themes --------------------------------------------------------------------------

    def load_our_themes(self) -> list[InputError]:
        """Register the themes and take the chosen one; return what is wrong with them.

        Before the app runs: a change of theme would have the style sheets read twice.
        """
        faults = self._read_themes()
        configured = self._config.theme
        wanted = chosen_theme(self._theme_note, configured)
        if wanted not in self.available_themes:
            wanted = configured
        if wanted not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            fault = InputError(f"There is no theme “{wanted}”.", advice=f"There are: {known}.")
            faults.append(fault)
            wanted = DARK if DARK in self.available_themes else self.theme
        self.set_reactive(App.theme, wanted)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        return faults

    @property
    def _theme_note(self) -> Path:
        return self._config.data_dir / "theme"

    @property
    def _theme_folders(self) -> tuple[Path, Path]:
        return bundled("themes"), self._config.config_dir / "themes"

    def _read_themes(self) -> list[InputError]:
        self._theme_files = files_now(self._theme_folders)
        themes, faults = load_themes(self._theme_folders)
        for theme in themes:
            self.register_theme(theme)
        return faults

    def watch_theme_files(self) -> None:
        """See what is changed in the theme files as soon as it is saved."""
        self.set_interval(THEMES_EVERY, self._look_at_theme_files)

    def _look_at_theme_files(self) -> None:
        if files_now(self._theme_folders) == self._theme_files:
            return
        before = self.current_theme
        for fault in self._read_themes():
            self.show_error(fault)
        if self.current_theme != before:
            self.mutate_reactive(App.theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give themes that are not ours colours for the origins."""
        return origin_defaults(self.current_theme.dark)

    def take_theme(self, name: str) -> None:
        """Show everything in other colours, also after the next start."""
        if name in self.available_themes:
            self.theme = name
            keep_choice(self._theme_note, name, self._config.theme)
        else:
            known = ", ".join(sorted(self.available_themes))
            self.show_error(
                InputError(f"There is no theme “{name}”.", advice=f"There are: {known}.")
            )

    @work(group="dialog", exclusive=True)
    async def action_choose_theme(self) -> None:
        """Choose the colours, seen while one chooses."""
        from tui_chat.ui.dialogs.questions import ask_theme

        before = self.theme
        chosen = await ask_theme(self)
        if chosen is None:
            self.theme = before
        else:
            self.take_theme(chosen)

    def action_toggle_light(self) -> None:
        """Change between the dark and the light theme of a pair."""
        now, dark = self.theme, self.current_theme.dark
        other = now.replace("dark", "light") if dark else now.replace("light", "dark")
        if other == now or other not in self.available_themes:
            other = LIGHT if dark else DARK
        self.take_theme(other)
