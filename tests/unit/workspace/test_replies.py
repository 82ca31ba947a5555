"""Replies: storing and sending, timing and cost, unavailable servers and models."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

import pytest

from tests.support.tables import each_row
from tests.support.workspace import LOOPBACKS, contents, ids, moved, say
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.prices import Prices
from tui_chat.tokens import Correction
from tui_chat.workspace.events import Failed, ReplyGrew, ReplySettled
from tui_chat.workspace.usage import dump_corrections, read_corrections


async def test_the_user_message_is_stored_before_the_request_leaves(make_workspace):
    workspace, _ = await make_workspace(model="flaky-stall")
    assert await workspace.replies.submit("precious words")
    stored = await workspace.store.branches.load(workspace.state.session_id)
    assert [(e.message.role, e.status) for e in stored] == [
        ("user", "complete"),
        ("assistant", "streaming"),
    ]
    assert stored[0].message.content == "precious words"
    await workspace.replies.stop()


async def test_a_reply_stopped_twice_while_its_end_is_stored_has_ended(make_workspace, tmp_path):
    workspace, heard = await make_workspace(model="echo")
    assert await workspace.replies.submit("all of it")
    with closing(sqlite3.connect(tmp_path / "chat.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # the end waits for it
        await heard.until(lambda: any(e.grown.reply.finish for e in heard.of(ReplyGrew)))
        stopping = [asyncio.ensure_future(workspace.replies.stop()) for _ in range(2)]
        await asyncio.sleep(0.05)
        other.execute("ROLLBACK")
    await asyncio.gather(*stopping)
    assert not workspace.state.is_streaming
    last = workspace.state.entries[-1]
    assert (last.status, last.message.content) == ("complete", "all of it")
    assert not heard.of(ReplySettled)[0].continues, "who stops a reply wants nothing to follow"


async def test_opening_a_session_that_ends_with_a_user_message_sends_nothing(make_workspace):
    workspace, _ = await make_workspace(sent=["one"])
    assert await workspace.branches.edit(ids(workspace)[0], "eins")
    await workspace.close()
    workspace, heard = await make_workspace()
    await workspace.sessions.open(workspace.state.session_id)
    assert contents(workspace) == ["eins"]
    assert not workspace.state.is_streaming
    assert heard.received == []


async def test_a_session_of_an_unreachable_server_can_be_opened(make_workspace):
    workspace, heard = await make_workspace(sent=["one"])
    await workspace.close()
    down = moved(LOOPBACKS[0], "http://127.0.0.1:9")
    workspace, heard = await make_workspace(endpoints=(down,))
    assert contents(workspace) == ["one", "one"]
    await say(workspace, heard, "two")
    assert contents(workspace) == ["one", "one", "two", ""]
    assert workspace.state.entries[-1].error


async def test_a_session_of_a_removed_endpoint_or_model_can_be_opened(make_workspace):
    workspace, heard = await make_workspace("loopback-gemini", "echo", sent=["one"])
    await workspace.close()
    left = replace(LOOPBACKS[0], models=("mirror",))
    workspace, heard = await make_workspace(left.name, "mirror", (left,))
    assert contents(workspace) == ["one", "one"]
    assert "no endpoint “loopback-gemini”" in str(heard.of(Failed)[0].error)
    assert workspace.state.endpoint.name == left.name
    await say(workspace, heard, "two")
    assert len(workspace.state.entries) == 4


PRICED = tuple(
    replace(each, facts=(("*", ModelFacts(prices=Prices(Decimal(1), Decimal(2)))),))
    for each in LOOPBACKS
)


@each_row("endpoint", PRICED, ids=lambda e: e.protocol.value)
async def test_timing_is_published_while_a_reply_streams_and_at_its_end(endpoint, make_workspace):
    seconds = itertools.count()
    workspace, heard = await make_workspace(
        endpoint.name, "lorem:1000:200", PRICED, clock=lambda: float(next(seconds))
    )
    await say(workspace, heard, "go")
    grown = [change.grown for change in heard.of(ReplyGrew)]
    worded = [each.timing for each in grown if not each.reply.is_empty]
    assert all(each.first is not None for each in worded)
    assert len({each.first for each in worded}) == 1
    assert [each.elapsed for each in worded] == sorted(each.elapsed for each in worded)
    about = [each.tokens for each in worded if not each.exact]
    assert about == sorted(about)
    ended = workspace.replies.timing(workspace.state.entries[-1])
    usage = workspace.state.entries[-1].usage
    assert ended.exact
    assert ended.tokens == usage.output
    assert ended.cost == Decimal(usage.input + 2 * usage.output) / 1_000_000
    assert about[-1] == pytest.approx(usage.output, rel=0.6), "about so many"

    await workspace.close()
    workspace, _ = await make_workspace(endpoint.name, "lorem:max:200", PRICED)
    later = workspace.replies.timing(workspace.state.entries[-1])
    assert later == ended


@each_row("url", ["http://provider.invalid/v1", PRICED[0].base_url])
async def test_a_provider_corrects_estimates_and_the_offline_one_does_not(url, make_workspace):
    endpoint = replace(PRICED[0], name="elsewhere", base_url=url)
    workspace, _ = await make_workspace("elsewhere", "lorem:max:200", (endpoint,), sent=["go"])
    estimated = workspace.requests.compose("more").envelope.budget
    assert (estimated.total != estimated.uncorrected) == (url != PRICED[0].base_url)
    await workspace.close()

    workspace, _ = await make_workspace("elsewhere", "lorem:max:200", (endpoint,))
    assert workspace.requests.compose("more").envelope.budget == estimated, "kept between runs"


def test_token_corrections_are_kept_for_the_latest_models():
    taught = {("e", f"m{number}"): Correction(100.0 + number, 90.0) for number in range(150)}
    kept = read_corrections(dump_corrections(taught))
    assert list(kept.items()) == list(taught.items())[-100:]
    for damaged in ("", "{}", "[1]", '[{"endpoint": 1}]', "[", "null"):
        assert read_corrections(damaged) == {}


async def test_a_reply_of_a_removed_endpoint_without_a_stored_cost_has_none(make_workspace):
    workspace, _ = await make_workspace(PRICED[0].name, "echo", PRICED, sent=["go"])
    gone = replace(
        workspace.state.entries[-1],
        endpoint="gone",
        message=replace(workspace.state.entries[-1].message, id="x"),
        cost=None,
        priced="",
    )
    assert workspace.replies.timing(gone).cost is None


async def test_the_state_names_streaming_sessions(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert workspace.state.streaming_sessions == frozenset()
    assert await workspace.replies.submit("one")
    first = workspace.state.session.session_id
    await workspace.sessions.new()
    assert await workspace.replies.submit("two")
    assert workspace.state.streaming_sessions == {first, workspace.state.session.session_id}
    await workspace.replies.stop()
    await heard.until(lambda: workspace.state.streaming_sessions == {first})


async def test_the_cost_is_stored_with_the_reply_and_later_prices_do_not_change_it(make_workspace):
    workspace, _ = await make_workspace(PRICED[0].name, "echo", PRICED, sent=["go"])
    entry = workspace.state.entries[-1]
    assert entry.cost == Decimal(entry.usage.input + 2 * entry.usage.output) / 1_000_000
    assert entry.priced == "config.toml"
    await workspace.close()
    dearer = tuple(
        replace(each, facts=(("*", ModelFacts(prices=Prices(Decimal(9), Decimal(9)))),))
        for each in LOOPBACKS
    )
    workspace, _ = await make_workspace(PRICED[0].name, "echo", dearer)
    assert workspace.state.entries[-1] == entry
    assert workspace.replies.timing(entry).cost == entry.cost


async def test_a_model_without_prices_has_no_cost(make_workspace):
    workspace, _ = await make_workspace(LOOPBACKS[0].name, "echo", LOOPBACKS, sent=["go"])
    entry = workspace.state.entries[-1]
    assert (entry.cost, entry.priced) == (None, "")
    assert workspace.replies.timing(entry).cost is None
