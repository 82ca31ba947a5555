"""Settings for all tests: bounded property tests, the marker of slow tests, and where temporary
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

from tests.support.databases import migrate
from tui_chat import hooks

pytest_plugins = ["tests.support.app_fixtures"]

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

# As the app has it, see `tui_chat.cli.app`.
gc.set_threshold(50_000, 20, 50)

MEMORY = "/dev/shm"
if sys.platform == "linux" and "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK):
    # Half of the time of a test with a database is the disk's. What a killed process has written
    # stays in memory too; nothing here cuts the power.
    if shutil.disk_usage(MEMORY).free > 2 * 2**30:
        # A folder of its own for each run, which pytest's workers inherit: two runs at a time would
        # remove each other's. It stays after a failure, until the next run.
        for left in Path(MEMORY).glob("tui-chat-tests-*"):
            if not Path("/proc", left.name.rpartition("-")[2]).exists():
                shutil.rmtree(left, ignore_errors=True)
        own = Path(MEMORY, f"tui-chat-tests-{os.getpid()}")
        own.mkdir(exist_ok=True)
        os.environ["TMPDIR"] = tempfile.tempdir = str(own)

SLOW = (
    "tests/app/",
    "tests/e2e/",
    "tests/cli/test_planted_keys.py",
    "tests/cli/test_sample_plugin.py",
    "tests/cli/test_typed_input.py",
    "tests/unit/interop/test_round_trip.py",
    "tests/plugins/maintenance/test_damaged_database.py",
    "tests/plugins/sillytavern/test_slow_scan.py",
    "tests/plugins/transcripts/test_reading.py",
    "tests/plugins/transcripts/test_view",
    "tests/plugins/web/test_serve.py",
    "tests/protocols/test_encode_meaning.py",
    "tests/unit/store/test_process_lock.py",
)
"""Where the files begin whose tests are all slow, beside those in a folder `ui` of a plugin."""


def is_slow_file(path: str) -> bool:
    return path.startswith(SLOW) or ("/ui/" in path and "plugins/" in path)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files that `-m` deselects as a whole: they take seconds to import."""
    part = config.getoption("markexpr")
    if part not in ("slow", "not slow") or collection_path.suffix != ".py":
        return None
    if is_slow_file(collection_path.relative_to(config.rootpath).as_posix()):
        return part == "not slow" or None
    return (part == "slow" and b"mark.slow" not in collection_path.read_bytes()) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files, so that `-m "not slow"` runs the fast part alone."""
    for item in items:
        if is_slow_file(item.nodeid.partition("::")[0]):
            item.add_marker("slow")


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
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        del os.environ[name]  # with a key, commands and the app would ask that provider


def pytest_collection_finish() -> None:
    """Keep what is loaded out of the garbage collector's way: it would look
    through it again and again, a third of what the tests cost.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _migrated_once() -> Iterator[None]:
    """A new database gets the pages of one that was migrated before. The migrations take 11 ms, and
    many hundreds of tests open a new database, most of them in memory, where no file can be copied.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui_chat.store.schema.migrate", migrate)
        yield


@pytest.fixture(autouse=True)
def _faults_of_this_test_only() -> Iterator[None]:
    """What a plugin of one test did wrong is not shown by the app of the next."""
    hooks.forget_faults()
    yield
    hooks.forget_faults()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that cannot be read is looked at again at once."""
    monkeypatch.setattr("tui_chat.store.schema.RETRY_PAUSES", (0.0,))
