"""The macros of SillyTavern's two engines, where they differ from the core's."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import said
from tests.support.macros import NOW, TALK, request
from tests.support.tables import each_row
from tui_chat.models.message import Message
from tui_chat.plugins.sillytavern.policies import Policies, policy_values

SILLYTAVERN = Policies(depths="joined", expand_history=True)


@each_row(
    ("source", "plain"),
    [
        ("{{setvar::v::1}}{{varexists::v}}{{flushvar::v}}{{hasvar::v}}", "truefalse"),
        ("{{setvarkey::o::k::v}}{{setvarkey::o::l::w}}{{getvar::o}}", '{"k":"v","l":"w"}'),
        ("{{setvarkey::a::2::x}}{{getvarindex::a::2}} {{getvar::a}}", 'x [null,null,"x"]'),
        ("[{{setvarkey::a::9999::x}}{{getvar::a}}]", "[]"),
        ("{{setvar::t::plain}}{{setvarkey::t::k::v}}{{getvarkey::t::k}}", "plain"),
        ("{{timeDiff::2024-01-01::2023-01-01}}", "in a year"),
        ("{{timeDiff::2024-01-01 10:00::2024-01-01 12:29}}", "2 hours ago"),
        ("{{timeDiff::2024-01-01::2024-01-01}}", "a few seconds ago"),
        ("{{timeDiff::soon::later}}", "{{timeDiff::soon::later}}"),
        ("{{!user}} {{ ~ user}} {{comment::x}}", "Ada Ada "),
        ("{{#setvar::b}}\n x\n{{/setvar}}[{{getvar::b}}]", "[\n x\n]"),
        # only a name that ends at :: has several arguments, without the white space around them
        ("{{setvar a::1}} {{setvar:a::1}}", "{{setvar a::1}} {{setvar:a::1}}"),
        ("{{setvar::a:: {{space}} }}[{{getvar a}}]", "[ ]"),
        ("{{random:x::x}} {{random x, x}} [{{random}}]", "x x []"),
        ("{{if trim}}a{{else}}b{{/if}}{{if !else}}c{{/if}}{{if worldInfoBefore}}d{{/if}}", "bcd"),
        ("{{if {{char}}::yes}}", "{{if {{char}}::yes}}"),
        ("{{if::{{char}}::yes{{else}}no}}", "yes"),
        ("{{reverse}}abc{{/reverse}} {{roll}}1d1{{/roll}} [{{roll::6d}}]", "cba 1 []"),
        ("{{//}} {{// }} {{//x{{setvar::a::1}}}}{{getvar::a}}{{//}}no{{///}}", "{{//}} {{// }} 1"),
        # numbers
        ("{{setvar::n::007}}{{getvar::n}} {{addvar::n::0x10}}{{getvar::n}}", "7 23"),
        ("{{setvar::n::1e-7}}{{getvar::n}} {{.n = 0.00001}}{{.n}}", "1e-7 0.00001"),
        ("{{setvar::l::[1]}}{{addvar::l::b}}{{getvar::l}}", '[1,"b"]'),
        ("{{.n = x}}{{.n > 1}} {{.n -= y}}{{. n}}", "false x"),
        # times
        ("{{date}} {{time}} {{isodate}} {{isotime}}", "May 1, 2024 1:05 PM 2024-05-01 13:05"),
        ("{{time::UTC+2}} {{time_UTC-5}} {{time::now}}", "3:05 PM 8:05 AM 1:05 PM"),
        (
            "{{datetimeformat::[at] dddd, Do MMM YY, hh:mm a Z}}",
            "at Wednesday, 1st May 24, 01:05 pm +00:00",
        ),
        (
            "{{datetimeformat LLLL}} {{datetimeformat::DDDD.E.Q.kk.SSS}}",
            "Wednesday, May 1, 2024 1:05 PM 122.3.2.13.000",
        ),
        ("{{idle_duration}}", "just now"),
        ("{{hasExtension::Vectors}} {{hasExtension::mine}}", "true false"),
    ],
)
def test_sillytavern_has_more_macros(source: str, plain: str) -> None:
    turns = request(said(source, id="it"), policies=policy_values(SILLYTAVERN)).turns
    assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == [plain]


@each_row(
    ("source", "plain"),
    [
        ("\\{a\\}", "\\{a\\}"),
        ("{{reverse::ab}} {{reverse:ab}}", "ba: ba"),
        ("{{trim}} a {{/trim}}", " a {{/trim}}"),
        ("<BOT> {{varexists::x}}", "Bot {{varexists::x}}"),
        ("{{banned::x}}", "{{banned::x}}"),
    ],
)
def test_the_old_engine_has_no_escapes_and_no_ends(source: str, plain: str) -> None:
    policies = replace(SILLYTAVERN, legacy_macros=True)
    turns = request(said(source, id="it"), policies=policy_values(policies)).turns
    assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == [plain]


def test_the_idle_time_is_that_since_the_last_message_of_the_user_but_one() -> None:
    talk = (Message("user", "a", "1", timestamp=NOW.timestamp() - 7200), *TALK[1:])
    turns = request(
        said("{{idleDuration}}", id="it"),
        policies=policy_values(SILLYTAVERN),
        history=talk,
        draft="now",
    ).turns
    assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == ["2 hours"]
