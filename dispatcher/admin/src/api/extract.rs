//! The parts of a request, read for the handlers. What cannot be read is told in the form of a problem.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::{Kind, Problem};
use super::requests::Page;
use super::words::in_words;

/// The id in the path.
pub(crate) struct Id(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(id) = Path::<String>::from_request_parts(parts, state).await?;
        let wrong = |_| Problem::new(Kind::BadRequest, format!("{id:?} is not the id of a row, which is a number"));
        id.parse().map(Self).map_err(wrong)
    }
}

/// A JSON body. A request without one, or with another content type, is refused: a web page can make a browser send
/// such requests to any address.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Json(body) = Json::<T>::from_request(request, state).await?;
        Ok(Self(body))
    }
}

/// The query of the URL.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Ok(Self(parameters(parts.uri.query().unwrap_or(""), |_| true)?))
    }
}

/// A filter and a page of its results, both in the query.
pub(super) struct Filtered<F> {
    pub(super) filter: F,
    pub(super) page: Page,
}

impl<F: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Filtered<F> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or("");
        let of_page = |name: &str| matches!(name, "after" | "limit");
        let filter = parameters(query, |name| !of_page(name)).map_err(|mut problem| {
            if problem.detail.contains("unknown field") {
                problem.detail += "; and, of the page, `limit` and `after`";
            }
            problem
        });
        Ok(Self { filter: filter?, page: parameters(query, of_page)? })
    }
}

/// Reads those parameters of a query that are `meant`. An error names the parameter. A value with NUL is refused: no
/// name has one, and PostgreSQL takes no such text.
pub(crate) fn parameters<T: DeserializeOwned>(query: &str, meant: impl Fn(&str) -> bool) -> Result<T, Problem> {
    let pairs = || url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| meant(name));
    let wrong = |detail: String| Problem::new(Kind::BadRequest, detail);
    if let Some((name, value)) = pairs().find(|(_, value)| value.contains('\0')) {
        return Err(wrong(format!("{name} = {value:?}: it holds NUL (%00), and nothing is called so")));
    }
    let chosen = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs()).finish();
    let read = serde_urlencoded::Deserializer::new(url::form_urlencoded::parse(chosen.as_bytes()));
    serde_path_to_error::deserialize(read).map_err(|error| {
        let (place, error) = (error.path().to_string(), error.inner());
        match pairs().find(|(name, _)| *name == place) {
            Some((name, value)) => wrong(format!("{name} = {value:?}: {}", in_words(&error.to_string()))),
            // A parameter is missing, and the error has its name.
            None => wrong(error.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use outbox_desk::{DeadLetterFilter, MessageFilter};

    use super::*;
    use crate::api::ByKey;

    /// The detail of the problem with a query.
    fn refused<T: DeserializeOwned + std::fmt::Debug>(query: &str) -> String {
        let problem = parameters::<T>(query, |_| true).unwrap_err();
        assert_eq!((problem.kind, problem.status), (Kind::BadRequest, 400), "{query}");
        problem.detail
    }

    #[test]
    fn what_is_wrong_with_a_parameter_is_said_with_its_name() {
        for (said, begins) in [
            (refused::<Page>("limit=abc"), "limit = \"abc\": "),
            (refused::<Page>("after=1&limit=-1"), "limit = \"-1\": "),
            (refused::<MessageFilter>("priority=-1"), "priority = \"-1\": "),
            (refused::<MessageFilter>("status=x"), "status = \"x\": "),
            (refused::<DeadLetterFilter>("status_code=abc"), "status_code = \"abc\": "),
            (refused::<DeadLetterFilter>("channel=http&since=x"), "since = \"x\": "),
            (refused::<ByKey>("key=a%00b"), "key = \"a\\0b\": it holds NUL"),
            (refused::<ByKey>(""), "missing field `key`"),
            (refused::<ByKey>("key=a&chanel=b"), "chanel = \"b\": unknown field"),
        ] {
            assert!(said.starts_with(begins), "{said}");
        }
    }

    #[tokio::test]
    async fn the_parameters_of_a_page_are_among_those_that_are_expected() {
        let request = axum::http::Request::get("/api/v1/messages?limit=1&foo=1").body(()).unwrap();
        let read = Filtered::<MessageFilter>::from_request_parts(&mut request.into_parts().0, &()).await;
        let problem = read.map(|_| ()).unwrap_err();
        assert!(problem.detail.starts_with("foo = \"1\": unknown field"), "{}", problem.detail);
        assert!(problem.detail.ends_with("; and, of the page, `limit` and `after`"), "{}", problem.detail);
    }

    #[test]
    fn what_is_wrong_with_a_value_is_said_in_words_for_people() {
        let number = "it must be a whole number that is not too large";
        assert_eq!(refused::<Page>("limit=abc"), format!("limit = \"abc\": {number}"));
        assert_eq!(refused::<MessageFilter>("priority=9"), "priority = \"9\": it must be 0, 1, 2 or 3");
        let status = refused::<MessageFilter>("status=foo");
        assert_eq!(status, "status = \"foo\": `foo` is not known; it must be one of `PENDING`, `SUCCESS`, `DEAD`");
        let in_a_body = "unknown variant `x`, expected one of `DEAD`, `dead`, `LOST`, `lost` at line 1";
        assert_eq!(in_words(in_a_body), "`x` is not known; it must be one of `DEAD`, `LOST` at line 1");
        let body = "Failed to deserialize the JSON body into the target type: author: missing field `by` at line 1";
        assert_eq!(in_words(body), "in the JSON: author: missing field `by` at line 1");
    }

    #[test]
    fn a_place_in_a_list_that_is_none_is_said_in_words_for_people() {
        let page = Page { after: Some("x".to_owned()), limit: None };
        let problem = page.cursor::<i64>().unwrap_err();
        assert_eq!(problem.detail, "after = \"x\": it must be a whole number that is not too large");
    }

    #[test]
    fn parameters_that_are_not_meant_are_for_somebody_else() {
        let page: Page = parameters("channel=%00&limit=7", |name| name == "limit").unwrap();
        assert_eq!(page.limit, Some(7));
    }
}
