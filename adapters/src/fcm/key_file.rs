//! The key file of a service account. It is read and judged here, and refused in words of this program: those of a parser may
//! quote what it could not read, and that is the private key.

use ring::signature::RsaKeyPair;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Map, Value};
use url::{Host, Position, Url};

/// The checked key file of a service account.
pub(super) struct KeyFile {
    /// The text of the file, which holds the private key.
    pub(super) json: String,
    /// The URL of the token endpoint, for errors.
    pub(super) token_uri: String,
    pub(super) project_id: Option<String>,
}

impl KeyFile {
    /// Reads the file, for a channel whose messages go to `base`.
    pub(super) fn read(path: &std::path::Path, base: &Url) -> Result<Self, String> {
        let shown = path.display();
        let bytes = std::fs::read(path).map_err(|error| format!("the file {shown} cannot be read: {error}"))?;
        let read = String::from_utf8(bytes).map_err(|_| "is not text in UTF-8: save it as UTF-8".to_owned());
        read.and_then(|json| Self::parse(json, base)).map_err(|problem| format!("the file {shown} {problem}"))
    }

    /// Parses the text of the file. The error says what is wrong with "the file", which the caller names.
    fn parse(json: String, base: &Url) -> Result<Self, String> {
        let fields = fields(&json)?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        of_a_service_account(text("type"))?;
        for name in ["client_email", "private_key"] {
            text(name).ok_or_else(|| format!("has no text {name:?}: {DOWNLOAD}"))?;
        }
        check_private_key(text("private_key").unwrap_or_default())?;
        let token_uri = token_uri(text("token_uri"), base)?;
        let project_id = text("project_id").map(str::to_owned);
        Ok(Self { json, token_uri, project_id })
    }
}

const DOWNLOAD: &str = "download a service account's key in JSON again, and change nothing in it";

fn fields(json: &str) -> Result<Map<String, Value>, String> {
    let problem = match json.trim_start() {
        "" => "is empty",
        text if text.starts_with('\u{feff}') => {
            "begins with a byte order mark, which JSON does not have: save it as UTF-8 without one"
        }
        text if text.starts_with("-----BEGIN") => "is a bare key in PEM, not the JSON around it",
        text if text.starts_with(['"', '\'']) => "is in quotes, as a text within another file would be: leave them out",
        text => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => return Ok(fields),
            Ok(_) => "is JSON, but no service account's key",
            Err(error) if error.is_eof() => "is cut off: it ends within its JSON",
            Err(error) => {
                return Err(format!("is not JSON (line {}, column {}): {DOWNLOAD}", error.line(), error.column()));
            }
        },
    };
    Err(format!("{problem}: {DOWNLOAD}"))
}

/// Refuses the other credentials that Google's own libraries read from a file.
fn of_a_service_account(kind: Option<&str>) -> Result<(), String> {
    let (kind, cure) = match kind {
        Some("service_account") => return Ok(()),
        Some("authorized_user") => (
            "\"authorized_user\", the login of a person",
            "name the key of a service account, or set neither credentials nor GOOGLE_APPLICATION_CREDENTIALS and let the login \
             be where gcloud keeps it (~/.config/gcloud/application_default_credentials.json)",
        ),
        Some("external_account") => (
            "\"external_account\" (workload identity federation), which this program does not speak",
            "name the key of a service account, or run where a metadata server gives tokens, as on Google Cloud and GKE, and set \
             neither credentials nor GOOGLE_APPLICATION_CREDENTIALS",
        ),
        Some("impersonated_service_account") => (
            "\"impersonated_service_account\", which this program does not speak",
            "name the key of the service account itself",
        ),
        Some(_) => ("another type", "name the key of a service account"),
        None => return Err(format!("has no \"type\": {DOWNLOAD}")),
    };
    Err(format!("is not a service account's key but of type {kind}: {cure}"))
}

fn check_private_key(key: &str) -> Result<(), String> {
    if let Ok(der) = PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()) {
        return match RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("has a \"private_key\" that is damaged, or no key of RSA: {DOWNLOAD}")),
        };
    }
    let problem = match key.trim() {
        key if !key.contains("PRIVATE KEY") => "is no private key in PEM",
        key if key.contains("ENCRYPTED") => "needs a password",
        key if key.contains("BEGIN RSA PRIVATE KEY") => "is in the older form of PKCS #1; needed is PKCS #8",
        key if key.contains("\\n") => "has its line breaks written twice over, as \\\\n in place of \\n",
        key if !key.contains('\n') => "has lost its line breaks, which are written \\n within JSON",
        key if !key.contains("-----END") => "is cut off: it has no line \"-----END PRIVATE KEY-----\"",
        _ => "is no private key in PEM: some of its lines are damaged",
    };
    Err(format!("has a \"private_key\" that {problem}: {DOWNLOAD}"))
}

/// The token endpoint for errors. What a token endpoint is sent fetches tokens.
fn token_uri(text: Option<&str>, base: &Url) -> Result<String, String> {
    let uri = match text.and_then(|uri| Url::parse(uri).ok()).filter(Url::has_host) {
        Some(uri) if uri.scheme() == "https" => uri,
        Some(uri) if uri.scheme() == "http" && (is_loopback(&uri) || uri.host() == base.host()) => uri,
        _ => {
            return Err("has a \"token_uri\" that is not an https URL: what is sent there fetches tokens, so plain http is for \
                        this machine and for a stand-in at the host of base_url"
                .to_owned());
        }
    };
    let path = &uri[Position::BeforePath..Position::AfterPath];
    Ok(format!("{}{path}", uri.origin().ascii_serialization()))
}

/// Whether a URL is one of this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const KEY: &str = include_str!("../../tests/it/service_account.pem");

    fn google() -> Url {
        Url::parse("https://fcm.googleapis.com").unwrap()
    }

    fn with_key(key: &str) -> String {
        let uri = "https://oauth2.googleapis.com/token";
        let file = serde_json::json!({
            "type": "service_account", "client_email": "outbox@shop.example", "private_key": key, "token_uri": uri,
        });
        serde_json::to_string_pretty(&file).unwrap()
    }

    fn refused(json: String) -> String {
        KeyFile::parse(json, &google()).err().unwrap()
    }

    /// The lines of the key that hold it. No part of them may be shown, in letters or as numbers.
    fn holds_a_piece_of_the_key(text: &str) -> bool {
        let lines = KEY.lines().filter(|line| !line.starts_with("-----"));
        let text_of = |bytes: &[u8]| format!("{bytes:?}").trim_matches(['[', ']']).to_owned();
        let mut pieces = lines.flat_map(|line| line.as_bytes().chunks_exact(8));
        pieces.any(|piece| text.contains(&*String::from_utf8_lossy(piece)) || text.contains(&text_of(piece)))
    }

    #[test]
    fn a_key_file_broken_in_any_way_is_told_what_is_wrong_and_shows_nothing_of_its_key() {
        let whole = with_key(KEY);
        assert!(KeyFile::parse(whole.clone(), &google()).is_ok());
        let body = |change: fn(&str) -> String| with_key(&change(KEY));
        for (broken, why) in [
            (body(|key| key.replace('\n', "")), "lost its line breaks"),
            (body(|key| key.replace('\n', " ")), "lost its line breaks"),
            (body(|key| key.replace('\n', "\\n")), "line breaks written twice over"),
            (body(|key| key.replace("PRIVATE KEY", "RSA PRIVATE KEY")), "PKCS #1"),
            (body(|key| key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")), "needs a password"),
            (body(|key| key[..key.len() / 2].to_owned()), "is cut off"),
            (body(|key| key.replacen("\nMII", "\nM!I", 1)), "damaged"),
            (body(|key| key.replacen("\nMII", "\nMIJ", 1)), "damaged"),
            (body(|key| key.lines().filter(|line| !line.starts_with("-----")).collect()), "no private key in PEM"),
            (body(|_| String::new()), "has no text \"private_key\""),
            (format!("\u{feff}{whole}"), "byte order mark"),
            (whole.replace("\\n", "\n"), "is not JSON (line 4"),
            (whole[..whole.len() / 2].to_owned(), "is cut off"),
            (format!("'{whole}'"), "is in quotes"),
            (format!("\"{}\"", whole.replace('"', "\\\"")), "is in quotes"),
            (KEY.to_owned(), "bare key"),
            (whole.replace("private_key", "privateKey"), "has no text \"private_key\""),
            (whole.replace("client_email", "clientEmail"), "has no text \"client_email\""),
            (format!("[{whole}]"), "no service account's key"),
            (String::new(), "is empty"),
        ] {
            let told = refused(broken);
            assert!(told.contains(why), "{why}: {told}");
            assert!(!holds_a_piece_of_the_key(&told) && told.len() < 400, "{told}");
        }
    }

    #[test]
    fn a_file_on_disk_is_told_by_its_name_even_where_it_is_not_utf_8() {
        let path = std::env::temp_dir().join(format!("outbox-key-{}.json", std::process::id()));
        let wide: Vec<u8> = with_key(KEY).encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(&path, [&[0xff, 0xfe][..], &wide].concat()).unwrap();
        let told = KeyFile::read(&path, &google()).err().unwrap();
        assert_eq!(told, format!("the file {} is not text in UTF-8: save it as UTF-8", path.display()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn other_credentials_of_google_are_told_what_to_do() {
        for (kind, what_to_do) in [
            ("authorized_user", "let the login be where gcloud keeps it"),
            ("external_account", "run where a metadata server gives tokens"),
            ("impersonated_service_account", "of the service account itself"),
            ("s3cret", "name the key of a service account"),
        ] {
            let told = refused(serde_json::json!({"type": kind, "client_secret": "s3cret"}).to_string());
            assert!(told.contains(what_to_do) && !told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn an_assertion_crosses_no_network_in_the_clear() {
        let stand_in = Url::parse("https://fcm:8443").unwrap();
        for (uri, base, fine) in [
            ("https://oauth2.googleapis.com/token", google(), true),
            ("http://oauth2.googleapis.com/token", google(), false),
            ("http://fcm:8480/token", google(), false),
            ("http://fcm:8480/token", stand_in.clone(), true),
            ("http://other:8480/token", stand_in, false),
            ("http://localhost:1/token", google(), true),
            ("http://127.0.0.1:1/token", google(), true),
            ("http://[::1]:1/token", google(), true),
            ("http://localhost.evil.example/token", google(), false),
            ("ftp://localhost/token", google(), false),
        ] {
            let key = with_key(KEY).replace("https://oauth2.googleapis.com/token", uri);
            let read = KeyFile::parse(key, &base).map(drop);
            assert_eq!(read.is_ok(), fine, "{uri} for {base}: {read:?}");
        }
    }

    proptest! {
        #[test]
        fn no_key_file_panics_and_no_refusal_shows_its_key(
            kind in "service_account|authorized_user|\\PC{0,8}",
            uri in "https?://[a-z]{0,8}(:[0-9]{0,6})?/\\PC{0,8}|\\PC{0,12}",
            rest in "\\PC{0,20}", at in any::<prop::sample::Index>(), typed in "\\PC|\n",
        ) {
            let mut key: Vec<char> = KEY.chars().collect();
            key.splice(at.index(KEY.len()).., typed.chars().chain(KEY.chars().skip(at.index(KEY.len()))).collect::<Vec<_>>());
            let key: String = key.into_iter().collect();
            let file = serde_json::json!({"type": kind, "client_email": "a", "token_uri": uri, "private_key": key}).to_string();
            for text in [file.clone(), format!("{file}{rest}"), file.chars().take(file.chars().count() / 2).collect(), rest] {
                if let Err(refused) = KeyFile::parse(text, &google()) {
                    prop_assert!(!holds_a_piece_of_the_key(&refused), "{}", refused);
                }
            }
        }
    }
}
