//! Every secret that the settings know, broken in ten ways, is in no output.
#![allow(clippy::unwrap_used)]

use futures_util::FutureExt;
use outbox_config::{Config, LeaseProvider, Sources};
use toml::Value;

use crate::wiring;

/// Pieces of a secret that are long enough to be known again.
const SECRET: &str = "hunterGATHERER";

/// Settings with a secret in their text, in place of `@@`.
const TEXTS: [&str; 19] = [
    "[database]\nurl = \"postgres://app:@@@db/shop\"",
    "[database]\nurl = \"postgres://db/shop?user=app&password=@@\"",
    "[database]\nurl = \"mysql://app:@@@db/shop\"",
    "[lease]\nurl = \"redis://app:@@@cache\"",
    "[lease]\nurl = \"redis+sentinel://:@@@one,two/shop\"",
    "[lease]\nurl = \"redis+cluster://:@@@one,two\"",
    "[lease]\nurl = \"redis+sentinel://one/shop?sentinel_password=@@\"",
    "[admin]\ntoken = \"@@\"",
    "[admin]\nretry_token = \"@@\"",
    "[admin]\nread_token = \"@@\"",
    "[admin]\nmetrics_token = \"@@\"",
    "[alerts]\nurl = \"https://hooks.example/@@\"",
    "[telemetry]\notlp_endpoint = \"https://u:@@@collector\"",
    "[channels.a]\nkind = \"http\"\nbase_url = \"https://u:@@@shop.example\"",
    "[channels.a]\nkind = \"http\"\nauth = { bearer = \"@@\" }\nbase_url = \"https://shop.example\"",
    "[channels.a]\nkind = \"http\"\nauth = { basic = { user = \"u\", password = \"@@\" } }\nbase_url = \"https://shop.example\"",
    "[channels.a]\nkind = \"http\"\nsigning_keys = [\"whsec_@@\"]",
    "[channels.a]\nkind = \"http\"\nheaders = { Authorization = \"@@\" }\nbase_url = \"https://shop.example\"",
    "[channels.a]\nkind = \"http\"\non_dead = { channel = \"a\", target = \"https://chat.example/@@\" }",
];

/// Settings that name a file with a secret, in place of `@@`.
const FILES: [&str; 8] = [
    "[channels.a]\nkind = \"fcm\"\ncredentials = \"@@\"",
    "[channels.a]\nkind = \"http\"\ntls_cert = \"@@\"\ntls_key = \"@@\"",
    "[channels.a]\nkind = \"http\"\ntls_ca = \"@@\"",
    "[channels.a]\nkind = \"http\"\nauth = { bearer = { file = \"@@\" } }\nbase_url = \"https://shop.example\"",
    "[channels.a]\nkind = \"http\"\nsigning_keys = [{ file = \"@@\" }]",
    "[lease]\nurl = \"rediss://cache\"\ntls_ca = \"@@\"",
    "[alerts]\nurl = { file = \"@@\" }",
    "[database]\nurl = \"postgres://db/shop?sslcert=@@&sslkey=@@\"",
];

fn broken(text: &str) -> [String; 10] {
    let half = text.chars().count() / 2;
    [
        text.to_owned(),
        text.replace('\n', ""),
        text.replace('\n', "\\n"),
        format!("\u{feff}{text}"),
        format!("\"{text}\""),
        format!("{text} "),
        format!("{text}\nx"),
        format!("é{text}/@#?%zz"),
        format!("{text}\u{0}"),
        format!("{}:{}", &text[..half], &text[half..]),
    ]
}

/// All that is told of a settings file: errors, and what `config show` prints.
fn told(file: &str) -> String {
    let sources = Sources { file: Some(("outbox.toml".into(), file.to_owned())), ..Sources::default() };
    match Config::load(&sources) {
        Err(error) => format!("{error} {error:?}"),
        Ok(config) => {
            let shown = format!("{} {} {config:?}", config.to_toml(), config.to_json());
            let channels = wiring::channels(&config, "127.0.0.1:8640".parse().unwrap()).err();
            // Nobody is connected to.
            let lease = match &config.lease.provider {
                LeaseProvider::Redis { .. } => {
                    wiring::lease(&config, "id", &std::sync::Arc::default()).now_or_never().and_then(Result::err)
                }
                LeaseProvider::Table | LeaseProvider::Session => None,
            };
            let channels = channels.map(|error| format!("{error} {error:?}")).unwrap_or_default();
            let lease = lease.map(|error| format!("{error:#} {error:?}")).unwrap_or_default();
            [shown, channels, lease, wiring::which_database(&config)].join("\n")
        }
    }
}

/// Whether six characters of the secret in a row are told, as letters or as numbers.
fn shows(told: &str) -> bool {
    SECRET.as_bytes().windows(6).any(|piece| {
        let numbers = format!("{piece:?}");
        told.contains(&*String::from_utf8_lossy(piece)) || told.contains(numbers.trim_matches(['[', ']']))
    })
}

#[test]
fn no_secret_of_a_setting_is_told_however_it_is_broken() {
    for setting in TEXTS {
        for secret in broken(SECRET) {
            // The quotation marks are those of the setting.
            let escaped = Value::String(secret).to_string();
            let escaped = escaped.trim_matches(['"', '\'']).replace('"', "\\\"");
            let told = told(&setting.replacen("@@", &escaped, 1));
            assert!(!shows(&told), "{setting} {escaped}\n{told}");
        }
    }
}

#[test]
fn no_secret_of_a_file_is_told_however_it_is_broken() {
    let pem = format!("-----BEGIN PRIVATE KEY-----\nMIIE{SECRET}\n{SECRET}\n-----END PRIVATE KEY-----\n");
    let key = serde_json::json!({"type": "service_account", "client_email": "a@b", "private_key": pem,
        "token_uri": "https://oauth2.example/token", "project_id": "shop"});
    let kept = tempfile::NamedTempFile::new().unwrap();
    for setting in FILES {
        let file = setting.replace("@@", &kept.path().display().to_string());
        let in_json = broken(&pem).map(|pem| {
            let mut key = key.clone();
            key["private_key"] = pem.into();
            key.to_string()
        });
        for text in broken(&pem).into_iter().chain(broken(&key.to_string())).chain(in_json) {
            std::fs::write(kept.path(), &text).unwrap();
            let told = told(&file);
            assert!(!shows(&told), "{file} {text}\n{told}");
        }
    }
}
