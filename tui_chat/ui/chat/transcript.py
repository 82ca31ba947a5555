"""The transcript: what keys and clicks do in a conversation.

What only concerns the screen is done here: moving, folding, selecting, finding. What concerns
the conversation is posted (see `posted`), and somebody else decides.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tui_chat.ui.chat import look, posted
from tui_chat.ui.chat.lines import Action
from tui_chat.ui.chat.moving import Moving
from tui_chat.ui.chat.posted import Requested
from tui_chat.ui.chat.viewport import Place

NO_MESSAGE = "There is no message yet."


class Transcript(Moving):
    """A conversation that can be read, searched, copied from and worked with."""

    DEFAULT_CSS = look.CSS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "begin", "Beginning", show=False),
        Binding("end,G", "end", "End", show=False),
        Binding(
            "k,ctrl+up,alt+up,left_square_bracket", "message(-1)", "Previous message", show=False
        ),
        Binding(
            "j,ctrl+down,alt+down,right_square_bracket", "message(1)", "Next message", show=False
        ),
        Binding("K,left_curly_bracket", "question(-1)", "Previous question", show=False),
        Binding("J,right_curly_bracket", "question(1)", "Next question", show=False),
        Binding("slash", "find", "Find", show=False),
        Binding("n", "hit(1)", "Next hit", show=False),
        Binding("N", "hit(-1)", "Previous hit", show=False),
        Binding("escape", "leave", "Stop finding", show=False),
        Binding("space,enter", "unfold", "Unfold reasoning, calls, long text", show=False),
        Binding("left", "sibling(-1)", "Older version", show=False),
        Binding("right", "sibling(1)", "Newer version", show=False),
        Binding("b", "branches", "Compare the branches", show=False),
        Binding("y", "copy", "Copy the message, or what is selected", show=False),
        Binding("c", "copy_code", "Copy its code; again, the next block", show=False),
        Binding("Y", "copy_all", "Copy the conversation", show=False),
        Binding("o", "open_link", "Open its link; again, the next one", show=False),
        Binding("r", "retry", "Ask (again) for this reply", show=False),
        Binding("C", "continue", "Have the last reply go on", show=False),
        Binding("e", "edit", "Edit, as another version", show=False),
        Binding("f", "fork", "Begin a session with all up to here", show=False),
        Binding("d,delete", "delete", "Delete it and what follows", show=False),
        Binding("u", "undo", "Bring back what was deleted", show=False),
        Binding("p", "pin", "Keep in every request, or no longer", show=False),
        Binding("i", "inspect", "Show the request that made the reply", show=False),
        Binding("w", "reveal", "Show where it stands in the request", show=False),
        Binding("a", "answer", "Answer a tool call by hand", show=False),
        Binding("x", "run", "Run a tool call's command", show=False),
    ]

    RetryRequested = posted.RetryRequested
    ContinueRequested = posted.ContinueRequested
    EditRequested = posted.EditRequested
    ForkRequested = posted.ForkRequested
    DeleteRequested = posted.DeleteRequested
    PinRequested = posted.PinRequested
    InspectRequested = posted.InspectRequested
    RevealRequested = posted.RevealRequested
    SiblingRequested = posted.SiblingRequested
    AnswerRequested = posted.AnswerRequested
    RunRequested = posted.RunRequested
    BranchesRequested = posted.BranchesRequested
    UndoRequested = posted.UndoRequested
    Focused = posted.Focused

    # Working with messages

    def action_unfold(self) -> None:
        """Fold or unfold what the message has folded."""
        current = self._current
        if current is None:
            return
        folds = self._layouts(current).folds
        if not folds:
            self.refuse("Nothing of this message is folded.")
            return
        if any(key in self._layouts.unfolded for key in folds):
            self._layouts.unfolded.difference_update(folds)
        else:
            self._layouts.unfolded.update(folds)
        self.cursor = current  # the end may leave the screen, and the same key folds it again
        self._refold(current)

    def _ask(self, request: type[Requested], *, of_reply: bool = False) -> None:
        """Post a request about the current entry, if it is whole and, where wanted, a reply."""
        entry = self.current
        if entry is None:
            self.refuse(NO_MESSAGE)
        elif entry.status == "streaming":
            self.refuse("This reply is still arriving; Esc stops it.")
        elif of_reply and entry.message.role != "assistant":
            self.refuse("Only replies have a request of their own; w shows this in the next one.")
        else:
            self.post_message(request(entry.message.id))

    def action_retry(self) -> None:
        """Ask for the reply again, or for one to this message."""
        self._ask(self.RetryRequested)

    def action_continue(self) -> None:
        """Have the reply go on."""
        self._ask(self.ContinueRequested)

    def action_edit(self) -> None:
        """Write the message anew."""
        self._ask(self.EditRequested)

    def action_fork(self) -> None:
        """Begin a session with the branch up to here."""
        self._ask(self.ForkRequested)

    def action_delete(self) -> None:
        """Delete the message with what follows it."""
        self._ask(self.DeleteRequested)

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        self.post_message(self.UndoRequested())

    def action_inspect(self) -> None:
        """Show the request that produced the reply."""
        self._ask(self.InspectRequested, of_reply=True)

    def action_reveal(self) -> None:
        """Ask for the places of the message in the request that is being made."""
        self._ask(posted.RevealRequested)

    def action_pin(self) -> None:
        """Keep the message in every request, or no longer."""
        entry = self.current
        if entry is None:
            self.refuse(NO_MESSAGE)
        else:
            self.post_message(self.PinRequested(entry.message.id, not entry.message.pinned))

    def action_sibling(self, step: int) -> None:
        """Show another version of the message."""
        entry = self.current
        if entry is None:
            self.refuse(NO_MESSAGE)
        elif entry.siblings < 2:
            self.refuse("There is one version of this message; r and e make others.")
        elif 0 <= entry.sibling + step < entry.siblings:
            self.post_message(self.SiblingRequested(entry.message.id, step))
        else:
            self.refuse(f"This is the {'oldest' if step < 0 else 'newest'} version.")

    def action_branches(self) -> None:
        """Show the branches of the session."""
        self.post_message(self.BranchesRequested())

    def action_answer(self) -> None:
        """Write a tool call's result by hand."""
        self._ask_call(self.AnswerRequested)

    def action_run(self) -> None:
        """Have a tool call run."""
        self._ask_call(self.RunRequested)

    def _ask_call(self, request: type[posted.CallRequested]) -> None:
        current = self._current
        while current and self.entries[current].message.role == "tool":
            current -= 1  # its calls may have been answered in part
        if current is not None and (call := self._layouts(current).waiting_call) is not None:
            self.post_message(request(self.entries[current].message.id, call))
        else:
            self.refuse("No tool call waits for an answer here.")

    # Clicks

    def on_click(self, event: events.Click) -> None:
        """Follow links, do what a line offers, and put the cursor on the message."""
        meta = event.style.meta
        if meta.get("end"):
            self.go_to_end()
            return
        row = event.get_content_offset_capture(self).y
        if self._chosen is not None or not 0 <= row < len(self._viewport.rows):
            return
        if link := meta.get("link"):
            self.post_message(self.LinkClicked(str(link)))
            return
        place, line = self._viewport.rows[row]
        self.cursor = place.message
        action = meta.get("action") or line.action
        if isinstance(action, Action):
            self._act(action, place)
        self.tell_pointed()
        self.refresh()

    def _act(self, action: Action, place: Place) -> None:
        match action.name:
            case "toggle":
                self._layouts.unfolded ^= {action.key}
                self._refold(place.message)
            case "code":
                self.copy_code_at(place, action.key)
            case "older":
                self.action_sibling(-1)
            case "newer":
                self.action_sibling(1)
            case "retry":
                self.action_retry()
            case "answer" | "run":
                request = self.AnswerRequested if action.name == "answer" else self.RunRequested
                entry_id = self.entries[place.message].message.id
                self.post_message(request(entry_id, action.key))

    def on_focus(self) -> None:
        """Show the cursor."""
        self.post_message(self.Focused(True))
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.post_message(self.Focused(False))
        self.refresh()

    def watch_has_focus(self, value: bool) -> None:
        """Say what the cursor is on; with the event alone the focus is not yet here."""
        super().watch_has_focus(value)
        self.tell_pointed()
