//! The files that a page brings: its stylesheet, its own small script, and the script htmx as its package has it.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};

/// The length of the part of a hash that names a version of a file.
const VERSION_BYTES: usize = 6;

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asset {
    path: &'static str,
    media_type: &'static str,
    text: &'static str,
}

/// The stylesheet.
pub(crate) const STYLE: Asset =
    Asset { path: "/assets/style.css", media_type: "text/css; charset=utf-8", text: include_str!("style.css") };

/// htmx 4.0.1, `dist/htmx.min.js` of the npm package `htmx.org`. Its licence, Zero-Clause BSD, lies beside it.
pub(crate) const SCRIPT: Asset =
    Asset { path: "/assets/htmx.js", media_type: "text/javascript; charset=utf-8", text: include_str!("htmx.min.js") };

/// Times in the reader's zone, buttons that copy, and what happens where a replica does not answer.
pub(crate) const OWN_SCRIPT: Asset =
    Asset { path: "/assets/page.js", media_type: "text/javascript; charset=utf-8", text: include_str!("page.js") };

/// The icon of a browser's tab: a box, and an arrow that leaves it.
pub(crate) const ICON: Asset =
    Asset { path: "/assets/icon.svg", media_type: "image/svg+xml", text: include_str!("icon.svg") };

impl Asset {
    /// The address, which is another one for another content: a browser may keep the file for good.
    pub(crate) fn address(&self) -> String {
        let hash = digest(&SHA256, self.text.as_bytes());
        format!("{}?{}", self.path, BASE64.encode(&hash.as_ref()[..VERSION_BYTES]))
    }

    /// The media type of the file.
    pub(crate) fn media_type(&self) -> &'static str {
        self.media_type
    }

    fn answer(&self) -> impl IntoResponse + use<> {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.media_type)),
            (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        (headers, self.text)
    }
}

/// The files are the same for everybody, and need no session.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let route = |asset: Asset| get(async move || asset.answer());
    let all = [STYLE, SCRIPT, OWN_SCRIPT, ICON];
    all.into_iter().fold(Router::new(), |router, asset| router.route(asset.path, route(asset)))
}
