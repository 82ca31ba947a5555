"""Random presets, branches and inputs: anchors in and beyond the history, tools, mutes, macros."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.support.messages import make_message
from tests.support.strategies import EVERY_SETTING
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import NOT_MUTED, Message, Muted, with_content
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.role import Profile, Role
from tui_chat.tokens import NO_CORRECTION

WORDS = (
    "salt", "marsh", "Ada", "the sea", "{{user}}", "{{random::a::b}}", "\n", "  ", "汉字", "🙂",
    "{{lastMessage}}", "a long line of words that costs more than others",
)  # fmt: skip
MACROS = (
    "{{lastMessage}}", "{{lastUserMessage}}", "{{lastCharMessage}}", "{{time}} {{date}}",
    "{{random::a::b::c}}", "{{pick::1::2::3}}", "{{roll::2d6}}", "{{char}} and {{user}}",
    "{{setvar::v::{{lastUserMessage}}}}", "{{getvar::v}}", "{{persona}}", "{{newline}}", "{{trim}}",
    "{{unknown}}", "{{",
)  # fmt: skip
PICTURE = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")
FILE = MediaBlock("file", mime="text/plain", text="of the marsh", name="a.txt")
ENDPOINTS = {
    protocol: Endpoint("here", protocol, "https://here.invalid/v1", models=("m",))
    for protocol in Protocol
}


def words_of(chance: random.Random, at_least: int = 0) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(at_least, 4)))


def preset_of(chance: random.Random) -> Preset:
    """A preset with anchors, depths in and beyond the history, doubles, mistakes and macros."""
    ids = ["p", "q", CHAT_HISTORY, "id3", "nowhere"]
    messages: list[PresetMessage] = []
    for number in range(chance.randint(0, 8)):
        kind = chance.choice(
            ["message"] * 5 + ["placeholder", "chat_history", "chat_history", "user_profile"]
        )
        if kind == "message":
            content = f"{words_of(chance)}{chance.choice(MACROS)}@{number}"
            message = PresetMessage(
                f"id{number}",
                chance.choice(["system", "user", "assistant"]),
                chance.choice([content, content, content, "", " "]),
                insertion_point=chance.choice([None, None, *range(-6, 5)]),
                anchor_point=chance.choice([None, None, None, "before", "after"]),
                anchor_target=chance.choice([None, None, None, *ids]),
                order=chance.randint(-2, 2),
            )
        else:
            name = chance.choice(ids[:2]) if kind == "placeholder" else f"id{number}"
            message = PresetMessage(name, "user", "", kind)
        messages.append(
            replace(
                message,
                enabled=chance.random() < 0.9,
                cache_control=chance.choice([None, None, None, "5m", "1h"]),
            )
        )
    return Preset(
        "random",
        tuple(messages),
        system_placement=chance.choice(["hoist", "in_place"]),
        variables={"v": "of the preset"},
    )


def lorebook_of(chance: random.Random) -> Lorebook:
    entries = [
        LorebookEntry(
            f"e{number}",
            f"{words_of(chance, 1)}{chance.choice(MACROS)} lore {number}",
            keys=tuple(chance.choices(["salt", "marsh", "ada", "sea", "/s[ae]/"], k=2)),
            constant=chance.random() < 0.1,
            secondary_keys=tuple(chance.choices(["salt", "words"], k=chance.randint(0, 1))),
            secondary_logic=chance.choice(["and_any", "not_any"]),
            role=chance.choice(["system", "user"]),
            insertion_point=chance.choice([None, None, -1, -2, -4, 0, 2]),
            anchor_target=chance.choice([None, None, "p", CHAT_HISTORY]),
            order=chance.choice([50, 100, 100, 200]),
            scan_depth=chance.choice([None, 0, 1, 2, 3, 9]),
            probability=chance.choice([100, 100, 50]),
        )
        for number in range(chance.randint(1, 4))
    ]
    return Lorebook("lore", tuple(entries), scan_depth=chance.randint(1, 3), token_budget=200)


def parts_of(chance: random.Random) -> tuple[MediaBlock, ...]:
    return chance.choice([(), (), (), (PICTURE,), (FILE, PICTURE)])


def branch_of(chance: random.Random) -> tuple[Message, ...]:
    """A branch as a conversation can have it: tools, system messages, several messages of one
    side in a row, messages that say nothing, names, pins, mutes.
    """
    branch: list[Message] = []
    for number in range(chance.randint(0, 10)):
        content = f"{words_of(chance)}#{number}" if chance.random() < 0.9 else ""
        name = chance.choice(["", "", "", "Ada"])
        match chance.choice(["user", "user", "assistant", "assistant", "tools", "system"]):
            case "user":
                branch.append(make_message("user", content, name=name, parts=parts_of(chance)))
            case "assistant":
                branch.append(Message.of("assistant", content, name=name))
            case "system":
                branch.append(Message.of("system", content or "S"))
            case _:
                calls = tuple(CallBlock(f"c{number}.{n}", "look", "{}") for n in range(2))
                branch.append(make_message("assistant", content, tool_calls=calls))
                answered = calls[: chance.randint(0, 2)]
                branch += (
                    make_message("tool", "R", tool_call_id=c.id, name="look") for c in answered
                )
    return tuple(
        replace(
            message,
            id=f"m{number}",
            pinned=chance.random() < 0.15,
            muted=muted_of(chance),
            timestamp=float(number),
        )
        for number, message in enumerate(branch)
    )


def muted_of(chance: random.Random) -> Muted:
    return chance.choice([NOT_MUTED] * 9 + [Muted(whole=True), Muted(blocks=(0, 2))])


def edited(chance: random.Random, branch: tuple[Message, ...]) -> tuple[Message, ...]:
    """Another branch of the same conversation: cut, edited, or gone on with."""
    if not branch:
        return branch_of(chance)
    at = chance.randrange(len(branch))
    match chance.choice(["cut", "edit", "grow", "pin", "mute"]):
        case "cut":
            return branch[:at]
        case "edit":
            other = replace(with_content(branch[at], f"edited {words_of(chance)}"), id=f"e{at}")
            return (*branch[:at], other, *branch[at + 1 :])
        case "pin":
            other = replace(branch[at], pinned=not branch[at].pinned)
            return (*branch[:at], other, *branch[at + 1 :])
        case "mute":
            other = replace(branch[at], muted=muted_of(chance))
            return (*branch[:at], other, *branch[at + 1 :])
        case _:
            return (*branch, Message.of("assistant", words_of(chance), "grown"))


SETTLED = Role("r", "Coder", "You code.", settings=replace(EVERY_SETTING, stop=None))


def inputs_of(chance: random.Random) -> Inputs:
    """Inputs with something typed: text, white space, attachments, or both."""
    parts = parts_of(chance)
    draft = chance.choice([words_of(chance, 1), words_of(chance, 1), " \n", "x", ""])
    facts = ModelFacts(context_limit=chance.choice([None, 60, 120, 400]))
    tool = ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
    return Inputs(
        replace(ENDPOINTS[chance.choice(list(Protocol))], facts=(("*", facts),)),
        preset_of(chance),
        branch_of(chance),
        draft if draft or parts else "x",
        parts,
        role=chance.choice(
            [None, Role("r", "Coder", "You are {{char}}. {{lastMessage}}"), SETTLED]
        ),
        profile=chance.choice([None, Profile("Ada", "Knows {{char}}.")]),
        settings=SessionSettings(
            model=chance.choice(["", "claude-sonnet-4-5", "gpt-4o"]), max_tokens=20
        ),
        context_limit=chance.choice([None, 80, 150, 300]),
        reply_reserve=chance.choice([None, 0, 10]),
        now=datetime(2026, 1, 2, tzinfo=UTC) + timedelta(minutes=chance.randrange(10**6)),
        seed=chance.getrandbits(32),
        session_seed=chance.getrandbits(32),
        lorebooks=(lorebook_of(chance),) if chance.random() < 0.6 else (),
        variables=chance.choice([{}, {"v": "of the session"}]),
        tools=chance.choice([None, (tool,)]),
        correction=chance.choice([NO_CORRECTION, NO_CORRECTION.after(100, 130)]),
    )
