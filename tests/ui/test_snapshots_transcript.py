"""Pictures of the conversation in each of its states, at three sizes and in two themes."""

from __future__ import annotations

from decimal import Decimal

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.support.app import NOON
from tests.support.pictures import Album
from tests.ui.areas.chat.test_transcript import Actions
from tui_chat.models.citations import Citation, References, Source
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry
from tui_chat.models.stream_events import ReasoningDelta, TextDelta
from tui_chat.models.usage import Timing, Usage
from tui_chat.paths import bundled
from tui_chat.ui.areas.chat.chat_pane import ChatPane
from tui_chat.ui.areas.chat.transcript import Transcript
from tui_chat.ui.themes import load_themes, origin_defaults

MARKDOWN = (
    r"""Readers go on, with `wal`; see the [manual](https://sqlite.org/wal.html).

## How it works

1. A writer appends to the log, which is a file of its own beside the database, so readers wait for
   nothing
   - nested, with **strong** and *gentle* words
2. A checkpoint copies it back

```python
def settle(self) -> None:
    self.rows = [1, 2, 3]  # what is seen
```

| Mode | Readers | What a writer does while somebody else is still reading the same page |
|:--|--:|:--|
| `wal` | many | appends |
| `delete` | none | waits, and then waits a little more, until the last of them has gone |

> Formulas stay: $a_1 * b_1$, and prices too: $5.

- [x] 中文与 English 混排 🙂 👩‍👩‍👧
- [ ] hostile: """
    + "\x1b[31mred\x1b[0m \u202edesrever\n"
)

THOUGHT = MessageSemantics((ReasoningBlock("anthropic", "Let me think about logs."),))  # pyright: ignore[reportArgumentType]


def at(minutes: int) -> float:
    return NOON + 60 * minutes


def ask(text: str, minutes: int, **more: object) -> Entry:
    message = Message("user", text, id=f"u{minutes}", timestamp=at(minutes), **more)  # pyright: ignore[reportArgumentType]
    return Entry(message)


READ = (
    ask("What is a write-ahead log?\nBriefly, please.", 0),
    Entry(
        Message("assistant", MARKDOWN, id="a", timestamp=at(1), semantics=THOUGHT),
        model="claude-sonnet-4",
        usage=Usage(812, 1543),
        seconds=31.0,
        sibling=1,
        siblings=3,
    ),
)
RIGHT_TO_LEFT = (
    ask("מה פירוש המילה komorebi?\nوما معناها بالعربية؟", 0),
    Entry(
        Message(
            "assistant",
            "**Komorebi** (木漏れ日): אור השמש שמסתנן בין העלים.\n\n"
            "> ضوء الشمس الذي يتخلل الأوراق\n\n1. אור\n2. ظل\n\nBoth are left in their order.",
            id="r",
            timestamp=at(1),
        ),
        model="gpt-5",
    ),
)
CALLS = (
    ToolCall("c1", "get_weather", '{"city": "Paris", "unit": "celsius", "days": [1, 2, 3]}'),
    ToolCall("c2", "search", '{"query": "umbrella'),
)
WORK = (
    ask("Look at the weather.", 0, pinned=True),
    Entry(
        Message("assistant", "Half an ans", id="f", timestamp=at(1)),
        model="gpt-5",
        status="failed",
        error="The provider is overloaded (529).",
        advice="Try again in a minute.",
    ),
    ask("And now?", 2),
    Entry(
        Message("assistant", "I will look.", id="c", timestamp=at(3), tool_calls=CALLS),
        model="gpt-5",
        usage=Usage(12, 34),
        seconds=2.0,
    ),
    Entry(Message("tool", "21 °C", id="t", timestamp=at(4), tool_call_id="c1", name="get_weather")),
)
ANSWER = "The tower is **330 metres** tall. It was painted in 2021.\n\n- 1,665 steps\n- 3 lifts"
FEW, MANY = (
    References(
        (
            Source("The Eiffel Tower: key figures", "https://www.toureiffel.example/key-figures"),
            Source("", "", "notes on towers.pdf"),
            *(Source(f"Page {n}", f"https://site{n}.example/a") for n in range(more)),
        ),
        (Citation(0, 0, 33), Citation(1, 34, 57), Citation(0, 59, 72), Citation(1, 59, 72)),
        ("height of the Eiffel Tower",),
        ("A web search failed: max_uses_exceeded.",) if more else (),
        len(ANSWER),
    )
    for more in (1, 7)
)
CITED = (
    ask("How tall is the tower?", 0),
    Entry(
        Message("assistant", ANSWER, id="s1", semantics=MessageSemantics(references=FEW)),
        model="claude-sonnet-4",
    ),
    ask("Are you sure?", 2),
    Entry(
        Message("assistant", ANSWER, id="s2", semantics=MessageSemantics(references=MANY)),
        model="claude-sonnet-4",
    ),
)
LIVE = Entry(Message("assistant", id="live", timestamp=at(5)), status="streaming", model="gpt-5")


class Stage(App[None]):
    """A chat pane in our themes."""

    def __init__(self) -> None:
        super().__init__()
        for known in load_themes((bundled("themes"),))[0]:
            self.register_theme(known)
        self.chat = ChatPane()
        Actions(self, "conversation")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return origin_defaults(self.current_theme.dark)

    def compose(self) -> ComposeResult:
        yield self.chat

    def on_mount(self) -> None:
        self.theme = "tui-chat-dark"
        self.animation_level = "none"


def stage(pilot: Pilot[None], title: str, model: str, entries: tuple[Entry, ...]) -> ChatPane:
    app = pilot.app
    assert isinstance(app, Stage)
    app.chat.show(title, f"Assistant · {model}", entries)
    app.chat.transcript.focus()
    return app.chat


async def test_reading(album: Album) -> None:
    async with album.of(Stage()) as pilot:
        stage(pilot, "Logs", "claude-sonnet-4 · anthropic", READ)
        await pilot.press("home", "j")
        await album.take(pilot, "reasoning folded")
        await pilot.press("space")
        await album.take(pilot, "reasoning unfolded")
        await pilot.press("space", "home", "slash", *"wait", "down")
        await album.take(pilot, "words found")

        stage(pilot, "שלום", "gpt-5 · openai", RIGHT_TO_LEFT)
        await album.take(pilot, "right-to-left")
        await pilot.mouse_down(Transcript, offset=(8, 4))
        await pilot.hover(Transcript, offset=(24, 10))
        await pilot.mouse_up(Transcript, offset=(24, 10))
        assert pilot.app.screen.get_selected_text()
        await album.take(pilot, "selected with the mouse")


async def test_sources(album: Album) -> None:
    async with album.of(Stage()) as pilot:
        stage(pilot, "Tower", "claude-sonnet-4 · anthropic", CITED)
        await album.take(pilot, "sources")
        await pilot.press("space")
        await album.take(pilot, "sources unfolded")


async def test_work(album: Album) -> None:
    async with album.of(Stage()) as pilot:
        stage(pilot, "Weather", "gpt-5 · openai", WORK)
        await album.take_matrix(pilot, "error and tool calls")


async def test_a_reply_arrives(album: Album) -> None:
    async with album.of(Stage()) as pilot:
        chat = stage(pilot, "Logs", "gpt-5 · openai", (*READ, ask("And code?", 4), LIVE))
        reply = advance(Reply(), ReasoningDelta(0, "The user wants code."))
        reply = advance(reply, TextDelta("So:\n\n```python\nfor row in rows:\n    print(ro"))
        chat.stream("live", reply, Timing(11.5, 1.5, 100, cost=Decimal("0.0021")))
        chat.transcript.flush()
        await album.take(pilot, "followed")
        await pilot.press("home")
        chat.stream(
            "live", advance(reply, TextDelta("w)\n")), Timing(12, 1.5, 110, cost=Decimal("0.0022"))
        )
        chat.transcript.flush()
        await album.take(pilot, "new text below")
