from pathlib import Path
from time import sleep

(Path.home() / "hangs began").touch()
sleep(600)
