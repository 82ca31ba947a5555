"""What is pasted as a captured request may be the path of a file with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_chat.errors import InputError
from tui_chat.ui.acting.supposing import in_file


def test_a_path_stands_for_what_the_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "a request.json"
    file.write_text('{"model": "m", "messages": []}')
    assert in_file(f" '{file}'\n") == file.read_text()
    for text in ('{"model": "m"}', "no/such/file", "curl x\n -d {}", "", str(tmp_path), "x" * 9999):
        assert in_file(text) == text


def test_a_path_that_cannot_be_read_is_told() -> None:
    with pytest.raises(InputError, match="cannot be read"):
        in_file("~nobody-of-this-name/request.json\0")
