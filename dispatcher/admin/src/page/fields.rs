//! What a person asks for: the fields of the address, and those of a form. A field that is left empty is not there.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::form_urlencoded::{Serializer, parse};

use super::page_state::PageState;
use super::request_context::{RequestContext, TOKEN_FIELD};
use crate::api::extract::parameters;
use crate::api::requests::Through;
use crate::api::{Authored, Problem};

/// Fields that are no part of a filter.
const OF_PAGE: [&str; 1] = ["after"];

/// The fields of the author of a change.
pub(super) const AUTHOR: [&str; 2] = ["by", "why"];

/// The fields of a request, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    fn of(text: &[u8]) -> Self {
        let full = parse(text).filter(|(_, value)| !value.trim().is_empty());
        Self(full.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The first value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// All values of a field.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// Whether the box of this name is ticked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Reads all fields.
    ///
    /// # Errors
    /// A field is not known, or its value not allowed. The problem names the field.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        parameters(&self.query(), |_| true)
    }

    /// Those fields that are, or are not, among `names`.
    pub(super) fn among(&self, names: &[&str], are: bool) -> Self {
        let among = |(name, _): &&(String, String)| names.contains(&name.as_str()) == are;
        Self(self.0.iter().filter(among).cloned().collect())
    }

    /// The filter: all but what says which page of the list is meant.
    pub(super) fn filter(&self) -> Self {
        self.among(&OF_PAGE, false)
    }

    /// Reads the filter of a list, and where its page before ended.
    ///
    /// # Errors
    /// As for [`Self::read`]; or no page of a list ends there.
    pub(super) fn of_list<F, C>(&self) -> Result<(F, Option<C>), Problem>
    where
        F: DeserializeOwned,
        C: std::str::FromStr<Err: std::fmt::Display>,
    {
        Ok((self.filter().read()?, self.after()?))
    }

    /// The cursor at which the page before ended.
    pub(super) fn after<C: std::str::FromStr<Err: std::fmt::Display>>(&self) -> Result<Option<C>, Problem> {
        crate::api::Page { after: self.get("after").map(str::to_owned), limit: None }.cursor()
    }

    /// The author of a change, and the reason.
    pub(super) fn author(&self) -> Authored {
        let text = |name| self.get(name).unwrap_or_default().trim().to_owned();
        Authored { by: text("by"), why: text("why"), through: Through::Page }
    }

    /// The same with another value of one field.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut fields = self.among(&[name], false);
        fields.0.push((name.to_owned(), value.to_owned()));
        fields
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The address of `path` with these fields.
    pub(super) fn at(&self, path: &str) -> String {
        if self.0.is_empty() { path.to_owned() } else { format!("{path}?{}", self.query()) }
    }

    /// The fields as hidden ones of a form.
    pub(super) fn hidden(&self) -> Markup {
        html! {
            @for (name, value) in &self.0 {
                input type="hidden" name=(name) value=(value);
            }
        }
    }

    fn query(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }
}

/// The fields of an address.
pub(super) struct Asked(pub(super) Fields);

/// A form of a browser sends its empty fields too. The address without them is led to, since it is the one to pass on.
impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        let fields = Fields::of(query);
        if fields.0.len() < parse(query).count() {
            return Err(Redirect::to(&fields.at(parts.uri.path())).into_response());
        }
        Ok(Self(fields))
    }
}

/// A page that is asked for: of what state, by whom, and with which fields.
pub(super) type Get = (State<PageState>, RequestContext, Asked);

/// A form that was sent: to what state, by whom, and with which fields.
pub(super) type Post = (State<PageState>, RequestContext, Sent);

/// The fields of a page without a filter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoFields {}

/// What a form of a list sends that does something to what has a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named<A> {
    pub(super) name: String,
    pub(super) action: A,
}

/// An address without fields. One with any is refused: whoever filtered a page that has no filter would believe
/// that it shows what they asked for.
pub(super) struct Plain;

impl<S: Send + Sync> FromRequestParts<S> for Plain {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let Asked(asked) = Asked::from_request_parts(parts, state).await?;
        let NoFields {} = asked.read().map_err(IntoResponse::into_response)?;
        Ok(Self)
    }
}

/// The fields of a form.
pub(super) struct Sent(pub(super) Fields);

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let named = request.extensions().get::<RequestContext>().and_then(|context| context.named.clone());
        let body = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        // A browser ends lines as HTTP does: https://html.spec.whatwg.org/#constructing-the-form-data-set
        let fields = Fields::of(&body).among(&[TOKEN_FIELD], false);
        let fields = Fields(fields.0.into_iter().map(|(name, value)| (name, value.replace("\r\n", "\n"))).collect());
        // Whatever the form says.
        Ok(Self(match named {
            Some(named) => fields.with("by", &named),
            None => fields,
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use outbox_desk::MessageFilter;

    use super::*;

    #[test]
    fn an_empty_field_is_not_there_and_the_others_are_an_address() {
        let fields = Fields::of(b"status=&channel=a%26b&destination=+");
        assert_eq!(fields.at("/messages"), "/messages?channel=a%26b");
        assert_eq!(fields.with("after", "7").at("/messages"), "/messages?channel=a%26b&after=7");
        let filter: MessageFilter = fields.filter().read().unwrap();
        assert_eq!(filter, MessageFilter { channel: Some("a&b".to_owned()), ..MessageFilter::default() });
        assert_eq!(Fields::default().at("/"), "/");
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        let wrong = Fields::of(b"status=lost").read::<MessageFilter>().unwrap_err();
        assert!(wrong.detail.starts_with("status = \"lost\""), "{}", wrong.detail);
        let unknown = Fields::of(b"chanel=a").read::<MessageFilter>().unwrap_err();
        assert!(unknown.detail.contains("chanel"), "{}", unknown.detail);
    }
}
