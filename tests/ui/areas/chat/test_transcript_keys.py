"""Letters of the transcript that are bound only where the session has what they act on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui.areas.chat.test_transcript import Stage, entry, shown
from tui_chat.models.citations import References, Source
from tui_chat.models.endpoint import Protocol
from tui_chat.models.media import Part
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry
from tui_chat.ui.actions import place_bindings
from tui_chat.ui.areas.chat.branch_contents import contents_of, has_open_call
from tui_chat.ui.areas.chat.transcript_keys import KEYS_WITH_USE, TRANSCRIPT_KEYS, KeyUse

CALL = Entry(Message("assistant", "", id="calls", tool_calls=(ToolCall("c1", "look", "{}"),)))
RESULT = Entry(Message("tool", "21", id="result", tool_call_id="c1"))
THOUGHTFUL = MessageSemantics((ReasoningBlock(Protocol.OLLAMA, "Hm."),))
SOURCED = MessageSemantics(references=References(sources=(Source("http://a.b"),)))


@pytest.mark.parametrize(
    ("entries", "contents"),
    [
        ((entry(0, "words"),), set[KeyUse]()),
        ((entry(0, "```py\nx\n```"),), {"code"}),
        ((entry(0, "words"), entry(1, "Like so:\n\n    x = 1")), {"code"}),
        ((entry(0, "see http://a.b"),), {"link"}),
        ((entry(0, "see [that](a.b)"),), {"link"}),
        ((Entry(Message("assistant", "words", semantics=SOURCED)),), {"link"}),
        ((Entry(Message("user", "", parts=(Part("image"),))),), {"file", "link", "mutable"}),
        ((CALL,), {"code", "mutable"}),
        ((Entry(Message("assistant", "words", semantics=THOUGHTFUL)),), {"mutable"}),
        (
            (Entry(Message("assistant", "words", semantics=MessageSemantics(tokens="[]"))),),
            {"tokens"},
        ),
        ((replace(entry(0, "words"), siblings=2), entry(1, "more")), {"version"}),
    ],
)
def test_the_contents_of_a_branch(entries: tuple[Entry, ...], contents: set[KeyUse]):
    assert contents_of(entries) == contents


def test_a_call_is_open_only_at_the_end_of_a_branch_and_without_a_result():
    assert has_open_call((entry(0, "words"), CALL))
    assert not has_open_call((CALL, RESULT))
    assert not has_open_call((CALL, entry(1, "words")))
    assert not has_open_call(())


def test_every_letter_with_a_use_is_a_key_of_the_transcript():
    bindings = (*TRANSCRIPT_KEYS, *place_bindings("message"))
    keys = {key for binding in bindings for key in binding.key.split(",")}
    letters = [key for keys_of_use in KEYS_WITH_USE.values() for key in keys_of_use]
    assert keys >= set(letters)
    assert len(letters) == len(set(letters))


async def test_letters_are_bound_while_the_session_has_what_they_act_on() -> None:
    async with Stage().run_test(size=(60, 24)) as pilot:
        app = await shown(pilot, (entry(0, "```\nx\n```"), entry(1, "words")))

        def bound() -> set[str]:
            letters = {key for keys in KEYS_WITH_USE.values() for key in keys}
            return letters & app.screen.active_bindings.keys()

        code = set(KEYS_WITH_USE["code"])
        assert bound() == code
        await pilot.press("k", "k")
        assert bound() == code  # the cursor changes nothing
        app.transcript.find("words")
        assert bound() == code | {"n", "N"}
        app.transcript.find("")
        app.chat.show("", "", (entry(0, "```\nx\n```"), entry(1, "words"), entry(2, "http://a.b")))
        assert bound() == code | {"o"}
        app.chat.show("", "", (entry(4, "words"), CALL), session_id="another")
        assert bound() == code | {"a", "x", "M"}
        app.chat.show("", "", (entry(4, "words"), CALL, RESULT), session_id="another")
        assert bound() == code | {"M"}
