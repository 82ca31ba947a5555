"""`tui-chat docs`."""

from __future__ import annotations

import json

from tests.support.command_line import Run
from tui_chat.cli.docs import SCHEMAS
from tui_chat.paths import bundled


def test_it_lists_the_pages_for_users_with_their_titles(run: Run):
    done = run("docs")
    assert done.code == 0
    listed = {line.split()[0]: line for line in done.out.splitlines()}
    assert set(listed) == {path.stem for path in bundled("docs").glob("*.md")}
    assert "The tap: other programs' requests" in listed["tap"]
    assert "decisions" not in listed


def test_it_prints_a_page_as_it_is_to_a_pipe(run: Run):
    page = (bundled("docs") / "tap.md").read_text("utf-8")
    assert run("docs", "tap").out == page
    assert run("docs", "TAP.md").out == page


def test_an_unknown_page_names_similar_ones(run: Run):
    done = run("docs", "preset")
    assert done.code == 2
    assert "There is no page “preset”." in done.err
    assert "presets" in done.err
    assert run("docs", "../README").code == 2


def test_each_document_has_a_schema(run: Run):
    schemas = {name: json.loads(run("docs", "--schema", name).out) for name in SCHEMAS}
    assert all(schema["type"] == "object" and schema["description"] for schema in schemas.values())
    assert {"session_id", "content", "usage", "error"} <= {*schemas["ask"]["required"]}
