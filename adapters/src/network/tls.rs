//! How origins are spoken to over TLS: all alike, but for the certificate that some are shown.

use std::sync::Arc;

use rustls::ClientConfig;
use tokio_rustls::TlsConnector;
use url::Url;

/// The TLS of a channel.
pub(crate) struct Tls {
    plain: TlsConnector,
    certified: Option<Certified>,
}

struct Certified {
    tls: TlsConnector,
    /// The origin of this alone is shown the certificate; none: whoever asks for one.
    only_to: Option<Url>,
}

impl Tls {
    /// The same for all.
    pub(crate) fn new(plain: ClientConfig) -> Self {
        Self { plain: Arc::new(plain).into(), certified: None }
    }

    /// Shows a certificate, by `certified`, to the origin of `only_to`, or to whoever asks for one.
    pub(crate) fn with_certificate(self, certified: ClientConfig, only_to: Option<Url>) -> Self {
        Self { certified: Some(Certified { tls: Arc::new(certified).into(), only_to }), ..self }
    }

    /// How the origin of `url` is spoken to.
    pub(crate) fn to(&self, url: &Url) -> &TlsConnector {
        self.certified(url).map_or(&self.plain, |certified| &certified.tls)
    }

    /// Whether the origin of `url` is shown a certificate, should it ask for one.
    pub(crate) fn shows_certificate(&self, url: &Url) -> bool {
        url.scheme() == "https" && self.certified(url).is_some()
    }

    fn certified(&self, url: &Url) -> Option<&Certified> {
        let certified = self.certified.as_ref()?;
        let may_see = certified.only_to.as_ref().is_none_or(|only| only.origin() == url.origin());
        may_see.then_some(certified)
    }
}
