"""The tables of the prompt lab in the database, and their migrations.

The tables are the plugin's own: the numbered steps of `STEPS` make them when they are first needed,
and `lab_version` has the number of the last one. They refer to no table of the core, and no other
way round, so a database is whole with and without them.
"""

from __future__ import annotations

from tui_chat.errors import StoreNewer
from tui_chat.store.database import Database, Transaction

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # A whole case or variant as JSON, once for all runs that have it.
        """CREATE TABLE lab_values (
            id INTEGER PRIMARY KEY,
            sha256 TEXT NOT NULL UNIQUE,
            json TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE lab_runs (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            suite TEXT NOT NULL,
            source TEXT NOT NULL,
            started REAL NOT NULL,
            finished REAL,
            status TEXT NOT NULL,
            accepted INTEGER NOT NULL DEFAULT 0,
            plan_sha TEXT NOT NULL,
            judge TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE lab_cells (
            run INTEGER NOT NULL REFERENCES lab_runs ON DELETE CASCADE,
            position INTEGER NOT NULL,
            case_key TEXT NOT NULL,
            variant TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            case_id INTEGER NOT NULL,
            variant_id INTEGER NOT NULL,
            body_sha TEXT NOT NULL,
            input_tokens INTEGER NOT NULL,
            shared_tokens INTEGER NOT NULL,
            output_limit INTEGER,
            notes TEXT NOT NULL,
            status TEXT NOT NULL,
            reply TEXT NOT NULL,
            verdicts TEXT NOT NULL,
            score REAL,
            cost REAL,
            PRIMARY KEY (run, position),
            UNIQUE (run, case_key, variant, attempt)
        ) STRICT""",
        """CREATE TABLE lab_preferences (
            run INTEGER NOT NULL REFERENCES lab_runs ON DELETE CASCADE,
            case_key TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            first TEXT NOT NULL,
            second TEXT NOT NULL,
            preferred TEXT NOT NULL,
            PRIMARY KEY (run, case_key, attempt, first, second)
        ) STRICT""",
    ),
    (
        # The contents are revisions of the core. `sent` is their hash in recipes.
        """CREATE TABLE lab_preset_states (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            saved REAL NOT NULL,
            sha256 TEXT NOT NULL,
            sent TEXT NOT NULL
        ) STRICT""",
    ),
    ("ALTER TABLE lab_runs ADD COLUMN accepted_variant TEXT NOT NULL DEFAULT ''",),
)
"""The statements of each step."""


async def prepare_tables(database: Database) -> None:
    """Make the tables that are missing. Raises StoreError, and StoreNewer for those of a newer
    version.
    """
    if await database.read(_version) != len(STEPS):
        await database.write(_migrate)


async def _version(tx: Transaction) -> int:
    if not await tx.rows("SELECT 1 FROM sqlite_master WHERE name = 'lab_version'"):
        return 0
    [(version,)] = await tx.rows("SELECT version FROM lab_version")
    return version


async def _migrate(tx: Transaction) -> None:
    version = await _version(tx)
    if version > len(STEPS):
        raise StoreNewer(
            "The prompt lab's tables were written by a newer version of tui-chat.",
            advice="Update tui-chat; nothing was changed.",
        )
    if not version:
        await tx.run("CREATE TABLE lab_version (version INTEGER NOT NULL) STRICT")
        await tx.run("INSERT INTO lab_version VALUES (0)")
    for step in STEPS[version:]:
        for statement in step:
            await tx.run(statement)
    await tx.run("UPDATE lab_version SET version = ?", len(STEPS))
