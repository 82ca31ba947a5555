"""Prompts and documents of servers: their origins, what is stored, and what is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC

import pytest

from tests.support.messages import make_message
from tests.support.tables import each_row
from tests.support.tool_servers import TextServer, ToolServer, tool_servers
from tests.support.workspace import ids, say, settled
from tui_chat.errors import InputError
from tui_chat.interop.readable_parts import captions
from tui_chat.models.about import About, Brought
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message
from tui_chat.workspace.attachments import stored_attachment
from tui_chat.workspace.source_texts import PromptArgument, SourcePrompt

ORIGIN = "git:commit (Server 1.0)"
PNG = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001")


def said(role: str, text: str, *parts: MediaBlock) -> Message:
    semantics = About(brought=Brought(prompt=ORIGIN))
    return make_message(
        "assistant" if role == "assistant" else "user", text, parts=parts, about=semantics
    )


def prompt(*names: str) -> SourcePrompt:
    arguments = tuple(PromptArgument(name, "", required=True) for name in names)
    return SourcePrompt("git", "commit", "Writes a message", arguments)


@pytest.fixture
def serve(tmp_path, monkeypatch) -> Iterator:
    """Return a function that installs a plugin which brings a server with a prompt."""
    with ExitStack() as stack:

        def install(*messages: Message, arguments: tuple[str, ...] = ()) -> TextServer:
            server = TextServer("git", [prompt(*arguments)], messages)
            plain = ToolServer("plain", "now")
            stack.enter_context(tool_servers(tmp_path, monkeypatch, server, plain))
            return server

        yield install


@each_row(
    ("names", "typed", "values"),
    [
        ((), "", {}),
        (("a",), "", {}),
        (("a",), "all of  it", {"a": "all of  it"}),
        (("a",), '"all of it"', {"a": "all of it"}),
        (("a", "b"), "one", {"a": "one"}),
        (("a", "b"), "one two three", {"a": "one", "b": "two three"}),
        (("a", "b"), '"one two" three', {"a": "one two", "b": "three"}),
        (("a", "b"), '"" x "y"', {"a": "", "b": 'x "y"'}),
        (("a", "b"), '"open x', {"a": '"open', "b": "x"}),
    ],
)
async def test_arguments_are_typed_after_the_name(make_workspace, serve, names, typed, values):
    serve(said("user", "Hello"), arguments=names)
    workspace, _ = await make_workspace(model="echo")
    found, arguments = await workspace.source_texts.find_prompt(f"git:commit {typed}")
    assert (found.label, arguments) == ("git:commit", values)


@each_row(
    ("typed", "error"),
    [
        ("gone:commit", "There is no server “gone”."),
        ("git:push", "“git” has no prompt “push”."),
        ("git:commit words", "git:commit takes no arguments."),
        ("plain:x", "“plain” has neither prompts nor documents."),
        (":commit", "There is no server “”."),
    ],
)
async def test_what_is_not_there_is_named(make_workspace, serve, typed, error):
    serve()
    workspace, _ = await make_workspace(model="echo")
    with pytest.raises(InputError, match=error):
        await workspace.source_texts.find_prompt(typed)


async def test_the_prompts_that_there_are_are_named(make_workspace, serve):
    server = serve()
    workspace, _ = await make_workspace(model="echo")
    for names in ("commit", "none"):
        with pytest.raises(InputError) as refused:
            await workspace.source_texts.find_prompt("git:push")
        assert refused.value.advice == f"Its prompts: {names}."
        server.listed = ()


async def test_a_prompt_in_the_draft_keeps_its_origin(make_workspace, serve):
    server = serve(said("user", "Write a {{user}} message."))
    workspace, heard = await make_workspace(model="echo")
    assert await workspace.source_texts.insert(prompt(), {"a": "b"}) == (
        "Write a {{user}} message.",
        (),
    )
    assert server.arguments == [{"a": "b"}]
    draft = "Please: Write a {{user}} message. In Latin."
    composed = workspace.requests.compose(draft)
    (turn,) = (turn for turn in composed.envelope.turns if turn.role == "user")
    assert [(span.text, span.origin.label) for span in turn.text.spans] == [
        ("Please: ", "draft"),
        ("Write a {{user}} message.", f"draft, from {ORIGIN}"),
        (" In Latin.", "draft"),
    ]
    await say(workspace, heard, draft)
    entry = workspace.state.entries[0]
    assert captions(entry, 0, 1, UTC)[-1] == f"from {ORIGIN}"
    sent = entry.message
    assert (sent.content, sent.about.brought) == (draft, Brought(prompt=ORIGIN))
    again = workspace.requests.compose_kind("regenerate")
    assert again.payload.body == composed.payload.body
    (turn,) = (turn for turn in again.envelope.turns if turn.role == "user")
    assert turn.origin.label.endswith(f", from {ORIGIN}")
    stored = await workspace.sent.request(ids(workspace)[1])
    (turn,) = (turn for turn in stored.shown.envelope.turns if turn.role == "user")
    assert [span.origin.label for span in turn.text.spans] == [f"draft, from {ORIGIN}"]
    await say(workspace, heard, draft)
    assert workspace.state.entries[2].message.about.brought is None


async def test_replies_of_a_prompt_become_messages_and_can_be_undone(make_workspace, serve):
    picture = MediaBlock("image", "image/png", data="iVBORw0KGgo=", name="git:commit")
    serve(
        said("user", "One"),
        said("assistant", "Two"),
        said("user", "Three"),
        said("user", "", picture),
    )
    workspace, _ = await make_workspace(model="echo")
    text, attachments = await workspace.source_texts.insert(prompt(), {})
    assert text == "Three"
    assert [attachment.part for attachment in attachments] == [picture]
    assert attachments[0].label.startswith("git:commit · ")
    messages = [entry.message for entry in workspace.state.entries]
    assert [(message.role, message.content) for message in messages] == [
        ("user", "One"),
        ("assistant", "Two"),
    ]
    assert all(message.about.brought == Brought(prompt=ORIGIN) for message in messages)
    await workspace.undo()
    await workspace.undo()
    assert not workspace.state.entries


async def test_a_prompt_that_is_too_long_or_empty_is_refused(make_workspace, serve):
    server = serve(said("user", "x" * 60_000), said("assistant", "x" * 60_000))
    workspace, _ = await make_workspace(model="echo")
    with pytest.raises(InputError, match="git:commit is longer than 100,000 characters"):
        await workspace.source_texts.insert(prompt(), {})
    server.said = [said("user", " ")]
    with pytest.raises(InputError, match="git:commit is empty"):
        await workspace.source_texts.insert(prompt(), {})
    assert not workspace.state.entries


async def test_a_document_is_attached_with_its_origin_and_sent_again(make_workspace, serve):
    server = serve()
    uri = "notes://a/b"
    server.contents = {uri: ["Text\u200b".encode()], "pic://": [PNG], "two://": [b"1", b"2"]}
    workspace, heard = await make_workspace(model="echo")
    (document,) = await workspace.source_texts.read(f"git:{uri}")
    assert document.part == MediaBlock("file", "text/plain", text="Text\u200b", name=f"git:{uri}")
    (picture,) = await workspace.source_texts.read("git:pic://")
    assert (picture.part.media, picture.name) == ("image", "git:pic://")
    two = await workspace.source_texts.read("git:two://")
    assert [one.name for one in two] == ["git:two:// 1", "git:two:// 2"]
    for attachment in (document, picture):
        assert stored_attachment(attachment.stored) == attachment
    files = (document.stored, picture.stored)
    await workspace.sessions.save_draft(None, "Look.", files)
    assert await workspace.sessions.draft_files() == files
    parts = (document.part, picture.part)
    composed = workspace.requests.compose("Look.", parts=parts)
    assert await workspace.replies.submit("Look.", parts)
    await settled(workspace, heard)
    assert workspace.state.entries[0].message.parts == parts
    again = workspace.requests.compose_kind("regenerate")
    assert again.payload.body == composed.payload.body


@each_row(
    ("contents", "error"),
    [
        ([], "git:x:// is empty"),
        ([b""], "git:x:// is empty"),
        ([b"\0\1"], "git:x:// is neither an image"),
        ([b"x" * 2_000_001], "git:x:// is too large: 2.0 MB"),
        ([PNG + b"x" * 20_000_000], "git:x:// is too large: 20.0 MB"),
    ],
)
async def test_a_document_that_cannot_be_sent_is_refused(make_workspace, serve, contents, error):
    server = serve()
    server.contents = {"x://": contents}
    workspace, _ = await make_workspace(model="echo")
    with pytest.raises(InputError, match=error):
        await workspace.source_texts.read("git:x://")


async def test_a_path_and_an_unknown_server_are_no_documents(make_workspace, serve):
    serve()
    workspace, _ = await make_workspace(model="echo")
    for typed in ("notes.txt", "gone:x", "git:", ":x"):
        assert await workspace.source_texts.read(typed) == ()


def test_a_damaged_stored_attachment_is_named():
    for stored in ("part:", "part:{", "part:[]", "part:3"):
        with pytest.raises(InputError, match="is damaged"):
            stored_attachment(stored)


async def test_what_comes_after_the_session_was_left_is_not_inserted(make_workspace, serve):
    server = serve(said("user", "One"), said("assistant", "Two"))
    server.contents = {"x://": [b"one"]}
    workspace, _ = await make_workspace(model="echo")
    server.may_answer.clear()
    texts = workspace.source_texts
    inserting = asyncio.ensure_future(texts.insert(prompt(), {}))
    reading = asyncio.ensure_future(texts.read("git:x://"))
    assert {await server.asked.get(), await server.asked.get()} == {"commit", "x://"}
    await workspace.sessions.new()
    server.may_answer.set()
    for waiting in (inserting, reading):
        with pytest.raises(InputError, match="came after the session was left"):
            await waiting
    assert not workspace.state.entries
