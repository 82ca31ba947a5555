"""Letters that act on a screen although nothing on it says so: where a reader would expect text."""

from __future__ import annotations

import re
from typing import Any, cast

from textual.app import App
from textual.screen import Screen

from tui_chat.ui.key_names import key_name
from tui_chat.ui.pane_keys import is_letter

_MOVES = ("move", "scroll", "first", "last")
_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


def unnamed_letters(app: App[Any]) -> set[str]:
    """Return the letters that act on the screen on top, other than by moving the cursor, and are
    named nowhere on it, nor another key with the same action; none while a field takes letters.
    """
    focused = app.focused
    if focused is not None and focused.check_consume_key("a", "a"):
        return set()
    screen = cast("Screen[object]", app.screen)
    named = _words(screen)
    named_by_action: dict[str, bool] = {}
    letters: dict[str, str] = {}
    for key, active in screen.active_bindings.items():
        action = active.binding.action
        label = _ARROWS.get(key, key_name(key))
        named_by_action[action] = named_by_action.get(action, False) or label in named
        if active.enabled and is_letter(key) and not action.startswith(_MOVES):
            letters[label] = action
    return {label for label, action in letters.items() if not named_by_action[action]}


def _words(screen: Screen[object]) -> set[str]:
    """Return what stands apart on a screen: words, single signs, underlined letters."""
    words: set[str] = set()
    strips = screen._compositor.render_strips(screen.app.size)  # pyright: ignore[reportPrivateUsage]
    for strip in strips:
        words |= {*strip.text.split(), *re.split(r"[\s·,:;/()│↑↓]+", strip.text)}
        words |= {*re.findall(r"[↑↓←→]", strip.text)}
        words |= {s.text.strip() for s in strip if s.style is not None and s.style.underline}
    return words
