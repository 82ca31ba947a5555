"""What reads works in a folder that cannot be written to, and what writes says so."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="root may write everywhere else"),
]
_DROP, _ACCESS, _FILES = 24, (1, 2), 3
"""Numbers of prctl: PR_CAPBSET_DROP, CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, CAP_FOWNER."""


def without_privileges() -> None:
    """Have permissions mean something for root, too."""
    if os.geteuid() == 0:
        for capability in (*_ACCESS, _FILES):
            ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    common = ("--data-dir", str(home), "--config-dir", str(home))
    return subprocess.run(
        (sys.executable, "-m", "tui_chat", *common, *words),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        preexec_fn=without_privileges,
        check=False,
    )


def test_what_only_reads_works_on_a_disk_that_cannot_be_written(tmp_path: Path):
    home = tmp_path / "home"
    assert run(home, "ask", "-m", "loopback/echo", "hello world").returncode == 0
    before = (home / "chat.db").read_bytes()
    home.chmod(0o555)
    wrong: list[str] = []
    try:
        for words, said in {
            ("sessions", "list"): "hello world",
            ("search", "hello"): "world",
            ("usage",): "all",
            ("build", "hi"): '"content":"hi"',
            ("export", "--all", "--format", "json"): "hello world",
            ("ask", "--temporary", "-m", "loopback/echo", "from memory"): "from memory",
        }.items():
            done = run(home, *words)
            if done.returncode or said not in done.stdout:
                wrong.append(f"{words}: {done.returncode} {done.stdout} {done.stderr}")
        for words in (("ask", "-m", "loopback/echo", "hi"),):
            done = run(home, *words)
            if done.returncode not in (2, 7) or done.stdout:
                wrong.append(f"{words}: {done.returncode} {done.stdout} {done.stderr}")
    finally:
        home.chmod(0o755)
    assert not wrong, "\n".join(wrong)
    assert (home / "chat.db").read_bytes() == before
    assert [path.name for path in home.glob("chat.db*")] == ["chat.db"]
