"""Texts that stay until they are closed: the log of notifications, and reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.ui.dialogs.base import Dialog, DialogBox, set_title
from tui_chat.ui.notifications import Notice

_STYLES = {"information": "", "warning": "$text-warning", "error": "$text-error"}


class NotificationLog(Dialog[None]):
    """Lists notifications with their time and whole text, the newest first."""

    DEFAULT_CSS = """
    NotificationLog > Vertical { width: 110; }
    NotificationLog OptionList:focus { border: none; }
    NotificationLog OptionList { text-wrap: wrap; text-overflow: fold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter,ctrl+c", "copy", "Copy", show=False, priority=True),
        Binding("Y", "copy_all", "Copy all", show=False),
    ]

    def __init__(self, notices: Sequence[Notice], title: str = "Notifications") -> None:
        super().__init__()
        self._title = title
        self._texts = [_described(notice) for notice in reversed(notices)]
        self._severities = [notice.severity for notice in reversed(notices)]

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, self._title)
            if self._texts:
                texts = zip(self._texts, self._severities, strict=True)
                yield OptionList(
                    *(Option(Content.styled(text, _STYLES[severity])) for text, severity in texts)
                )
            else:
                yield Static("No notifications yet.")
            yield Static("↑ ↓ scroll · y copy one · Y copy all · Esc close", classes="hint")

    def action_copy(self) -> None:
        marked = self.query_one(OptionList).highlighted if self._texts else None
        if marked is not None:
            self._copy(self._texts[marked])

    def action_copy_all(self) -> None:
        self._copy("\n".join(self._texts))

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)  # pyright: ignore[reportUnknownMemberType]  Textual types it App[Unknown]
        self.notify(f"Copied {len(text):,} characters.", markup=False)


def _described(notice: Notice) -> str:
    time = datetime.fromtimestamp(notice.created).astimezone()
    return f"{time:%H:%M:%S}  {notice.message}"
