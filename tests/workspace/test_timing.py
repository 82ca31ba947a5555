"""How quickly replies come, told while they do and afterwards."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tests.e2e.conftest import LOOPBACKS, settled
from tui_chat.models.model_facts import ModelFacts, Prices
from tui_chat.tokens import Correction
from tui_chat.workspace import ReplyGrew
from tui_chat.workspace.token_calibration import dump_corrections, read_corrections

PRICED = tuple(
    replace(each, facts=(("*", ModelFacts(prices=Prices(input=1, output=2))),))
    for each in LOOPBACKS
)


@pytest.mark.parametrize("endpoint", PRICED, ids=lambda e: e.protocol.value)
async def test_the_pace_is_told_while_a_reply_grows_and_when_it_has_ended(endpoint, make_workspace):
    seconds = itertools.count()
    workspace, heard = await make_workspace(
        endpoint.name, "lorem:max:200", PRICED, clock=lambda: float(next(seconds))
    )
    assert await workspace.replies.submit("go")
    await settled(workspace, heard)
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
    assert ended.cost == pytest.approx((usage.input + 2 * usage.output) / 1e6)
    assert ended.per_second is not None
    assert about[-1] == pytest.approx(usage.output, rel=0.6), "about so many"

    estimated = workspace.requests.compose("more").envelope.budget
    assert estimated.total != estimated.uncorrected

    await workspace.close()
    workspace, _ = await make_workspace(endpoint.name, "lorem:max:200", PRICED)
    assert workspace.requests.compose("more").envelope.budget == estimated, (
        "what it taught is known still"
    )
    later = workspace.replies.timing(workspace.state.entries[-1])
    assert later == ended


def test_what_replies_taught_is_kept_for_the_latest_models():
    taught = {("e", f"m{number}"): Correction(100.0 + number, 90.0) for number in range(150)}
    kept = read_corrections(dump_corrections(taught))
    assert list(kept.items()) == list(taught.items())[-100:]
    for damaged in ("", "{}", "[1]", '[{"endpoint": 1}]', "[", "null"):
        assert read_corrections(damaged) == {}


async def test_a_reply_of_an_endpoint_that_is_gone_has_no_price(make_workspace):
    workspace, heard = await make_workspace(PRICED[0].name, "echo", PRICED)
    assert await workspace.replies.submit("go")
    await settled(workspace, heard)
    gone = replace(
        workspace.state.entries[-1],
        endpoint="gone",
        message=replace(workspace.state.entries[-1].message, id="x"),
    )
    assert workspace.replies.timing(gone).cost is None


async def test_which_sessions_are_running(make_workspace):
    workspace, heard = await make_workspace(model="flaky-stall")
    assert workspace.state.streaming_sessions == frozenset()
    assert await workspace.replies.submit("one")
    first = workspace.state.session.session_id
    await workspace.sessions.new()
    assert await workspace.replies.submit("two")
    assert workspace.state.streaming_sessions == {first, workspace.state.session.session_id}
    await workspace.replies.stop()
    await heard.until(lambda: workspace.state.streaming_sessions == {first})
