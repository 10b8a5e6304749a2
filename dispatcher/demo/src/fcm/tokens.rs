//! The token endpoint: a signed assertion of the service account for an access token
//! (<https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests>).

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The service account's key, as that of the demo. Whoever reads this has it: nothing but this stand-in trusts it.
const KEY: &str = include_str!("../throw_away_key.pem");

/// The project of the service account.
pub const PROJECT: &str = "demo-project";

const EMAIL: &str = "outbox@demo-project.iam.gserviceaccount.com";
const SCOPES: [&str; 2] =
    ["https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform"];
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Access tokens that were handed out.
#[derive(Debug)]
pub(super) struct Tokens {
    /// As the key file names the endpoint.
    pub(super) uri: String,
    pub(super) lifetime: Duration,
    pub(super) is_down: bool,
    pub(super) asked: usize,
    issued: usize,
    valid: HashMap<String, Instant>,
    public_key: UnparsedPublicKey<Vec<u8>>,
}

impl Tokens {
    pub(super) fn new(uri: String, lifetime: Duration) -> anyhow::Result<Self> {
        let public_key = public_key()?;
        Ok(Self { uri, lifetime, is_down: false, asked: 0, issued: 0, valid: HashMap::new(), public_key })
    }

    /// The file that the Firebase console would give out.
    pub(super) fn key_file(&self) -> String {
        let key = json!({
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "stand-in",
            "private_key": KEY,
            "client_email": EMAIL,
            "client_id": "1",
            "token_uri": self.uri,
        });
        format!("{key:#}\n")
    }

    /// Answers to a form: the status and the body.
    pub(super) fn grant(&mut self, form: &[u8]) -> (u16, Value) {
        self.asked += 1;
        if self.is_down {
            return (503, json!({"error": "temporarily_unavailable"}));
        }
        if let Err(description) = self.verify(form) {
            return (400, json!({"error": "invalid_grant", "error_description": description}));
        }
        self.issued += 1;
        let token = format!("ya29.stand-in-{}", self.issued);
        self.valid.insert(token.clone(), Instant::now() + self.lifetime);
        let lifetime = self.lifetime.as_secs();
        (200, json!({"access_token": token, "expires_in": lifetime, "token_type": "Bearer"}))
    }

    fn verify(&self, form: &[u8]) -> Result<(), String> {
        let fields: HashMap<_, _> = url::form_urlencoded::parse(form).into_owned().collect();
        if fields.get("grant_type").map(String::as_str) != Some(GRANT_TYPE) {
            return Err(format!("grant_type is not {GRANT_TYPE}"));
        }
        let assertion = fields.get("assertion").ok_or("assertion is missing")?;
        let (signed, signature) = assertion.rsplit_once('.').ok_or("assertion is not a JWT")?;
        let (header, claims) = signed.split_once('.').ok_or("assertion is not a JWT")?;
        let header = part(header)?;
        if header["alg"] != "RS256" {
            return Err("alg is not RS256".to_owned());
        }
        let signature = decoded(signature)?;
        self.public_key.verify(signed.as_bytes(), &signature).map_err(|_| "Invalid JWT Signature.")?;
        let claims = part(claims)?;
        let time = |name: &str| claims[name].as_u64().ok_or_else(|| format!("{name} is missing"));
        let (issued, expires) = (time("iat")?, time("exp")?);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let scope = claims["scope"].as_str().unwrap_or_default();
        let wrong = [
            ("iss", claims["iss"] != EMAIL),
            ("aud", claims["aud"] != self.uri.as_str()),
            ("scope", !scope.split(' ').any(|scope| SCOPES.contains(&scope))),
            ("exp", expires > issued + 3600 || expires <= now),
            ("iat", issued > now + 300),
        ];
        match wrong.into_iter().find(|(_, wrong)| *wrong) {
            Some((name, _)) => Err(format!("Invalid JWT: {name} is {}", claims[name])),
            None => Ok(()),
        }
    }

    /// Whether this `Authorization` lets its bearer send.
    pub(super) fn permits(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|text| text.strip_prefix("Bearer "));
        token.and_then(|token| self.valid.get(token)).is_some_and(|expires| Instant::now() < *expires)
    }

    pub(super) fn revoke(&mut self) {
        self.valid.clear();
    }
}

fn part(encoded: &str) -> Result<Value, String> {
    serde_json::from_slice(&decoded(encoded)?).map_err(|error| error.to_string())
}

/// With or without padding, which RFC 7515 leaves out, some clients do not, and Google ignores.
fn decoded(encoded: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(encoded.trim_end_matches('=')).map_err(|error| error.to_string())
}

fn public_key() -> anyhow::Result<UnparsedPublicKey<Vec<u8>>> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes())?;
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(anyhow::Error::msg)?;
    Ok(UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref().to_vec()))
}
