"""The actions that are possible now, with their keys: what the help and the palette list."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.actions import parse
from textual.app import App
from textual.dom import DOMNode
from textual.widget import Widget

from tui_chat.ui.actions import ACTIONS, place_aliases, searched_words
from tui_chat.ui.key_names import PaneKey, key_name, key_names, keys_of
from tui_chat.ui.slash_commands import COMMANDS
from tui_chat.ui.widgets.after_refresh import call_after_refresh

if TYPE_CHECKING:
    from tui_chat.ui.command_palette import PaletteEntry
    from tui_chat.ui.dialogs.base import HelpLine
    from tui_chat.ui.key_bindings import KeyBindings
    from tui_chat.ui.panes import Panes


_MOVES = frozenset(
    (
        *("begin", "bottom", "down", "end", "first", "home", "item", "last", "move", "page"),
        *("piece", "rows", "scroll", "top", "up", "conversation.page"),
    )
)
"""Actions of panes that only move in the pane; the help lists them after what the pane can do."""

_MOUSE = (
    ("click", "A session, a tab, a message's arrows and buttons, a key in the last line"),
    ("drag", "Select text of the conversation (y copies it); a border moves with the mouse"),
    ("Shift+drag", "The terminal's own selection, in most terminals"),
    ("wheel", "Scroll what is under the mouse"),
)
"""The uses of the mouse; the help lists them last."""

_CURSOR_ACTIONS = frozenset(
    (
        *("begin", "bottom", "choose", "choose_to", "down", "end", "first", "hit", "item", "last"),
        *("leave", "message", "move", "new_line", "open", "page", "piece", "question", "rows"),
        *("step", "step_view", "submit", "top", "up", "conversation.run", "tool_calls.run"),
        "preset_editor.close_form",
    )
)
"""Actions of panes that the app has too, or that are of no use without their key."""


class ActionIndex:
    """Lists the actions of the app and of its panes, those of the focused pane first."""

    def __init__(self, app: App[None], key_bindings: KeyBindings, panes: Panes) -> None:
        self._app = app
        self._key_bindings = key_bindings
        self._panes = panes
        self._recent: list[str] = []
        """Ids of the palette's entries, the last used first."""

    def help_sections(self) -> tuple[tuple[str, list[HelpLine]], ...]:
        """Return titled lists of keys, or commands, and what they do."""
        from tui_chat.ui.command_palette import PANE_ALIASES
        from tui_chat.ui.dialogs.base import HelpLine
        from tui_chat.ui.inspector.origins import LETTERS, is_colorless

        keys = self._key_bindings.by_action
        pane_aliases = PANE_ALIASES | place_aliases()
        everywhere = [
            HelpLine(key_names(keys[action.id]), action.title, " ".join(action.aliases))
            for action in ACTIONS
            if keys[action.id] and self._is_possible(action.run)
        ]
        inspector = self._panes.inspector.pane
        view = inspector.view_beside_request if inspector is not None else ""
        in_use = self._pane_in_use
        focused, *others = [
            (
                view if view and pane is inspector else title,
                [
                    HelpLine(key.keys, key.title, " ".join(pane_aliases.get(key.title, ())))
                    for key in sorted(
                        self._acting_keys(pane) if pane is in_use else self._pane_keys(pane),
                        key=lambda key: key.action.partition("(")[0] in _MOVES,
                    )
                ],
            )
            for title, pane in self._titled_panes()
        ]
        aliases = searched_words()
        commands = [
            *(
                HelpLine(
                    f"/{command.name} {command.argument}".rstrip(),
                    command.title,
                    " ".join((*command.aliases, *aliases.get(command.run, ()))),
                )
                for command in COMMANDS
            ),
            HelpLine("/SETTING VALUE", "A setting of the session: /temperature 0.7", "/set"),
            HelpLine("@", "Attach a file"),
            HelpLine("//", "Start a message with /"),
        ]
        typed = [("Typed at the start of a message", commands)]
        if self._panes.chat.composer.disabled:
            typed = []
        runs = {command.run for command in COMMANDS}
        palette = [
            HelpLine(key_names(keys["palette"]), action.title, " ".join(action.aliases))
            for action in ACTIONS
            if not keys[action.id] and action.run not in runs and self._is_possible(action.run)
        ]
        more = [("Only in the palette", palette), ("Mouse", [HelpLine(*line) for line in _MOUSE])]
        if inspector is not None and is_colorless(inspector):
            letters = [HelpLine(letter, f"Text of: {kind}") for kind, letter in LETTERS.items()]
            more.append(("Letters at the left of the request", letters))
        return (focused, ("Everywhere", everywhere), *typed, *others, *more)

    async def search(self) -> None:
        """Let the user search for an action, and run it."""
        from tui_chat.ui.command_palette import CommandPalette

        entries = {entry.id: entry for entry in self.palette_entries()}
        chosen = await self._app.push_screen_wait(CommandPalette([*entries.values()], self._recent))
        if chosen is not None:
            self._recent = [chosen, *(id for id in self._recent if id != chosen)]
            await entries[chosen].run()

    def palette_entries(self) -> Iterator[PaletteEntry]:
        """Yield the palette's actions, without cursor moves: the app's, then each pane's."""
        from tui_chat.ui.command_palette import PANE_ALIASES, PaletteEntry

        app = self._app
        pane_aliases = PANE_ALIASES | place_aliases()
        for action in ACTIONS:
            if self._is_possible(action.run) and action.id != "palette":
                yield PaletteEntry(
                    action.title,
                    lambda action=action: app.run_action(action.run),
                    key_names(self._key_bindings.by_action[action.id]),
                    aliases=action.aliases,
                )
        for title, pane in self._titled_panes():
            for key in self._pane_keys(pane):
                if key.action.partition("(")[0] in _CURSOR_ACTIONS:
                    continue
                yield PaletteEntry(
                    key.title,
                    lambda pane=pane, key=key: self._run_in_pane(pane, key),
                    key.keys,
                    title,
                    pane_aliases.get(key.title, ()),
                )

    def _titled_panes(self) -> list[tuple[str, Widget]]:
        """Return the existing panes with their titles, the one with the focus first."""
        chat = self._panes.chat
        panes: list[tuple[str, Widget | None]] = [
            ("Composer", None if chat.composer.disabled else chat.composer),
            ("Tool call", chat.tool_question if chat.tool_question.call else None),
            ("Conversation", chat.transcript),
            ("Sessions", self._panes.sessions),
            ("Preset editor", self._panes.presets.pane),
            ("Inspector", self._panes.inspector.pane),
        ]
        existing = [(title, pane) for title, pane in panes if pane is not None]
        return sorted(existing, key=lambda titled: not titled[1].has_focus_within)

    @property
    def _pane_in_use(self) -> Widget | None:
        """The pane with the focus; None if a field has it, where letters are text."""
        focused = self._app.focused
        if focused is None or focused.check_consume_key("a", "a"):
            return None
        panes = (pane for _, pane in self._titled_panes() if pane.has_focus_within)
        return next(panes, None)

    def _pane_keys(self, pane: Widget) -> Iterator[PaneKey]:
        return (key for key in keys_of(pane) if self._is_possible(key.action, key.node))

    def _acting_keys(self, pane: Widget) -> Iterator[PaneKey]:
        """Yield all keys of a pane that act where the focus is."""
        keys: dict[str, list[str]] = {}
        runs: dict[str, tuple[str, Widget]] = {}
        for key, active in self._app.screen.active_bindings.items():
            binding, node = active.binding, active.node
            if active.enabled and isinstance(node, Widget) and pane in node.ancestors_with_self:
                title = binding.tooltip or binding.description
                keys.setdefault(title, []).append(key_name(key))
                runs.setdefault(title, (binding.action, node))
        for title, names in keys.items():
            yield PaneKey(", ".join(names), title, *runs[title])

    def _is_possible(self, action: str, owner: DOMNode | None = None) -> bool:
        area, name, parameters = parse(action)
        node: DOMNode = getattr(self._app, area) if area else owner or self._app
        return bool(node.check_action(name, parameters))

    async def _run_in_pane(self, pane: Widget, key: PaneKey) -> None:
        """Run the action of a pane's key there, with the pane visible."""
        self._panes.reveal(pane)
        revealed = asyncio.Event()
        call_after_refresh(self._app, revealed.set)
        await revealed.wait()
        key.node.focus()
        await self._app.run_action(key.action, key.node)
