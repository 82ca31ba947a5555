"""The text that `child_streams` receives."""

TEXT = " ".join(f"{number} 数字" for number in range(200_000))
