//! Which settings of an HTTP channel are refused, and what its check says.

use std::time::Duration;

use outbox_adapters::Adapter;
use outbox_adapters::http::{HttpChannel, Settings};
use serde_json::json;

use crate::http::{channel, loopback, settings_json, with};

#[test]
fn wrong_settings_are_refused_by_the_name_of_their_key() {
    let missing = "/nonexistent/outbox";
    for (key, value, said) in [
        ("base_url", json!("hooks.example.com"), "is not a URL"),
        ("base_url", json!("ftp://example.com"), "only http and https"),
        ("base_url", json!("https://joe:s3cret@example.com"), "credentials belong in `auth`"),
        ("base_url", json!("https://example.com/v1?x=1"), "a query or a fragment"),
        ("base_url", json!("http://10.0.0.1/"), "private network 10.0.0.0/8"),
        ("headers", json!({"X-A": "s3cret\r\n"}), "control character"),
        ("headers", json!({"Content-Length": "1"}), "belongs to the connection"),
        ("headers", json!({"Idempotency-Key": "1"}), "idempotency_key = \"off\""),
        ("auth", json!({"bearer": ""}), "empty"),
        ("auth", json!({"bearer": "s3cret\n"}), "control character"),
        ("auth", json!({"bearer": {"env": "OUTBOX_NO_SUCH_VARIABLE"}}), "OUTBOX_NO_SUCH_VARIABLE is not set"),
        ("auth", json!({"bearer": {"file": missing}}), missing),
        ("auth", json!({"basic": {"user": "a:b", "password": "s3cret"}}), "colon"),
        ("auth", json!({"header": {"name": "a b", "value": "s3cret"}}), "header name"),
        ("signing_keys", json!(["s3cret"]), "key 1: it has neither prefix; allowed is \"whsec_\""),
        ("signing_keys", json!([{"env": "OUTBOX_NO_SUCH_VARIABLE"}]), "OUTBOX_NO_SUCH_VARIABLE is not set"),
        ("tls_ca", json!(missing), "cannot be read"),
        ("tls_ca", json!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")), "no certificate"),
    ] {
        let refused = HttpChannel::new("hooks", &with(key, value), Duration::from_secs(1), false).unwrap_err();
        let text = refused.to_string();
        assert!(text.starts_with(&format!("channels.hooks.{key}: ")) && text.contains(said), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn unknown_keys_and_values_are_refused() {
    for (key, value) in [("methods", json!("POST")), ("method", json!("GET")), ("idempotency_key", json!("on"))] {
        let mut settings = settings_json();
        settings[key] = value;
        assert!(serde_json::from_value::<Settings>(settings).is_err(), "{key}");
    }
}

#[tokio::test]
async fn a_check_resolves_the_base_url_and_sends_nothing() {
    let check = async |settings: &Settings| channel(settings, Duration::from_secs(20), false).check().await;
    assert!(check(&loopback()).await.unwrap().contains("every target is a URL"));
    let found = check(&with("base_url", json!("http://localhost:9/x"))).await.unwrap();
    assert!(found.starts_with("http://localhost:9 is at "), "{found}");
    let missing = check(&with("base_url", json!("http://no-such-name.invalid"))).await.unwrap_err();
    assert!(missing.starts_with("http://no-such-name.invalid: "), "{missing}");
    let mut settings = settings_json();
    settings["base_url"] = "http://localhost:9".into();
    settings["allow_networks"] = json!([]);
    let forbidden = check(&serde_json::from_value(settings).unwrap()).await.unwrap_err();
    assert!(forbidden.contains("channels.hooks.allow_networks"), "{forbidden}");
}
