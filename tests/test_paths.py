import subprocess
import sys
from pathlib import Path

import pytest

from tui_chat import paths


@pytest.fixture(autouse=True)
def _forget_folders() -> None:
    paths._platform_dirs.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables rule on Linux only")
def test_the_xdg_variables_are_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert paths.config_dir() == tmp_path / "CONFIG" / "tui-chat"
    assert paths.database_file() == tmp_path / "DATA" / "tui-chat" / "chat.db"
    assert list(tmp_path.iterdir()) == []
    paths._platform_dirs.cache_clear()


@pytest.mark.parametrize(("folder", "ending"), [("themes", "*.toml"), ("sample_presets", "*.json")])
def test_a_checkout_has_the_bundled_files_at_its_top(folder: str, ending: str) -> None:
    found = paths.bundled(folder)  # type: ignore[arg-type]  # the table holds plain strings
    assert found == Path(paths.__file__).parents[1] / folder
    assert list(found.glob(ending))


def test_a_wheel_has_them_inside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "_bundled" / "themes").mkdir(parents=True)
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path)
    assert paths.bundled("themes") == tmp_path / "_bundled" / "themes"


def test_asking_for_bundled_files_does_not_load_platformdirs() -> None:
    code = (
        "import sys; from tui_chat.paths import bundled; bundled('themes');"
        "print('platformdirs' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
