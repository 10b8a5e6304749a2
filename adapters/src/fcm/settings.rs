//! The settings of a channel of kind `fcm`: `[channels.NAME]`. `kind` reads them.

use std::time::Duration;

use ipnet::IpNet;

use crate::setup::TlsRoots;

/// `[channels.NAME]` of kind `fcm`. Every value comes from the settings file or the embedded default file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The Firebase project. Empty: the project that the credentials file names.
    pub project_id: String,
    /// The key file of a service account; its `token_uri` is used. Empty: application default credentials
    /// (<https://cloud.google.com/docs/authentication/application-default-credentials>).
    pub credentials: String,
    /// `https://fcm.googleapis.com`, or the URL of a stand-in for it.
    pub base_url: String,
    /// The kinds of targets that rows may name, of [`FcmTarget::FIELDS`](outbox_schema::FcmTarget::FIELDS).
    pub targets: Vec<&'static str>,
    /// Networks that are not public and that this channel may reach. They do not apply to the fetching of tokens: the
    /// credentials say where to fetch them.
    pub allow_networks: Vec<IpNet>,
    /// A PEM file of certificate authorities that are trusted for `base_url`. Empty: none.
    pub tls_ca: String,
    /// The authorities that are trusted for it besides.
    pub tls_roots: TlsRoots,
    /// The age from which a connection takes no more requests.
    pub max_connection_age: Duration,
}
