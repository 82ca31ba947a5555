"""A key costs payload and budget as much in a long conversation as in a short one, counted in rows
laid out and drawn and in turns added up; and what is not drawn anew is right as it stands.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.geometry import Region

from tests.support.inspector_app import (
    DRAFT,
    InspectorApp,
    chat_tree,
    composed,
    long_chat,
    said,
    turns_with,
)
from tui_chat.analysis.token_shares import ShareCalculator
from tui_chat.models.text import Text
from tui_chat.ui.areas.inspector.payload_blocks import HeightMeasurer
from tui_chat.ui.areas.inspector.payload_layout import PayloadLayout
from tui_chat.ui.areas.inspector.payload_view import PayloadView

pytestmark = pytest.mark.usefixtures("drawn")

DRAFTS = ("", "a", "ab", "ab " + "word " * 30, "ab " + "word " * 29, "ab", "")


def counting(monkeypatch: pytest.MonkeyPatch, counts: Counter[str], owner: type, name: str) -> None:
    """Count the calls of a method."""
    method: Callable[..., Any] = getattr(owner, name)

    def counted(self: object, *given: Any) -> Any:
        counts[name] += 1
        return method(self, *given)

    monkeypatch.setattr(owner, name, counted)


async def test_a_keystroke_costs_the_same_in_a_long_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: Counter[str] = Counter()
    counting(monkeypatch, counts, HeightMeasurer, "leaf_rows")
    counting(monkeypatch, counts, PayloadView, "render_line")
    counting(monkeypatch, counts, PayloadLayout, "spot")
    counting(monkeypatch, counts, ShareCalculator, "_add")
    spent: list[Counter[str]] = []
    for size in (100, 2_000):
        stored = long_chat(size)
        app = InspectorApp(composed(tree=chat_tree(stored)))
        account, turns = ShareCalculator(), turns_with("")[:-1] * (size // 4)
        async with app.run_test(size=(60, 40)) as pilot:
            for draft in DRAFTS[1:3]:
                await pilot.pause()
                counts.clear()
                said_now = said("user", Text.of(draft, DRAFT), DRAFT)
                request = composed(tree=chat_tree((*stored, said_now)))
                app.pane.show(request)
                await pilot.pause()
                everything = (*turns, turns_with(draft)[-1])
                tokens = (5,) * len(everything)
                account(replace(request.envelope, turns=everything, tokens=tokens))
        spent.append(+counts)
    assert spent[0] == spent[1]
    assert spent[0]["_add"] == 2
    assert 0 < spent[0]["render_line"] < 20


@pytest.mark.parametrize("walk", [(), ("up", "up"), ("home",)])
async def test_reused_rows_are_correct(
    walk: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh, laid_out = PayloadView.refresh, list[bool]()

    def noting(self: PayloadView, *regions: Region, layout: bool = False, **rest: bool) -> object:
        laid_out.append(layout)
        return refresh(self, *regions, layout=layout, **rest)

    stored = long_chat(12)
    app = InspectorApp(composed(tree=chat_tree(stored)))
    async with app.run_test(size=(60, 40)) as pilot:
        view = app.view
        await pilot.press(*walk)
        monkeypatch.setattr(PayloadView, "refresh", noting)
        for draft in DRAFTS:
            said_now = said("user", Text.of(draft, DRAFT), DRAFT)
            app.pane.show(composed(tree=chat_tree((*stored, said_now))))
            await pilot.pause()
            drawn = view._drawn  # pyright: ignore[reportPrivateUsage]
            kept = [drawn[y] for y in range(view.size.height)]
            assert kept == [view.render_line(y) for y in range(view.size.height)]
        assert not any(laid_out), "a draft of more rows lays nothing else out anew"
        lists = [one for one in gc.get_referrers(stored[0]) if type(one) is tuple]
        assert len(lists) == 2, "the stored messages, and those of the request that is shown"
