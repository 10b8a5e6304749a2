//! Signatures of Standard Webhooks 1.0 (<https://www.standardwebhooks.com>). They tell a receiver who sent a message
//! and when, and that it was not changed on its way.

use std::fmt;
use std::time::SystemTime;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use ring::signature::Ed25519KeyPair;

use super::settings::Secret;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The headers that only the signer sets.
pub(super) const HEADERS: [HeaderName; 3] = [ID, TIMESTAMP, SIGNATURE];

/// The allowed forms of a key, for errors.
const ALLOWED: &str = "allowed is \"whsec_\" and the base64 of 24 to 64 random bytes, or \"whsk_\" and the base64 of an \
                       ed25519 secret key (32 bytes of seed, or 64 of seed and public key)";

/// Signing keys come with and without the padding of base64.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Signs with each of its keys, so that a receiver can get a new key before the old one goes.
#[derive(Debug)]
pub(super) struct Signer(Vec<Key>);

enum Key {
    /// HMAC-SHA256: the receiver has the same key.
    Symmetric(hmac::Key),
    /// Ed25519: the receiver has only the public key.
    Asymmetric(Ed25519KeyPair),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Symmetric(_) => "whsec_***",
            Self::Asymmetric(_) => "whsk_***",
        })
    }
}

impl Signer {
    /// A signer with those keys. None where there are no keys. Errors say which key is wrong, and never show it.
    pub(super) fn new(secrets: &[Secret]) -> Result<Option<Self>, String> {
        let key = |(place, secret): (usize, &Secret)| {
            secret
                .reveal()
                .and_then(|text| Key::parse(&text))
                .map_err(|problem| format!("key {}: {problem}", place + 1))
        };
        let keys: Vec<Key> = secrets.iter().enumerate().map(key).collect::<Result<_, _>>()?;
        Ok((!keys.is_empty()).then_some(Self(keys)))
    }

    /// Adds the headers of an attempt that is made `now` with exactly this body. The error says why the idempotency key
    /// cannot be signed.
    pub(super) fn sign(&self, headers: &mut HeaderMap, key: &str, now: SystemTime, body: &[u8]) -> Result<(), String> {
        if !key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.') {
            // With a full stop in the id, its end could be taken for the time.
            return Err("the idempotency key cannot be signed as webhook-id: use printable ASCII without spaces and \
                        full stops"
                .to_owned());
        }
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let values = [key.to_owned(), seconds.to_string(), self.signatures(key, seconds, body)];
        for (name, value) in HEADERS.into_iter().zip(values) {
            let value = HeaderValue::try_from(value).map_err(|_| format!("{name} cannot be sent as a header"))?;
            headers.insert(name, value);
        }
        Ok(())
    }

    /// The value of `webhook-signature`.
    fn signatures(&self, id: &str, seconds: u64, body: &[u8]) -> String {
        let text = [format!("{id}.{seconds}.").as_bytes(), body].concat();
        let signatures: Vec<String> = self.0.iter().map(|key| key.signature(&text)).collect();
        signatures.join(" ")
    }
}

impl Key {
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = |base64: &str| BASE64.decode(base64).map_err(|_| format!("its base64 is broken; {ALLOWED}"));
        if let Some(base64) = text.strip_prefix("whsec_") {
            let secret = bytes(base64)?;
            if !(24..=64).contains(&secret.len()) {
                return Err(format!("it holds {} bytes; {ALLOWED}", secret.len()));
            }
            Ok(Self::Symmetric(hmac::Key::new(hmac::HMAC_SHA256, &secret)))
        } else if let Some(base64) = text.strip_prefix("whsk_") {
            let secret = bytes(base64)?;
            let pair = match secret.split_at_checked(32) {
                Some((seed, [])) => Ed25519KeyPair::from_seed_unchecked(seed),
                Some((seed, public)) => Ed25519KeyPair::from_seed_and_public_key(seed, public),
                None => return Err(format!("it holds {} bytes; {ALLOWED}", secret.len())),
            };
            pair.map(Self::Asymmetric)
                .map_err(|_| format!("its seed and its public key do not belong together; {ALLOWED}"))
        } else if text.starts_with("whpk_") {
            Err(format!("it is a public key, which belongs to the receiver; {ALLOWED}"))
        } else {
            Err(format!("it has neither prefix; {ALLOWED}"))
        }
    }

    fn signature(&self, text: &[u8]) -> String {
        match self {
            Self::Symmetric(key) => format!("v1,{}", STANDARD.encode(hmac::sign(key, text))),
            Self::Asymmetric(pair) => format!("v1a,{}", STANDARD.encode(pair.sign(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const PAIR: &str = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
    const SEED: &str = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=";

    fn signer(keys: &[&str]) -> Result<Option<Signer>, String> {
        let secrets: Vec<Secret> = keys.iter().map(|key| Secret::Literal((*key).to_owned())).collect();
        Signer::new(&secrets)
    }

    fn signed(keys: &[&str], id: &str, seconds: u64, body: &str) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 999);
        signer(keys)?.unwrap().sign(&mut headers, id, now, body.as_bytes())?;
        Ok(headers)
    }

    /// The reference libraries have this case in their tests:
    /// <https://github.com/standard-webhooks/standard-webhooks/tree/main/libraries>.
    #[test]
    fn a_symmetric_signature_is_that_of_the_reference_libraries() {
        let body = r#"{"email":"test@example.com","username":"test_user"}"#;
        for secret in [SECRET, SECRET.trim_end_matches('=')] {
            let headers = signed(&[secret], "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body).unwrap();
            assert_eq!(headers["webhook-id"], "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk");
            assert_eq!(headers["webhook-timestamp"], "1649367553");
            assert_eq!(headers["webhook-signature"], "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
        }
    }

    #[test]
    fn an_asymmetric_signature_is_that_of_the_reference_libraries() {
        let expected = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
        for key in [PAIR, PAIR.trim_end_matches('='), SEED] {
            let body = r#"{"test": 2432232314}"#;
            let headers = signed(&[key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body).unwrap();
            assert_eq!(headers["webhook-signature"], expected, "{key}");
        }
    }

    #[test]
    fn every_key_signs_so_that_keys_can_be_rotated() {
        let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let one = |key| signed(&[key], "a", 1, "{}").unwrap()["webhook-signature"].to_str().unwrap().to_owned();
        let all = signed(&[other, SECRET, PAIR], "a", 1, "{}").unwrap();
        assert_eq!(all["webhook-signature"], [one(other), one(SECRET), one(PAIR)].join(" "));
        assert!(signer(&[]).unwrap().is_none(), "without a key nothing is signed");
    }

    #[test]
    fn a_wrong_key_is_refused_by_its_place_with_what_is_allowed_and_is_not_shown() {
        let swapped = PAIR.replace("whsk_6", "whsk_7");
        for (key, said) in [
            ("s3cretC2FVsBQIhrscChlQIMV+b5sSYspob7oD", "neither prefix"),
            ("whsec_s3cret!", "base64 is broken"),
            ("whsec_C2FVsBQIhrscChlQIMV", "bytes"),
            ("whsec_c2hvcnQ=", "it holds 5 bytes"),
            ("whsk_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "it holds 24 bytes"),
            (&swapped, "do not belong together"),
            ("whpk_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "a public key"),
        ] {
            let refused = signer(&[SECRET, key]).unwrap_err();
            assert!(refused.starts_with("key 2: ") && refused.contains(said), "{refused}");
            assert!(refused.contains("\"whsec_\" and the base64 of 24 to 64 random bytes"), "{refused}");
            assert!(!refused.contains(&key[6..]), "{refused}");
        }
        let long = format!("whsec_{}", STANDARD.encode([1; 65]));
        assert!(signer(&[&long]).unwrap_err().contains("it holds 65 bytes"));
        assert!(!format!("{:?}", signer(&[SECRET, PAIR]).unwrap()).contains("C2FV"));
    }

    #[test]
    fn an_idempotency_key_that_would_make_the_signed_text_ambiguous_is_refused() {
        for id in ["order.1", "a.1700000000", "ключ", "a b", "a\r\nb"] {
            assert!(signed(&[SECRET], id, 1, "{}").unwrap_err().contains("webhook-id"), "{id}");
        }
    }

    proptest! {
        #[test]
        fn no_key_panics_and_a_refusal_shows_none(
            prefix in "whsec_|whsk_|whpk_|.{0,6}",
            base64 in "[A-Za-z0-9+/]{0,100}={0,2}|\\PC{0,40}",
        ) {
            let key = format!("{prefix}{base64}");
            match signer(&[&key]) {
                Ok(signer) => drop(signer.map(|signer| signer.sign(&mut HeaderMap::new(), "a", SystemTime::UNIX_EPOCH, b"{}"))),
                Err(refused) if base64.len() > 12 => prop_assert!(!refused.contains(&base64), "{}", refused),
                Err(_) => {}
            }
        }
    }
}
