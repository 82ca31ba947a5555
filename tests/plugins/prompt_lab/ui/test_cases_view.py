"""Cases in the app: from a bad reply to an accepted variant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.app import asked, make_app, opened, rows_shown, say, settle, until
from tests.support.command_line import Done, Run
from tui_chat.library.editing.edits import change_message
from tui_chat.offline.http_messages import HttpRequest
from tui_chat.plugins.prompt_lab.case_table import CaseTable, load_table
from tui_chat.plugins.prompt_lab.cases_actions import make_whole_case
from tui_chat.plugins.prompt_lab.cases_view import CasesView
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.inspector.notes_list import NotesList
from tui_chat.ui.areas.inspector.tabs import ProtocolTabs
from tui_chat.ui.areas.presets.pane import PresetPane
from tui_chat.ui.pane_keys import row_entries
from tui_chat.ui.terminal import external_programs

PRESET = {
    "presetMessages": [
        {"id": "style", "name": "Style", "content": "Be brief."},
        {"id": "history", "type": "chat_history"},
        {"id": "late", "name": "Reminder", "content": "Ask back.", "insertionPoint": -1},
    ],
    "systemPlacement": "in_place",
}


@asynccontextmanager
async def chat(
    folder: Path,
    *drafts: str,
    model: str = "mirror",
    size: tuple[int, int] = (160, 45),
    on_request: Callable[[HttpRequest], None] | None = None,
) -> AsyncIterator[Pilot[None]]:
    """The app with the preset `tutor`, after some messages."""
    (folder / "presets").mkdir()
    (folder / "presets" / "tutor.json").write_text(json.dumps(PRESET))
    app = make_app(folder, model=model, on_request=on_request)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("tutor")
        for draft in drafts:
            await say(pilot, draft)
        yield pilot


@asynccontextmanager
async def reopened(folder: Path) -> AsyncIterator[Pilot[None]]:
    """The app after a restart, with the preset `tutor`."""
    app = make_app(folder)
    async with app.run_test(size=(160, 45)) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("tutor")
        yield pilot


def app_of(pilot: Pilot[None]) -> TuiChat:
    assert isinstance(pilot.app, TuiChat)
    return pilot.app


async def make_case(pilot: Pilot[None], wrong: str) -> None:
    app_of(pilot).chat.pane.transcript.focus()
    await pilot.press("plus")
    await asked(pilot)
    await pilot.press(*wrong, "enter")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
    await until(pilot, lambda: cases_file(pilot).exists())
    await settle(pilot)


def cases_file(pilot: Pilot[None]) -> Path:
    return app_of(pilot).chat.context.config.config_dir / "cases" / "tutor.eval.json"


def expect_in_replies(file: Path, word: str) -> None:
    """Let the cases of a suite expect a word in their replies."""
    suite = json.loads(file.read_text())
    suite["defaultTest"] = {"assert": [{"type": "contains", "value": word}]}
    file.write_text(json.dumps(suite))


def edit(pilot: Pilot[None], content: str) -> None:
    workspace = app_of(pilot).workspace
    assert workspace is not None
    edits = workspace.state.preset_edits
    assert edits is not None
    preset = change_message(edits.preset, 0, content=content)
    workspace.presets.edit("tutor", edits.record(preset, "edit"))


async def open_cases(pilot: Pilot[None]) -> CasesView:
    await pilot.press("f3")
    await settle(pilot)
    await pilot.press("t")
    app = app_of(pilot)
    inspector = app.query_one(Inspector)
    await until(pilot, lambda: inspector.view_shown == "cases")
    view = inspector.views.current
    assert isinstance(view, CasesView)
    await until(pilot, lambda: view.table is not None and view.has_focus)
    await until(pilot, lambda: "Reading" not in text(view))
    await settle(pilot)
    return view


def text(view: CasesView) -> str:
    """Return the words of all rows, however they wrap."""
    return " ".join(" ".join(row.text for row in view.rows).split())


async def test_from_a_bad_reply_to_an_accepted_variant(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "tells the answer")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert "1 case × 2 variants" in text(view)
        assert "Enter sends 2 requests" in text(view)
        assert "free" in text(view)
        await pilot.press("enter")
        table = view.table
        assert table is not None
        await until(pilot, lambda: not table.is_sending and not table.missing)
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("n")
        await settle(pilot)
        assert "edited ·" not in text(view)
        assert "1 or 2 is better" in text(view)
        case, variant = view.case, view.variant
        assert case is not None
        assert variant is not None
        pair = table.pair(case, variant)
        assert pair is not None
        saved, edited = ("1", "2") if pair[0].variant == "saved" else ("2", "1")
        await pilot.press(saved)
        await until(pilot, lambda: "Judged." in text(view))
        assert "edited better 0, worse 1 of 1: not distinguishable" in text(view)
        await pilot.press("A")
        await asked(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert "A saves “edited” and sets the baseline" in text(view), (
            "the worse one is not saved by itself"
        )
        await pilot.press(edited)
        await until(pilot, lambda: "edited better 1, worse 0" in text(view))
        await pilot.press("A")
        await until(pilot, lambda: "This is the baseline." in text(view))
        await until(pilot, lambda: "saved before" in text(view))
        assert "Judged" in text(view)
        assert "not distinguishable" in text(view)
        assert "All replies are here" in text(view)
        file = json.loads((tmp_path / "presets" / "tutor.json").read_text())
        assert file["presetMessages"][0]["content"] == "Never tell the answer."
        workspace = app_of(pilot).workspace
        assert workspace is not None
        lab = await LabStore.open(workspace.store)
        (run,) = await lab.runs()
        assert run.accepted
        assert run.status == "complete"
        assert len(await lab.preferences(run)) == 1


async def test_the_baseline_of_the_app_is_that_of_the_command_line(tmp_path: Path, run: Run):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        expect_in_replies(cases_file(pilot), "Never tell")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert view.table is not None
        view.table.send()
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("A")
        await until(pilot, lambda: "This is the baseline." in text(view))

    def command_line(*words: str) -> Done:
        home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
        return run(*home, "eval", *words)

    options = ("run", "tutor", "--baseline", "--model", "loopback/mirror")
    same = await asyncio.to_thread(command_line, *options)
    assert (same.code, same.err) == (0, "")
    assert "against run 1: better 0, worse 0 of 1: no difference" in same.out
    assert "  tutor against “edited” (the same preset, model, settings): better 0" in same.out
    (tmp_path / "presets" / "tutor.json").write_text(json.dumps(PRESET))
    worse = await asyncio.to_thread(command_line, *options)
    assert worse.code == 5
    assert "against run 1: better 0, worse 1 of 1" in worse.out
    assert "  tutor against “edited” (other preset): better 0, worse 1" in worse.out
    compared = await asyncio.to_thread(command_line, "compare")
    assert "run 3 against run 1: better 0, worse 1 of 1" in compared.out


async def test_a_case_without_checks_leads_to_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    edited: list[str] = []

    async def run_editor(app: TuiChat, command: Sequence[str]) -> None:
        edited.append(command[-1])
        expect_in_replies(cases_file(pilot), "Be brief")

    monkeypatch.setattr(external_programs, "run_in_terminal", run_editor)
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        assert view.table is not None
        view.table.send()
        await until(pilot, lambda: "– no checks" in text(view))
        assert "✓" not in text(view)
        row = view.rows[view._first_row]
        assert "no checks: E opens tutor.eval.json for “assert”" in row.hint
        await pilot.press("E")
        await until(pilot, lambda: "1/1" in text(view) and "no checks" not in text(view))
        assert edited == [str(cases_file(pilot))]
        assert "All replies are here" in text(view)


async def test_a_cell_is_an_ordinary_request(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("down", "down", "down", "down")
        await settle(pilot)
        view.set_cursor(view._first_row)
        await pilot.press("enter")
        app = app_of(pilot)
        inspector = app.query_one(Inspector)
        await until(pilot, lambda: inspector.view_shown == "payload" and inspector.is_banner_up)
        assert inspector.composed is not None
        assert b"Never tell" in inspector.composed.payload.body
        await pilot.press("d")
        await settle(pilot)
        rows = "\n".join(rows_shown(inspector.views.current))
        assert "the same case with saved" in rows
        assert "Be brief." in rows
        await pilot.press("t")
        await until(pilot, lambda: inspector.view_shown == "cases")


async def test_an_edit_asks_only_for_what_changed(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        assert "1 case × 1 variant" in text(view)
        assert view.table is not None
        view.table.send()
        await until(pilot, lambda: view.table is not None and not view.table.missing)
        edit(pilot, "Other.")
        await until(pilot, lambda: "1 case × 2 variants" in text(view))
        assert "Enter sends 1 request," in text(view)


async def test_columns_without_each_message(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("T")
        await until(pilot, lambda: "3 variants" in text(view))
        await settle(pilot)
        assert view.variant is not None
        assert view.variant.name == "saved without Style"
        assert view.table is not None
        view.table.send()
        await until(pilot, lambda: view.table is not None and not view.table.missing)
        await until(pilot, lambda: "tokens less, the same reply in 0 of 1" in text(view))
        await pilot.press("T")
        await until(pilot, lambda: "1 variant" in text(view))


async def test_variants_and_repeats_of_the_suite(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        suite = json.loads(cases_file(pilot).read_text())
        suite |= {"repeat": 3, "variants": [{"name": "no style", "off": ["style"]}]}
        suite["tests"][0]["assert"] = [{"type": "contains", "value": "brief"}]
        cases_file(pilot).write_text(json.dumps(suite))
        view = await open_cases(pilot)
        assert "1 case × 2 variants" in text(view)
        assert "Enter sends 6 requests" in text(view)
        table = view.table
        assert table is not None
        table.send()
        await until(pilot, lambda: not table.is_sending and not table.missing)
        await until(pilot, lambda: "3 of 3" in text(view) and "0 of 3" in text(view))
        await pilot.press("right")
        await until(pilot, lambda: "tokens less, the same reply in 0 of 1" in text(view))
        assert "no style better 0, worse 1 of 1" in text(view)


async def test_no_case_yet(tmp_path: Path):
    async with chat(tmp_path) as pilot:
        view = await open_cases(pilot)
        assert "has no cases yet. + on a reply makes it one." in text(view)


async def test_a_case_has_the_shortest_history(tmp_path: Path):
    async with chat(tmp_path, "One", "Two", "Three", "Four") as pilot:
        await make_case(pilot, "too long")
        (test,) = json.loads(cases_file(pilot).read_text())["tests"]
        assert test["description"] == "too long"
        assert test["inputs"]["history"][0]["content"] == "Three"
        assert test["inputs"]["draft"] == "Four"
        await pilot.press("escape")
        app = app_of(pilot)
        await app.run_action("plugins.case_with_history('all of it')")
        await until(pilot, lambda: len(json.loads(cases_file(pilot).read_text())["tests"]) == 2)
        *_, test = json.loads(cases_file(pilot).read_text())["tests"]
        assert len(test["inputs"]["history"]) == 6


async def test_what_is_about_the_request_is_not_beside_the_cases(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        app = app_of(pilot)
        await open_cases(pilot)
        inspector = app.query_one(Inspector)
        assert not inspector.query_one(ProtocolTabs).display
        assert not inspector.query_one(NotesList).display
        entries = {entry.word: entry for entry in row_entries(app.screen)}
        assert entries["better"].keys == "1 2 ="
        possible = {word for word, entry in entries.items() if entry.is_possible}
        assert not {"notes", "find", "protocol"} & possible
        await pilot.press("p")
        await until(pilot, lambda: inspector.view_shown == "payload")
        assert inspector.query_one(ProtocolTabs).display


async def test_esc_goes_back_to_the_preset(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("escape")
        app = app_of(pilot)
        await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
        await pilot.press("t")
        await until(pilot, lambda: view.has_focus)
        view.set_cursor(view._first_row)
        await pilot.press("enter")
        workspace = app.workspace
        assert workspace is not None
        await until(pilot, lambda: workspace.state.request.viewed is not None)
        await pilot.press("t")
        await until(pilot, lambda: view.has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
        assert workspace.state.request.viewed is None


async def test_cases_open_where_only_one_pane_fits(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?", size=(80, 24)) as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        assert "1 case × 1 variant" in text(view)


async def next_pass(pilot: Pilot[None], view: CasesView, content: str) -> None:
    """Go to the preset, edit it, come back, and send the plan."""
    await pilot.press("escape")
    app = app_of(pilot)
    await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
    edit(pilot, content)
    await settle(pilot)
    await pilot.press("t")
    await until(pilot, lambda: view.has_focus and " Enter sends 1 request," in text(view))
    await pilot.press("enter")
    await until(pilot, lambda: "All replies are here" in text(view))


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
async def test_pass_after_pass(tmp_path: Path, size: tuple[int, int]):
    async with chat(tmp_path, "What is 2+2?", size=size) as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        for number in range(3):
            await next_pass(pilot, view, f"Never shout {number}.")
            await pilot.press("n")  # the cursor goes to the case
            await pilot.press("1")
            await until(pilot, lambda: "Judged" in text(view))


async def test_enter_does_what_the_plan_says(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        assert " Enter sends 1 request," in text(view)
        assert " g Enter sends" not in text(view)
        await pilot.press("down")
        await until(pilot, lambda: view.cursor == view._first_row)
        assert " g Enter sends 1 request," in text(view)
        await pilot.press("up")
        await until(pilot, lambda: " g Enter sends" not in text(view))
        await pilot.press("down", "g", "enter")
        await until(pilot, lambda: "All replies are here" in text(view))


async def test_the_same_cases_are_shown_in_a_new_session(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        app = app_of(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("plain")
        await say(pilot, "What is 3+3?")
        view = await open_cases(pilot)
        await until(pilot, lambda: "“plain” has no cases yet" in text(view))
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not app.workspace or not app.workspace.state.entries)
        await settle(pilot)
        await until(pilot, lambda: "“plain” has no cases yet" in text(view))


async def test_the_same_cases_are_shown_after_another_view(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        inspector = app_of(pilot).query_one(Inspector)
        for _ in range(3):
            await pilot.press("r")
            await until(pilot, lambda: inspector.view_shown == "request")
            await settle(pilot)
            await pilot.press("t")
            await until(pilot, lambda: inspector.view_shown == "cases")
            await until(pilot, lambda: "Enter sends 1 request," in text(view))


async def test_a_plan_that_was_interrupted_is_made_again(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        table = view.table
        assert table is not None
        edit(pilot, "Other.")
        following = asyncio.create_task(table.follow())
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await table.follow()
        assert [variant.name for variant in table.plan.variants] == ["edited", "saved"]


async def test_nothing_tells_the_variant_before_the_judgement(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        suite = json.loads(cases_file(pilot).read_text())
        suite["tests"][0]["assert"] = [{"type": "contains", "value": "Be brief."}]
        cases_file(pilot).write_text(json.dumps(suite))
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert "mirror, as in the session" in text(view)
        await pilot.press("enter")
        await until(pilot, lambda: "1 or 2 is better" in text(view))
        await until(pilot, lambda: view.table is not None and not view.table.is_sending)
        assert " tok " not in text(view)
        assert "contains:" not in text(view)
        assert "The replies begin where they differ." in text(view)
        assert text(view).count("lines alike") == 2
        assert "What I received" not in text(view), "both have it before they differ"
        assert "Be brief." in text(view)
        assert "Never tell the answer." in text(view)
        await pilot.press("1")
        await until(pilot, lambda: "Judged." in text(view))
        assert text(view).count("What I received") == 2
        assert text(view).count("contains:") == 2
        assert text(view).count(" tok ") == 2


async def test_changed_checks_grade_the_replies_again(tmp_path: Path, run: Run):
    requests: list[HttpRequest] = []
    async with chat(tmp_path, "What is 2+2?", on_request=requests.append) as pilot:
        await make_case(pilot, "wrong")
        expect_in_replies(cases_file(pilot), "Never tell")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        table, sent = view.table, len(requests)
        assert table is not None
        assert grades(table) == {"edited": "passed", "saved": "failed"}
        expect_in_replies(cases_file(pilot), "Be brief")
        await pilot.press("escape")
        await until(pilot, lambda: app_of(pilot).query_one(PresetPane).has_focus_within)
        await pilot.press("t")
        await until(pilot, lambda: grades(table) == {"edited": "failed", "saved": "passed"})
        await pilot.press("right", "A")
        await until(pilot, lambda: "This is the baseline." in text(view))
        assert len(requests) == sent
        expect_in_replies(cases_file(pilot), "never to be found")
        await table.follow()
        await until(pilot, lambda: "A makes this the baseline." in text(view))
        expect_in_replies(cases_file(pilot), "Be brief")
        await table.follow()
        await until(pilot, lambda: "This is the baseline." in text(view))
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    options = ("run", "tutor", "--baseline", "--model", "loopback/mirror")
    same = await asyncio.to_thread(lambda: run(*home, "eval", *options))
    assert (same.code, same.err) == (0, "")
    assert "better 0, worse 0 of 1: no difference" in same.out
    async with reopened(tmp_path) as pilot:
        view = await open_cases(pilot)
        assert "All replies are here. This is the baseline." in text(view)
        assert view.table is not None
        assert grades(view.table) == {"saved": "passed"}


def grades(table: CaseTable) -> dict[str, str]:
    """Return the grade of the first case with each variant."""
    cells = [table.cell(table.suite.cases[0], variant) for variant in table.variants]
    return {cell.variant: cell.status for cell in cells if cell is not None}


async def test_a_rubric_is_sent_to_the_judge(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        suite = json.loads(cases_file(pilot).read_text())
        rubric = {"type": "llm-rubric", "value": "Is polite."}
        change_suite(pilot, judge="loopback/echo", defaultTest={"assert": [rubric]})
        assert view.table is not None
        await view.table.follow()
        await until(pilot, lambda: "sends 1 request" in text(view) and "1 judge" in text(view))
        change_suite(pilot, judge="")
        await view.table.follow()
        await until(pilot, lambda: "has a rubric, and no judge is named." in text(view))
        change_suite(pilot, **suite, defaultTest={"assert": [{"type": "contains", "value": "2"}]})
        await view.table.follow()
        assert grades(view.table) == {"saved": "passed"}


def change_suite(pilot: Pilot[None], **changes: Any) -> None:
    file = cases_file(pilot)
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


async def test_equal_replies_are_not_judged(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?", model="echo") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        assert "The replies are the same: nothing to judge." in text(view)
        assert "1 or 2" not in text(view)
        await pilot.press("1")
        await until(pilot, lambda: "nothing to judge" in notice(pilot))
        assert view.table is not None
        assert not view.table.preferences
        await pilot.press("n")
        await until(pilot, lambda: notice(pilot) == "No replies differ.")
        await pilot.press("g", "enter")
        await until(pilot, lambda: "nothing to send" in notice(pilot))


def notice(pilot: Pilot[None]) -> str:
    """Return the newest notification."""
    return app_of(pilot).notifications.shown[-1].message


async def test_a_difference_that_is_judged_says_so(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("n")
        await until(pilot, lambda: "the first line sends the plan" in notice(pilot))
        await pilot.press("A")
        await until(pilot, lambda: "No baseline: replies are missing." in notice(pilot))
        edit(pilot, "Never shout.")
        await until(pilot, lambda: "edited" in text(view))
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("n", "pagedown", "1")
        await until(pilot, lambda: "Judged." in text(view))
        assert view.cursor == view._first_row
        await pilot.press("n")
        await until(pilot, lambda: notice(pilot) == "All replies that differ are judged.")


async def test_the_difference_is_that_to_the_other_variant(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        workspace = app_of(pilot).workspace
        assert workspace is not None
        await workspace.live_request.compare_with("preset tutor")
        await open_cases(pilot)
        await pilot.press("d")
        inspector = app_of(pilot).query_one(Inspector)
        await until(pilot, lambda: inspector.view_shown == "diff")
        await settle(pilot)
        rows = "\n".join(rows_shown(inspector.views.current))
        assert "the same case with saved" in rows
        assert "Never tell the answer." in rows


@pytest.mark.parametrize("fault", ["{", '{"tests": [], "testz": 1}', '{"presets": ["gone"]}'])
async def test_a_faulty_file_is_shown_until_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        good = cases_file(pilot).read_text()
        cases_file(pilot).write_text(fault)

        async def run_editor(app: TuiChat, command: Sequence[str]) -> None:
            cases_file(pilot).write_text(good)

        monkeypatch.setattr(external_programs, "run_in_terminal", run_editor)
        view = await open_cases(pilot)
        await until(pilot, lambda: "The cases cannot be read." in text(view))
        assert "E opens their file" in text(view)
        await pilot.press("n", "A")
        await until(pilot, lambda: "E opens their file" in notice(pilot))
        await pilot.press("E")
        await until(pilot, lambda: "1 case × 1 variant" in text(view))


async def test_what_is_left_after_a_stop_is_the_estimate(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?", model="echo") as pilot:
        await make_case(pilot, "wrong")
        change_suite(pilot, repeat=2, models=["loopback/flaky-stall"])
        view = await open_cases(pilot)
        table = view.table
        assert table is not None
        assert "Enter sends 4 requests" in text(view)
        await pilot.press("enter")
        await until(pilot, lambda: len(table.missing) == 2)
        await pilot.press("x")
        await until(pilot, lambda: not table.is_sending)
        await until(pilot, lambda: "Enter sends 2 requests" in text(view))


async def test_what_had_an_error_is_sent_again(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        workspace = app_of(pilot).workspace
        assert workspace is not None
        await workspace.settings.set_model("loopback", "error:401")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "sends again what had an error: 1 request" in text(view))
        await pilot.press("enter")
        await until(pilot, lambda: "sends again what had an error: 1 request" in text(view))
        lab = await LabStore.open(workspace.store)
        assert len(await lab.runs()) == 2


async def test_calls_of_tools_are_a_reply(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?", model="echo") as pilot:
        await make_case(pilot, "wrong")
        parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
        tool = {"name": "lookup", "description": "", "parameters": parameters}
        suite = json.loads(cases_file(pilot).read_text())
        suite["tests"][0]["inputs"]["tools"] = [tool]
        cases_file(pilot).write_text(json.dumps(suite))
        workspace = app_of(pilot).workspace
        assert workspace is not None
        await workspace.settings.set_model("loopback", "toolsmith")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "→ lookup" in text(view) and "example city" in text(view))


async def test_errors_are_no_replies_that_are_the_same(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        workspace = app_of(pilot).workspace
        assert workspace is not None
        await workspace.settings.set_model("loopback", "error:401")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "sends again what had an error" in text(view))
        assert "The provider refused the request" in text(view)
        assert "the same" not in text(view)


async def test_a_column_has_the_name_of_the_presets_file(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        other = {**PRESET, "name": "Inner", "presetMessages": PRESET["presetMessages"][1:]}
        (tmp_path / "presets" / "outer.json").write_text(json.dumps(other))
        await make_case(pilot, "wrong")
        change_suite(pilot, presets=["tutor", "outer"])
        view = await open_cases(pilot)
        assert view.table is not None
        assert [variant.name for variant in view.table.variants] == ["saved", "outer"]


async def test_judgements_are_kept_from_run_to_run(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        style = {"preset": "tutor", "name": "no style", "off": ["style"]}
        change_suite(pilot, presets=[], variants=[style])
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("n", "1")
        await until(pilot, lambda: "Judged." in text(view))
        late = {"preset": "tutor", "name": "no reminder", "off": ["late"]}
        change_suite(pilot, variants=[style, late])
        assert view.table is not None
        await view.table.follow()
        await until(pilot, lambda: "sends 1 request" in text(view))
        await pilot.press("g", "enter")
        await until(pilot, lambda: "All replies are here" in text(view))
    async with reopened(tmp_path) as pilot:
        view = await open_cases(pilot)
        await until(pilot, lambda: "All replies are here" in text(view))
        assert "Judged." in text(view)


async def test_what_loads_at_once_has_one_table(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        workspace = app_of(pilot).workspace
        assert workspace is not None
        one, two = await asyncio.gather(load_table(workspace), load_table(workspace))
        assert one is two


async def test_what_asks_the_same_is_sent_and_counted_once(tmp_path: Path):
    requests: list[HttpRequest] = []
    async with chat(tmp_path, "What is 2+2?", on_request=requests.append) as pilot:
        await make_case(pilot, "wrong")
        tests = json.loads(cases_file(pilot).read_text())["tests"]
        change_suite(pilot, tests=[*tests, *tests])
        view = await open_cases(pilot)
        sent = len(requests)
        assert "2 cases × 1 variant" in text(view)
        assert "Enter sends 1 request" in text(view)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        assert len(requests) == sent + 1


async def test_errors_are_neither_worse_nor_a_baseline(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        change_suite(pilot, models=["loopback/error:401"])
        expect_in_replies(cases_file(pilot), "Be brief")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "sends again what had an error: 1 request" in text(view))
        table = view.table
        assert table is not None
        assert grades(table)["saved"] == "passed"
        assert [table.comparison(each).total for each in table.variants] == [0, 0]
        await pilot.press("right", "A")
        await until(pilot, lambda: "A baseline has all replies" in notice(pilot))
        await pilot.press("left", "A")
        await until(pilot, lambda: "It is the baseline." in notice(pilot))


async def test_keys_act_on_the_cases_that_are_seen(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        expect_in_replies(cases_file(pilot), "never to be found")
        view = await open_cases(pilot)
        table = view.table
        assert table is not None
        change_suite(pilot, repeat=2)
        await pilot.press("enter")
        await until(pilot, lambda: "changed: nothing was done" in notice(pilot))
        assert not table.is_sending
        await until(pilot, lambda: "Enter sends 2 requests" in text(view))
        await pilot.press("enter")
        await until(pilot, lambda: "A makes this the baseline." in text(view))
        cases_file(pilot).write_text("{")
        await pilot.press("A")
        await until(pilot, lambda: "The cases cannot be read." in text(view))
        assert table.run is not None
        assert not [run for run in await table.lab.runs() if run.accepted]


async def test_a_column_of_a_model_is_removed_as_it_was_added(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        table = view.table
        assert table is not None
        await table.add_model("loopback", "echo")
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("A")
        await until(pilot, lambda: "This is the baseline." in text(view))
        assert [each.name for each in table.variants] == ["saved", "saved before", "echo"]
        await table.add_model("loopback", "echo")
        assert [each.name for each in table.variants] == ["saved", "saved before"]


async def test_the_first_own_case_takes_the_place_of_samples(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        app = app_of(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("code-reviewer")
        view = await open_cases(pilot)
        assert "no Reviewer" in text(view)
        await make_whole_case(app, "wrong")
        assert "take the place of its samples" in notice(pilot)
        await make_whole_case(app, "wrong")
        assert "samples" not in notice(pilot)


async def test_the_first_difference_is_that_of_the_case_below_the_plan(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?", "What is 3+3?") as pilot:
        await make_case(pilot, "one")
        await make_whole_case(app_of(pilot), "two")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
        for name in ("one", "two", "one"):
            await pilot.press("n")
            await until(pilot, lambda name=name: view.case is not None and view.case.name == name)
            await settle(pilot)


async def test_a_letter_without_a_meaning_types_nothing(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("z")
        await settle(pilot)
        assert "z does nothing here" in notice(pilot)
        await pilot.press("a")  # the capital accepts the variant
        await settle(pilot)
        assert "“Compare with” is not possible here" in notice(pilot)
        assert view.has_focus
        composer = app_of(pilot).chat.pane.composer
        assert composer.text == ""


async def test_u_undoes_the_accepted_variant(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "Nothing to undo." in notice(pilot))
        await pilot.press("T")
        await until(pilot, lambda: "3 variants" in text(view))
        await pilot.press("A")
        await until(pilot, lambda: "u undoes its last edit." in notice(pilot))
        await pilot.press("u")
        await until(pilot, lambda: "Undone: keep “saved without Style”." in notice(pilot))
        workspace = app_of(pilot).workspace
        assert workspace is not None
        edits = workspace.state.preset_edits
        assert edits is not None
        assert edits.preset.messages[0].enabled
        await until(pilot, lambda: "1 case × 2 variants" in text(view))


def headings(view: CasesView) -> str:
    return next(row.text for row in view.rows if "← →" in row.text)


async def test_an_added_column_is_in_sight_beside_what_it_is_compared_with(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert headings(view).split() == ["←", "→", "edited", "saved"]
        await pilot.press("M")
        await asked(pilot)
        await pilot.press(*"echo", "enter")
        await until(pilot, lambda: "3 variants" in text(view))
        await settle(pilot)
        assert headings(view).split() == ["←", "→", "saved", "echo"]
        await pilot.press("T")
        await until(pilot, lambda: "5 variants" in text(view))
        await settle(pilot)
        assert headings(view).split() == ["←", "→", "edited", "no", "Style"]
        await pilot.press("right")
        await settle(pilot)
        assert headings(view).split() == ["←", "→", "edited", "no", "Reminder"]


async def test_columns_share_the_width(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        variants = [{"name": "without the first of the messages", "off": ["style"]}]
        change_suite(pilot, variants=variants)
        view = await open_cases(pilot)
        assert "without the f…" in headings(view)
        await pilot.press("f11")
        await until(pilot, lambda: "without the first of the messages" in headings(view))
        assert headings(view).index("saved") < 20


async def test_help_lists_what_acts_in_cases(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        await open_cases(pilot)
        index = app_of(pilot).action_index
        title, lines = index.help_sections()[0]
        assert title == "Cases"
        keys = [key for line in lines for key in line.keys.split(", ")]
        assert len(keys) == len({*keys})
        assert {"d", "n", "E", "A", "u", "Enter", "g", "↑"} <= {*keys}
        assert "Edit by hand" not in [line.title for line in lines]
        await pilot.press("p")
        await settle(pilot)
        title, lines = index.help_sections()[0]
        assert title == "Inspector"
        assert "Edit by hand" in [line.title for line in lines]


async def test_the_column_of_a_model_is_there_after_a_restart(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        assert view.table is not None
        await view.table.add_model("loopback", "echo")
        await pilot.press("enter")
        await until(pilot, lambda: "All replies are here" in text(view))
    async with reopened(tmp_path) as pilot:
        view = await open_cases(pilot)
        assert view.table is not None
        assert [each.name for each in view.table.variants] == ["saved", "echo"]
        await view.table.add_model("loopback", "echo")
        assert [each.name for each in view.table.variants] == ["saved"]
