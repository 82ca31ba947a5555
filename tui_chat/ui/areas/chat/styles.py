"""The transcript's style sheet: a component class for each style name, in the theme's colours.

The classes belong to an invisible child that is mounted with the first text: Textual computes all
of them with each change of style, and the first frame of the app needs none.
"""

from __future__ import annotations

import re
from typing import ClassVar

from textual.widget import Widget

CSS = """
Transcript {
    height: 1fr;
    overflow-y: scroll;

    & .transcript--user { background: $primary 9%; }
    & .transcript--user-bar { color: $primary; }
    & .transcript--cursor-bar { color: $accent; text-style: bold; }
    & .transcript--speaker-user { color: $text-primary; text-style: bold; }
    & .transcript--speaker-assistant { color: $text-accent; text-style: bold; }
    & .transcript--speaker-small { color: $foreground 67%; text-style: bold; }
    & .transcript--meta { color: $foreground 67%; }
    & .transcript--quiet { color: $foreground 72%; }
    & .transcript--live { color: $success; }
    & .transcript--reasoning { color: $foreground 72%; text-style: italic; }
    & .transcript--fold { color: $foreground 72%; }
    & .transcript--fold-mark { color: $text-accent; }
    & .transcript--strong { text-style: bold; }
    & .transcript--emphasis { text-style: italic; }
    & .transcript--strike { text-style: strike; }
    & .transcript--code { color: $text-warning; background: $foreground 8%; }
    & .transcript--link { color: $text-primary; text-style: underline; }
    & .transcript--citation { color: $text-accent; }
    & .transcript--url { color: $foreground 67%; }
    & .transcript--heading { color: $text-secondary; text-style: bold; }
    & .transcript--heading-first { color: $text-primary; text-style: bold underline; }
    & .transcript--heading-second { color: $text-primary; text-style: bold; }
    & .transcript--quote { color: $foreground 70%; }
    & .transcript--quote-bar { color: $foreground 30%; }
    & .transcript--rule { color: $foreground 20%; }
    & .transcript--list-mark { color: $text-accent; }
    & .transcript--table-head { text-style: bold; }
    & .transcript--table-line { color: $foreground 30%; }
    & .transcript--warning { color: $text-warning; }
    & .transcript--error { color: $text-error; }
    & .transcript--warning-box { background: $warning 10%; }
    & .transcript--error-box { background: $error 12%; }
    & .transcript--box-text { color: $foreground; }
    & .transcript--box-advice { color: $foreground 70%; }
    & .transcript--key { color: $foreground; background: $foreground 18%; text-style: bold; }
    & .transcript--button { color: $foreground; }
    & .transcript--hit { color: $background; background: $warning; }
    & .transcript--hit-here { color: $background; background: $accent; text-style: bold; }
    & .transcript--new-text {
        color: $button-color-foreground;
        background: $primary;
        text-style: bold;
    }
    & .transcript--code-block { background: $foreground 5%; }
    & .transcript--code-label { color: $foreground 67%; }
    & .transcript--code-copy { color: $foreground 67%; }
    & .transcript--maths { color: $text-secondary; }
    & .transcript--tool { color: $foreground; text-style: bold; }
    & .transcript--answered { color: $text-success; }
    & .transcript--awaiting { color: $text-warning; }
    & .transcript--pinned { color: $text-warning; }
    & .transcript--siblings { color: $foreground 72%; }
    & .transcript--arrow { color: $text-accent; text-style: bold; }
    & .transcript--code-text { color: $foreground; }
    & .transcript--code-comment { color: $foreground 67%; text-style: italic; }
    & .transcript--code-keyword { color: $text-accent; }
    & .transcript--code-string { color: $text-success; }
    & .transcript--code-number { color: $text-warning; }
    & .transcript--code-name { color: $text-primary; }
    & .transcript--code-class { color: $text-primary; text-style: bold; }
    & .transcript--code-builtin { color: $text-secondary; }
    & .transcript--code-inserted { color: $text-success; }
    & .transcript--code-deleted { color: $text-error; }
}
"""
"""The transcript's style sheet."""


class TranscriptStyles(Widget):
    """Carries the component classes of the transcript that is its parent."""

    DEFAULT_CSS = "TranscriptStyles { display: none; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = set(re.findall(r"transcript--[a-z-]+", CSS))
    """Every style name that a run may have, prefixed."""

    def notify_style_update(self) -> None:
        """Have the transcript drawn in the new colours."""
        super().notify_style_update()
        if isinstance(self.parent, Widget):
            self.parent.notify_style_update()
            self.parent.refresh()
