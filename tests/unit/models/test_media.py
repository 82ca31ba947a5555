"""Types of parts, and their bytes as files."""

from __future__ import annotations

import base64
import io
import wave

from tests.support.tables import each_row
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import as_text, detect_mime, file_of, kind_of, size_of


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


@each_row(
    ("part", "name"),
    [
        (MediaBlock("image", "image/png", data="AAAA"), "image-3.png"),
        (MediaBlock("image", "image/png", data="AAAA", name="cat.png"), "cat.png"),
        (MediaBlock("image", "image/jpeg", data="AAAA", name="cat.jpeg"), "cat.jpeg"),
        (
            MediaBlock("image", "image/png", data="AAAA", name="../../etc/pass wd"),
            "etc-pass-wd.png",
        ),
        (MediaBlock("image", "image/png", data="AAAA", name="run.sh"), "run.sh.png"),
        (MediaBlock("file", "text/html", data="AAAA"), "file-3.bin"),
        (MediaBlock("file", "text/plain", text="x", name="notes.txt"), "notes.txt"),
        (MediaBlock("file", "", text="x", name=".bashrc"), "bashrc.txt"),
    ],
)
def test_a_file_name_is_safe_and_fits_the_type(part: MediaBlock, name: str) -> None:
    found = file_of(part, 3)
    assert found is not None
    assert found[0] == name


@each_row("data", ["", "AAA", "…", "A===="])
def test_what_is_not_base64_is_no_file(data: str) -> None:
    assert file_of(MediaBlock("image", "image/png", data=data), 1) is None
    assert file_of(MediaBlock("audio", "audio/pcm", data=data), 1) is None


@each_row(("mime", "rate"), [("audio/L16;codec=pcm;rate=16000", 16_000), ("audio/pcm", 24_000)])
def test_pcm_becomes_a_wav_file(mime: str, rate: int) -> None:
    found = file_of(MediaBlock("audio", mime, data=base64_of(bytes(range(200)))), 1)
    assert found is not None
    assert found[0] == "audio-1.wav"
    with wave.open(io.BytesIO(found[1])) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (rate, 1, 2)
        assert file.readframes(1_000) == bytes(range(200))


@each_row("size", range(7))
def test_the_size_is_that_of_the_bytes(size: int) -> None:
    assert size_of(MediaBlock("image", data=base64_of(bytes(size)))) == size


def test_types() -> None:
    assert [
        kind_of(mime) for mime in ("IMAGE/PNG", "audio/L16; rate=8000", "image/svg+xml", "")
    ] == [*("image", "audio", "file", "file")]
    assert detect_mime(b"RIFF\0\0\0\0WAVEfmt ") == "audio/wav"
    assert detect_mime(b"<svg onload=x>") == ""
    document = MediaBlock("file", "text/csv", data=base64_of("ä,b".encode()))
    assert as_text(document).text == "ä,b"
    assert as_text(MediaBlock("file", "text/csv", data="/w==")).text == ""
