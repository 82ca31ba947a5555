"""Files as parts of a message: their bytes say what they are; what does not fit is told."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from tui_chat import attachments
from tui_chat.attachments import paths_beginning, read_attachment, said_size
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.preset import Preset

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.mark.parametrize(
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
def test_the_bytes_say_what_it_is(data: bytes, kind: str, mime: str, tmp_path: Path):
    path = tmp_path / "lies.txt"
    path.write_bytes(data)
    found = read_attachment(path)
    assert (found.part.kind, found.part.mime, found.part.name) == (kind, mime, "lies.txt")
    assert base64.b64decode(found.part.data) == data
    assert found.label == f"lies.txt · {len(data)} B"


def test_text_is_a_document_without_its_byte_order_mark(tmp_path: Path):
    path = tmp_path / "说明.md"
    path.write_bytes(b"\xef\xbb\xbf" + "你好\n".encode())
    part = read_attachment(path).part
    assert (part.kind, part.text, part.data) == ("file", "你好\n", "")


@pytest.mark.parametrize(
    ("data", "fault"),
    [(b"", "is empty"), (b"\0\1\2", "is neither a picture"), (b"caf\xe9", "is neither a picture")],
)
def test_what_nobody_can_read_is_refused(data: bytes, fault: str, tmp_path: Path):
    path = tmp_path / "some.bin"
    path.write_bytes(data)
    with pytest.raises(InputError, match=fault):
        read_attachment(path)


def test_places_that_are_no_files_are_named(tmp_path: Path):
    with pytest.raises(InputError, match="is a folder"):
        read_attachment(tmp_path)
    with pytest.raises(InputError, match="There is no file"):
        read_attachment(tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is no ordinary file"):
        read_attachment(tmp_path / "pipe")


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "large.png"
    path.write_bytes(PNG)
    monkeypatch.setattr(attachments, "LARGEST", 10)
    with pytest.raises(InputError, match="too large: 28 B") as told:
        read_attachment(path)
    assert told.value.advice == "At most 10 B can go."


def test_paths_are_completed(tmp_path: Path):
    for name in ("notes.md", "Notes2.md", "my-notes.txt", ".hidden", "你好.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "deep.md").write_text("x")
    assert paths_beginning("not", tmp_path) == ["notes.md", "Notes2.md", "my-notes.txt"]
    assert paths_beginning("nest", tmp_path) == ["nested/"]
    assert paths_beginning("nested/", tmp_path) == ["nested/deep.md"]
    assert paths_beginning(f"{tmp_path}/nested/d", Path("/")) == [f"{tmp_path}/nested/deep.md"]
    assert paths_beginning(".h", tmp_path) == [".hidden"]
    assert paths_beginning("你", tmp_path) == ["你好.md"]
    for nowhere in ("missing/x", "~nobody-is-called-so/x", "\0/x"):
        assert paths_beginning(nowhere, tmp_path) == []
    assert paths_beginning("", tmp_path, limit=2) == ["my-notes.txt", "nested/"]


@pytest.mark.parametrize("protocol", Protocol)
@pytest.mark.parametrize("draft", ["look", ""])
def test_what_is_attached_goes_with_the_draft(protocol: Protocol, draft: str, tmp_path: Path):
    path = tmp_path / "photo.png"
    path.write_bytes(PNG)
    part = read_attachment(path).part
    endpoint = Endpoint("e", protocol, "https://e.invalid", models=("gpt-4o",))
    composed = compose(Inputs(endpoint, Preset("p"), draft=draft, draft_parts=(part,)))
    assert part.data.encode() in composed.payload.body
    assert draft.encode() in composed.payload.body
    assert not composed.errors


@pytest.mark.parametrize(
    ("size", "said"), [(1, "1 B"), (999, "999 B"), (34_400, "34 kB"), (1_250_000, "1.2 MB")]
)
def test_sizes(size: int, said: str):
    assert said_size(size) == said
