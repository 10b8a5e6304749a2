//! Servers whose certificate is their own authority, as `openssl req -x509` makes one. webpki takes no authority for a server. Where
//! `tls_ca` names that very certificate, it is trusted, for its names and in its time.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Verifies servers, and also takes a certificate that `tls_ca` names byte for byte.
#[derive(Debug)]
pub(crate) struct OwnAuthority {
    /// The certificates of `tls_ca`.
    named: Vec<CertificateDer<'static>>,
    by_named: Arc<WebPkiServerVerifier>,
    /// What verifies all servers but those.
    others: Arc<dyn ServerCertVerifier>,
}

impl OwnAuthority {
    /// The verifier that trusts `named`, which are also in `roots`, and beside them what `system` trusts. None where `named` holds
    /// no authority.
    pub(crate) fn verifier(
        named: Vec<CertificateDer<'static>>,
        roots: &RootCertStore,
        system: Option<Arc<dyn ServerCertVerifier>>,
        provider: &Arc<CryptoProvider>,
    ) -> Option<Arc<dyn ServerCertVerifier>> {
        let by_named = WebPkiServerVerifier::builder_with_provider(Arc::new(roots.clone()), Arc::clone(provider));
        let by_named = by_named.build().ok()?;
        let others = system.unwrap_or_else(|| Arc::clone(&by_named) as _);
        Some(Arc::new(Self { named, by_named, others }))
    }
}

/// Whether webpki refused a certificate only since it is an authority. It has looked at the dates before.
fn is_an_authority(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::Other(other)) => other.0.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

impl ServerCertVerifier for OwnAuthority {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.named.iter().any(|named| named == end_entity) {
            let verified = self.by_named.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
            if verified.is_err_and(|error| is_an_authority(&error)) {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                return Ok(ServerCertVerified::assertion());
            }
        }
        self.others.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_named.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_named.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_named.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    /// A certificate of `host` that signs itself, an authority or none.
    fn signs_itself(host: &str, is_ca: IsCa) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.is_ca = is_ca;
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2030, 1, 1));
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn authority(host: &str) -> CertificateDer<'static> {
        signs_itself(host, IsCa::Ca(BasicConstraints::Unconstrained))
    }

    fn at(year: u64) -> UnixTime {
        UnixTime::since_unix_epoch(Duration::from_hours((year - 1970) * 8766))
    }

    /// What becomes of a server that shows `shown` as `host`, where `named` is in `tls_ca`.
    fn verify(
        named: &CertificateDer<'static>,
        shown: &CertificateDer<'_>,
        host: &'static str,
        now: UnixTime,
    ) -> Result<(), Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(named.clone()).unwrap();
        let verifier = OwnAuthority::verifier(vec![named.clone()], &roots, None, &provider).unwrap();
        verifier.verify_server_cert(shown, &[], &ServerName::try_from(host).unwrap(), &[], now).map(drop)
    }

    #[test]
    fn a_certificate_that_is_named_as_its_own_authority_is_trusted_for_its_name_and_in_its_time() {
        for named in [authority("db.example"), signs_itself("db.example", IsCa::ExplicitNoCa)] {
            assert_eq!(verify(&named, &named, "db.example", at(2026)), Ok(()));
            for (host, now) in [("other.example", at(2026)), ("db.example", at(2019)), ("db.example", at(2031))] {
                assert!(verify(&named, &named, host, now).is_err(), "{host} {now:?}");
            }
        }
    }

    #[test]
    fn another_certificate_of_the_same_name_is_not_trusted() {
        let (named, other) = (authority("db.example"), authority("db.example"));
        assert!(verify(&named, &other, "db.example", at(2026)).is_err());
    }
}
