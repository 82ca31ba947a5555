"""Character cards: every version and container, hostile files, writing back, and by their name."""

from __future__ import annotations

import base64
import json
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command_line import Run
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.plugins.sillytavern.card_files import (
    SIGNATURE,
    CardFile,
    dump_json,
    dump_png,
    is_card,
    is_card_file,
    read_card,
    read_texts,
    with_texts,
)

CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "sillytavern" / "cards"


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + kind + content + checksum


PIXEL = (
    SIGNATURE
    + chunk(b"IHDR", bytes([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]))
    + chunk(b"IDAT", zlib.compress(b"\0\0"))
    + chunk(b"IEND", b"")
)
V1 = {"name": "Ada", "description": "A clerk.", "first_mes": "Yes?", "house_rule": 1}
V2: dict[str, Any] = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "name": "Old",
    "data": {"name": "Ada", "description": "A clerk 漢字.", "extensions": {"own": [1]}},
}
V3 = V2 | {"spec": "chara_card_v3", "data": V2["data"] | {"nickname": "A."}}


def packed(card: object) -> str:
    return base64.b64encode(json.dumps(card).encode()).decode()


def text_chunk(keyword: str, card: object) -> bytes:
    return chunk(b"tEXt", keyword.encode() + b"\0" + packed(card).encode())


def picture(*chunks: bytes) -> bytes:
    return PIXEL[:-12] + b"".join(chunks) + PIXEL[-12:]


@each_row("card", [V1, V2, V3, {"char_name": "Ada", "char_persona": "A clerk."}])
def test_every_version_has_a_name(card: dict[str, Any]):
    text = json.dumps(card).encode()
    assert is_card(card)
    assert is_card_file(b"\n" + text)
    assert read_card(text, "card").name == "Ada"
    assert str(read_card(text, "card").fields["description"]).startswith("A clerk")


def test_the_newer_card_of_a_picture_wins_and_keywords_have_no_case():
    found = read_card(picture(text_chunk("Chara", V2), text_chunk("ccv3", V3)), "card.png")
    assert found.json == V3
    assert found.picture == PIXEL
    assert read_card(picture(text_chunk("Chara", V2)), "card.png").json == V2


def test_an_archive():
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", json.dumps(V3))
    assert read_card(content.getvalue(), "card.charx").json == V3


def test_a_card_is_written_with_all_that_is_unknown():
    card = read_card(picture(text_chunk("ccv3", V3)), "card.png")
    again = read_card(dump_png(card), "card.png")
    assert again == card
    assert again.fields["extensions"] == {"own": [1]}
    assert read_card(dump_json(card).encode(), "card.json").json == V3
    texts = read_texts(dump_png(card))
    assert json.loads(base64.b64decode(texts["chara"]))["spec"] == "chara_card_v2"
    with pytest.raises(InputError, match="no picture"):
        dump_png(CardFile(V2))


def test_other_texts_of_a_picture_stay():
    png = picture(chunk(b"tEXt", b"Author\0me"), text_chunk("chara", V2))
    assert read_texts(dump_png(read_card(png, "card")))["author"] == "me"


def zip_bomb() -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", b"[" * 40 * 2**20)
    return content.getvalue()


LONG = chunk(b"tEXt", b"chara\0" + bytes(17 * 2**20))


@each_row(
    ("content", "fault"),
    [
        (PIXEL, "without a character card"),
        (SIGNATURE, "without a character card"),
        (picture(chunk(b"tEXt", b"chara\0!!!")), "not base64|line 1"),
        (picture(text_chunk("chara", [1])), "not a character card"),
        (picture(text_chunk("chara", V2 | {"data": {"name": "  "}})), "data.name"),
        (picture(LONG), "longer than 16 MB"),
        (zip_bomb(), "larger than 16 MB"),
        (b"PK\x03\x04nonsense", "damaged archive"),
        (b"{", "line 1"),
        (b"[" * 100_000, "deep"),
        (b"", "line 1|empty"),
        (b'{"name": "a preset"}', "not a character card"),
    ],
    ids=range(12),
)
def test_other_files_are_refused_with_their_name(content: bytes, fault: str):
    with pytest.raises(InputError, match=fault) as caught:
        read_card(content, "a.png")
    assert str(caught.value).startswith("a.png")


@given(st.binary(max_size=200), st.integers(0, 200), st.booleans())
def test_damaged_pictures_have_a_card_or_a_fault(noise: bytes, at: int, cut: bool):
    whole = picture(text_chunk("chara", V1))
    damaged = whole[:at] + noise + (b"" if cut else whole[at + len(noise) :])
    try:
        card = read_card(damaged, "a.png")
    except InputError as error:
        fault = str(error)
        assert "a.png" in fault
    else:
        assert card.name


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("xyz=", min_size=1)))
def test_texts_are_read_as_they_were_written(texts: dict[str, str]):
    assert read_texts(with_texts(PIXEL, texts)) == texts


@pytest.mark.skipif(not CORPUS.exists(), reason=f"no corpus at {CORPUS}")
def test_real_cards():
    for path in sorted(CORPUS.iterdir()):
        if "invalid" in path.name:
            with pytest.raises(InputError):
                read_card(path.read_bytes(), path.name)
            continue
        card = read_card(path.read_bytes(), path.name)
        assert card.name
        if card.picture:
            assert read_card(dump_png(card), path.name).fields == card.fields


# --- Commands that get a character card where they expect something else say what it is ---


COMMANDS = (
    ("presets", "check"),
    ("presets", "show"),
    ("presets", "show", "--json"),
    ("build", "x", "--preset"),
    ("build", "x", "--role"),
    ("build", "x", "--history"),
    ("build", "--turn"),
    ("convert", "--to", "anthropic"),
    ("convert", "--from", "openai_chat", "--to", "anthropic"),
    ("inspect",),
    ("read", "--protocol", "openai_chat"),
)
CARDS = {
    "one.json": json.dumps(V1).encode(),
    "two.json": json.dumps(V2).encode(),
    "a picture.png": picture(text_chunk("ccv3", V3)),
}


@each_row("command", COMMANDS, ids=" ".join)
@each_row("name", CARDS)
def test_a_card_is_called_a_card(
    run: Run, tmp_path: Path, command: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(CARDS[name])
    done = run("--config-dir", tmp_path / "config", *command, name)
    said = (done.out + done.err).replace("unreadable is", f"{name} is")
    quoted = f"'{name}'" if " " in name else name
    assert done.code != 0
    assert f"is a character card. Import it: `tui-chat import {quoted}`." in said
    assert list(tmp_path.rglob("*.json")) == [tmp_path / name] * name.endswith(".json")


def test_other_files_with_such_keys_are_read(run: Run, tmp_path: Path):
    path = tmp_path / "p.json"
    messages = [
        {"id": "personality", "content": '"personality" of {{char}}'},
        {"id": "scenario", "content": 'Answer with {"first_mes": ""}'},
        {"id": "history", "type": "chat_history"},
    ]
    path.write_text(json.dumps({"name": "p", "presetMessages": messages}))
    assert run("presets", "show", path).code == 0
    (tmp_path / "plain.png").write_bytes(PIXEL)
    done = run("presets", "show", tmp_path / "plain.png")
    assert "is not UTF-8 text" in done.err
    assert "card" not in done.err


@each_row("name", CARDS)
def test_a_card_that_is_attached_is_called_a_card(run: Run, tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(CARDS[name])
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    done = run(*home, "ask", "--model", "echo", "Look", "--attach", tmp_path / name)
    kind = "picture" if name.endswith(".png") else "text"
    assert done.code == 0
    assert done.out.startswith("Look\n")
    assert f"is a character card; it is attached as a {kind}. Import it: `tui-chat" in done.err
    (tmp_path / "plain.png").write_bytes(PIXEL)
    assert "card" not in run(*home, "ask", "Hi", "--attach", tmp_path / "plain.png").err


def test_a_card_that_cannot_be_attached_is_called_a_card(run: Run, tmp_path: Path):
    path = tmp_path / "ada.charx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("card.json", json.dumps(V3))
    done = run("--data-dir", tmp_path, "--config-dir", tmp_path, "ask", "Hi", "--attach", path)
    assert done.code == 2
    assert "ada.charx is a character card. Import it" in done.err
