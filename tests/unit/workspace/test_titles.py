"""Titles that a model writes: once, in the background, never over a title that the user gave."""

from __future__ import annotations

import asyncio
import json

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tests.support.workspace import ids, say, settled
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.usage import sums_of
from tui_chat.workspace.aside import read_title, title_request
from tui_chat.workspace.events import Failed

TITLER = "loopback/echo"


async def titles(workspace) -> list[tuple[str, str, str]]:
    """The kind, status and reply of what was asked besides the conversation."""
    stored = await workspace.store.side_requests.list(workspace.state.session_id)
    return [(each.kind, each.status, each.reply) for each in stored]


async def until_titles(workspace, *statuses: str) -> None:
    """Wait until so many titles were asked for, with these ends."""
    async with asyncio.timeout(20):
        while [status for _, status, _ in await titles(workspace)] != [*statuses]:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)


async def until_received(heard, count: int) -> None:
    async with asyncio.timeout(20):
        while len(heard.received) < count:  # noqa: ASYNC110 - requests are no events
            await asyncio.sleep(0)


async def test_the_first_words_are_replaced_after_the_first_reply_and_only_then(make_workspace):
    workspace, heard = await make_workspace(title_model=TITLER)
    assert await workspace.replies.submit("Where does " + "the river go? " * 200)
    assert workspace.state.session.title.startswith("Where does the river go?")
    await settled(workspace, heard)
    await heard.until(lambda: workspace.state.session.title.startswith("User: Where"))
    title = workspace.state.session.title
    await heard.until(lambda: workspace.state.sessions[0].title == title)
    body = json.loads(heard.received[-1].body)
    assert body["max_completion_tokens"] == 24
    assert len(body["messages"][-1]["content"]) < 1_300
    ((kind, status, _),) = await titles(workspace)
    assert (kind, status) == ("title", "complete")
    await say(workspace, heard, "And then?")
    await workspace.aside.stop()
    assert len(await titles(workspace)) == 1


async def test_a_title_that_the_user_gave_stays(make_workspace):
    workspace, heard = await make_workspace(title_model=TITLER, model="lorem:500:50")
    assert await workspace.replies.submit("Hello")
    await workspace.session_list.rename(workspace.state.session_id, "Mine")
    await settled(workspace, heard)
    await say(workspace, heard, "Again")
    assert workspace.state.session.title == "Mine"
    assert await titles(workspace) == []
    assert len(heard.received) == 2


async def test_a_title_given_meanwhile_wins(make_workspace):
    workspace, heard = await make_workspace(title_model=TITLER)
    assert await workspace.replies.submit("Hello")
    session_id = workspace.state.session_id
    await settled(workspace, heard)
    await until_received(heard, 2)
    assert await workspace.store.sessions.replace_title(session_id, "Hello", "Mine")
    await until_titles(workspace, "complete")
    assert (await workspace.store.sessions.get(session_id)).title == "Mine"


async def test_nothing_is_asked_without_a_model(make_workspace):
    workspace, heard = await make_workspace(sent=["Hello"])
    assert workspace.state.session.title == "Hello"
    await workspace.aside.stop()
    assert len(heard.received) == 1


async def test_a_failure_is_silent_and_not_repeated(make_workspace):
    workspace, heard = await make_workspace(title_model="loopback/flaky-500", sent=["Hello"])
    await until_titles(workspace, "failed")
    await workspace.replies.regenerate(ids(workspace)[-1])
    await settled(workspace, heard)
    assert workspace.state.session.title == "Hello"
    assert not heard.of(Failed)


async def test_what_it_costs_is_counted(make_workspace, tmp_path):
    workspace, heard = await make_workspace(title_model=TITLER, sent=["Hello"])
    await heard.until(lambda: workspace.state.session.title != "Hello")
    common = CommonOptions(tmp_path, tmp_path)
    assert (await sums_of(common, "day"))[1].replies == 2


async def test_closing_does_not_wait_for_a_title(make_workspace):
    workspace, heard = await make_workspace(title_model="loopback/flaky-stall", sent=["Hello"])
    await until_received(heard, 2)
    session_id = workspace.state.session_id
    await workspace.close()
    workspace, _ = await make_workspace()
    assert (await workspace.store.sessions.get(session_id)).title == "Hello"


@each_row(
    ("reply", "title"),
    [
        ("The ferry to Kos", "The ferry to Kos"),
        ('\n"The ferry."\nIt is short.', "The ferry"),
        ("Title: **Ferries**", "Ferries"),
        ("# Ferries", "Ferries"),
        ("C++ templates", "C++ templates"),
        ("Ferry \x1b[31mred", "Ferry ␛[31mred"),
        ("x" * 500, "x" * 199 + "…"),
        (" \n ", ""),
        ('"."', ""),
    ],
)
def test_the_title_is_read_from_the_reply(reply: str, title: str):
    assert read_title(reply) == title


def test_reasoning_is_switched_off_or_has_room():
    openai = next(each for each in ENDPOINTS if each.name == "openai")
    bodies = {
        model: json.loads(title_request(openai, model, "q", "r").payload.body)
        for model in ("gpt-4.1", "gpt-5-mini", "gpt-5.1")
    }
    assert bodies["gpt-4.1"]["max_completion_tokens"] == 24
    assert bodies["gpt-5-mini"]["reasoning_effort"] == "minimal"
    assert bodies["gpt-5-mini"]["max_completion_tokens"] == 1_024
    assert bodies["gpt-5.1"]["reasoning_effort"] == "none"
    assert bodies["gpt-5.1"]["max_completion_tokens"] == 24
