"""python -m tui_chat."""

from tui_chat.cli import main

if __name__ == "__main__":
    main()
