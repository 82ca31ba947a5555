"""Creates `vN.db.gz` beside it with the code of version N; run it in a checkout of that version.

    python tests/unit/store/old_files/make.py VERSION

The files are kept as they were made and never made again.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.support.messages import make_message, thought
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import RequestRecord
from tui_chat.models.settings import Settings
from tui_chat.models.usage import Usage
from tui_chat.store import Store, schema

FOLDER = Path(__file__).parent
LONG = "".join(f"{number} 数字 wörter 😀 " for number in range(1500))


def ending(store: Store):
    """Return what ends a reply; it was called otherwise until version 20."""
    return getattr(store.replies, "end", None) or store.replies.finish


async def fill(path: Path) -> None:
    numbers, seconds = itertools.count(1), itertools.count(1_700_000_000)

    def record(body: bytes | None, sha256: str) -> RequestRecord:
        recipe = {"preset": "plain", "draft": "?"}
        return RequestRecord("home", Protocol.ANTHROPIC, "POST", "https://x", sha256, recipe, body)

    store = await Store.open(
        path, now=lambda: float(next(seconds)), new_id=lambda: f"id-{next(numbers):04}"
    )
    await store.roles.save(
        Role("pirate", "Pirate", system_prompt="Arr.", settings=Settings(temperature=0.5))
    )
    with_role = await store.sessions.create(title="With a role", role_id="pirate")
    plain = await store.sessions.create(title="Zwei Wege 两条路", model="m", endpoint="e")
    empty = await store.sessions.create()
    parent: str | None = None
    for number in range(60):
        role = "assistant" if number % 2 else "user"
        entry = await store.messages.add(
            with_role.session_id, Message.of(role, f"{number} {LONG[: number * 40]}"), parent
        )
        parent = entry.message.id
    first = await store.messages.add(
        plain.session_id, Message.of("user", "Weather? 天气", pinned=True), None
    )
    for call in ("a", "b"):  # siblings
        exchange = await store.replies.begin(
            plain.session_id, parent_id=first.message.id, user=None, model="m", endpoint="e",
            request=record(
                b"{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
            ),
        )  # fmt: skip
        await ending(store)(
            exchange.reply.message.id,
            message=make_message(
                "assistant", "",
                tool_calls=(CallBlock(call, "weather", '{"city":"Köln"}'),),
                reasoning=(thought(Protocol.ANTHROPIC, "Let me see.", signature="s"),),
            ),
            status="complete", usage=Usage(input=10, output=20), finish="tool_use", seconds=1.5,
        )  # fmt: skip
    answer = await store.messages.add(
        plain.session_id, make_message("tool", "rain", tool_call_id="b"), exchange.reply.message.id
    )
    for status in ("failed", "stopped", None):
        exchange = await store.replies.begin(
            plain.session_id, parent_id=answer.message.id, user=Message.of("user", "And then?"),
            model="m", endpoint="e", request=record(None, "00"),
        )  # fmt: skip
        reply = exchange.reply.message.id
        await store.replies.flush(reply, Message.of("assistant", "It will "))
        await store.replies.flush(reply, Message.of("assistant", "It will be " + LONG))
        if status:
            await ending(store)(
                reply,
                message=Message.of("assistant", "It will"),
                status=status,
                error="e",
                advice="a",
            )
    report = MediaBlock("file", "text/plain", text="quarterly figures", name="report.txt")
    await store.messages.add(
        empty.session_id, make_message("user", "Read this.", parts=(report,)), None
    )
    await store.drafts.save(empty.session_id, "a draft\nin two lines")
    await store.settings.set("session", plain.session_id)
    if hasattr(store, "save_profile"):  # since version 3
        await store.sessions.update(plain.session_id, pinned=True, tags=("work",), folder="f")
        await store.database.write(
            lambda tx: tx.run(
                "INSERT INTO profiles (name, content, created, updated) "
                "VALUES ('Kim', 'Kim likes short answers.', 1, 1)"
            )
        )
        await store.revisions.save("preset", '{"name": "plain"}')
        await store.database.write(
            lambda tx: tx.run(
                "INSERT INTO variables (session_id, key, value) VALUES (?, 'mood', 'glad')",
                plain.session_id,
            )
        )
        wrong = await store.messages.add(with_role.session_id, Message.of("user", "oh"), parent)
        await store.messages.add(with_role.session_id, Message.of("user", "no"), wrong.message.id)
        await store.messages.delete(wrong.message.id)
    await store.close()


def main(version: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chat.db"
        asyncio.run(fill(path))
        with closing(schema.connect(path, 1.0)) as connection:
            assert schema.version_of(connection) == version
            connection.execute("PRAGMA journal_mode = DELETE")
        data = gzip.compress(path.read_bytes(), 9, mtime=0)
        (FOLDER / f"v{version}.db.gz").write_bytes(data)


main(int(sys.argv[1]))
