"""Folders of other programs' sessions: listed at once, read when opened, followed, searched."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.plugins.transcripts.test_viewer import viewer_of
from tests.support.app import told, until
from tests.support.exports import chatgpt, claude_code, lines, node
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.interop.transcript_builder import stable_id
from tui_chat.plugins.transcripts import viewed_files
from tui_chat.plugins.transcripts.view import known_places
from tui_chat.plugins.transcripts.viewed_files import FIRST_FILES, require_conversations
from tui_chat.ui.app import TuiChat
from tui_chat.workspace.workspace import Workspace


def write(path: Path, *records: dict[str, Any], age: float = 0) -> Path:
    """Write a session; `age` is in seconds before some moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records) + b"\n")
    moment = 1_700_000_000 - age
    os.utime(path, (moment, moment))
    return path


def session(number: int, *texts: str) -> list[dict[str, Any]]:
    """A session of Claude Code whose user says these texts."""
    return [
        claude_code(f"{number}-{n}", f"{number}-{n - 1}" if n else None, text,
                    sessionId=f"s{number}", cwd="/home/ada/mill")
        for n, text in enumerate(texts)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "projects"
    write(root / "-mill/a.jsonl", *session(1, "How old is the mill?"), age=10)
    write(root / "-mill/b.jsonl", *session(2, "A quincunx of trees"), age=20)
    (root / "-mill/notes.json").write_text('{"of": "another program"}')
    write(root / "-mill/a/subagents/agent-x.jsonl",
          *[each | {"isSidechain": True, "agentId": "x"} for each in session(1, "Ask the miller")],
          age=15)  # fmt: skip
    (root / "-mill/a/subagents/agent-x.meta.json").write_text('{"description": "ask"}')
    return root


def texts(workspace: Workspace) -> list[str]:
    return [entry.message.content for entry in workspace.state.entries]


async def opened(app: TuiChat, pilot: Pilot[None]) -> Workspace:
    await until(pilot, lambda: app.is_workspace_open)
    assert app.workspace is not None
    return app.workspace


async def test_a_folder_is_listed_followed_and_searched(tmp_path: Path, folder: Path):
    app = viewer_of(tmp_path, folder)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        titles = {each.title: each for each in workspace.state.sessions}
        assert set(titles) == {"How old is the mill?", "A quincunx of trees", "ask"}
        assert {each.folder for each in titles.values()} == {"/home/ada/mill"}
        assert titles["ask"].tags == ("subagent", "Claude Code")
        assert texts(workspace) == ["How old is the mill?"]
        mill = titles["How old is the mill?"].session_id
        await workspace.sessions.open(mill)
        path = folder / "-mill/a.jsonl"
        blocks = [claude_code(f"r{n}", "1-0" if n == 1 else "r1", {"type": "text", "text": text},
                              message_id="m", sessionId="s1")
                  for n, text in ((1, "Three"), (2, "hundred"))]  # fmt: skip
        files = workspace.session_files
        assert files is not None
        for count, answer in ((1, "Three"), (2, "Three\n\nhundred")):
            write(path, *session(1, "How old is the mill?"), *blocks[:count], age=5 - count)
            files.read_again_at_once()
            await files.check()
            assert texts(workspace) == ["How old is the mill?", answer]
        await pilot.press("ctrl+f")
        await until(pilot, lambda: type(app.screen).__name__ == "SearchScreen")
        await pilot.press(*"quincunx")
        state = app.screen.query_one("#search-state")
        await until(pilot, lambda: "2 found" in str(state.render()))  # title and message
        await pilot.press("enter")
        await until(pilot, lambda: texts(workspace) == ["A quincunx of trees"])


async def test_what_cannot_be_read_is_named(tmp_path: Path, folder: Path):
    broken = folder / "-mill/c.jsonl"
    write(broken, *session(3, "Whole"), age=0)
    broken.write_bytes(broken.read_bytes() + b'{"cut": ')
    os.utime(broken, (1_800_000_000, 1_800_000_000))
    app = viewer_of(tmp_path, folder)
    async with app.run_test(size=(140, 40)) as pilot:
        assert texts(await opened(app, pilot)) == ["Whole"]
        sentence = "c.jsonl: line 2 is not JSON: the line is cut"
        await until(pilot, lambda: sentence in told(app))


@each_row(("content", "fault"), [
    ("", "is empty"), ("hello", "is not a conversation of a known format"),
    ('[{"role": "user", "content"', "ends within the value"),
])  # fmt: skip
def test_a_file_without_conversation_is_refused(tmp_path: Path, content: str, fault: str):
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(InputError, match=fault):
        require_conversations([file])


def test_an_empty_folder_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no conversation in the folder"):
        require_conversations([tmp_path])


def test_known_places_are_those_that_exist(tmp_path: Path):
    with pytest.raises(InputError, match="No conversations of other programs"):
        known_places(tmp_path, {})
    (tmp_path / ".claude/projects").mkdir(parents=True)
    (tmp_path / "elsewhere/sessions").mkdir(parents=True)
    found = known_places(tmp_path, {"CODEX_HOME": str(tmp_path / "elsewhere")})
    assert found == [tmp_path / ".claude/projects", tmp_path / "elsewhere/sessions"]


async def test_a_subagent_is_listed_behind_the_session_that_started_it(
    tmp_path: Path, folder: Path
):
    call = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Ask the miller"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "Three hundred"}
    write(folder / "-mill/a.jsonl", *session(1, "How old is the mill?"),
          claude_code("r1", "1-0", call, message_id="m", sessionId="s1"),
          claude_code("r2", "r1", [result], sessionId="s1"),
          claude_code("r3", "r2", {"type": "text", "text": "Old"}, message_id="n", sessionId="s1"),
          )  # fmt: skip
    meta = folder / "-mill/a/subagents/agent-x.meta.json"
    meta.write_text('{"description": "ask", "toolUseId": "t1"}')
    app = viewer_of(tmp_path, folder)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        files = workspace.session_files
        assert files is not None
        titles = [each.title for each in files.subagents.nested(workspace.state.sessions)]
        assert titles == ["How old is the mill?", "ask", "A quincunx of trees"]


async def test_sessions_are_ordered_by_their_own_time(tmp_path: Path):
    root = tmp_path / "projects"
    for number, (stamp, age) in enumerate((("2023-01-01", 5), ("2023-06-01", 9)), 1):
        records = session(number, f"Said {stamp}")
        write(root / f"{number}.jsonl",
              *[each | {"timestamp": f"{stamp}T00:00:00Z"} for each in records], age=age,
        )  # fmt: skip
    app = viewer_of(tmp_path, root)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        titles = [each.title for each in workspace.state.sessions]
        assert titles == ["Said 2023-06-01", "Said 2023-01-01"]


async def test_dates_are_those_of_the_conversation(tmp_path: Path):
    root = tmp_path / "projects"
    stamps = ("2023-01-01T10:00:00Z", "2023-02-01T10:00:00Z")
    said = session(1, "First", "Last")
    write(root / "1.jsonl", *[r | {"timestamp": at} for r, at in zip(said, stamps, strict=True)])
    write(root / "2.jsonl", *session(2, "Undated"), age=5)
    app = viewer_of(tmp_path, root)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        ids = {each.title: each.session_id for each in workspace.state.sessions}
        # What has no dates has that of its file.
        for title, created in (("First", 1_672_567_200.0), ("Undated", 1_700_000_000.0 - 5)):
            found = await workspace.store.sessions.get(ids[title])
            assert found is not None
            assert found.created == created
        path = tmp_path / "page.html"
        await workspace.sessions.open(ids["First"])
        await workspace.exports.export(ids["First"], "html", path)
        assert "<dt>Created</dt><dd>2023-01-01" in path.read_text()


async def test_a_listed_archive_is_read(tmp_path: Path):
    root = tmp_path / "downloads"
    write(root / "a.jsonl", *session(1, "Beside it"))
    talks = [
        chatgpt(node("q", None, "user", f"A quincunx {n}"), conversation_id=str(n), title=f"T{n}")
        for n in range(2)
    ]
    for name, files in (
        ("chatgpt.zip", {"conversations.json": json.dumps(talks), "user.json": "{}"}),
        ("other.zip", {"package.json": "{}", "readme.txt": "x"}),
    ):
        with zipfile.ZipFile(root / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in files.items():
                archive.writestr(member, text)
    os.utime(root / "chatgpt.zip", (1_600_000_000, 1_600_000_000))
    app = viewer_of(tmp_path, root)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        found = {each.title: each for each in workspace.state.sessions}
        assert set(found) == {"Beside it", "T0", "T1"}
        assert (found["T0"].folder, found["T0"].tags) == ("ChatGPT", ("ChatGPT",))
        assert found["T0"].model == found["T1"].model == "gpt-4o"


async def test_the_newest_files_are_read_at_once_and_the_others_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "projects"
    for number in range(FIRST_FILES + 10):
        write(root / f"{number}.jsonl", *session(number, f"Said {number}"), age=number)
    size = (root / "0.jsonl").stat().st_size
    monkeypatch.setattr(viewed_files, "MOST_BYTES", (FIRST_FILES + 5) * (size + 4))
    app = viewer_of(tmp_path, root)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        await until(pilot, lambda: "5 older files are not listed" in told(app))
        assert len(workspace.state.sessions) == FIRST_FILES + 5
        assert texts(workspace) == ["Said 0"]


def gemini(key: str, content: object, kind: str = "user") -> dict[str, Any]:
    return {"id": key, "timestamp": "2026-01-01T00:00:00Z", "type": kind, "content": content}


async def test_messages_that_were_taken_back_are_not_on_the_shown_branch(tmp_path: Path):
    path = write(tmp_path / "session.jsonl", {"sessionId": "s", "projectHash": "h"},
                 gemini("1", "Look"), gemini("2", "A mill", "gemini"),
                 gemini("3", "Burn it"), gemini("4", "Burnt", "gemini"), {"$rewindTo": "3"},
                 )  # fmt: skip
    app = viewer_of(tmp_path, path)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        await until(pilot, lambda: texts(workspace) == ["Look", "A mill"])
        assert len(await workspace.branches.tree()) == 4


async def test_a_subagent_of_an_older_version_is_beside_its_session(tmp_path: Path):
    root = tmp_path / "projects"
    call = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Ask"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "300"}
    write(root / "s1.jsonl", *session(1, "How old?"),
          claude_code("r1", "1-0", call, message_id="m", sessionId="s1"),
          claude_code("r2", "r1", [result], sessionId="s1", toolUseResult={"agentId": "b7"}),
          )  # fmt: skip
    side = [each | {"isSidechain": True, "agentId": "b7"} for each in session(1, "Ask")]
    write(root / "agent-b7.jsonl", *side, age=10)
    app = viewer_of(tmp_path, root)
    async with app.run_test(size=(140, 40)) as pilot:
        workspace = await opened(app, pilot)
        await until(pilot, lambda: len(workspace.state.entries) == 3)
        assert workspace.session_files is not None
        subagents = workspace.session_files.subagents
        sessions = [each.session_id for each in subagents.nested(workspace.state.sessions)]
        assert sessions[-1] == stable_id("claude-code", "s1", "b7")
