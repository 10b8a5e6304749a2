//! A certificate authority of the stand-in's own, and a certificate of it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::files::write;

/// What speaks TLS for those names, and the authority's certificate in PEM. The authority's key is kept in the directory:
/// who trusts it goes on trusting one that is started there again.
pub(super) fn acceptor(names: &[String], directory: &Path) -> anyhow::Result<(TlsAcceptor, String)> {
    let authority_key = kept_key(&directory.join("ca-key.pem"))?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "Authority of a stand-in for FCM");
    let authority_certificate = authority.self_signed(&authority_key)?;
    let key = KeyPair::generate()?;
    let issuer = Issuer::new(authority, authority_key);
    let mut certificate = CertificateParams::new(names.to_vec())?;
    certificate.distinguished_name.push(DnType::CommonName, "A stand-in for FCM");
    certificate.use_authority_key_identifier_extension = true;
    let certificate = certificate.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((TlsAcceptor::from(Arc::new(config)), authority_certificate.pem()))
}

fn kept_key(path: &Path) -> anyhow::Result<KeyPair> {
    if let Ok(kept) = std::fs::read_to_string(path) {
        return KeyPair::from_pem(&kept).with_context(|| format!("{} is no key: remove it", path.display()));
    }
    let key = KeyPair::generate()?;
    write(path, &key.serialize_pem())?;
    Ok(key)
}
