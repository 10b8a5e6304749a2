//! What is answered in place of a page.

use axum::response::{IntoResponse, Response};

use crate::api::Problem;

/// What is answered in place of a page: a problem, the page of a filter that cannot be read, or the way to an operation that goes on.
pub(super) struct Instead(Box<Response>);

impl Instead {
    pub(super) fn of(answer: Response) -> Self {
        Self(Box::new(answer))
    }
}

impl<E> From<E> for Instead
where
    Problem: From<E>,
{
    fn from(error: E) -> Self {
        Self::of(Problem::from(error).into_response())
    }
}

impl IntoResponse for Instead {
    fn into_response(self) -> Response {
        *self.0
    }
}
