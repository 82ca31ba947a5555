import gc

from tui_chat.models.memo import Memo
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
