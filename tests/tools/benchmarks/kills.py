"""The whole program, killed and ended at random moments of a stream: what is left of it.

    python -m tests.tools.benchmarks.kills [KILLS TERMS HANGUPS [SEED]]

Without numbers: 200 SIGKILL, 50 SIGTERM and 50 SIGHUP, half of these with a terminal that goes
away. Each program runs in a pseudo-terminal over a database that all those of its lane share,
sends messages that the offline provider answers with long replies, and types drafts in between.
Afterwards it is compared with what was typed and when:

1. Every message that the database had acknowledged is there, and the reply is not shorter than
   what had been flushed.
2. Every letter of a draft that was on the screen 0.5 s before SIGKILL is kept; with SIGTERM and
   SIGHUP every letter that was on the screen.
3. After SIGTERM and SIGHUP the terminal has its modes back, the exit code is 128 and the signal's
   number, and the reply is `stopped`.
4. The database is sound. The next program opens it, and shows no error.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.terminal_app import ENTER, TerminalApp, modes_left, own_time

LANES = 2
LONGEST_LIFE = 2.0
"""Seconds after its first reply began at which a program is ended, at the latest."""
ALLOWED = {signal.SIGKILL: 0.5, signal.SIGTERM: 0.0, signal.SIGHUP: 0.0}
"""Seconds by its own clock in which a letter that is on the screen may be missing on the disk."""
LETTERS = "жщюйфэдл"
"""What is typed; no reply has them."""
MODEL = "lorem:60:4000"


@dataclass
class Life:
    """What was done to one program, and what was seen of it."""

    number: int
    hangs_up: bool = False
    typed: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """The draft after each key, with the moment (`own_time`) at which it was on the screen."""
    acknowledged: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    """Messages seen in the database before the end: id, text of a question, length of a reply."""
    ended_at: float = 0.0
    sent_twice: bool = False
    """Whether a text that was sent is the draft as well. That loses nothing, but it is odd."""
    faults: list[str] = field(default_factory=list[str])


def read_database(folder: Path, sql: str) -> list[tuple[str, ...]]:
    uri = f"file:{folder / 'chat.db'}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=5)) as connection:
            return connection.execute(sql).fetchall()
    except sqlite3.OperationalError:  # it does not exist yet
        return []


MESSAGES = """
    SELECT message_id, content, CASE WHEN status = 'streaming' THEN coalesce((
        SELECT max(keep + length(text)) FROM reply_changes AS c
        WHERE c.message_id = m.message_id AND c.field = 'content'), 0)
    ELSE length(content) END, status, message_role FROM messages AS m
"""
DRAFTS = """
    SELECT draft FROM sessions WHERE draft <> ''
    UNION ALL SELECT value FROM settings WHERE key = 'draft' AND value <> ''
"""


def live(folder: Path, life: Life, chance: random.Random, name: str) -> None:
    """Start a program, use it, and end it at a random moment."""
    arguments = ("--endpoint", "loopback", "--model", MODEL)
    with TerminalApp(folder, arguments, size=(60, 20)) as app:
        app.until(lambda: app.shows("Type a message") or app.shows("Message"), 60)
        # A reply that was cut is at the end of what is shown; what is typed goes behind a draft.
        app.until(lambda: bool(read_database(folder, "SELECT 1 FROM settings LIMIT 1")), 60)
        app.read(0.4)
        if app.shows("Traceback") or app.shows("cannot be opened"):
            life.faults.append("it does not open")
        before = len(read_database(folder, MESSAGES))
        question = f"question{name}"
        app.type(question)
        app.until(lambda: app.shows(question), 30)
        app.type(ENTER)
        app.until(lambda: len(read_database(folder, MESSAGES)) >= before + 2, 30)
        dies_at = time.monotonic() + chance.random() * LONGEST_LIFE
        text = ""
        while time.monotonic() < dies_at:
            letter, drawn_from = chance.choice(LETTERS), len(app.written)
            app.type(letter)
            text += letter
            while not (drawn := app.shows(text[-6:], drawn_from)) and time.monotonic() < dies_at:
                app.read(0.005)
            if drawn:
                life.typed.append((own_time(app.process.pid), text))
            app.read(chance.random() * 0.15)
        life.acknowledged = [
            (row[0], row[1], int(row[2])) for row in read_database(folder, MESSAGES)
        ]
        life.ended_at = own_time(app.process.pid)
        if life.hangs_up:
            os.close(app.slave)
            app.slave = -1
            app.hang_up()
        else:
            app.signal(life.number)
        code = app.process.wait(30) if life.hangs_up else app.wait(30)
        wanted = -life.number if life.number == signal.SIGKILL else 128 + life.number
        if code != wanted:
            life.faults.append(f"exit code {code}")
        if life.number != signal.SIGKILL and not life.hangs_up:
            if left := modes_left(app.read()):
                life.faults.append(f"modes left: {sorted(left)}")
            if termios.tcgetattr(app.slave) != app.attributes:
                life.faults.append("the terminal is not as it was")
            if app.shows("Traceback"):
                life.faults.append("a traceback")
    check(folder, life, question)


def check(folder: Path, life: Life, question: str) -> None:
    """Compare what is in the database with what was seen."""
    found = {row[0]: row for row in read_database(folder, MESSAGES)}
    for message_id, text, length in life.acknowledged:
        row = found.get(message_id)
        if row is None:
            life.faults.append(f"message {message_id} is gone")
        elif int(row[2]) < length or (row[4] == "user" and row[1] != text):
            life.faults.append(f"message {message_id} is shorter: {row[2]} of {length}")
    if not any(question in row[1] for row in found.values()):
        life.faults.append("the question is gone")
    kept = [row[0] for row in read_database(folder, DRAFTS)]
    limit = life.ended_at - ALLOWED[signal.Signals(life.number)]
    due = [text for moment, text in life.typed if moment <= limit]
    wanted = due[-1] if due else ""
    if wanted and not any(wanted in text for text in kept):
        ages = [
            f"{life.ended_at - moment:.2f}"
            for moment, text in life.typed
            if not any(text in each for each in kept)
        ]
        life.faults.append(f"of the draft “{wanted}” is kept: {kept}; missing for {ages[0]} s")
    life.sent_twice = any(question in text for text in kept)
    if life.number != signal.SIGKILL and any(row[3] == "streaming" for row in found.values()):
        life.faults.append("a reply is still streaming")
    with closing(sqlite3.connect(folder / "chat.db")) as connection:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            life.faults.append("the database is damaged")
        connection.execute(
            "UPDATE sessions SET draft = ''"
        )  # the next program begins with an empty composer
        connection.execute("UPDATE settings SET value = '' WHERE key = 'draft'")
        connection.commit()


def lane(folder: Path, lives: Sequence[Life], seed: int) -> None:
    """Have programs live one after the other over one database."""
    chance = random.Random(seed)
    for index, life in enumerate(lives):
        try:
            live(folder, life, chance, f"{seed}x{index}")
        except (TimeoutError, OSError) as error:
            life.faults.append(f"{type(error).__name__}: {error}")
            for left in lives[index + 1 :]:  # each would take minutes
                left.faults.append("not run: the program before it did not answer")
            return


def run(folder: Path, kills: int, terms: int, hangups: int, seed: int = 1) -> list[Life]:
    """Run so many lives in lanes side by side; return them."""
    lives = [Life(signal.SIGKILL) for _ in range(kills)]
    lives += [Life(signal.SIGTERM) for _ in range(terms)]
    lives += [Life(signal.SIGHUP, hangs_up=bool(index % 2)) for index in range(hangups)]
    random.Random(seed).shuffle(lives)
    folders = [folder / str(number) for number in range(LANES)]
    for each in folders:
        each.mkdir()
    with ThreadPoolExecutor(LANES) as pool:
        list(
            pool.map(
                lane,
                folders,
                [lives[number::LANES] for number in range(LANES)],
                range(seed, seed + LANES),
            )
        )
    return lives


def main() -> None:
    """Print how many of each kind lost something, and what."""
    numbers = [int(word) for word in sys.argv[1:]]
    kills, terms, hangups, seed = (*numbers, *(200, 50, 50, 1)[len(numbers) :])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tui-chat-kills-") as folder:
        lives = run(Path(folder), kills, terms, hangups, seed)
    counts = Counter(signal.Signals(life.number).name for life in lives)
    bad = Counter(signal.Signals(life.number).name for life in lives if life.faults)
    for name, count in sorted(counts.items()):
        print(f"  {name}: {count}, of which {bad[name]} lost something")
    print(f"  texts that were sent and are the draft as well: {sum(x.sent_twice for x in lives)}")
    for life in lives:
        for fault in life.faults:
            print(f"  {signal.Signals(life.number).name} {'hang-up' * life.hangs_up}: {fault}")
    print(f"  {time.monotonic() - began:.0f} s")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
