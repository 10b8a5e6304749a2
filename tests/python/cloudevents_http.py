"""Reads requests as events with the package `cloudevents`, as a receiver in Python would.

Standard input is JSON: [{"headers": {...}, "body": "..."}]. The answer is a list with the attributes and the data of each.
"""

import json
import sys

from cloudevents.core.bindings.http import HTTPMessage, from_http_event


def read(request):
    # Header values that are not ASCII would come as Latin-1; there must be none.
    event = from_http_event(HTTPMessage(headers=request["headers"], body=request["body"].encode()))
    attributes = event.get_attributes()
    attributes["time"] = attributes["time"].isoformat()
    return {"attributes": attributes, "data": event.get_data()}


print(json.dumps([read(request) for request in json.load(sys.stdin)]))
