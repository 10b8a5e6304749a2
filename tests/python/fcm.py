"""Sends with the package `firebase-admin`, as an application in Python would, and tells how it reads the answers.

Standard input is JSON: {"base_url", "credentials", "tls_ca", "tokens": [...], "messages": {...}}. The answer is
{"errors": {token: name of the exception, or null}, "sent": {name: as the package writes the message}}. The package knows no
base URL and no other token endpoint than Google's: those two are changed in it, and nothing else is.
"""

import datetime
import json
import os
import sys
import warnings

asked = json.load(sys.stdin)
os.environ["REQUESTS_CA_BUNDLE"] = asked["tls_ca"]

import firebase_admin
import urllib3
from firebase_admin import credentials, messaging
from google.oauth2 import service_account

# It would have fids in place of tokens; both are sent.
warnings.simplefilter("ignore", DeprecationWarning)

service = messaging._MessagingService
service.FCM_URL = service.FCM_URL.replace("https://fcm.googleapis.com", asked["base_url"])
# Whatever the key file names as the token endpoint, its assertions are for Google's.
with open(asked["credentials"]) as key:
    service_account._GOOGLE_OAUTH2_TOKEN_ENDPOINT = json.load(key)["token_uri"]
app = firebase_admin.initialize_app(
    credentials.Certificate(asked["credentials"]), {"httpTimeout": 30, "projectId": "demo-project"}
)
# It repeats some failures by itself; here each is to be read once.
for adapter in messaging._get_messaging_service(app)._client.session.adapters.values():
    adapter.max_retries = urllib3.Retry(0, read=False)


def error_of(token):
    try:
        messaging.send(messaging.Message(token=token, notification=messaging.Notification("Hi", "there")))
        return None
    except Exception as error:
        return type(error).__name__


common = {
    "data": {"order": "7"},
    "notification": messaging.Notification(title="Hi", body="there", image="https://shop.example/a.png"),
    "android": messaging.AndroidConfig(
        collapse_key="orders",
        priority="high",
        ttl=datetime.timedelta(seconds=3600, milliseconds=500),
        restricted_package_name="com.example",
        data={"on": "android"},
        notification=messaging.AndroidNotification(
            title="Hi", tag="order", channel_id="orders", color="#ff0000", notification_count=3, sticky=True,
            priority="max", visibility="public", vibrate_timings_millis=[100, 200],
            light_settings=messaging.LightSettings("#00ff00", 200, 300),
        ),
        fcm_options=messaging.AndroidFCMOptions("label"),
    ),
    "apns": messaging.APNSConfig(
        headers={"apns-priority": "10", "apns-collapse-id": "order"},
        payload=messaging.APNSPayload(messaging.Aps(alert="Hi", badge=1, sound="default", content_available=True)),
        fcm_options=messaging.APNSFCMOptions("label", "https://shop.example/a.png"),
    ),
    "webpush": messaging.WebpushConfig(
        headers={"TTL": "60", "Topic": "order"},
        data={"on": "web"},
        notification=messaging.WebpushNotification(title="Hi", actions=[messaging.WebpushNotificationAction("a", "A")]),
        fcm_options=messaging.WebpushFCMOptions(link="https://shop.example/orders/7"),
    ),
    "fcm_options": messaging.FCMOptions("label"),
}
targets = [("token", "well"), ("fid", "well"), ("topic", "news"), ("condition", "'a' in topics || 'b' in topics")]
sent = {}
for kind, target in targets:
    message = messaging.Message(**common, **{kind: target})
    messaging.send(message)
    sent[f"{kind}:{target}"] = messaging._MessagingService.encode_message(message)

print(json.dumps({"errors": {token: error_of(token) for token in asked["tokens"]}, "sent": sent}))
