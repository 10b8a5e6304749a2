//! Sessions: a cookie that says who may do what, and until when. It is sealed with the token by which the person signed in. So every
//! replica which has the same tokens knows it, and nothing of it is kept here. Where that token changes, its people sign in anew.
//!
//! Whoever sees a seal can try tokens on it. So a stranger sees none of a token, and whoever only reads sees none of `admin.token`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderValue, header};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::{Role, Tokens};

/// The length of a session, from signing in to its end.
pub(super) const LASTS: Duration = Duration::from_hours(12);

/// The length of the part of a seal that names the cookie.
const NAME_BYTES: usize = 4;

/// A person at a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// What the person may do. None: nothing, before they have signed in.
    pub(super) role: Option<Role>,
    /// The name of the person, for the audit. Nobody checks it.
    pub(super) name: String,
    /// When the session ends, in seconds since 1970.
    ends: u64,
    /// Makes each session another one, and so its form token.
    nonce: Uuid,
}

impl Session {
    /// A new session.
    pub(super) fn new(role: Option<Role>, name: &str) -> Self {
        Self { role, name: name.to_owned(), ends: now() + LASTS.as_secs(), nonce: Uuid::new_v4() }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A session, and its cookie.
#[derive(Debug, Clone)]
pub(super) struct Sealed {
    pub(super) session: Session,
    /// The value of the cookie.
    text: String,
}

/// The keys that seal sessions, and the name of the cookie that holds one.
pub(super) struct Seal {
    /// The key of those who have not signed in. Everybody may know it: their sessions give no right.
    of_strangers: hmac::Key,
    /// The keys of those who may read, who send again, and who operate. None where nobody can sign in as such.
    reads: Option<hmac::Key>,
    retries: Option<hmac::Key>,
    operates: Option<hmac::Key>,
    /// The name of the cookie.
    name: String,
}

fn key(secret: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

impl Seal {
    /// The seal of those who have these tokens. Without tokens it is that of the process, which has `own` alone. Cookies of other
    /// ports of a host come along: those of another `environment` have another name.
    pub(super) fn of(tokens: &Tokens, own: Uuid, environment: &str) -> Self {
        let of_strangers = key(b"outbox");
        let [reads, retries, operates] = if tokens.needed() {
            [&tokens.read, &tokens.retry, &tokens.operate]
                .map(|token| token.as_ref().map(|token| key(token.as_bytes())))
        } else {
            [None, None, Some(key(own.as_bytes()))]
        };
        let tag = hmac::sign(&of_strangers, environment.as_bytes());
        let name = format!("outbox_{}", BASE64.encode(&tag.as_ref()[..NAME_BYTES]));
        Self { of_strangers, reads, retries, operates, name }
    }

    fn key(&self, role: Option<Role>) -> Option<&hmac::Key> {
        match role {
            None => Some(&self.of_strangers),
            Some(Role::Read) => self.reads.as_ref(),
            Some(Role::Retry) => self.retries.as_ref(),
            Some(Role::Operate) => self.operates.as_ref(),
            Some(Role::Metrics) => None,
        }
    }

    /// Seals a session. That of a role which nobody has is opened by nobody.
    pub(super) fn seal(&self, session: Session) -> Sealed {
        let content = BASE64.encode(serde_json::to_vec(&session).unwrap_or_default());
        let key = self.key(session.role).unwrap_or(&self.of_strangers);
        let tag = BASE64.encode(hmac::sign(key, content.as_bytes()));
        Sealed { session, text: format!("{content}.{tag}") }
    }

    /// The session in a request's cookies. None where there is none, it has ended, or somebody else has written it.
    pub(super) fn opened(&self, headers: &HeaderMap) -> Option<Sealed> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find_map(|(its, text)| (its == self.name).then(|| self.open(text)).flatten())
    }

    fn open(&self, text: &str) -> Option<Sealed> {
        let (content, tag) = text.split_once('.')?;
        let session: Session = serde_json::from_slice(&BASE64.decode(content).ok()?).ok()?;
        hmac::verify(self.key(session.role)?, content.as_bytes(), &BASE64.decode(tag).ok()?).ok()?;
        (session.ends > now()).then(|| Sealed { session, text: text.to_owned() })
    }

    /// The token that a form of this session carries. A page on the web cannot know it, and no message either.
    pub(super) fn form_token(&self, sealed: &Sealed) -> String {
        let key = self.key(sealed.session.role).unwrap_or(&self.of_strangers);
        BASE64.encode(hmac::sign(key, &of_forms(sealed)))
    }

    /// Whether `token` is that of a form of this session.
    pub(super) fn is_form_token(&self, sealed: &Sealed, token: &str) -> bool {
        let token = BASE64.decode(token).unwrap_or_default();
        self.key(sealed.session.role).is_some_and(|key| hmac::verify(key, &of_forms(sealed), &token).is_ok())
    }

    /// The header that gives a browser this session.
    pub(super) fn cookie(&self, sealed: &Sealed, over_tls: bool) -> Option<HeaderValue> {
        self.header(&sealed.text, LASTS.as_secs(), over_tls)
    }

    /// The header that takes the session from a browser.
    pub(super) fn no_cookie(&self, over_tls: bool) -> Option<HeaderValue> {
        self.header("", 0, over_tls)
    }

    fn header(&self, value: &str, seconds: u64, over_tls: bool) -> Option<HeaderValue> {
        let secure = if over_tls { "; Secure" } else { "" };
        let cookie = format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.name);
        HeaderValue::try_from(cookie).ok()
    }
}

fn of_forms(sealed: &Sealed) -> Vec<u8> {
    ["form ", &sealed.text].concat().into_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    fn tokens(operate: &str, read: &str) -> Tokens {
        Tokens { operate: Some(operate.into()), read: Some(read.into()), ..Tokens::default() }
    }

    fn seal(tokens: &Tokens) -> Seal {
        Seal::of(tokens, Uuid::new_v4(), "default")
    }

    fn asking(seal: &Seal, sealed: &Sealed) -> HeaderMap {
        let cookie = seal.cookie(sealed, false).unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(format!("other=1; {pair}")).unwrap())])
    }

    #[test]
    fn each_replica_with_the_same_tokens_knows_a_session_and_its_forms() {
        let (one, other) = (seal(&tokens("a", "b")), seal(&tokens("a", "b")));
        let sealed = one.seal(Session::new(Some(Role::Read), "ada"));
        let opened = other.opened(&asking(&one, &sealed)).unwrap();
        assert_eq!(opened.session, sealed.session);
        assert!(other.is_form_token(&opened, &one.form_token(&sealed)));
    }

    #[test]
    fn a_session_of_other_tokens_or_of_another_process_without_any_is_none() {
        let sealed_by = |seal: &Seal| asking(seal, &seal.seal(Session::new(Some(Role::Operate), "")));
        for other in [tokens("ab", ""), tokens("b", "a"), Tokens::default()] {
            assert!(seal(&tokens("a", "b")).opened(&sealed_by(&seal(&other))).is_none(), "{other:?}");
        }
        assert!(seal(&tokens("a", "b")).opened(&sealed_by(&seal(&tokens("a", "c")))).is_some(), "who operates goes on");
        let own = seal(&Tokens::default());
        assert!(own.opened(&sealed_by(&seal(&Tokens::default()))).is_none());
    }

    #[test]
    fn a_session_that_somebody_changed_or_that_has_ended_is_none() {
        let seal = seal(&tokens("a", "b"));
        let sealed = seal.seal(Session::new(Some(Role::Read), "ada"));
        let (content, tag) = sealed.text.split_once('.').unwrap();
        let content = String::from_utf8(BASE64.decode(content).unwrap()).unwrap().replace("read", "operate");
        assert!(seal.open(&format!("{}.{tag}", BASE64.encode(content))).is_none());
        assert!(seal.open("").is_none() && seal.open(".").is_none() && seal.open("a.b").is_none());
        let ended = seal.seal(Session { ends: now(), ..Session::new(Some(Role::Read), "ada") });
        assert!(seal.open(&ended.text).is_none());
    }

    #[test]
    fn whoever_knows_the_token_that_reads_makes_no_session_that_operates() {
        let reads_only = Tokens { read: Some("b".into()), ..Tokens::default() };
        for tokens in [tokens("a", "b"), reads_only] {
            let seal = seal(&tokens);
            for known in [key(b"b"), key(b"outbox")] {
                let reader = Seal { operates: Some(known), ..Seal::of(&tokens, Uuid::new_v4(), "default") };
                let made = reader.seal(Session::new(Some(Role::Operate), ""));
                assert!(seal.open(&made.text).is_none() && !seal.is_form_token(&made, &reader.form_token(&made)));
            }
            let sealed = seal.seal(Session::new(Some(Role::Operate), ""));
            assert_eq!(seal.open(&sealed.text).is_some(), tokens.operate.is_some());
        }
    }

    #[test]
    fn a_form_token_is_that_of_one_session() {
        let seal = seal(&tokens("a", "b"));
        let session = || seal.seal(Session::new(Some(Role::Operate), ""));
        let (one, other) = (session(), session());
        assert!(!seal.is_form_token(&one, &seal.form_token(&other)) && !seal.is_form_token(&one, ""));
    }

    #[test]
    fn a_cookie_is_for_this_site_alone_and_for_no_script() {
        let seal = seal(&tokens("a", "b"));
        let sealed = seal.seal(Session::new(None, ""));
        let shown = |tls| seal.cookie(&sealed, tls).unwrap().to_str().unwrap().to_owned();
        assert!(shown(false).ends_with("; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"), "{}", shown(false));
        assert!(shown(true).ends_with("; SameSite=Strict; Secure"), "{}", shown(true));
    }
}
