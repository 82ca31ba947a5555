"""Exports to be read, and their timestamps."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reading import only, shown
from tests.support.replies import (
    EXAMPLE,
    MUTED,
    PARTS,
    PNG,
    REFERENCES,
    TEXT,
    muted_reply,
    reply,
    told,
    written,
)
from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.errors import InputError
from tui_chat.interop.messages import message_lines, read_history
from tui_chat.interop.readable import markdown
from tui_chat.interop.transcript_builder import parse_timestamp
from tui_chat.models.blocks import Extras, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted
from tui_chat.models.reply import MediaPart, Reply, TextDelta, advance
from tui_chat.models.session import Entry, SessionTranscript


def test_markdown():
    assert "".join(markdown(EXAMPLE)) == (
        "# A walk\n\n"
        "- Role: Ada\n- Created: 2023-11-14 22:13\n- Messages: 4, and 1 on other branches\n"
        "\n---\n\n## You · 2023-11-14 22:13\n\nWeather?\n"
        "\n---\n\n## Ada · gpt-4o · 2 of 2\n"
        "\n<details><summary>Reasoning</summary>\n\nI look.\n\n</details>\n"
        "\n**One** moment.\n"
        "\n<details><summary>Tool call: weather</summary>\n\n"
        '```json\n{\n  "at": "home"\n}\n```\n\n</details>\n'
        "\n---\n\n## Tool: weather\n\n````\nsun ``` `\n````\n"
        "\n---\n\n## Ada · failed\n\n> The server is gone.\n"
    )


@each_row(("muted", "words"), MUTED)
def test_what_is_muted_is_said(muted: Muted, words: str):
    transcript = muted_reply(muted)
    assert words in "".join(markdown(transcript))


@each_row(
    ("text", "written"),
    [
        ("```py\nx", "```py\nx\n```"),
        ("~~~~\nx\n~~~", "~~~~\nx\n~~~\n~~~~"),
        ("```\nx\n```\ny", "```\nx\n```\ny"),
        ("a </details> b", r"a \</details> b"),
        ("<!-- hidden", r"\<!-- hidden"),
        ("<SCRIPT>x", r"\<SCRIPT>x"),
        ("```\n<script>\n```", "```\n<script>\n```"),
        ("Vec<T> and <b>", "Vec<T> and <b>"),
        ("\x1b]0;x\x07\u202e", "␛]0;x␇\\u202e"),
    ],
)
def test_markdown_of_a_message_cannot_affect_what_follows(text: str, written: str):
    assert f"\n\n{written}\n" in "".join(markdown(reply(text)))


@pytest.mark.slow
@given(transcripts())
def test_any_session_can_be_exported(transcript: SessionTranscript):
    text = "".join(markdown(transcript))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_markdown_lists_sources() -> None:
    url = "https://tower.example/a_%28b%29"
    text = "".join(markdown(reply(TEXT, references=REFERENCES)))
    assert text.endswith(
        "\n<details><summary>Sources (2)</summary>\n\n"
        f"1. [Tower \\[1\\]]({url}) · tower.example\n"
        "2. \\<b\\>notes\\</b\\>.txt\n\n</details>\n"
    )


def drawn() -> Message:
    found = advance(Reply(), TextDelta("Here:"))
    for index, part in enumerate(PARTS):
        keys = {"a": [1], "thoughtSignature": f"sig{index}"}
        marked = replace(part, extras=Extras(Protocol.GEMINI, "", keys))
        found = advance(found, MediaPart(marked))
    return advance(found, TextDelta("Done.")).message(Protocol.GEMINI, id="m1")


def test_our_json_gives_back_what_was_exported() -> None:
    transcript = told(Entry(drawn(), model="gpt-4o"))
    [message] = shown(only(json.loads(written(transcript))))
    assert [replace(part, extras=None) for part in message.parts] == list(PARTS)
    assert message == drawn()


def test_a_large_picture_is_read_back() -> None:
    data = base64.b64encode(bytes(12_000_000)).decode()
    transcript = reply("x", parts=(MediaBlock("image", "image/png", data=data),))
    [message] = shown(only(json.loads(written(transcript))))
    assert message.parts[0].data == data


def test_markdown_names_them() -> None:
    text = "".join(markdown(reply("x", parts=PARTS)))
    assert "[image: image/png · 2 kB]" in text
    assert "[image: image/jpeg · damaged]" in text
    assert "[image: https://files.example/a.png](https://files.example/a.png)" in text
    assert PNG[:40] not in text


def test_messages_for_programs_can_be_read_again() -> None:
    [found] = read_history("".join(message_lines(reply("x", parts=PARTS))), "f")
    assert found.parts[0] == PARTS[0]
    assert found.content == "x[image: image/jpeg · damaged]"
    assert [part.media for part in found.parts] == ["image", "file", "file", "image"]


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def test_parts_are_read_in_their_order() -> None:
    content = [{"type": "text", "text": "a"}, PICTURE, {"type": "text", "text": "b"}]
    [message] = read_history(json.dumps([{"role": "user", "content": content}]), "f")
    assert message.content == "ab"
    assert [(part.media, part.mime, part.data) for part in message.parts] == [
        ("image", "image/png", "AA==")
    ]
    assert [block.kind for block in message.blocks] == ["text", "media", "text"]


@each_row("part", [{"type": "video_url"}, {"type": "image_url"}, 5])
def test_invalid_parts_name_their_place(part: object) -> None:
    with pytest.raises(InputError, match=r"f: \$\[0\]\.content"):
        read_history(json.dumps([{"role": "user", "content": [part]}]), "f")


def test_a_number_too_long_for_python_is_an_error() -> None:
    with pytest.raises(InputError, match=r"f: line 2 is not JSON: .*thousands of digits"):
        read_history('{"role": "user", "content": "a"}\n{"role": ' + "9" * 5000 + "}", "f")


# --- Timestamps in the notations of other programs ----------------------------------------


AT = 1720747897.0  # 2024-07-12 01:31:37 UTC


@each_row(
    ("said", "seconds"),
    [
        (AT, AT),
        (int(AT) * 1000, AT),
        (str(int(AT) * 1000), AT),
        ("2024-07-12T01:31:37Z", AT),
        ("2024-07-12T03:31:37+02:00", AT),
        ("2024-07-12T01:31:37", AT),
        ("2024-07-12T01:31:37.123456Z", AT + 0.123456),
        ("2024-7-12@01h31m37s", AT),
        ("2024-07-12@01h31m37s123ms", AT + 0.123),
        ("2024-7-12 @1h 31m 37s 5ms", AT + 0.005),
        ("July 12, 2024 1:31am", AT - 37),
        ("July 12, 2024 01:31", AT - 37),
        ("Jul 12, 2024 12:05 am", AT - 37 - 86 * 60),
        ("July 12, 2024 12:31pm", AT - 37 + 11 * 3600),
    ],
)
def test_known_notations_are_parsed(said: object, seconds: float):
    assert parse_timestamp(said) == pytest.approx(seconds)


@each_row(
    "said",
    [None, True, "", "soon", "2024-13-40@99h99m99s", 0, -5, 1e30, 10**400, "Foo 1, 2024 1:00pm"],
)
def test_other_values_are_not_times(said: object):
    assert parse_timestamp(said) is None


@given(st.one_of(st.text(max_size=70), st.floats(), st.integers()))
def test_no_value_raises(said: object):
    at = parse_timestamp(said)
    assert at is None or 0 < at < 253_402_300_800
