//! A request to send.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use url::Url;

use crate::adapter::Permit;
use crate::recorder::Recorder;
use crate::setup::origin as origin_of;

/// A request to send.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) permit: Arc<dyn Permit>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, url, .. } = self;
        f.debug_struct("Request").field("method", method).field("origin", &origin_of(url)).finish_non_exhaustive()
    }
}
