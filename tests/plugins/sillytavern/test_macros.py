"""The macros that SillyTavern adds to the core's, and texts in its manner."""

from __future__ import annotations

from tests.support.contexts import codes, said
from tests.support.macros import NOW, TALK, request
from tests.support.tables import each_row
from tui_chat.models.message import Message
from tui_chat.plugins.sillytavern.policies import Policies, policy_values

SILLYTAVERN = policy_values(Policies(depths="joined", expand_history=True))


@each_row(
    ("source", "plain"),
    [
        ("{{group}} {{charIfNotGroup}} {{notChar}}", "Bot Bot Ada"),
        ("{{lastMessageId}} {{lastGenerationType}} [{{input}}]", "1 normal []"),
        ("{{if isMobile}}a{{else}}b{{/if}}{{if group}}c{{/if}}", "bc"),
        ("{{idleDuration}} {{idle_duration}}", "just now just now"),
        ("{{hasExtension::Vectors}} {{hasExtension::mine}}", "true false"),
        ("{{systemPrompt}}",
         "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."),
        ("{{group::a}} {{timeDiff::2024-01-01::2023-01-01}}",
         "{{group::a}} {{timeDiff::2024-01-01::2023-01-01}}"),
        ("{{setvar::group::own}}{{group}}", "own"),
    ],
)  # fmt: skip
def test_sillytavern_has_more_macros(source: str, plain: str) -> None:
    for policies in (SILLYTAVERN, {}):
        turns = request(said(source, id="it"), policies=policies).turns
        assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == [plain]


def test_a_macro_of_sillytavern_that_is_gone_stays_with_a_note() -> None:
    for source in ("{{.a = 1}}", "{{setvarkey::a::b::c}}", "{{timeDiff::a::b}}"):
        envelope = request(said(source, id="it"), policies=SILLYTAVERN)
        assert [t.text.plain for t in envelope.turns if t.origin.id == "it"] == [source]
        assert codes(envelope) == ["unknown-macro"]


def test_the_idle_time_is_that_since_the_last_message_of_the_user_but_one() -> None:
    talk = (Message.of("user", "a", "1", timestamp=NOW.timestamp() - 7200), *TALK[1:])
    turns = request(
        said("{{idleDuration}}", id="it"), policies=SILLYTAVERN, history=talk, draft="now"
    ).turns
    assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == ["2 hours"]
