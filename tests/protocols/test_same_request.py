"""The newest user message is the draft, typed or stored: however a turn is asked for, its request
has the same bytes. First in random presets and branches, then at the workspace.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.messages import make_message
from tests.support.random_inputs import ENDPOINTS, FILE, PICTURE, edited, inputs_of, words_of
from tests.support.workspace import LOOPBACKS, make_workspace, put, settled
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs
from tui_chat.models.boundary import unpack
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note, ToolDefinition
from tui_chat.models.json_text import to_json
from tui_chat.models.message import Message
from tui_chat.models.payload import Arr, Obj, Tree
from tui_chat.models.preset import Preset
from tui_chat.models.request_edit import (
    BodyPath,
    EditedBody,
    Operation,
    RequestEdit,
    changed_edits,
    value_at,
)
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.models.text import OriginKind
from tui_chat.request_recipe import (
    dump_recipe,
    read_recipe,
    rebuilt_inputs,
    recipe_of,
    revisions_of,
)
from tui_chat.turn_file import dump_turn, read_turn

__all__ = ["make_workspace"]

CASES = 10 * settings().max_examples
"""More than a property test draws, for each may have any of very many things."""


def edits_of(chance: random.Random, inputs: Inputs) -> tuple[RequestEdit, ...]:
    """Edits of the request by hand, at places of what is seen by then."""
    edits: tuple[RequestEdit, ...] = ()
    for _ in range(chance.choice([0, 0, 1, 3])):
        composed = compose(replace(inputs, edits=edits))
        tree = composed.encoded.tree
        body = composed.edited or EditedBody(tree, tree)
        path = chance.choice(list(paths_in(tree)))
        kept = chance.random() < 0.5
        operation: Operation = chance.choice(["set", "set", "remove", "add"])
        value: object = None if operation == "remove" else words_of(chance)
        if operation == "add" and isinstance(path[-1], int):
            value = {"role": "user", "content": "added"}
        elif operation == "add":
            path, value = (*path[:-1], "added_key"), 5
            if value_at(tree, path) is not None:
                continue
        text = "" if value is None else to_json(value)
        new = RequestEdit(composed.protocol, path, operation, text, kept)
        edits = changed_edits(edits, body, new)
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
            *(turn.role, turn.blocks, turn.name, turn.extras),
            turn.cache_mark and turn.cache_mark.lifetime,
        )
        for turn in envelope.turns
    ]
    return [turns, envelope.parameters, envelope.tools, envelope.source]


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


@pytest.mark.parametrize(
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
        sent = make_message("user", typed.draft, "sent", parts=typed.draft_parts, timestamp=9.0)
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
        workspace.requests.set_draft(draft, parts)
        workspace.requests.compose_shown()
        if number == 1:
            assert await workspace.request_edits.change("add", ("user",), "Ada", kept=True)
        if number in (2, 3):
            assert await workspace.request_edits.change("add", ("x",), number, kept=False)
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
            again = await workspace.sent.sent_request(entry_id)
            assert again is not None
            assert again.is_exact
            text = await workspace.sent.export_turn(entry_id)
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
        sent = Message.of("user", "x", "sent")
        assert rebuilt_inputs(recipe, revisions, (), sent).role == role
    else:
        composed = compose(inputs)
        turn = json.loads(dump_turn(composed, composed.payload.body, None))
        turn["inputs"]["role"] = older
        assert read_turn(json.dumps(turn), "turn").inputs.role == role


def test_a_tool_that_an_older_program_stored_is_read():
    stored = '[{"name": "f", "description": "", "parameters": {}, "extras": "{\\"a\\": 1}"}]'
    assert unpack(tuple[ToolDefinition, ...], stored) == (ToolDefinition("f", "", {}),)
