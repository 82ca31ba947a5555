"""Looking: panes, themes, help and the palette."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import App, SystemCommand
from textual.screen import Screen

from tui_chat.errors import InputError
from tui_chat.paths import bundled
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.actions import key_name
from tui_chat.ui.panes import SidePane
from tui_chat.ui.themes import load_themes, origin_defaults
from tui_chat.ui.welcome import KEYS_BY_PLACE


class Looking(Shell):
    """What is on the screen and in which colours."""

    def action_pane(self, name: SidePane) -> None:
        """Show a pane and go there; from there, close it and go back."""
        self._panes.go(name)

    def action_find(self) -> None:
        """Show the sessions and go to the line that narrows them."""
        self._panes.open("sessions")
        self.call_after_refresh(self._sessions.action_filter)

    def load_our_themes(self) -> list[InputError]:
        """Register the themes and take the configured one; return what is wrong with them.

        Before the app runs: a change of theme would have the style sheets read twice.
        """
        folders = (bundled("themes"), self._config.config_dir / "themes")
        themes, faults = load_themes(folders)
        for theme in themes:
            self.register_theme(theme)
        wanted = self._config.theme
        if wanted not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            fault = InputError(f"There is no theme “{wanted}”.", advice=f"There are: {known}.")
            faults.append(fault)
            wanted = themes[0].name if themes else self.theme
        self.set_reactive(App.theme, wanted)
        dark = self.current_theme.dark
        self.set_class(dark, "-dark-mode", update=False)
        self.set_class(not dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())
        return faults

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give themes that are not ours colours for the origins."""
        return origin_defaults(self.current_theme.dark)

    def take_theme(self, name: str) -> None:
        """Show everything in other colours."""
        if name in self.available_themes:
            self.theme = name
        else:
            known = ", ".join(sorted(self.available_themes))
            self.complain(InputError(f"There is no theme “{name}”.", advice=f"There are: {known}."))

    def action_toggle_light(self) -> None:
        """Change between our dark and our light theme."""
        self.theme = "tui-chat-light" if self.current_theme.dark else "tui-chat-dark"

    def action_keys(self) -> None:
        """Show all keys."""
        from tui_chat.ui.dialogs import Help

        here = [
            (key_name(binding.key), binding.tooltip)
            for _, binding in self._bindings
            if binding.tooltip
        ]
        self.push_screen(Help((("Everywhere", here), *KEYS_BY_PLACE)))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action of the app in the palette, with its key."""
        for _, binding in self._bindings:
            if binding.tooltip:
                key = key_name(binding.key)
                run = lambda action=binding.action: self.run_action(action)  # noqa: E731
                yield SystemCommand(binding.tooltip, f"{binding.description} · {key}", run)
