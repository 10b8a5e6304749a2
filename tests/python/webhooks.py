"""Verifies requests with the package `standardwebhooks`, as a receiver in Python would.

Standard input is JSON: {"secret": "whsec_...", "requests": [{"headers": {...}, "body": "..."}]}. A body is taken as it came:
its signature is over its very bytes. The answer is a list with what each body says, or null where the package refuses it.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def judge(webhook, request):
    try:
        return webhook.verify(request["body"].encode(), request["headers"])
    except WebhookVerificationError:
        return None


asked = json.load(sys.stdin)
webhook = Webhook(asked["secret"])
print(json.dumps([judge(webhook, request) for request in asked["requests"]]))
