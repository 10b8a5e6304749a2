//! The settings of a channel of kind `fcm`: `[channels.NAME]`. The dispatcher reads and checks them (`config/check/channel.rs`).

use ipnet::IpNet;

/// `[channels.NAME]` of kind `fcm`. Every value comes from the settings file or the embedded default file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The Firebase project. Empty: the one that the credentials file names.
    pub project_id: String,
    /// A service account's key file; its `token_uri` is used. Empty: application default credentials
    /// (<https://cloud.google.com/docs/authentication/application-default-credentials>).
    pub credentials: String,
    /// `https://fcm.googleapis.com`, or what stands in for it.
    pub base_url: String,
    /// Networks that are not public and that this channel may reach all the same. Tokens are fetched past it:
    /// the credentials say from where.
    pub allow_networks: Vec<IpNet>,
    /// A PEM file of certificate authorities trusted besides the system's for `base_url`. Empty: none.
    pub tls_ca: String,
}
