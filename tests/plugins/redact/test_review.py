"""The review of what is redacted, and in the app."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from tests.support.app import make_app, opened, say, settle, until
from tests.support.messages import make_message, thought
from tests.support.pictures import Album
from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.interop.own_json import read_session
from tui_chat.models.blocks import CallBlock, MediaBlock, TextBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import About, Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredRequest
from tui_chat.models.token_probabilities import TokenProbability, pack_tokens
from tui_chat.plugins.redact.dialog import FindingsDialog
from tui_chat.plugins.redact.review import Review
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import PathPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.workspace.exports import export_formats, transcript_texts

SECRETS = {
    "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7": "key",
    "jane.doe@example.com": "email",
    "203.0.113.77": "ip",
    "+49 151 2345678": "phone",
    "Kim Lee": "word",
    "zerlina": "user",
    "Öjvind": "name",
}
PICTURE = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2).decode()


def in_base64(text: str) -> str:
    return b64encode(f"a longer text with {text} in it".encode()).decode()


FORMS = (
    str,
    lambda text: json.dumps(text),
    lambda text: json.dumps({"note": json.dumps({"inner": [text]})}),
    lambda text: json.dumps(text).replace("@", "\\u0040"),
    lambda text: f"https://host.invalid/?q={quote(text, safe='')}",
    in_base64,
    lambda text: f"wrote “{text}”, and\n{text}.",
)
planted = st.lists(
    st.tuples(st.sampled_from([*SECRETS]), st.sampled_from(FORMS)), min_size=1, max_size=5
).map(lambda pairs: " and ".join(form(secret) for secret, form in pairs))


@st.composite
def sessions(draw: st.DrawFn) -> SessionTranscript:
    def text() -> str:
        return draw(planted)

    body = json.dumps({"messages": [{"role": "user", "content": text()}]}).encode()
    profile = json.dumps({"name": "Öjvind", "content": text()})
    return SessionTranscript(
        Session("s", text(), role_id="r", tags=(text(),), head_id="3"),
        (
            Entry(Message.of("user", f"in /home/zerlina/x.py: {text()}", "1")),
            Entry(
                make_message(
                    "assistant",
                    text(),
                    "2",
                    tool_calls=(CallBlock("c", "bash", json.dumps({"command": text()})),),
                    reasoning=(thought(Protocol.ANTHROPIC, text(), "c2ln"),),
                ),
                "1",
                error=text(),
            ),
            Entry(
                make_message(
                    "tool",
                    json.dumps({"stdout": text()}),
                    "3",
                    tool_call_id="c",
                    parts=(
                        MediaBlock("file", "text/plain", data=in_base64(text())),
                        MediaBlock("file", text=text(), name=text()),
                        MediaBlock("image", "image/png", data=PICTURE),
                    ),
                ),
                "2",
            ),
        ),
        role=Role("r", "R", system_prompt=text()),
        variables=(("v", text()),),
        requests=(
            StoredRequest(
                "2",
                RequestRecord(
                    "here",
                    Protocol.ANTHROPIC,
                    "POST",
                    "https://203.0.113.77/v1/messages",
                    sha256(body).hexdigest(),
                    {"profile": sha256(profile.encode()).hexdigest(), "variables": {"v": text()}},
                    body,
                ),
            ),
        ),
        revisions=(("profile", profile),),
        draft=text(),
    )


def exported(transcript: SessionTranscript, kind: str = "json") -> str:
    return "".join(transcript_texts(transcript, kind, UTC))


def plain_forms(text: str) -> list[str]:
    """Return the text as it is, without its encodings, and what its base64 holds."""
    forms = [text, unquote(text)]
    for _ in range(5):
        forms.append(re.sub(r"\\(?:u([0-9a-f]{4})|(.))", _unescaped, forms[-1]))
    for run in re.findall(
        r"(?:[A-Za-z0-9+/]{4}){5,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", text
    ):
        forms.append(b64decode(run).decode("utf-8", "replace"))
    return forms


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]


def skeleton(value: Any) -> Any:
    """Return JSON with only the lengths of lists and the keys of objects."""
    if isinstance(value, dict):
        return {key: skeleton(item) for key, item in value.items()}
    return [skeleton(item) for item in value] if isinstance(value, list) else type(value)


def without_files(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without its files, which may have become texts."""
    blocks = [block for block in message.get("blocks", ()) if block["kind"] != "media"]
    return {**message, "blocks": blocks}


@given(sessions())
def test_nothing_is_left_and_the_export_reads_back(transcript: SessionTranscript) -> None:
    review = Review(transcript, {"Kim Lee": "word"})
    redacted = review.redacted()
    for kind in export_formats():
        for form in plain_forms(exported(redacted, kind)):
            for secret in SECRETS:
                assert secret not in form, (kind, secret)
            assert PICTURE not in form
    before, after = json.loads(exported(transcript)), json.loads(exported(redacted))
    messages = after["sessions"][0]["messages"]
    for one, other in zip(before["sessions"][0]["messages"], messages, strict=True):
        assert skeleton(without_files(one)) == skeleton(without_files(other))
    read = read_session(after["sessions"][0])
    assert [entry.message.id for entry in read.entries] == ["1", "2", "3"]
    request = read.requests[0].request
    assert request.body is not None
    assert json.loads(request.body)["messages"][0]["role"] == "user"
    assert request.recipe["profile"] == sha256(read.revisions[0][1].encode()).hexdigest()
    assert json.loads(read.entries[1].message.tool_calls[0].arguments).keys() == {"command"}
    assert Review(redacted, {"Kim Lee": "word"}).findings == ()


@given(transcripts())
def test_any_session_can_be_reviewed_and_one_without_findings_is_the_same(
    transcript: SessionTranscript,
) -> None:
    review = Review(transcript)
    redacted = review.redacted()
    read_session(json.loads(exported(redacted))["sessions"][0])
    if not review.findings:
        whole = replace(transcript, entries=tuple(map(without_tokens, transcript.entries)))
        assert replace(redacted, requests=()) == replace(whole, requests=())
        assert exported(redacted) == exported(whole)


def without_tokens(entry: Entry) -> Entry:
    about = replace(entry.message.about, tokens="")
    return replace(entry, message=replace(entry.message, about=about))


def one(content: str, **fields: Any) -> SessionTranscript:
    return SessionTranscript(
        Session("s", "T"), (Entry(make_message("user", content, "1", **fields)),)
    )


def with_texts(transcript: SessionTranscript, *texts: TextBlock) -> SessionTranscript:
    message = replace(transcript.entries[0].message, blocks=texts)
    return replace(transcript, entries=(Entry(message),))


def content(transcript: SessionTranscript) -> str:
    return transcript.entries[0].message.content


def test_the_same_text_has_the_same_placeholder_everywhere() -> None:
    review = Review(one("a@b.example, c@d.example, A@b.example; /home/anna/x.py of Anna"))
    assert content(review.redacted()) == (
        "REDACTED_EMAIL_1, REDACTED_EMAIL_2, REDACTED_EMAIL_1; "
        "/home/REDACTED_USER_1/x.py of REDACTED_USER_1"
    )
    assert [(one.text, one.count) for one in review.findings] == [
        ("a@b.example", 2),
        ("c@d.example", 1),
        ("anna", 2),
    ]


def test_what_is_known_by_its_place_is_found_elsewhere() -> None:
    review = Review(one("password: hunter2! Then hunter2 and xhunter2x"))
    assert content(review.redacted()) == (
        "password: REDACTED_PASSWORD_1! Then REDACTED_PASSWORD_1 and xhunter2x"
    )


def test_a_finding_is_kept_as_a_whole() -> None:
    review = Review(one("anna@b.example in /home/anna/x"))
    kept = frozenset({"REDACTED_EMAIL_1"})
    assert content(review.redacted(kept)) == "anna@b.example in /home/REDACTED_USER_1/x"


def test_numbers_of_an_earlier_redaction_are_not_used_again() -> None:
    review = Review(one("REDACTED_EMAIL_1 wrote to a@b.example"))
    assert content(review.redacted()) == "REDACTED_EMAIL_1 wrote to REDACTED_EMAIL_2"


def test_a_key_that_a_title_cuts_is_found() -> None:
    key = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
    transcript = one(f"my key is {key}")
    cut = replace(transcript, session=Session("s", f"my key is {key[:15]}…"))
    assert Review(cut).redacted().session.title == "my key is REDACTED_KEY_1…"


def test_names_in_json_are_replaced_in_values_and_not_in_keys_of_protocols() -> None:
    text = json.dumps({"max_tokens": 1, "by": "Max", "max": 2})
    review = Review(replace(one(text), user="Max"))
    assert json.loads(content(review.redacted())) == {
        "max_tokens": 1,
        "by": "REDACTED_NAME_1",
        "REDACTED_NAME_1": 2,
    }


def test_what_several_texts_say_together_is_found() -> None:
    whole = one("")
    cited = TextBlock(".example or Kim")
    split = with_texts(whole, TextBlock("Write to a@b"), cited, TextBlock(" Lee."))
    review = Review(split, {"Kim Lee": "word"})
    blocks = review.redacted().entries[0].message.blocks
    assert blocks == (TextBlock("Write to REDACTED_EMAIL_1 or REDACTED_WORD_1."),)
    assert {finding.text for finding in review.findings} == {"a@b.example", "Kim Lee"}


def test_signatures_and_encrypted_reasoning_stay() -> None:
    signature = b64encode(b"write to jane.doe@example.com of it" * 3).decode()
    blocks = (
        thought(Protocol.ANTHROPIC, "Hm.", signature=signature),
        thought(Protocol.ANTHROPIC, encrypted=signature),
        thought(Protocol.OPENAI_RESPONSES, "Hm.", encrypted=signature, id="rs_1"),
        thought(Protocol.GEMINI, "Hm.", signature=signature),
    )
    review = Review(one("Well.", reasoning=blocks))
    assert not review.findings
    assert review.redacted().entries[0].message.reasoning == blocks


def test_probabilities_of_tokens_are_not_shared() -> None:
    packed = pack_tokens([TokenProbability("mail a@b", -0.5), TokenProbability(".example", -0.5)])
    transcript = one("edited since", about=About(tokens=packed))
    assert Review(transcript).redacted().entries[0].message.about.tokens == ""


@each_row("name", ["x-api-key", "password", "OPENAI_API_KEY"])
def test_a_key_of_json_names_its_value(name: str) -> None:
    value = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
    for text in (json.dumps({name: value}), json.dumps([[name, value]])):
        review = Review(one(text))
        assert value not in content(review.redacted())
        assert json.loads(content(review.redacted()))


def test_places_name_message_field_and_offset() -> None:
    call = CallBlock("c", "mail", json.dumps({"to": "a@b.example"}))
    transcript = SessionTranscript(
        Session("s", "T"),
        (Entry(make_message("user", "Hello,\nit is a@b.example. Bye.", "1", tool_calls=(call,))),),
    )
    (finding,) = Review(transcript).findings
    first, second = finding.excerpts
    assert (first.place.where, first.place.field, first.place.offset) == (
        "message 1 (user)",
        "content",
        13,
    )
    assert (first.before, first.text, first.after) == ("Hello, it is ", "a@b.example", ". Bye.")
    assert second.place.field == "message.tool_calls[0].arguments · to"


def test_numbers_in_json_are_found_by_their_names_and_by_words():
    arguments = json.dumps(
        {
            "phoneNumber": 4915112345678,
            "account_no": 987654321,
            "created": 1733000000,
            "order": 55512345678,
            "iban": "DE89 3704 0044 0532 0130 00",
            "note": "Call 4915112345678.",
        }
    )
    call = CallBlock("c", "pay", arguments)
    entries = (Entry(make_message("assistant", "", "1", tool_calls=(call,)), None),)
    review = Review(SessionTranscript(Session("s", "t"), entries), {"55512345678": "word"})
    assert {(each.kind, each.text) for each in review.findings} == {
        ("phone", "4915112345678"),
        ("number", "987654321"),
        ("number", "DE89 3704 0044 0532 0130 00"),
        ("word", "55512345678"),
    }
    redacted = json.loads(review.redacted().entries[0].message.tool_calls[0].arguments)
    assert redacted == {
        "phoneNumber": "REDACTED_PHONE_1",
        "account_no": "REDACTED_NUMBER_1",
        "created": 1733000000,
        "order": "REDACTED_WORD_1",
        "iban": "REDACTED_NUMBER_2",
        "note": "Call REDACTED_PHONE_1.",
    }
    kept = review.redacted(frozenset(each.placeholder for each in review.findings))
    assert kept.entries[0].message.tool_calls[0].arguments == arguments


def test_encrypted_reasoning_is_named():
    block = thought(Protocol.OPENAI_RESPONSES, encrypted="gAAAA")
    message = make_message("assistant", "Hi.", "1", reasoning=(block,))
    review = Review(SessionTranscript(Session("s", "t"), (Entry(message, None),)))
    assert review.warning.startswith("1 message with encrypted or signed reasoning: ")
    assert not Review(SessionTranscript(Session("s", "t"), ())).warning


# --- “Export redacted…” in the app --------------------------------------------------------


KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
TEXT = (
    f"Why does curl with {KEY} fail in /home/zerlina/app/x.sh? "
    "Ask jane@example.com or kim@example.com."
)


async def reviewed(pilot: Pilot[None]) -> TuiChat:
    app = await opened(pilot)
    await say(pilot, TEXT)
    await pilot.press(*"/redact", "enter")
    await until(pilot, lambda: isinstance(app.screen, FindingsDialog))
    await settle(pilot)
    return app


def excerpt(app: TuiChat) -> str:
    return str(app.screen.query_one(".excerpt", Static).render())


async def test_findings_are_reviewed_before_a_byte_is_written(album: Album, tmp_path: Path) -> None:
    (tmp_path / "redact.txt").write_text("curl\n")
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await reviewed(pilot)
        options = app.screen.query_one(OptionList)
        assert [option.id for option in options.options] == [
            "kind key",
            "REDACTED_KEY_1",
            "kind email",
            "REDACTED_EMAIL_1",
            "REDACTED_EMAIL_2",
            "kind user",
            "REDACTED_USER_1",
            "kind word",
            "REDACTED_WORD_1",
        ]
        assert KEY in excerpt(app)
        assert " more" in excerpt(app)
        await pilot.press("end", "space")  # the word is kept
        await pilot.press("home", "down", "down", "space", "down", "space")  # kim's address only
        await settle(pilot)
        await album.take(pilot, "findings")
        file = tmp_path / "out.md"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        line = app.screen.query_one(Input)
        assert KEY not in line.value
        assert not [*tmp_path.glob("*.md")]
        line.value = str(file)
        await pilot.press("enter")
        await until(pilot, file.exists)
        text = file.read_text()
        assert (
            "Why does curl with REDACTED_KEY_1 fail in /home/REDACTED_USER_1/app/x.sh? "
            "Ask REDACTED_EMAIL_1 or kim@example.com." in text
        )


async def test_esc_writes_nothing(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await reviewed(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, FindingsDialog))
        await settle(pilot)
        assert not isinstance(app.screen, ChoiceDialog)


async def test_without_a_session_it_says_so(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/redact", "enter")
        await until(pilot, lambda: any("no messages" in n.message for n in app.notifications.log))
