"""What reading a preset loads."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_first_screen_loads_no_pydantic():
    code = (
        "import sys; import tui_chat.ui.app, tui_chat.workspace.workspace, tui_chat.store\n"
        "from tui_chat.library.library import Library\n"
        "from tui_chat.paths import bundled\n"
        "from pathlib import Path\n"
        "assert Library(Path('none'), bundled('sample_presets')).preset('plain').messages\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
