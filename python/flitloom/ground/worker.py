"""The program of a worker process: does what it is asked to, until no parent is left to ask."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from typing import Any


def main() -> None:
    """Answer questions from standard input; the first message is where modules are found."""
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    # What the work prints must not come between the answers.
    os.dup2(2, 1)
    prefix = questions.read(8)
    size = int.from_bytes(prefix, "little")
    where = questions.read(size)
    if len(prefix) < 8 or len(where) < size:
        # The parent ended before it had asked anything.
        os._exit(0)
    sys.path[:] = pickle.loads(where)
    from flitloom.ground.workers import receive, send

    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                waiting.put(receive(questions))
        except (EOFError, OSError):
            # The parent has ended, or wants this worker to.
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        answer = _answer(waiting.get())
        try:
            send(answers, answer)
        except OSError:
            os._exit(0)


def _answer(question: bytes) -> bytes:
    """What the function returns or raises, as bytes."""
    result: tuple[bool, Any]
    try:
        function, arguments, named = pickle.loads(question)
        result = (True, function(*arguments, **named))
    except BaseException as error:
        result = (False, error)
    try:
        answer = pickle.dumps(result)
        pickle.loads(answer)
    except Exception as error:
        from flitloom.errors import FlitloomError

        kind, text = (type(error), error) if result[0] else (type(result[1]), result[1])
        return pickle.dumps((False, FlitloomError(f"{kind.__name__} in a worker process: {text}")))
    return answer


if __name__ == "__main__":
    main()
