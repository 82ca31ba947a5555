"""Cases in the app: from a bad reply to an accepted variant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.app import asked, make_app, opened, rows_shown, say, settle, until
from tests.support.command_line import Done, Run
from tests.support.vendors import HttpRequest
from tui_chat.library.editing.edits import change_message
from tui_chat.plugins.prompt_lab.actions import make_whole_case
from tui_chat.plugins.prompt_lab.case_list import CaseList, load_cases
from tui_chat.plugins.prompt_lab.cases_view import CasesView
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.ui.app import TuiChat
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.key_row import entries, pane_entries
from tui_chat.ui.presets.pane import PresetPane
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
    app_of(pilot).chat.transcript.focus()
    await pilot.press("plus")
    await asked(pilot)
    await pilot.press(*wrong, "enter")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
    await until(pilot, lambda: cases_file(pilot).exists())
    await settle(pilot)


def preset_name(pilot: Pilot[None]) -> str:
    workspace = app_of(pilot).workspace
    assert workspace is not None
    return workspace.state.preset_name.removesuffix(" (unsaved changes)")


def cases_file(pilot: Pilot[None]) -> Path:
    name = f"{preset_name(pilot)}.eval.json"
    return app_of(pilot).chat.context.config.config_dir / "cases" / name


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
    workspace.presets.edit(preset_name(pilot), edits.record(preset, "edit"))


async def open_cases(pilot: Pilot[None]) -> CasesView:
    app = app_of(pilot)
    inspector = app.query_one(Inspector)

    def is_in_preset() -> bool:
        return any(pane.has_focus_within for pane in app.query(PresetPane))

    if not is_in_preset():
        await pilot.press("f3")
    await until(pilot, is_in_preset)
    await settle(pilot)
    await pilot.press("t")
    await until(pilot, lambda: inspector.view_shown == "cases")
    view = inspector.views.current
    assert isinstance(view, CasesView)
    await until(pilot, lambda: view.cases is not None and view.has_focus)
    await until(pilot, lambda: "Reading" not in text(view))
    await settle(pilot)
    return view


def text(view: CasesView) -> str:
    """Return the words of all rows, however they wrap."""
    return " ".join(" ".join(view.row(n).text for n in range(view.row_count)).split())


def change_suite(pilot: Pilot[None], **changes: Any) -> None:
    file = cases_file(pilot)
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def notice(pilot: Pilot[None]) -> str:
    """Return the newest notification."""
    log = app_of(pilot).notifications.log
    return log[-1].message if log else ""


def grades(cases: CaseList) -> dict[str, str]:
    """Return the grade of the first case with each variant."""
    return {cell.variant: cell.status for cell in cases.rows[0].cells}


def contains(word: str) -> dict[str, Any]:
    return {"defaultTest": {"assert": [{"type": "contains", "value": word}]}}


def cases_of(view: CasesView) -> CaseList:
    assert view.cases is not None
    return view.cases


async def sent(pilot: Pilot[None], view: CasesView) -> None:
    """Send the plan and wait for its replies."""
    await pilot.press("enter")
    await until(pilot, lambda: "All replies are here" in text(view))


async def test_from_a_bad_reply_to_an_accepted_variant(tmp_path: Path):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "tells the answer")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert len(view.cases.variants) == 2
        assert "Enter here sends 2 requests" in text(view)
        assert "free" in text(view)
        await pilot.press("enter")
        cases = view.cases
        assert cases is not None
        await until(pilot, lambda: not cases.is_sending and not cases.missing)
        await until(pilot, lambda: "All replies are here" in text(view))
        await pilot.press("n")
        await settle(pilot)
        assert "The replies differ." in text(view)
        await pilot.press("A")
        await until(pilot, lambda: "This is the baseline." in text(view))
        assert "All replies are here" in text(view)
        file = json.loads((tmp_path / "presets" / "tutor.json").read_text())
        assert file["presetMessages"][0]["content"] == "Never tell the answer."
        workspace = app_of(pilot).workspace
        assert workspace is not None
        lab = await LabStore.open(workspace.store)
        (run,) = await lab.runs()
        assert run.accepted
        assert run.status == "complete"


async def test_the_baseline_of_the_app_is_that_of_the_command_line(tmp_path: Path, run: Run):
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        expect_in_replies(cases_file(pilot), "Never tell")
        edit(pilot, "Never tell the answer.")
        view = await open_cases(pilot)
        assert view.cases is not None
        view.cases.send()
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
    assert "  tutor against “edited”: better 0" in same.out
    (tmp_path / "presets" / "tutor.json").write_text(json.dumps(PRESET))
    worse = await asyncio.to_thread(command_line, *options)
    assert worse.code == 5
    assert "against run 1: better 0, worse 1 of 1" in worse.out
    assert "  tutor against “edited”: better 0, worse 1" in worse.out
    compared = await asyncio.to_thread(command_line, "compare")
    assert "run 3 against run 1: better 0, worse 1 of 1" in compared.out


async def test_no_case_yet(tmp_path: Path):
    async with chat(tmp_path) as pilot:
        view = await open_cases(pilot)
        assert "has no cases yet. + on a reply makes it one." in text(view)


async def test_a_case_has_the_shortest_history(tmp_path: Path):
    async with chat(tmp_path, "One", "Two", "Three", "Four") as pilot:
        await make_case(pilot, "too long")
        (test,) = json.loads(cases_file(pilot).read_text())["tests"]
        assert test["description"] == "too long"
        assert test["inputs"]["history"][0]["blocks"] == [{"kind": "text", "text": "Three"}]
        assert test["inputs"]["draft"] == "Four"
        await pilot.press("escape")
        app = app_of(pilot)
        await app.run_action("plugins.case_with_history('all of it')")
        await until(pilot, lambda: len(json.loads(cases_file(pilot).read_text())["tests"]) == 2)
        *_, test = json.loads(cases_file(pilot).read_text())["tests"]
        assert len(test["inputs"]["history"]) == 6


async def next_pass(pilot: Pilot[None], view: CasesView, content: str) -> None:
    """Go to the preset, edit it, come back, and send the plan."""
    await pilot.press("escape")
    app = app_of(pilot)
    await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
    edit(pilot, content)
    await settle(pilot)
    await pilot.press("t")
    await until(pilot, lambda: view.has_focus and " Enter here sends 1 request," in text(view))
    await pilot.press("enter")
    await until(pilot, lambda: "All replies are here" in text(view))


CASE = {"description": "wrong", "vars": {"draft": "What is 2+2?"}}
Told = Callable[[Pilot[None], CasesView], Awaitable[None]]
CHAPTERS: list[tuple[Told, str, str, dict[str, Any]]] = []


def chapter(edited: str = "", model: str = "mirror", **suite: Any) -> Callable[[Told], Told]:
    """A part of the journey: its preset is edited so, its suite has a case and these values."""

    def add(told: Told) -> Told:
        CHAPTERS.append((told, edited, model, {"tests": [CASE], **suite}))
        return told

    return add


@pytest.mark.parametrize("part", range(4))
async def test_what_a_person_does_in_cases(tmp_path: Path, part: int) -> None:
    """Each chapter has a preset and a suite of its own, in one app for several of them."""
    async with chat(tmp_path, "What is 2+2?") as pilot:
        workspace = app_of(pilot).workspace
        assert workspace is not None
        for number, (told, edited, model, suite) in enumerate(CHAPTERS[part::4]):
            name = f"tutor{number}"
            (tmp_path / "presets" / f"{name}.json").write_text(json.dumps(PRESET))
            (tmp_path / "cases").mkdir(exist_ok=True)
            (tmp_path / "cases" / f"{name}.eval.json").write_text(json.dumps(suite))
            await workspace.presets.choose(name)
            await workspace.settings.set_model("loopback", model)
            if edited:
                edit(pilot, edited)
            try:
                await told(pilot, await open_cases(pilot))
            except Exception as error:
                error.add_note(f"in {told.__name__}")
                raise


OTHER = "Never tell the answer."


@chapter()
async def an_edit_asks_only_for_what_changed(pilot: Pilot[None], view: CasesView) -> None:
    assert len(view.cases.variants) == 1
    await sent(pilot, view)
    edit(pilot, "Other.")
    await until(pilot, lambda: len(view.cases.variants) == 2)
    assert "Enter here sends 1 request," in text(view)


@chapter(OTHER)
async def a_cell_is_an_ordinary_request(pilot: Pilot[None], view: CasesView) -> None:
    app = app_of(pilot)
    inspector, workspace = app.query_one(Inspector), app.workspace
    assert workspace is not None
    view.set_cursor(view.first_case_row)
    await pilot.press("enter")
    await until(pilot, lambda: inspector.view_shown == "payload" and inspector.is_banner_up)
    assert inspector.composed is not None
    assert b"Never tell" in inspector.composed.payload.body
    inspector.action_view("diff")
    await until(pilot, lambda: inspector.view_shown == "diff")
    diff = inspector.views.current
    await until(pilot, lambda: OTHER in "\n".join(rows_shown(diff)))
    rows = "\n".join(rows_shown(diff))
    assert all(each in rows for each in ("the same case with saved", "Be brief.", OTHER))
    inspector.action_view("cases")
    await until(pilot, lambda: inspector.view_shown == "cases" and view.has_focus)
    await pilot.press("escape")
    await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
    assert workspace.state.request.viewed is None


@chapter()
async def what_is_about_the_request_is_not_beside_cases(
    pilot: Pilot[None], view: CasesView
) -> None:
    app = app_of(pilot)
    inspector = app.query_one(Inspector)
    assert not inspector.query_one("#inspector-protocols").display
    assert not inspector.query_one("#inspector-foot").display
    row = {entry.word: entry for entry in pane_entries(app.screen)}
    possible = {word for word, entry in row.items() if entry.is_possible}
    assert not {"notes", "find", "protocol"} & possible
    keys = [key for entry in entries(app.screen, of_app=False).values() for key in entry.keys]
    assert len(keys) == len({*keys})
    assert {"n", "E", "A", "enter", "g", "up"} <= {*keys}
    for _ in range(2):
        inspector.action_view("payload")
        await until(pilot, lambda: inspector.view_shown == "payload")
        assert inspector.query_one("#inspector-protocols").display
        inspector.action_view("cases")
        await until(pilot, lambda: inspector.view_shown == "cases")
        await until(pilot, lambda: "Enter here sends 1 request," in text(view))


@chapter(OTHER, **contains("Be brief."))
async def replies_begin_where_they_differ(pilot: Pilot[None], view: CasesView) -> None:
    assert "mirror, as in the session" in text(view)
    await sent(pilot, view)
    assert "They begin where they differ." in text(view)
    assert text(view).count("lines alike") == 2
    assert "What I received" not in text(view), "both have it before they differ"
    assert "Be brief." in text(view)
    assert OTHER in text(view)
    assert text(view).count("contains:") == 2
    assert text(view).count(" tok ") == 2


@chapter(OTHER, **contains("Be brief"))
async def a_worse_preset_is_not_saved_by_itself(pilot: Pilot[None], view: CasesView) -> None:
    await sent(pilot, view)
    assert "edited better 0, worse 1 of 1: not distinguishable" in text(view)
    await pilot.press("A")
    await asked(pilot)
    await pilot.press("escape")
    await settle(pilot)
    assert "A saves the edited preset and sets the baseline" in text(view)


@chapter(OTHER, **contains("Never tell"))
async def changed_checks_grade_the_replies_again(pilot: Pilot[None], view: CasesView) -> None:
    cases = cases_of(view)
    await sent(pilot, view)
    assert grades(cases) == {"edited": "passed", "saved": "failed"}
    change_suite(pilot, **contains("Be brief"))
    await pilot.press("escape")
    await until(pilot, lambda: app_of(pilot).query_one(PresetPane).has_focus_within)
    await pilot.press("t")
    await until(pilot, lambda: grades(cases) == {"edited": "failed", "saved": "passed"})
    workspace = app_of(pilot).workspace
    assert workspace is not None
    assert workspace.state.preset_edits is not None
    workspace.presets.edit(preset_name(pilot), workspace.state.preset_edits.undo())
    await until(pilot, lambda: grades(cases) == {"saved": "passed"})
    await pilot.press("A")
    await until(pilot, lambda: "This is the baseline." in text(view))
    for word, told in (("never", "A makes this the baseline."), ("Be brief", "This is the base")):
        change_suite(pilot, **contains(word))
        await cases.follow()
        await until(pilot, lambda told=told: told in text(view))


@chapter()
async def a_rubric_is_sent_to_the_judge(pilot: Pilot[None], view: CasesView) -> None:
    cases = cases_of(view)
    await sent(pilot, view)
    rubric = {"type": "llm-rubric", "value": "Is polite."}
    change_suite(pilot, judge="loopback/echo", defaultTest={"assert": [rubric]})
    await cases.follow()
    await until(pilot, lambda: "sends 1 request" in text(view) and "1 judge" in text(view))
    change_suite(pilot, judge="")
    await cases.follow()
    await until(pilot, lambda: "has a rubric, and no judge is named." in text(view))
    change_suite(pilot, **contains("2"))
    await cases.follow()
    assert grades(cases) == {"saved": "passed"}


@chapter(OTHER, model="echo")
async def equal_replies_are_said(pilot: Pilot[None], view: CasesView) -> None:
    await sent(pilot, view)
    assert "The replies are the same." in text(view)
    await pilot.press("n")
    await until(pilot, lambda: notice(pilot) == "No replies differ.")
    await pilot.press("g", "enter")
    await until(pilot, lambda: "nothing to send" in notice(pilot))


@chapter(OTHER)
async def missing_replies_are_no_baseline(pilot: Pilot[None], view: CasesView) -> None:
    await pilot.press("n")
    await until(pilot, lambda: notice(pilot) == "No replies differ yet.")
    await sent(pilot, view)
    edit(pilot, "Other.")
    await until(pilot, lambda: bool(cases_of(view).missing))
    await pilot.press("A")
    await until(pilot, lambda: "No baseline: replies are missing." in notice(pilot))


@chapter(OTHER, model="error:401")
async def what_had_an_error_is_sent_again(pilot: Pilot[None], view: CasesView) -> None:
    cases = cases_of(view)
    runs = len(await cases.lab.runs())
    for _ in range(2):
        await pilot.press("enter")
        await until(pilot, lambda: "sends again what had an error: 2 requests" in text(view))
        assert "The provider refused the request" in text(view)
        assert "the same" not in text(view)
    assert len(await cases.lab.runs()) == runs + 2


LOOKUP = {"name": "lookup", "description": "",
          "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}  # fmt: skip


@chapter(model="toolsmith", tests=[{"inputs": {"draft": "What is 2+2?", "tools": [LOOKUP]}}])
async def calls_of_tools_are_a_reply(pilot: Pilot[None], view: CasesView) -> None:
    await pilot.press("enter")
    await until(pilot, lambda: "→ lookup" in text(view) and "example city" in text(view))


@chapter(**contains("never to be found"))
async def keys_act_on_the_cases_that_are_seen(pilot: Pilot[None], view: CasesView) -> None:
    cases = cases_of(view)
    change_suite(pilot, repeat=2)
    await pilot.press("enter")
    await until(pilot, lambda: "changed: nothing was done" in notice(pilot))
    assert not cases.is_sending
    await settle(pilot)
    await pilot.press("enter")
    await until(pilot, lambda: "A makes this the baseline." in text(view))
    good = cases_file(pilot).read_text()
    for fault in ('{"presets": ["gone"]}', '{"tests": [], "testz": 1}', "{"):
        cases_file(pilot).write_text(fault)
        await pilot.press("A")
        await until(pilot, lambda: "The cases cannot be read." in text(view))
        assert "E opens their file" in text(view)
        assert cases.run is not None
        assert not cases.run.accepted
    await pilot.press("n", "A")
    await until(pilot, lambda: "E opens their file" in notice(pilot))
    cases_file(pilot).write_text(good)
    await cases.follow()
    await until(pilot, lambda: "A makes this the baseline." in text(view))


@chapter(OTHER, tests=[{**CASE, "description": "one"},
                       {"description": "two", "vars": {"draft": "What is 3+3?"}}])  # fmt: skip
async def n_leads_from_difference_to_difference(pilot: Pilot[None], view: CasesView) -> None:
    await sent(pilot, view)
    for name in ("one", "two", "one"):
        await pilot.press("n")
        await until(
            pilot,
            lambda name=name: view.row_of_case is not None and view.row_of_case.case.name == name,
        )
        await settle(pilot)


@chapter()
async def a_letter_without_a_meaning_types_nothing(pilot: Pilot[None], view: CasesView) -> None:
    await pilot.press("z")
    await until(pilot, lambda: "z does nothing here" in notice(pilot))
    assert view.has_focus
    assert app_of(pilot).chat.composer.text == ""


@chapter()
async def pass_after_pass(pilot: Pilot[None], view: CasesView) -> None:
    await sent(pilot, view)
    for number in range(2):
        await next_pass(pilot, view, f"Never shout {number}.")
        await pilot.press("n")  # the cursor goes to the case
        await until(pilot, lambda: "The replies differ." in text(view))


async def test_a_case_without_checks_leads_to_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited: list[str] = []

    async def run_editor(app: TuiChat, command: Sequence[str]) -> None:
        edited.append(command[-1])
        change_suite(pilot, **contains("Be brief"))

    monkeypatch.setattr(external_programs, "run_in_terminal", run_editor)
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        view = await open_cases(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: "– no checks" in text(view))
        assert "✓" not in text(view)
        row = view.row(view.first_case_row)
        assert "no checks: E opens tutor.eval.json" in row.hint
        await pilot.press("E")
        await until(pilot, lambda: "1/1" in text(view) and "no checks" not in text(view))
        assert edited == [str(cases_file(pilot))]
        assert "All replies are here" in text(view)


async def test_replies_are_kept_after_a_restart(tmp_path: Path) -> None:
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        edit(pilot, OTHER)
        await sent(pilot, await open_cases(pilot))
    async with reopened(tmp_path) as pilot:
        edit(pilot, OTHER)
        view = await open_cases(pilot)
        await until(pilot, lambda: "All replies are here" in text(view))


async def test_a_plan_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    async with chat(tmp_path, "What is 2+2?") as pilot:
        await make_case(pilot, "wrong")
        workspace = app_of(pilot).workspace
        assert workspace is not None
        one, two = await asyncio.gather(load_cases(workspace), load_cases(workspace))
        assert one is two
        cases = cases_of(await open_cases(pilot))
        edit(pilot, "Other.")
        following = asyncio.create_task(cases.follow())
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await cases.follow()
        assert [variant.name for variant in cases.plan.variants] == ["edited", "saved"]


async def test_the_first_own_case_takes_the_place_of_samples(tmp_path: Path) -> None:
    async with chat(tmp_path, "What is 2+2?") as pilot:
        app = app_of(pilot)
        assert app.workspace is not None
        await app.workspace.presets.choose("code-reviewer")
        view = await open_cases(pilot)
        assert cases_of(view).rows, "samples"
        await make_whole_case(app, "wrong")
        assert "take the place of its samples" in notice(pilot)
        await make_whole_case(app, "wrong")
        assert "samples" not in notice(pilot)
