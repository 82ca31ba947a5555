"""Character cards in the app."""

from __future__ import annotations

import json
from pathlib import Path

from textual import events

from tests.plugins.sillytavern.test_character_cards import PIXEL, V2, picture, text_chunk
from tests.support.app import make_app, opened, settle, until, workspace_of
from tui_chat.ui.chat.composer import Composer


async def test_a_dropped_card_is_imported_and_other_pasted_paths_stay_text(
    tmp_path: Path,
) -> None:
    (tmp_path / "plain.png").write_bytes(PIXEL)
    (tmp_path / "list.json").write_text(json.dumps([1]))
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        for pasted in (
            str(tmp_path / "plain.png"),
            str(tmp_path / "list.json"),
            str(tmp_path / "none.png"),
            "a.png\nb.png",
            "'",
        ):
            composer.text = ""
            composer.post_message(events.Paste(pasted))
            await settle(pilot)
            assert composer.text == pasted
        assert [role.name for role in workspace_of(app).state.roles] == ["Assistant"]
        composer.text = ""
        await pilot.press(*"Hi ")
        for name, form in enumerate(("{}", "'{}'", '"{}"', "escaped", "url")):
            card = tmp_path / f"her card {name}.png"
            told = {**V2, "data": {**V2["data"], "name": f"Card {name}"}}
            card.write_bytes(picture(text_chunk("chara", told)))
            plain = str(card).replace(" ", "\\ ") if form == "escaped" else card.as_uri()
            pasted = plain if form in ("escaped", "url") else form.format(card)
            composer.post_message(events.Paste(pasted))
            await until(
                pilot,
                lambda wanted=f"Card {name}": (
                    wanted in [role.name for role in workspace_of(app).state.roles]
                ),
            )
            await settle(pilot)
            assert composer.text == "Hi "
