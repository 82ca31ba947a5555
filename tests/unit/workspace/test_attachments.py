"""Files as parts of a message: types, limits and errors."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.media import format_size
from tui_chat.models.preset import Preset
from tui_chat.workspace import attachments
from tui_chat.workspace.attachments import read_attachment

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@each_row(
    ("data", "kind", "mime"),
    [
        (PNG, "image", "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image", "image/jpeg"),
        (b"GIF89a...", "image", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image", "image/webp"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio", "audio/wav"),
        (b"ID3\x04", "audio", "audio/mpeg"),
        (b"%PDF-1.7\n\xff", "file", "application/pdf"),
    ],
)
def test_the_type_is_detected_from_the_bytes(data: bytes, kind: str, mime: str, tmp_path: Path):
    path = tmp_path / "lies.txt"
    path.write_bytes(data)
    found = read_attachment(path)
    assert (found.part.media, found.part.mime, found.part.name) == (kind, mime, "lies.txt")
    assert base64.b64decode(found.part.data) == data
    assert found.label.startswith(f"lies.txt · {len(data)} B · ~")


def test_text_becomes_a_document_without_byte_order_mark(tmp_path: Path):
    path = tmp_path / "说明.md"
    path.write_bytes(b"\xef\xbb\xbf" + "你好\n".encode())
    part = read_attachment(path).part
    assert (part.media, part.text, part.data) == ("file", "你好\n", "")


@each_row(
    ("data", "fault"),
    [(b"", "is empty"), (b"\0\1\2", "is neither an image"), (b"caf\xe9", "is neither an image")],
)
def test_unknown_types_are_refused(data: bytes, fault: str, tmp_path: Path):
    path = tmp_path / "some.bin"
    path.write_bytes(data)
    with pytest.raises(InputError, match=fault):
        read_attachment(path)


def test_paths_that_are_not_files_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="is a folder"):
        read_attachment(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_attachment(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a regular file"):
        read_attachment(tmp_path / "pipe")


def test_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "large.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0" + bytes(4))
    monkeypatch.setattr(attachments, "LARGEST", 28)
    assert read_attachment(path).label == "large.png · 28 B · 640 × 480 · ~765 tokens"
    monkeypatch.setattr(attachments, "LARGEST", 10)
    with pytest.raises(InputError, match="too large: 28 B") as told:
        read_attachment(path)
    assert told.value.advice == "The limit is 10 B."


@each_row("protocol", Protocol)
@each_row("draft", ["look", ""])
def test_attachments_are_sent_with_the_draft(protocol: Protocol, draft: str, tmp_path: Path):
    path = tmp_path / "photo.png"
    path.write_bytes(PNG)
    part = read_attachment(path).part
    endpoint = Endpoint("e", protocol, "https://e.invalid", models=("gpt-4o",))
    composed = compose(Inputs(endpoint, Preset("p"), draft=draft, draft_parts=(part,)))
    assert part.data.encode() in composed.payload.body
    assert draft.encode() in composed.payload.body
    assert not composed.errors


@each_row(("size", "said"), [(1, "1 B"), (999, "999 B"), (34_400, "34 kB"), (1_250_000, "1.2 MB")])
def test_sizes_are_formatted(size: int, said: str):
    assert format_size(size) == said
