"""Settings for all tests: bounded property tests, the marker of screen tests, and where temporary
files, bytecode and the garbage collector cost least.
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import migrate

# The same examples each time, so that a change is judged by what it changed; `deep` draws new ones.
settings.register_profile(
    "suite",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile("suite")

# As the app has it, see `tui_chat.cli.interpreter`.
gc.set_threshold(50_000, 20, 50)

MEMORY = "/dev/shm"
if sys.platform == "linux" and "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
    # Half of the time of a test with a database is the disk's. What a killed process has written
    # stays in memory too; nothing here cuts the power.
    if shutil.disk_usage(MEMORY).free > 2 * 2**30:
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

SCREEN = (
    *("tests/ui/", "tests/plugins/tap/ui/", "tests/e2e/"),
    *("tests/cli/test_planted_keys.py", "tests/store/test_process_"),
    "tests/plugins/salvage/test_damaged_database.py",
    *(f"tests/plugins/transcripts/test_{part}" for part in ("reading", "snapshots", "view")),
)
"""Where the tests begin that run the whole app or several processes: the slow part of the suite."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the part that `-m` deselects, which takes seconds to import."""
    part = config.getoption("markexpr")
    if part not in ("screen", "not screen") or collection_path.is_dir():
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    return path.startswith(SCREEN) is not (part == "screen") or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the screen tests, so that `-m "not screen"` runs the fast part alone."""
    for item in items:
        if item.nodeid.startswith(SCREEN):
            item.add_marker("screen")


def pytest_configure(config: pytest.Config) -> None:
    """Keep bytecode with pytest's other notes where Python is told to write none beside sources, as
    in many containers: each worker, and each program that a test starts, would compile all it
    imports. Workers are started after this, with this environment.
    """
    if sys.dont_write_bytecode and config.pluginmanager.has_plugin("cacheprovider"):
        assert config.cache is not None
        sys.dont_write_bytecode = False
        sys.pycache_prefix = str(config.cache.mkdir("bytecode"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


def pytest_collection_finish() -> None:
    """Keep what is loaded, nine thousand tests, out of the garbage collector's way: it would look
    through it again and again, a third of what the tests cost.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _migrated_once() -> Iterator[None]:
    """A new database gets the pages of one that was migrated before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui_chat.store.schema.migrate", migrate)
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that cannot be read is looked at again at once."""
    monkeypatch.setattr("tui_chat.store.schema._PAUSES", (0.0,))
