//! Which settings of an HTTP channel are refused, and what its check says.

use std::time::Duration;

use outbox_adapters::Adapter;
use outbox_adapters::http::{Auth, AuthTo, HttpChannel, Secret, SecretPlace, Settings};

use crate::http::{channel, headers, literal, loopback};

fn at(base_url: &str) -> Settings {
    Settings { base_url: base_url.to_owned(), ..loopback() }
}

fn with_header(name: &str, value: &str) -> Settings {
    Settings { headers: headers(&[(name, value)]), ..loopback() }
}

fn with_auth(auth: Auth) -> Settings {
    Settings { auth: Some(auth), auth_to: AuthTo::Any, ..loopback() }
}

fn signing_with(key: Secret) -> Settings {
    Settings { signing_keys: vec![key], ..loopback() }
}

fn trusting(tls_ca: &str) -> Settings {
    Settings { tls_ca: tls_ca.to_owned(), ..loopback() }
}

fn unset_variable() -> Secret {
    Secret::SecretPlace(SecretPlace::Env("OUTBOX_NO_SUCH_VARIABLE".to_owned()))
}

#[test]
fn wrong_settings_are_refused_by_the_name_of_their_key() {
    let missing = "/nonexistent/outbox";
    for (key, said, settings) in [
        ("base_url", "is not a URL", at("hooks.example.com")),
        ("base_url", "only http and https", at("ftp://example.com")),
        ("base_url", "credentials belong in `auth`", at("https://joe:s3cret@example.com")),
        ("base_url", "a query or a fragment", at("https://example.com/v1?x=1")),
        ("base_url", "private network 10.0.0.0/8", at("http://10.0.0.1/")),
        ("headers", "control character", with_header("X-A", "s3cret\r\n")),
        ("headers", "belongs to the connection", with_header("Content-Length", "1")),
        ("headers", "idempotency_key = \"off\"", with_header("Idempotency-Key", "1")),
        ("auth", "empty", with_auth(Auth::Bearer(literal("")))),
        ("auth", "control character", with_auth(Auth::Bearer(literal("s3cret\n")))),
        ("auth", "OUTBOX_NO_SUCH_VARIABLE is not set", with_auth(Auth::Bearer(unset_variable()))),
        ("auth", missing, with_auth(Auth::Bearer(Secret::SecretPlace(SecretPlace::File(missing.into()))))),
        ("auth", "colon", with_auth(Auth::Basic { user: "a:b".to_owned(), password: literal("s3cret") })),
        ("auth", "header name", with_auth(Auth::Header { name: "a b".to_owned(), value: literal("s3cret") })),
        ("signing_keys", "key 1: it has neither prefix; allowed is \"whsec_\"", signing_with(literal("s3cret"))),
        ("signing_keys", "OUTBOX_NO_SUCH_VARIABLE is not set", signing_with(unset_variable())),
        ("tls_ca", "cannot be read", trusting(missing)),
        ("tls_ca", "no certificate", trusting(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))),
    ] {
        let refused = HttpChannel::new("hooks", &settings, Duration::from_secs(1), false, None).unwrap_err();
        let text = refused.to_string();
        assert!(text.starts_with(&format!("channels.hooks.{key}: ")) && text.contains(said), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[tokio::test]
async fn a_check_resolves_the_base_url_and_sends_nothing() {
    let check = async |settings: &Settings| channel(settings, Duration::from_secs(20), false).check().await;
    assert!(check(&loopback()).await.unwrap().contains("every target is a URL"));
    let found = check(&at("http://localhost:9/x")).await.unwrap();
    assert!(found.starts_with("http://localhost:9 is at "), "{found}");
    let missing = check(&at("http://no-such-name.invalid")).await.unwrap_err();
    assert!(missing.starts_with("http://no-such-name.invalid: "), "{missing}");
    let closed = Settings { allow_networks: Vec::new(), ..at("http://localhost:9") };
    let forbidden = check(&closed).await.unwrap_err();
    assert!(forbidden.contains("channels.hooks.allow_networks"), "{forbidden}");
}
