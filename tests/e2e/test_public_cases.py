"""Bugs that people reported elsewhere, rebuilt as small cases that run the program.

The cases are not part of the project. `TUI_CHAT_CORPUS` names the folder that has `public/`, else
`../shared/corpus` is looked for; without it the tests are skipped. Each folder is one case, whose
`run.sh PROGRAM` prints what is wrong and exits with 0 if nothing is. A case costs what its programs
do, a second each where the machine is busy; those of terminals and of silent servers also wait.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminal_app import restore_signals

CORPUS = Path(os.environ.get("TUI_CHAT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
PROGRAM = Path(sys.executable).with_name("tui-chat")
WAITING = ("53", "49", "74", "71", "73", "72", "70", "48")
"""The beginnings of cases that wait for 10 to 40 s: they begin first, the longest before all."""
TIMEOUT = 300.0
"""Seconds after which a case hangs."""

found = sorted(each.parent for each in (CORPUS / "public").glob("*/run.sh"))
cases = sorted(found, key=lambda each: not each.name.startswith(WAITING))


@pytest.mark.skipif(not cases, reason=f"there are no cases in {CORPUS / 'public'}")
@pytest.mark.skipif(not PROGRAM.exists(), reason=f"the program is not installed as {PROGRAM}")
@pytest.mark.parametrize("case", cases, ids=lambda each: each.name)
def test_a_public_case(case: Path, tmp_path: Path):
    done = subprocess.run(
        ["sh", str(case / "run.sh"), str(PROGRAM)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        preexec_fn=restore_signals,
        timeout=TIMEOUT,
        check=False,
    )
    output = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, f"{case.name}:\n{output}"
