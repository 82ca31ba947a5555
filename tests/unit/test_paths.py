import subprocess
import sys
from pathlib import Path

import pytest

from tui_chat import paths


@pytest.fixture(autouse=True)
def _forget_folders() -> None:
    paths.platform_dirs.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="XDG variables rule on Linux only")
def test_the_xdg_variables_are_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    assert paths.config_dir() == tmp_path / "CONFIG" / "tui-chat"
    assert paths.database_file() == tmp_path / "DATA" / "tui-chat" / "chat.db"
    assert list(tmp_path.iterdir()) == []
    paths.platform_dirs.cache_clear()


@pytest.mark.parametrize(("folder", "ending"), [("themes", "*.toml"), ("sample_presets", "*.json")])
def test_bundled_files_in_a_checkout(folder: str, ending: str) -> None:
    found = paths.bundled(folder)  # type: ignore[arg-type]  # the table holds plain strings
    assert found == Path(paths.__file__).parents[1] / folder
    assert list(found.glob(ending))


def test_bundled_files_in_a_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "_bundled" / "themes").mkdir(parents=True)
    monkeypatch.setattr(paths, "PACKAGE", tmp_path)
    assert paths.bundled("themes") == tmp_path / "_bundled" / "themes"


@pytest.mark.slow
def test_bundled_files_are_found_without_platformdirs() -> None:
    code = (
        "import sys; from tui_chat.paths import bundled; bundled('themes');"
        "print('platformdirs' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_paths_are_completed(tmp_path: Path):
    for name in ("notes.md", "Notes2.md", "my-notes.txt", ".hidden", "你好.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "deep.md").write_text("x")
    assert paths.path_completions("not", tmp_path) == ["notes.md", "Notes2.md", "my-notes.txt"]
    assert paths.path_completions("nest", tmp_path) == ["nested/"]
    assert paths.path_completions("nested/", tmp_path) == ["nested/deep.md"]
    assert paths.path_completions(f"{tmp_path}/nested/d", Path("/")) == [
        f"{tmp_path}/nested/deep.md"
    ]
    assert paths.path_completions(".h", tmp_path) == [".hidden"]
    assert paths.path_completions("你", tmp_path) == ["你好.md"]
    for nowhere in ("missing/x", "~nobody-is-called-so/x", "\0/x"):
        assert paths.path_completions(nowhere, tmp_path) == []
    assert paths.path_completions("", tmp_path, limit=2) == ["my-notes.txt", "nested/"]
