from typing import Any

import pytest

from tests.ui.inspector_requests import InspectorApp, composed
from tui_chat.model.endpoint import Protocol


@pytest.mark.parametrize("theme", ["tui-chat-dark", "tui-chat-light"])
def test_inspector(snap_compare: Any, theme: str) -> None:
    app = InspectorApp(composed(Protocol.OPENAI_CHAT), theme)
    assert snap_compare(app, terminal_size=(60, 44))


def test_inspector_previews_another_protocol(snap_compare: Any) -> None:
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    assert snap_compare(app, terminal_size=(52, 40))


def test_inspector_in_a_small_pane(snap_compare: Any) -> None:
    assert snap_compare(InspectorApp(composed(Protocol.GEMINI)), terminal_size=(30, 14))


def test_inspector_with_nothing_to_send(snap_compare: Any) -> None:
    assert snap_compare(InspectorApp(None), terminal_size=(52, 16))
