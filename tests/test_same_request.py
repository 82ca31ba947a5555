"""The newest user message is the draft, typed or stored: however a turn is asked for, its request
has the same bytes. First in random presets and branches, then at the workspace.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.strategies import EVERY_SETTING
from tests.support.tables import each_row
from tests.support.workspace import LOOPBACKS, make_workspace, put, settled
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.edit_list import add_value, remove_value, set_value
from tui_chat.models.edited_body import EditedBody, value_at
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import Note, ToolDefinition
from tui_chat.models.json_tree import Arr, Obj, Tree
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import NOT_MUTED, Message, Muted, Part, ToolCall
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.request_edit import BodyPath, RequestEdit
from tui_chat.models.role import Profile, Role
from tui_chat.models.settings import Settings
from tui_chat.models.text import OriginKind
from tui_chat.request_recipe import (
    dump_recipe,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
)
from tui_chat.tokens import NO_CORRECTION
from tui_chat.turn_file import dump_turn, read_turn

__all__ = ["make_workspace"]

CASES = 10 * settings().max_examples
"""More than a property test draws, for each may have any of very many things."""
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
PICTURE = Part("image", mime="image/png", data="iVBORw0KGgo=")
FILE = Part("file", mime="text/plain", text="of the marsh", name="a.txt")
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


def parts_of(chance: random.Random) -> tuple[Part, ...]:
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
                branch.append(Message("user", content, name=name, parts=parts_of(chance)))
            case "assistant":
                branch.append(Message("assistant", content, name=name))
            case "system":
                branch.append(Message("system", content or "S"))
            case _:
                calls = tuple(ToolCall(f"c{number}.{n}", "look", "{}") for n in range(2))
                branch.append(Message("assistant", content, tool_calls=calls))
                answered = calls[: chance.randint(0, 2)]
                branch += (Message("tool", "R", tool_call_id=c.id, name="look") for c in answered)
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
    return chance.choice([NOT_MUTED] * 9 + [Muted(whole=True), Muted(reasoning=True, parts=(1,))])


def edited(chance: random.Random, branch: tuple[Message, ...]) -> tuple[Message, ...]:
    """Another branch of the same conversation: cut, edited, or gone on with."""
    if not branch:
        return branch_of(chance)
    at = chance.randrange(len(branch))
    match chance.choice(["cut", "edit", "grow", "pin", "mute"]):
        case "cut":
            return branch[:at]
        case "edit":
            other = replace(branch[at], content=f"edited {words_of(chance)}", id=f"e{at}")
            return (*branch[:at], other, *branch[at + 1 :])
        case "pin":
            other = replace(branch[at], pinned=not branch[at].pinned)
            return (*branch[:at], other, *branch[at + 1 :])
        case "mute":
            other = replace(branch[at], muted=muted_of(chance))
            return (*branch[:at], other, *branch[at + 1 :])
        case _:
            return (*branch, Message("assistant", words_of(chance), "grown"))


CODER = Role("r", "Coder", "You are {{char}}. {{lastMessage}}")
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


def edits_of(chance: random.Random, inputs: Inputs) -> tuple[RequestEdit, ...]:
    """Edits of the request by hand, at places of what is seen by then."""
    edits: tuple[RequestEdit, ...] = ()
    for _ in range(chance.choice([0, 0, 1, 3])):
        composed = compose(replace(inputs, edits=edits))
        tree = composed.encoded.tree
        body = composed.edited or EditedBody(tree, tree)
        path = chance.choice(list(paths_in(tree)))
        kept = chance.random() < 0.5
        change = (edits, body, composed.protocol, path)
        match chance.choice(["set", "set", "remove", "add"]):
            case "set":
                edits = set_value(*change, words_of(chance), kept=kept)
            case "remove":
                edits = remove_value(*change, kept=kept)
            case _ if isinstance(path[-1], int):
                edits = add_value(*change, {"role": "user", "content": "added"}, kept=kept)
            case _:
                path = (*path[:-1], "added_key")
                if value_at(tree, path) is None:
                    edits = add_value(edits, body, composed.protocol, path, 5, kept=kept)
    return edits


def paths_in(node: Tree, path: BodyPath = ()) -> Iterator[BodyPath]:
    if path:
        yield path
    if isinstance(node, Obj):
        for key, value in node.items:
            yield from paths_in(value, (*path, key))
    elif isinstance(node, Arr):
        for index, value in enumerate(node.items):
            yield from paths_in(value, (*path, index))


def body_of(composed: Composed, protocol: Protocol) -> bytes:
    endpoint = replace(composed.endpoint, protocol=protocol)
    return encode(composed.envelope, endpoint).payload.body


def content_of(composed: Composed) -> list[object]:
    """Everything that encoders read, without the origins."""
    envelope = composed.envelope
    turns = [
        (
            *(turn.role, turn.text.plain, turn.tool_calls, turn.tool_call_id, turn.name),
            *(turn.semantics, turn.parts, turn.cache_mark and turn.cache_mark.lifetime),
        )
        for turn in envelope.turns
    ]
    return [turns, envelope.parameters, envelope.tools, envelope.semantics]


def rebuilt(inputs: Inputs, sent: Message | None) -> Inputs:
    """The inputs of a replay: from the recipe, as the store has it."""
    recipe = read_recipe(dump_recipe(recipe_of(inputs)))
    revisions = {name: text for name, (_, text) in revisions_of(inputs).items()}
    return rebuilt_inputs(recipe, revisions, tuple(map(replace, inputs.history)), sent)


def exported(composed: Composed) -> Inputs:
    return read_turn(dump_turn(composed, composed.payload.body, None), "turn").inputs


def comparable_notes(notes: tuple[Note, ...], answered: Message) -> list[tuple[str, ...]]:
    """The notes; what concerns the draft's text may call it a draft or the stored message."""
    called = f"message “{answered.content}”"
    return [(n.level, n.code, n.sentence.replace(called, "the draft"), n.place) for n in notes]


@each_row(
    "cases",
    [
        pytest.param(range(20), id="some"),
        *(
            pytest.param(range(first, CASES, 4), id=f"all-{first}", marks=pytest.mark.slow)
            for first in range(4)
        ),
    ],
)
def test_send_regenerate_replay_and_export_give_the_same_request(cases: range):
    for case in cases:
        chance = random.Random(case)
        typed = inputs_of(chance)
        for _ in range(chance.randint(0, 2)):  # what is remembered of a branch serves another
            compose(typed)
            typed = replace(typed, history=edited(chance, typed.history))
        typed = replace(typed, edits=edits_of(chance, typed))
        sent = Message("user", typed.draft, "sent", parts=typed.draft_parts, timestamp=9.0)
        stored = replace(typed, history=(*typed.history, sent), draft="", draft_parts=())

        first, again = compose(typed), compose(stored)
        results = first.edited.results if first.edited is not None else ()
        assert bool(typed.edits) == any(not result.fault for result in results), case
        assert again.payload.body == first.payload.body, case
        protocol = chance.choice(list(Protocol))  # an encoder might look at the draft's origin
        assert body_of(again, protocol) == body_of(first, protocol), (case, protocol)
        assert content_of(again) == content_of(first), case
        assert comparable_notes(again.envelope.notes, sent) == comparable_notes(
            first.envelope.notes, sent
        ), case
        assert again.envelope.budget == first.envelope.budget, case
        assert again.envelope.tokens == first.envelope.tokens, case

        [turn] = [turn for turn in again.envelope.turns if turn.origin.id == "sent"]
        assert turn.origin.kind is OriginKind.HISTORY, case
        assert all(span.origin.id == "sent" for span in turn.text.spans), case
        kinds = [turn.origin.kind for turn in again.envelope.turns]
        assert OriginKind.DRAFT not in kinds, case

        for inputs, message, composed in ((typed, sent, first), (stored, None, again)):
            assert compose(rebuilt(inputs, message)).payload.body == first.payload.body, case
            assert compose(exported(composed)).payload.body == first.payload.body, case


PRESET = {
    "name": "p",
    "systemPlacement": "in_place",
    "presetMessages": [
        {"id": "main", "role": "system", "content": "{{pick::1::2::3}} {{time}} {{user}}"},
        {"id": "history", "type": "chat_history"},
        {"id": "note", "role": "system", "content": "AN {{lastMessage}}", "insertionPoint": -4},
        {"id": "near", "role": "user", "content": "{{lastCharMessage}}!", "insertionPoint": -1},
        {"id": "far", "role": "system", "content": "far", "insertionPoint": -9, "order": 9},
        {"id": "last", "role": "user", "content": "(brief)", "anchorPoint": "after"},
    ],
}
LORE = [
    {"keys": ["salt"], "content": "From the marsh.", "scanDepth": 1, "insertionPoint": -2},
    {"keys": ["look"], "content": "Of the sea.", "scanDepth": 2, "insertionPoint": -1},
    {"keys": ["salt"], "content": "At low tide.", "scanDepth": 1, "sticky": 4, "cooldown": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("endpoint", LOOPBACKS, ids=lambda e: e.protocol.value)
async def test_the_workspace_resends_the_same_bytes(
    endpoint: Endpoint, make_workspace, tmp_path: Path
):
    put(tmp_path / "presets", "p", PRESET)
    put(tmp_path / "lorebooks", "l", LORE)
    workspace, heard = await make_workspace(endpoint.name, "echo")
    await workspace.presets.choose("p")
    await workspace.settings.set_lorebooks(("l",))

    async def last_body(asked: bool) -> bytes:
        assert asked
        await settled(workspace, heard)
        return heard.received[-1].body

    drafts = (("one", ()), ("salt", ()), ("look", (PICTURE,)), ("", (FILE,)), ("last {{char}}", ()))
    for number, (draft, parts) in enumerate(drafts):
        if number == 3:  # a message that was never answered: two of the user's in a row
            await workspace.settings.set_model(endpoint.name, "flaky-500")
            await last_body(await workspace.replies.submit("unanswered"))
            await workspace.settings.set_model(endpoint.name, "echo")
        workspace.live_request.set_draft(draft, parts)
        workspace.live_request.compose()
        if number == 1:
            assert await workspace.request_edits.add_value(("user",), "Ada", kept=True)
        if number in (2, 3):
            assert await workspace.request_edits.add_value(("x",), number, kept=False)
        shown = workspace.requests.compose(draft, None, parts)
        sent = await last_body(await workspace.replies.submit(draft, parts))
        assert shown.payload.body == sent
        user, reply = (entry.message.id for entry in workspace.state.entries[-2:])
        assert workspace.requests.compose("").payload.body != sent
        assert await last_body(await workspace.replies.regenerate(reply)) == sent
        assert await last_body(await workspace.replies.regenerate(user)) == sent
        assert await last_body(await workspace.branches.edit(user, draft, send=True)) == sent
        await workspace.branches.show(reply)
        assert await last_body(await workspace.replies.replay(reply, endpoint.name, "echo")) == sent
        for entry_id in (reply, workspace.state.entries[-1].message.id):
            again = await workspace.request_history.sent_request(entry_id)
            assert again is not None
            assert again.is_exact
            text = await workspace.request_history.export_turn(entry_id)
            assert text is not None
            assert compose(read_turn(text, "turn").inputs).payload.body == sent
        assert shown.inputs is not None
        kept = tuple(edit for edit in shown.inputs.edits if edit.kept)
        typed = compose(replace(shown.inputs, draft=f"{draft} edited", edits=kept)).payload.body
        assert (
            await last_body(await workspace.branches.edit(user, f"{draft} edited", send=True))
            == typed
        )


@pytest.mark.parametrize("kind", ["recipe", "turn"])
def test_the_role_of_an_older_program_has_settings_beside_its_name(kind: str):
    role = Role("r", "Coder", settings=Settings(temperature=0.5, max_tokens=9))
    inputs = Inputs(ENDPOINTS[Protocol.OPENAI_CHAT], Preset("p"), draft="x", role=role)
    older = {"role_id": "r", "name": "Coder", "temperature": 0.5, "max_tokens": 9}
    if kind == "recipe":
        recipe = recipe_of(inputs)
        revisions = {name: text for name, (_, text) in revisions_of(inputs).items()}
        revisions[recipe.role] = json.dumps(older)
        sent = Message("user", "x", "sent")
        assert rebuilt_inputs(recipe, revisions, (), sent).role == role
    else:
        composed = compose(inputs)
        turn = json.loads(dump_turn(composed, composed.payload.body, None))
        turn["inputs"]["role"] = older
        assert read_turn(json.dumps(turn), "turn").inputs.role == role
