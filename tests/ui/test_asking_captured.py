"""What is pasted as a captured request may be the path of a file with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.preset import Preset
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.turn_file import TurnFile, TurnRequest
from tui_chat.ui.acting.supposing import in_file, told_of_keeping


def test_a_path_stands_for_what_the_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "a request.json"
    file.write_text('{"model": "m", "messages": []}')
    assert in_file(f" '{file}'\n") == file.read_text()
    for text in ('{"model": "m"}', "no/such/file", "curl x\n -d {}", "", str(tmp_path), "x" * 9999):
        assert in_file(text) == text


def test_a_path_that_cannot_be_read_is_told() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        in_file("~nobody-of-this-name/request.json\0")


@pytest.mark.parametrize(
    ("not_kept", "wanted", "told", "is_all"),
    [
        ((), "m", "Kept as a session with its preset.", True),
        (("tools (a, b)", "stop"), "m", "Not kept: tools (a, b), stop.", False),
        ((), "", "It names no model: m is asked.", False),
        ((), "other", "Its model other is not offered here: m is asked.", False),
        (("x" * 999,), "m", "…", False),
        (("\x1b[2J",), "m", "␛[2J", False),
    ],
)
def test_what_was_not_kept_is_told(
    not_kept: tuple[str, ...], wanted: str, told: str, is_all: bool
) -> None:
    words, kept_all = told_of_keeping(not_kept, wanted, "m")
    assert told in words
    assert kept_all is is_all
    assert len(words) < 400


def test_what_an_exported_turn_was_made_of_beside_its_preset_is_told() -> None:
    made_of = Inputs(
        BUILT_IN_ENDPOINTS[0],
        Preset("p"),
        role=Role("", "Gardener", "You garden."),
        profile=Profile("Ann", ""),
        tools=(ToolDefinition("dig", "", {}),),
    )
    sent = TurnRequest(Protocol.OPENAI_CHAT, "POST", "", "", "{}")
    assert TurnFile("0", made_of, sent).not_kept == ("role (Gardener)", "profile", "tools (dig)")
