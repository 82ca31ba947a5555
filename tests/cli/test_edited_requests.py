"""Edits of requests by hand on the command line: `build` shows the body that the app would send,
`ask` sends what is kept in the session.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tui_chat.cli.app import open_workspace
from tui_chat.cli.common_options import CommonOptions
from tui_chat.models.endpoint import Protocol
from tui_chat.models.request_edit import RequestEdit

KEPT = RequestEdit(Protocol.OPENAI_CHAT, ("seed",), "add", "7", kept=True)
WAITING = RequestEdit(Protocol.OPENAI_CHAT, ("top_p",), "add", "0.5")
BROKEN = RequestEdit(Protocol.OPENAI_CHAT, ("messages",), "set", "5", kept=True)


def homes(home: Path) -> tuple[object, ...]:
    return "--data-dir", home, "--config-dir", home


def begin(run: Run, home: Path) -> None:
    done = run(*homes(home), "ask", "--endpoint", "loopback", "--model", "echo", "one")
    assert (done.code, done.err) == (0, "")


def edited(home: Path, *edits: RequestEdit) -> None:
    """Make edits by hand in the last session, with a draft, as the app does."""

    async def edit() -> None:
        workspace = await open_workspace(CommonOptions(home, home).config(), remembers=False)
        try:
            [last] = await workspace.store.sessions.list()
            await workspace.store.sessions.update(last.session_id, edits=edits)
            await workspace.store.drafts.save(last.session_id, "typed")
        finally:
            await workspace.close()

    asyncio.run(edit())


def edits_in(home: Path) -> tuple[RequestEdit, ...]:
    async def read() -> tuple[RequestEdit, ...]:
        workspace = await open_workspace(CommonOptions(home, home).config(), remembers=False)
        try:
            [last] = await workspace.store.sessions.list()
            session = await workspace.store.sessions.get(last.session_id)
            return session.edits
        finally:
            await workspace.close()

    return asyncio.run(read())


def keys(body: str) -> set[str]:
    found: dict[str, Any] = json.loads(body)
    return found.keys() & {"seed", "top_p"}


def test_build_has_the_edits_of_the_session(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, KEPT, WAITING)
    build = (*homes(tmp_path), "build", "--session", "one")
    done = run(*build)
    assert keys(done.out) == {"seed", "top_p"}
    assert "/seed is added by hand in every request of this session: 7." in done.err
    assert keys(run(*build, "another", "draft").out) == {"seed"}


def test_ask_sends_what_is_kept_and_leaves_what_waits(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, KEPT, WAITING)
    assert run(*homes(tmp_path), "ask", "-c", "two").code == 0
    assert edits_in(tmp_path) == (KEPT, WAITING)
    exported = run(*homes(tmp_path), "export", "one", "--format", "json").out
    [session] = json.loads(exported)["sessions"]
    assert keys(session["requests"][-1]["body"]) == {"seed"}
    assert [edit["path"] for edit in session["session"]["edits"]] == [["seed"]]


def test_an_invalid_body_is_not_sent_unless_wanted(run: Run, tmp_path: Path):
    begin(run, tmp_path)
    edited(tmp_path, BROKEN)
    assert run(*homes(tmp_path), "build", "--session", "one").code == 2
    done = run(*homes(tmp_path), "ask", "-c", "two")
    assert done.code == 2
    assert "With the edits by hand the body is not a request to OpenAI" in done.err
    assert "--force" in done.err
