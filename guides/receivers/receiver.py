"""A receiver of signed webhooks: it verifies each, works on it once, and answers so that the sender does the right thing.

Needs: pip install standardwebhooks. Run: WEBHOOK_SECRET=whsec_... python receiver.py 8080
"""

import json
import os
import sqlite3
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


def open_database():
    database = sqlite3.connect(os.environ.get("RECEIVER_DATABASE", "receiver.db"), timeout=10)
    database.execute("CREATE TABLE IF NOT EXISTS processed (id TEXT PRIMARY KEY, said TEXT NOT NULL)")
    return database


def process(database, message_id, message):
    """What the message is about, in one transaction with its id: both are kept, or neither. False if it was kept before."""
    with database:
        done = database.execute(
            "INSERT INTO processed (id, said) VALUES (?, ?) ON CONFLICT DO NOTHING", (message_id, json.dumps(message))
        )
        return done.rowcount == 1


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection for the next message

    def do_POST(self):
        # The signature is over these very bytes: verify before anything reads them as JSON.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            message = webhook.verify(body, dict(self.headers))
        except (WebhookVerificationError, ValueError):
            return self.answer(400)  # not from the sender, or changed on its way: no repetition helps
        database = open_database()
        try:
            fresh = process(database, self.headers["webhook-id"], message)
        except sqlite3.Error:
            return self.answer(503)  # ours to mend: the sender tries again
        finally:
            database.close()
        # A message that came before has been processed: it is accepted all the same.
        self.answer(200 if fresh else 204)

    def answer(self, status):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    open_database().close()
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()
