"""The conversation: the transcript with what is done with its messages."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import BindingType

from tui_chat.errors import InputError, NotYet
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.media import describe
from tui_chat.models.message import with_content
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.area import WorkspaceWidget
from tui_chat.ui.chat.rows import ClickAction
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.questions import ask, ask_text, confirm
from tui_chat.ui.verbs import bindings
from tui_chat.ui.widgets.pane_key import MOVES, pane_key
from tui_chat.ui.widgets.typed_app import is_text_edited

if TYPE_CHECKING:
    from tui_chat.models.message import Message, Muted
    from tui_chat.models.session import Entry
    from tui_chat.ui.area import AreaContext
    from tui_chat.ui.chat.chat_pane import ChatPane

NO_MESSAGE_YET = "There is no message in this session yet."


_TURN_WORDS = 60
"""Characters of the words that a turn is listed by."""


def _muting(what: str, is_muted: bool) -> str:
    return f"{'Unmute' if is_muted else 'Mute'} {what}"


class Conversation(Transcript, WorkspaceWidget):
    """A conversation; its actions are about the message under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("conversation"),
        pane_key("up", "move(-1)", MOVES, "Up"),
        pane_key("down", "move(1)", MOVES, "Down"),
        pane_key("pageup", "page(-1)", MOVES, "Page up"),
        pane_key("pagedown", "page(1)", MOVES, "Page down"),
        pane_key("k,ctrl+up,alt+up", "message(-1)", MOVES, "Previous message"),
        pane_key("j,ctrl+down,alt+down", "message(1)", MOVES, "Next message"),
        pane_key("home,g", "begin", MOVES, "Beginning"),
        pane_key("end,G", "end", MOVES, "End"),
        pane_key("n", "hit(1)", "find", "Next hit"),
        pane_key("N", "hit(-1)", "find", "Previous hit"),
        pane_key("escape", "leave", "leave", "Stop finding"),
    ]
    WRITING_ACTIONS: ClassVar[frozenset[str]] = frozenset(
        (
            *("retry", "edit", "fork", "delete", "continue", "undo", "pin", "add_system"),
            *("mute", "mute_tool_results", "unmute_all"),
        )
    )

    def __init__(self, context: AreaContext) -> None:
        super().__init__(id="conversation")
        self.context = context

    @property
    def _chat(self) -> ChatPane:
        return self.host.panes.chat

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable going to another version of a message that has none."""
        if action == "sibling" and self.current is not None and self.current.siblings < 2:
            return None
        return super().check_action(action, parameters)

    def focus_on_click(self) -> bool:
        return not is_text_edited(self)

    # --- rows ----------------------------------------------------------------------------

    async def action_press(self) -> None:
        """Do the main thing of the message: answer its call, press its button, unfold it."""
        current = self.current_index
        if current is not None and self._layouts(current).can_retry:
            await self._run("retry")
        elif self.waiting_call is not None:
            self._chat.tool_question.action_answer_tool_call()
        else:
            await self.action_fold()

    async def action_fold(self) -> None:
        """Switch a summary on or off; unfold another message, or fold it again."""
        entry = self.current
        if entry is not None and entry.message.about.summary is not None:
            self.action_switch_summary()
        else:
            await super().action_fold()

    async def act(self, action: ClickAction) -> None:
        """Do what a click asks for that concerns more than the view."""
        match action.name:
            case "run":
                await self.tui.run_action(action.key)
            case "model":
                await self.tui.run_action("sessions.choose_model")
            case "view":
                self.action_view(int(action.key))
            case "version":
                self.action_sibling(int(action.key))
            case "answer":
                self._chat.tool_question.action_answer_tool_call()
            case "retry":
                await self._run("retry")
            case _:
                pass

    async def _run(self, action: str) -> None:
        if not await self.tui.run_action(f"conversation.{action}"):
            self.may_write  # noqa: B018  it says why

    # --- replies and versions ------------------------------------------------------------

    @work(group="send")
    async def action_retry(self) -> None:
        """Generate a reply again, as another version of it; save one first that is not saved."""
        if entry := self._complete_entry():
            if entry.unsaved:
                await self.workspace.replies.save_again()
                return
            self.workspace.tool_sources.load()
            await self.workspace.replies.regenerate(entry.message.id)

    @work(group="send")
    async def action_continue(self) -> None:
        """Continue a reply from where it ended, or the user's last message where presets do so."""
        from tui_chat.context.generation import may_continue

        entry = self._complete_entry()
        if entry is None:
            return
        workspace = self.workspace
        workspace.tool_sources.load()
        last = workspace.state.entries[-1:]
        by_user = last and last[0].message.role == "user" and entry.message.id == last[0].message.id
        if by_user and may_continue(workspace.state.preset, "user"):
            await self._chat.side_replies.continue_message(workspace, entry.message.id)
        else:
            await workspace.replies.continue_reply(entry.message.id)

    @work(group="dialog", exclusive=True)
    async def action_edit(self) -> None:
        """Edit a message; the edited text becomes another version of it."""
        from tui_chat.ui.dialogs.base import TextAreaPrompt

        entry = self._complete_entry()
        if entry is None:
            return
        message, is_stored = entry.message, False
        while not is_stored:  # if storing fails, the text is not lost
            dialog = TextAreaPrompt("Edit message", message.content, sends=message.role == "user")
            written = await self.tui.push_screen_wait(dialog)
            if written is None or (not written.send and written.text == entry.message.content):
                return
            if written.send:
                self.workspace.tool_sources.load()
            is_stored = await self.workspace.branches.edit(
                message.id, written.text, send=written.send
            )
            message = with_content(message, written.text)
            if is_stored and written.send:  # one goes on behind the new reply
                self.action_end()
                self._chat.focus()

    @work(group="branch")
    async def action_sibling(self, step: int) -> None:
        """Show the previous or the next version of a message."""
        entry = self._entry()
        if entry is None:
            return
        if 0 <= entry.sibling + step < entry.siblings:
            await self.workspace.branches.show_version(entry.message.id, step)
        else:
            self.notify(f"This is the {'oldest' if step < 0 else 'newest'} version.")

    # --- forking, deleting, pinning ------------------------------------------------------

    @work(group="open", exclusive=True)
    async def action_fork(self, title: str = "") -> None:
        """Fork a session from the branch up to a message; without a title, it is named after it."""
        await self.reach_message()
        entry = self._complete_entry()
        session = self.workspace.state.session if entry is not None else None
        if entry is None or session is None:
            return
        message_id = entry.message.id
        title = title or f"Fork of {session.title.removeprefix('Fork of ')}"
        await self.host.switch_session(
            lambda workspace: workspace.branches.fork(message_id, title), leaves=False
        )
        self.host.panes.show_conversation()

    @work(group="branch")
    async def action_delete(self) -> None:
        """Delete a message and what follows it; undo restores them."""
        if entry := self._complete_entry():
            await self.workspace.branches.delete(entry.message.id)

    @work(group="branch")
    async def action_undo(self) -> None:
        """Bring back what was deleted last."""
        await self.host.switch_session(lambda workspace: workspace.undo(), leaves=False)

    @work(group="branch")
    async def action_pin(self) -> None:
        if entry := self._entry():
            await self.workspace.branches.pin(entry.message.id, not entry.message.pinned)

    # --- muting --------------------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_mute(self) -> None:
        """Leave a message out of requests, or send it again; ask what of it if it has parts."""
        entry = self._complete_entry()
        if entry is None:
            return
        message = entry.message
        has_parts = message.parts or message.reasoning
        if has_parts and message.about.summary is None:
            await self._ask_what_to_mute(message)
        else:
            await self.workspace.branches.toggle_mute(message.id)

    async def _ask_what_to_mute(self, message: Message) -> None:
        """Ask whether to mute a message or one of its parts."""
        muted, mutes = message.muted, self.workspace.branches
        parts: dict[str, tuple[str, str, Muted]] = {}
        if message.reasoning:
            label = _muting("its reasoning", message.is_reasoning_muted)
            size = f"{sum(len(b.text) for b in message.reasoning):,} characters"
            parts["reasoning"] = label, size, message.reasoning_switched()
        for number, part in enumerate(message.blocks):
            if isinstance(part, MediaBlock):
                numbers = tuple(sorted({*muted.blocks} ^ {number}))
                label = _muting(f"its {part.media}", number in muted.blocks)
                name = one_line(describe(part), 60)
                parts[f"part {number}"] = label, name, replace(muted, blocks=numbers)
        choices = [
            ("message", _muting("this message", message.id in self.muted), ""),
            *((key, label, name) for key, (label, name, _) in parts.items()),
        ]
        chosen = await ask(self.tui, "Leave out of requests", choices, "message")
        if chosen == "message":
            await mutes.toggle_mute(message.id)
        elif chosen in parts:
            await mutes.set_mute(message.id, parts[chosen][2])

    @work(group="branch")
    async def action_mute_tool_results(self, turns: str = "") -> None:
        """Mute the tool results that are older than some turns, by default the last one."""
        count = turns or "1"
        if not (count.isascii() and count.isdigit()):
            advice = "For example: /mute-tool-results 3"
            raise InputError(f"“{turns[:40]}” is not a number of turns.", advice=advice)
        mutes, number = self.workspace.branches, int(count[:9])
        results = mutes.tool_results_before(number)
        if results:
            await mutes.mute(results)
        elif number:
            last = "last turn" if number == 1 else f"last {number:,} turns"
            raise InputError(f"No tool result is older than the {last}.")
        else:
            raise InputError("The conversation has no tool results.")

    @work(group="branch")
    async def action_unmute_all(self) -> None:
        """Send all messages of the branch again."""
        await self.workspace.branches.unmute()

    @work(group="branch")
    async def action_switch_summary(self) -> None:
        """Send a summary instead of the messages that it sums up, or send those again."""
        entry = self._entry()
        summary = entry.message.about.summary if entry is not None else None
        if entry is not None and summary is not None and self.may_write:
            await self.workspace.compaction.switch(entry.message.id, not summary.enabled)

    # --- the request ---------------------------------------------------------------------

    def action_inspect(self) -> None:
        """Show the request that produced a reply."""
        entry = self._complete_entry()
        if entry is not None and entry.message.role != "assistant":
            self.notify(
                "Only replies have their own request; w shows this message in the next one."
            )
        elif entry is not None:
            self.host.panes.inspector.show_message_request(entry.message.id)

    def action_reveal(self) -> None:
        """Show where a message is in the live request."""
        if entry := self._complete_entry():
            origin = Origin(OriginKind.HISTORY, entry.message.id)
            self.host.panes.inspector.reveal_in_live(origin)

    # --- the last message, and moving ----------------------------------------------------

    async def reach_message(self) -> None:
        """Go to the newest message, which a command is about if the conversation has no focus."""
        if not self.has_focus:
            await self._chat.drafts.wait_until_stored()
            self.action_end()

    def action_find(self, words: str = "") -> None:
        """Open the find bar, with words to find; without any, it has the last ones."""
        self._chat.find_bar.open(words)

    @work(group="dialog", exclusive=True)
    async def action_contents(self) -> None:
        """Show the turns of the conversation, and go to one."""
        entries = self.entries
        if not entries:
            raise NotYet(NO_MESSAGE_YET)
        turns = user_turns(entries)
        choices = [
            (
                entries[turn.start].message.id,
                f"{number:,}  {words_of(entries[turn.start])}",
                f"{len(turn):,} message{'s' * (len(turn) != 1)}",
            )
            for number, turn in enumerate(turns, 1)
        ]
        here = self.current_index or 0
        current = next(number for number, turn in enumerate(turns) if here in turn)
        title = f"Contents: {len(turns):,} turn{'s' * (len(turns) != 1)}"
        chosen = await ask(self.tui, title, choices, choices[current][0])
        if chosen is not None and self.show_message(chosen):
            self.host.panes.show_conversation(focus_composer=False)

    # --- system messages -----------------------------------------------------------------

    @work(group="dialog", exclusive=True)
    async def action_add_system(self, text: str = "") -> None:
        """Add a system message to the conversation; without a text, ask for it."""
        workspace = await self.host.opened_workspace()
        while not (text and await workspace.branches.add_system_message(text)):
            # Without a text; or it could not be stored, and must not be lost.
            written = await ask_text(self.tui, "System message", text)
            if written is None:
                return
            text = written

    # --- files, links and the export -----------------------------------------------------

    def _entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying so, if there is none."""
        if self.current is None:
            self.notify("There is no message yet.")
        return self.current

    def _complete_entry(self) -> Entry | None:
        """Return the entry under the cursor; None, after saying why, if it is still arriving."""
        entry = self._entry()
        if entry is not None and entry.status == "streaming":
            self.notify("This reply is still arriving; Esc stops it.")
            return None
        return entry

    @work(group="dialog", exclusive=True)
    async def action_export(self, argument: str = "") -> None:
        """Export the session or a part of it. `argument`: `PATH`, `FORMAT PATH` or `FORMAT`, of the
        whole session; asks for the rest.
        """
        from tui_chat.ui.dialogs.export import ask_export_file, ask_format, format_and_path

        workspace = await self.host.opened_workspace()
        session = workspace.state.session
        if session is None:
            raise NotYet(NO_MESSAGE_YET)
        kind, path, chosen = None, "", "all"
        parts = self._parts_to_export()
        if argument:
            kind, path = format_and_path(argument)
        else:
            choices = [
                (key, label, f"{len(part):,} message{'s' * (len(part) != 1)}")
                for key, (label, part) in parts.items()
            ]
            chosen = await ask(self.tui, "Export which part?", choices, "all")
            kind = None if chosen in (None, "copy") else await ask_format(self.tui)
        if chosen == "copy":
            self._copy_all()
        if chosen is None or kind is None:
            return
        target = await ask_export_file(self.tui, session.title, kind, path)
        if target is not None and chosen == "all":
            self._export(session.session_id, kind, *target)
        elif target is not None:
            file, replaces = target
            part = parts[chosen][1]
            await workspace.exports.export_part(part, kind, file, overwrite=replaces)

    def _parts_to_export(self) -> dict[str, tuple[str, Sequence[Entry]]]:
        entries, index = self.entries, self.current_index
        parts: dict[str, tuple[str, Sequence[Entry]]] = {"all": ("The whole conversation", entries)}
        if index is not None and entries[index].status != "streaming":
            turn = next(turn for turn in user_turns(entries) if index in turn)
            parts |= {
                "copy": ("The whole conversation, to the clipboard", entries),
                "message": ("This message", entries[index : index + 1]),
                "turn": ("This turn", entries[turn.start : turn.stop]),
                "after": ("From here to the end", entries[index:]),
                "before": ("From the beginning to here", entries[: index + 1]),
            }
        return parts

    def _copy_all(self) -> None:
        """Copy the conversation, each message below who speaks."""
        from tui_chat.ui.chat.header_footer import speaker_of

        names = self._layouts.options.speakers
        texts = (f"{speaker_of(each, names)}:\n\n{each.message.content}" for each in self.entries)
        self.copy("\n\n".join(texts), "conversation")

    @work(group="files", description="export")
    async def _export(self, session_id: str, kind: str, file: Path, replaces: bool) -> None:
        await self.workspace.exports.export(session_id, kind, file, overwrite=replaces)

    @work(group="dialog", exclusive=True)
    async def action_open(self) -> None:
        """Open a link, picture or file of the message; ask which if there are several."""
        entry = self._entry()
        if entry is None:
            return
        choices = {str(index): link for index, link in enumerate(self.links)}
        for index, part in self._files:
            choices[f"file {index}"] = f"{part.media} {one_line(describe(part), 60)}"
        if not choices:
            self.notify("There is no link, picture or file in this message.")
            return
        chosen: str | None = next(iter(choices))
        if len(choices) > 1:
            chosen = await ask(self.tui, "Open", choices.items(), chosen)
        if chosen is not None and chosen.startswith("file "):
            self.action_view(int(chosen.removeprefix("file ")))
        elif chosen is not None:
            self.open_link(choices[chosen])

    @property
    def _files(self) -> list[tuple[int, MediaBlock]]:
        """The pictures, sounds and files of the message whose content is here, by index."""
        parts = enumerate(self.current.message.parts if self.current is not None else ())
        return [(index, part) for index, part in parts if part.data or part.text]

    @work(group="dialog", exclusive=True)
    async def action_save(self) -> None:
        """Save the message's first picture, sound or file."""
        from tui_chat.ui.dialogs.file_viewer import save_file

        if (file := await self._file()) is not None:
            await save_file(self, *file)

    @work(group="dialog", exclusive=True)
    async def action_view(self, index: int | None = None) -> None:
        """Show a part of the message by its index, else its first picture or file."""
        from tui_chat.ui.dialogs.file_viewer import view_file

        if (file := await self._file(index)) is not None:
            await view_file(self, *file)

    async def _file(self, index: int | None = None) -> tuple[str, bytes] | None:
        """Return name and bytes of a part of the message; None without one, which is said. Raises
        InputError if they are not here.
        """
        from tui_chat.models.media import file_of

        entry = self.current
        if index is None:
            index = next((index for index, _ in self._files), None)
        if entry is None or index is None:
            self.notify("There is no picture, sound or file in this message.")
            return None
        if index >= len(entry.message.parts):
            self.notify("This reply is still arriving.")
            return None
        file = await to_thread(file_of, entry.message.parts[index], index + 1)
        if file is None:
            raise InputError("Its content is not stored here, so it can't be shown or saved.")
        return file

    @work(group="dialog", exclusive=True, description="open a link")
    async def open_link(self, url: str) -> None:
        """Open a web link, once the user has read and confirmed its address: models write links
        too.
        """
        from tui_chat.ui.terminal.external_programs import open_link

        if not url.startswith(("https://", "http://")):
            raise InputError("Only web links can be opened.", advice=url[:200])
        if not await confirm(self.tui, "Open this link?", url, yes="Open"):
            return
        if self.tui.is_web:
            self.tui.open_url(url)
        elif not await to_thread(open_link, url):
            self.tui.copy_to_clipboard(url)
            self.notify("No browser can be opened from here; the link was copied.", markup=False)


def user_turns(entries: Sequence[Entry]) -> list[range]:
    """Return the turns of a branch in order, each as the indices of its messages: one of the user,
    except for what precedes the first one, and all up to the next.
    """
    roles = [entry.message.role for entry in entries]
    firsts = [index for index, role in enumerate(roles) if not index or role == "user"]
    return [range(*ends) for ends in pairwise((*firsts, len(entries)))]


def words_of(entry: Entry) -> str:
    """Return the words that a turn is listed by: how its first message begins."""
    message = entry.message
    words = one_line(message.content[: 4 * _TURN_WORDS], _TURN_WORDS)
    if message.about.summary is not None:
        return f"Summary: {words}"
    return words or (f"[{message.parts[0].media}]" if message.parts else f"[{message.role}]")
