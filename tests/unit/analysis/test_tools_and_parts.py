"""Tools as origins of their own, and the parts of the messages of captured requests."""

from __future__ import annotations

import json
from typing import Any

from tests.support.agent_requests import AGENTS, NAMES, QUESTION, REMINDER, RESULT, agent_body
from tests.support.regions import regions
from tests.support.tables import each_row
from tui_chat.analysis.captured_request import read_captured
from tui_chat.analysis.token_shares import HistoryPart, Share, Shares, parts_of, token_shares
from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import TextBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition, Turn
from tui_chat.models.preset import Preset
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.tool import server_of

TOOL = ToolDefinition("look", "Looks at a file.", {"type": "object", "properties": {}})


def captured(body: dict[str, Any], protocol: Protocol) -> Composed:
    endpoint = Endpoint("e", protocol, "http://127.0.0.1:9")
    return read_captured(json.dumps(body), protocol).composed(endpoint, "gemini-3-pro")


def shares_of(composed: Composed) -> Shares:
    shares = token_shares(composed.envelope)
    assert composed.envelope.budget is not None
    assert shares.used == composed.envelope.budget.total
    assert shares.framing >= 0
    return shares


def share(shares: Shares, kind: OriginKind | HistoryPart) -> Share:
    return next(each for each in shares.shares if kind in (each.part, each.kind))


@each_row("protocol", Protocol)
def test_a_captured_request_is_divided_into_tools_and_parts(protocol: Protocol) -> None:
    shares = shares_of(captured(agent_body(protocol), protocol))
    assert shares.framing < 10
    tools = share(shares, OriginKind.TOOL)
    assert {item.name for item in tools.items} == set(NAMES)
    assert tools.tokens == sum(item.tokens for item in tools.items)
    assert min(item.tokens for item in tools.items) > 60
    servers = {name: len(items) for name, items in tools.servers.items()}
    assert servers == {"": 14, "github": 3, "linear": 3, "files": 2}
    assert {item.name: item.count for item in tools.items if item.count} == {"Read": 1}
    expected = set(HistoryPart) - {HistoryPart.REASONING}  # these requests have none
    if protocol is Protocol.GEMINI:
        expected.remove(HistoryPart.REMINDER)
    assert {each.part for each in shares.shares} - {None} == expected
    file = share(shares, HistoryPart.FILE).items[0].name.rpartition("/")[2]
    assert file in ("CLAUDE.md", "AGENTS.md", "GEMINI.md")


@each_row("protocol", Protocol)
@each_row("user", ["kim", "\ud800"], ids=["", "half a character, which cannot be sent again"])
def test_each_character_of_a_captured_tool_has_its_origin(protocol: Protocol, user: str) -> None:
    composed = captured({**agent_body(protocol), "metadata": {"user_id": user}}, protocol)
    pieces = [region.piece for region in regions(composed.payload)]
    kinds = {piece.origin.kind for piece in pieces}
    assert {piece.origin.id for piece in pieces if piece.origin.kind is OriginKind.TOOL} == set(
        NAMES
    )
    assert OriginKind.HISTORY in kinds
    for piece in pieces:
        if "returns what it found there" in piece.text:
            assert piece.origin.outermost.kind is OriginKind.TOOL


@each_row("protocol", Protocol)
def test_an_own_tool_has_its_origin_and_its_tokens(protocol: Protocol) -> None:
    inputs = Inputs(
        Endpoint("e", protocol, "http://127.0.0.1:9"),
        Preset("p", ()),
        (),
        "Hi",
        settings=SessionSettings(model="m"),
        tools=(TOOL,),
    )
    composed = compose(inputs)
    tools = share(shares_of(composed), OriginKind.TOOL)
    assert [item.name for item in tools.items] == ["look"]
    origin = Origin(OriginKind.TOOL, "look")
    assert origin.label == "tool “look”"
    of_tool = [r.piece for r in regions(composed.payload) if r.piece.origin == origin]
    assert any(piece.text == "Looks at a file." for piece in of_tool)


@each_row(
    ("name", "server"),
    [
        ("mcp__github__get_item", "github"),
        ("mcp__a__b__c", "a"),
        ("linear__list", "linear"),
        ("Bash", ""),
        ("read_file", ""),
        ("__init__", ""),
        ("mcp__alone", ""),
        ("trailing__", ""),
    ],
)
def test_the_server_of_a_tool_is_in_its_name(name: str, server: str) -> None:
    assert server_of(name) == server


def test_reasoning_that_is_sent_back_is_a_part_of_its_own() -> None:
    body = agent_body(Protocol.ANTHROPIC)
    thought = {"type": "thinking", "thinking": "I look at the file first. " * 40, "signature": "s"}
    reply = next(message for message in body["messages"] if message["role"] == "assistant")
    reply["content"] = [thought, *reply["content"]]
    shares = shares_of(captured(body, Protocol.ANTHROPIC))
    assert share(shares, HistoryPart.REASONING).tokens > 200
    without = shares_of(captured(agent_body(Protocol.ANTHROPIC), Protocol.ANTHROPIC))
    spoken = share(shares, HistoryPart.CONVERSATION).tokens
    assert abs(spoken - share(without, HistoryPart.CONVERSATION).tokens) < 20


def spoken(text: str, role: Any = "user") -> Turn:
    origin = Origin(OriginKind.HISTORY, "m")
    return Turn(role, (TextBlock(text),), origin)


@each_row(
    ("text", "role", "parts"),
    [
        (QUESTION, "user", {"conversation"}),
        (RESULT, "tool", {"tool results"}),
        (
            "Read it.\n<system-reminder>Empty.</system-reminder>",
            "tool",
            {"tool results", "reminders"},
        ),
        ("<system-reminder>Not closed", "user", {"conversation"}),
        ("<instructions>My own.</instructions>", "user", {"conversation"}),
        ("<context>My own.</context>", "user", {"conversation"}),
        ("<my_data>1</my_data>", "user", {"conversation"}),
        ("<permissions instructions>No net.</permissions instructions>", "user", {"reminders"}),
        ("<local-command-caveat>Skip.</local-command-caveat>", "user", {"reminders"}),
        (REMINDER, "user", {"reminders", "files"}),
        (AGENTS, "user", {"files"}),
        ('See <file path="a/b.py">x = 1</file> there', "user", {"conversation", "files"}),
        ("Contents of my bag:\nkeys", "user", {"conversation"}),
        ("<system-reminder>Quoted</system-reminder>", "assistant", {"conversation"}),
        ("Instructions from: /w/AGENTS.md\nBe brief.", "system", {"files"}),
    ],
)
def test_the_parts_of_a_message(text: str, role: str, parts: set[str]) -> None:
    found = parts_of(spoken(text, role))
    assert {part.value for part, _, size in found if size} == parts
    assert sum(size for _, _, size in found) == len(text)


def test_a_file_ends_where_its_program_goes_on() -> None:
    found = {(part.value, name): size for part, name, size in parts_of(spoken(REMINDER))}
    start, end = REMINDER.index("Contents of"), REMINDER.index("# currentDate")
    assert found["files", "/home/ada/shop/CLAUDE.md"] == end - start


def test_thousands_of_elements_that_do_not_end_cost_their_length() -> None:
    text = "<system-reminder>" * 20_000
    assert parts_of(spoken(text)) == ((HistoryPart.CONVERSATION, "", len(text)),)
