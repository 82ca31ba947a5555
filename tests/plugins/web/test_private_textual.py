"""The private members of Textual that the web driver uses; see tests/unit/architecture."""

from __future__ import annotations

import pytest

from tests.unit.architecture.test_private_textual import OURS, is_there, used_members

MEMBERS = {
    "textual.driver.Driver._app": "receives resizes; take it from `__init__`",
    "textual.driver.Driver._debug": "goes to the parser; False does",
    "textual.driver.Driver._loop": "the event loop; take the running one in `__init__`",
    "textual.drivers._byte_stream.ByteStream": "splits packets; textual-serve has one of its own",
    "textual.drivers.web_driver.WebDriver._input_reader": "reads standard input; read it in ours",
    "textual.drivers.web_driver.WebDriver._on_meta": "decodes a packet; `json.loads` and `on_meta`",
    "textual.drivers.web_driver.WebDriver._write": "where packets go; override `write` instead",
}


@pytest.mark.parametrize("member", MEMBERS)
def test_textual_has_the_private_member(member: str):
    assert is_there(member), f"Textual no longer has {member}: {MEMBERS[member]}"


@pytest.mark.slow
def test_every_private_member_has_its_reason():
    assert used_members(OURS / "plugins" / "web") == set(MEMBERS)
