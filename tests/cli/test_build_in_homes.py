"""`tui-chat build` prints what the app would send in a session, and for a new one what the
configuration says: in random homes, to the byte.
"""

from __future__ import annotations

import asyncio
import io
import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.databases import provide_database
from tests.support.random_inputs import preset_of, words_of
from tests.support.tables import each_row
from tui_chat import paths
from tui_chat.cli import app, main
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.compose import compose
from tui_chat.library.presets import dump_preset
from tui_chat.models.message import Message
from tui_chat.workspace.workspace import Workspace

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SEED = 0
"""That of the macros in a request of `build`."""
Expected = list[tuple[tuple[str, ...], bytes]]
"""Arguments of `build`, and the body that the app would send."""
BuildIn = Callable[..., tuple[int, bytes]]

TOOL = """
[tools.weather]
description = "The weather."
parameters = '{"type": "object", "properties": {"city": {"type": "string"}}}'
"""
ENDPOINTS = {
    "openai": "gpt-5",
    "anthropic": "claude-haiku-4-5",
    "google": "gemini-2.5-flash",
    "loopback-responses": "echo",
}


class _Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return AT


@pytest.fixture
def build_in(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> BuildIn:
    monkeypatch.setattr(random, "getrandbits", lambda _: SEED)  # of the app
    monkeypatch.setattr(app, "datetime", _Clock)

    def call(home: Path, *words: str, before: tuple[str, ...] = ()) -> tuple[int, bytes]:
        folders = ("--config-dir", str(home), "--data-dir", str(home / "data"))
        monkeypatch.setattr(sys, "argv", ["tui-chat", *folders, *before, "build", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = 0
        try:
            main()
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsysbinary.readouterr()
        assert code == 0, captured.err
        return code, captured.out

    return call


def furnish(home: Path, chance: random.Random) -> None:
    """Write the user's files: any of them may be missing."""
    for folder in ("presets", "roles", "profiles", "lorebooks"):
        (home / folder).mkdir()
    for number in range(chance.randint(0, 2)):
        (home / "presets" / f"p{number}.json").write_text(dump_preset(preset_of(chance)))
    for number in range(chance.randint(0, 2)):
        role = {"name": f"Role {number}", "system_prompt": words_of(chance)}
        role |= {"preset": "p0"} if chance.random() < 0.5 else {}
        role |= {"model": chance.choice(["gpt-5", "echo"])} if chance.random() < 0.5 else {}
        role |= {"temperature": 0.25} if chance.random() < 0.5 else {}
        (home / "roles" / f"r{number}.json").write_text(json.dumps(role))
    (home / "profiles" / "kim.json").write_text('{"name": "Kim", "content": "Kim is here."}')
    lore = [{"keys": [word], "content": f"About {word}."} for word in ("salt", "marsh", "sea")]
    (home / "lorebooks" / "lore.json").write_text(json.dumps(lore))
    endpoint, model = chance.choice([*ENDPOINTS.items()])
    lines = [f'endpoint = "{endpoint}"'] if chance.random() < 0.5 else []
    lines += [f'model = "{model}"'] if lines and chance.random() < 0.5 else []
    lines += [TOOL] if chance.random() < 0.3 else []
    if lines:
        (home / "config.toml").write_text("\n".join(lines))


async def use_app(home: Path, chance: random.Random) -> Expected:
    """Choose things in the app, store sessions, and return what it would send in each."""
    config = CommonOptions(home / "data", home).config()
    if chance.random() < 0.8:  # else the first start creates it
        provide_database(paths.database_file(config.data_dir))
    workspace = await open_workspace(config)
    workspace.core.now = lambda: AT
    await workspace.start()
    found: Expected = []
    try:
        for _ in range(chance.randint(0, 2)):
            enabled = [
                role.role_id for role in workspace.state.roles if role.role_id != "assistant"
            ]
            await workspace.sessions.new(chance.choice(["", *enabled]))
            await choose_settings(workspace, chance)
            await store_messages(workspace, chance)
            draft = words_of(chance, 1)
            if chance.random() < 0.5:
                await workspace.sessions.save_draft(workspace.state.session, draft)
                words: tuple[str, ...] = ("--session", workspace.state.session_id)
            else:
                words = ("--session", workspace.state.session_id, draft)
            found.append((words, workspace.requests.compose(draft).payload.body))
    finally:
        await workspace.close()
    return found


async def choose_settings(workspace: Workspace, chance: random.Random) -> None:
    if chance.random() < 0.5:
        endpoint, model = chance.choice([*ENDPOINTS.items()])
        await workspace.settings.set_model(endpoint, model)
    if chance.random() < 0.3:
        await workspace.settings.set_default_model(*chance.choice([*ENDPOINTS.items()]))
    if chance.random() < 0.5:
        await workspace.settings.set_profile("kim")
    if chance.random() < 0.5:
        await workspace.settings.set_lorebooks(("lore",))
    if chance.random() < 0.5:
        await workspace.settings.set_parameter("max_tokens", "300")
    # The rules for the screen, of the default preset, are the app's alone.
    names = [name for name in workspace.library.names("presets") if name != "plain"]
    await workspace.presets.choose(chance.choice(names))


async def store_messages(workspace: Workspace, chance: random.Random) -> None:
    new = workspace.sessions.new_session("", title="A title")
    session = await workspace.store.messages.begin_session(new)
    for name, value in workspace.sessions.settings_when_begun().items():
        await workspace.store.settings.set(name, value)
    workspace.update(**workspace.sessions.changes_when_begun(session))
    parent = None
    for number in range(chance.randint(1, 6)):
        message = Message.of(("user", "assistant")[number % 2], f"{words_of(chance)} {number}")
        entry = await workspace.store.messages.add(session.session_id, message, parent)
        parent = entry.message.id
    await workspace.sessions.open(session.session_id)


@each_row("seed", range(24))
def test_build_prints_what_the_app_would_send(seed: int, tmp_path: Path, build_in: BuildIn):
    chance = random.Random(seed)
    furnish(tmp_path, chance)
    new = (words_of(chance),)
    first = build_in(tmp_path, *new)[1]
    expected = [*asyncio.run(use_app(tmp_path, chance)), (new, first)]
    for words, body in expected:
        assert build_in(tmp_path, *words)[1] == body, words


@each_row("seed", range(12))
def test_what_precedes_the_command_holds_for_the_app_too(seed: int, tmp_path, build_in):
    """`--endpoint` and `--model` go before the default model, the role's, and the file's."""
    chance = random.Random(seed)
    furnish(tmp_path, chance)
    asyncio.run(use_app(tmp_path, chance))
    endpoint, model = chance.choice([*ENDPOINTS.items()])
    named = chance.choice([{"endpoint": endpoint, "model": model}, {"model": model}])
    common = CommonOptions(tmp_path / "data", tmp_path, **named)

    async def start() -> tuple[str, str, bytes]:
        workspace = await open_workspace(common.config(), remembers=False)
        workspace.core.now = lambda: AT
        try:
            await workspace.start_new_chat()
            state = workspace.state
            inputs = replace(workspace.requests.inputs("Hi"), session_seed=SEED)
            return state.endpoint.name, state.effective_model, compose(inputs).payload.body
        finally:
            await workspace.close()

    used_endpoint, used_model, body = asyncio.run(start())
    assert used_model == model
    assert used_endpoint == named.get("endpoint", used_endpoint)
    words = [word for name, value in named.items() for word in (f"--{name}", value)]
    assert build_in(tmp_path, "Hi", before=tuple(words))[1] == body


def test_building_changes_nothing_that_the_app_starts_with(tmp_path: Path, build_in: BuildIn):
    async def state(*, fill: bool) -> list[str | None]:
        workspace = await open_workspace(CommonOptions(tmp_path / "data", tmp_path).config())
        await workspace.start()
        try:
            if fill:
                await store_messages(workspace, random.Random(1))
                await workspace.sessions.new()
                await workspace.sessions.save_draft(None, "half a thought")
            kept = ("session", "draft", "model", "profile", "roles_used")
            return [await workspace.store.settings.get(name) for name in kept]
        finally:
            await workspace.close()

    before = asyncio.run(state(fill=True))
    build_in(tmp_path, "--session", "A title", "x", "--model", "gpt-5", "--profile", "")
    build_in(tmp_path, "x", "--role", "")
    assert asyncio.run(state(fill=False)) == before
    assert "half a thought" in before
