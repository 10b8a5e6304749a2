"""Tries ways to write a message, and prints what became of each as a line of JSON."""

import json
import re
from contextlib import nullcontext


class Stack:
    """Its decorator runs the function that it stands before: one way to write a message with this stack.

    `transaction` makes the context in which each is run, and which undoes it if it fails. The function is given what the context
    gives, then the key and the body of its message.
    """

    def __init__(self, name, transaction=nullcontext):
        self.name = name
        self.transaction = transaction
        self.tried = 0

    def __call__(self, way, *, body=..., delay=None):
        """`delay`: the seconds from now at which the author of this way wants the message to be due."""
        self.tried += 1
        key = "-".join(["try", *re.findall(r"\w+", self.name.lower()), str(self.tried)])
        line = {"try": way, "stack": self.name, "key": key}
        if body is ...:
            body = {"n": self.tried}

        def run(write):
            try:
                with self.transaction() as transaction:
                    write(*([] if transaction is None else [transaction]), key, body)
            except Exception as error:  # noqa: BLE001
                line["refused"] = _words(error)
            else:
                line["body"] = body
                if delay:
                    line["delay"] = delay
            print(json.dumps(line, ensure_ascii=False), flush=True)
        return run


def _words(error):
    # SQLAlchemy adds the statement to the words of the driver.
    error = getattr(error, "orig", None) or error
    return " ".join(str(error).split())[:200] or type(error).__name__
