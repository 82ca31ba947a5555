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
from tui_chat.ui.widgets.typed_app import app_of

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
    ]

    def __init__(self, notices: Sequence[Notice]) -> None:
        super().__init__()
        self._texts = [_described(notice) for notice in reversed(notices)]
        self._severities = [notice.severity for notice in reversed(notices)]

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, "Notifications")
            if self._texts:
                texts = zip(self._texts, self._severities, strict=True)
                yield OptionList(
                    *(Option(Content.styled(text, _STYLES[severity])) for text, severity in texts)
                )
            else:
                yield Static("No notifications yet.")
            yield Static("↑ ↓ scroll · y copy · Esc close", classes="hint")

    def action_copy(self) -> None:
        """Copy the highlighted notification."""
        marked = self.query_one(OptionList).highlighted if self._texts else None
        if marked is not None:
            text = self._texts[marked]
            app_of(self).copy_to_clipboard(text)
            self.notify(f"Copied {len(text):,} characters.", markup=False)


def _described(notice: Notice) -> str:
    time = datetime.fromtimestamp(notice.created).astimezone()
    return f"{time:%H:%M:%S}  {notice.message}"
