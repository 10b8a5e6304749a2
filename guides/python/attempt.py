"""Tries ways to write a message, and prints what became of each as a line of JSON."""

import json
from contextlib import nullcontext


class Stack:
    """Its decorator runs the function that it stands before: one way to write a message with this stack.

    The function is given the key and the body of its message. Where the body should arrive as another one, it returns that.
    `transaction` makes the context in which each is run, and which undoes it if it fails.
    """

    def __init__(self, name, transaction=nullcontext):
        self.name = name
        self.transaction = transaction
        self.tried = 0

    def __call__(self, way, *, delay=None):
        """`delay`: the seconds from now at which the author of this way wants the message to be due."""
        def run(write):
            self.tried += 1
            key = f"try-{self.name.split()[0].lower()}-{self.tried}"
            line = {"try": way, "stack": self.name, "key": key}
            body = {"n": self.tried}
            try:
                with self.transaction() as transaction:
                    arguments = [] if transaction is None else [transaction]
                    changed = write(*arguments, key, body)
            except Exception as error:
                line["refused"] = _words(error)
            else:
                line["body"] = changed or body
                if delay:
                    line["delay"] = delay
            print(json.dumps(line, ensure_ascii=False), flush=True)
        return run


def _words(error):
    # SQLAlchemy adds the statement to the words of the driver.
    error = getattr(error, "orig", None) or error
    return " ".join(str(error).split())[:200] or type(error).__name__
