import gc

from tui_chat.models.memo import Memo, forget_recent, recent_memo
from tui_chat.models.message import Message


def test_an_object_is_computed_once_and_forgotten_with_it():
    asked: list[str] = []

    def shout(message: Message) -> str:
        asked.append(message.content)
        return message.content.upper()

    memo = Memo(shout)
    message = Message("user", "hi")
    assert memo(message) == memo(message) == "HI"
    assert memo(Message("user", "hi")) == "HI"
    assert asked == ["hi", "hi"], "an equal object is another object"
    del message
    gc.collect()
    assert len(memo) == 0


def test_other_details_are_computed_again_and_the_latest_are_remembered():
    asked: list[tuple[str, int]] = []

    @Memo
    def repeat(message: Message, times: int) -> str:
        asked.append((message.content, times))
        return message.content * times

    message = Message("user", "hi")
    assert [repeat(message, 2), repeat(message, 2), repeat(message, 3)] == [
        "hihi",
        "hihi",
        "hihihi",
    ]
    assert asked == [("hi", 2), ("hi", 3)]


def test_recent_keys_are_kept_up_to_a_limit():
    @recent_memo(size=2)
    def length(key: tuple[int, ...]) -> int:
        return len(key)

    keys = [(1,), (1, 2), (1, 2, 3)]
    assert [length(key) for key in keys] == [1, 2, 3]
    assert length.results() == (3, 2), "the newest first"
    forget_recent()
    assert length.results() == ()
