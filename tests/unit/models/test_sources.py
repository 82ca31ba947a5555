"""The sources of replies."""

from __future__ import annotations

from tui_chat.models.message import found_source, web_address


def test_what_a_source_is_called() -> None:
    assert found_source("", "https://www.a.example:8080/x").label == "a.example"
    assert found_source("", "https://google.com@evil.example/").host == "evil.example"
    assert found_source("T\n x", "").label == "T x"
    assert found_source("", "gs://bucket/file").label == "gs://bucket/file"
    assert web_address(" HTTPS://a.example/ ") == "HTTPS://a.example/"
