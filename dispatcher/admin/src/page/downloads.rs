//! Lists as files: CSV for a spreadsheet, JSON for a program.

use std::borrow::Cow;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use outbox_desk::{AuditFilter, Desk, DeskError, InvalidTarget, ListedAudit};
use serde::{Deserialize, Serialize};

use super::PageState;
use super::fields::Asked;
use super::links::MOST;
use super::request_context::RequestContext;
use crate::api::{Kind, Problem};
use outbox_console::text::visible;

/// The rows that are asked for at a time.
const PAGE: u32 = 1_000;

/// What a spreadsheet takes for a formula begins so: <https://owasp.org/www-community/attacks/CSV_Injection>.
const FORMULAS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    Csv,
    Json,
}

pub(super) async fn audit(
    State(page_state): State<PageState>,
    context: RequestContext,
    format: Result<Path<Format>, PathRejection>,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let (Path(format), filter): (_, AuditFilter) = (format?, asked.read()?);
    let (database, redaction) = (page_state.api_state.database, context.redaction);
    let entries = all(|after| {
        let (database, filter) = (database.clone(), filter.clone());
        async move {
            let page = redaction.of_audit(outbox_desk::audits(&database, &filter, after, PAGE).await?);
            Ok((page.entries, page.next))
        }
    });
    let heading = ["id", "at", "who", "action", "message_id", "why", "details", "part_of"];
    let record = |ListedAudit { entry, message_id }: &ListedAudit| {
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        [
            entry.id.to_string(),
            entry.at.clone(),
            entry.who.clone(),
            entry.action.clone(),
            number(*message_id),
            entry.why.clone().unwrap_or_default(),
            entry.details.clone().unwrap_or_default(),
            number(entry.part_of),
        ]
    };
    file(format, "audit", &entries.await?, heading, record)
}

pub(super) async fn invalid_targets(
    State(page_state): State<PageState>,
    format: Result<Path<Format>, PathRejection>,
    Asked(asked): Asked,
) -> Result<Response, Problem> {
    let Path(format) = format?;
    let selection = super::invalid_targets::selection(&asked)?;
    let database = page_state.api_state.database;
    let targets = all(|after| {
        let (database, selection) = (database.clone(), selection.clone());
        async move {
            let page = database.invalid_targets(&selection, after, PAGE).await?;
            Ok((page.targets, page.next))
        }
    });
    let heading = ["id", "channel", "target", "reason", "observed_at"];
    let record = |target: &InvalidTarget| {
        let InvalidTarget { id, channel, target, reason, observed_at } = target.clone();
        [id.to_string(), channel, target, reason.unwrap_or_default(), observed_at]
    };
    file(format, "invalid-targets", &targets.await?, heading, record)
}

/// The rows of all pages, up to [`MOST`].
async fn all<T, Answer>(mut page: impl FnMut(Option<i64>) -> Answer) -> Result<Vec<T>, DeskError>
where
    Answer: Future<Output = Result<(Vec<T>, Option<i64>), DeskError>>,
{
    let (mut rows, mut next) = page(None).await?;
    while let (Some(after), true) = (next, rows.len() < MOST) {
        let more;
        (more, next) = page(Some(after)).await?;
        rows.extend(more);
    }
    rows.truncate(MOST);
    Ok(rows)
}

fn file<T: Serialize, const COLUMNS: usize>(
    format: Format,
    name: &str,
    rows: &[T],
    heading: [&str; COLUMNS],
    record: impl Fn(&T) -> [String; COLUMNS],
) -> Result<Response, Problem> {
    let (kind, extension, body) = match format {
        Format::Json => {
            let body = serde_json::to_vec_pretty(rows).map_err(|error| Problem::new(Kind::Database, error.to_string()));
            ("application/json", "json", body?)
        }
        Format::Csv => {
            let body = csv(rows.iter().map(record), heading);
            ("text/csv; charset=utf-8", "csv", body.map_err(|error| Problem::new(Kind::Database, error.to_string()))?)
        }
    };
    let disposition = format!("attachment; filename=\"outbox-{name}.{extension}\"");
    Ok(([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)], body).into_response())
}

/// RFC 4180. What rows say is shown as text: no cell is a formula, and nothing in it deceives an eye.
fn csv<const COLUMNS: usize>(
    records: impl Iterator<Item = [String; COLUMNS]>,
    heading: [&str; COLUMNS],
) -> std::io::Result<Vec<u8>> {
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(heading)?;
    for record in records {
        writer.write_record(record.iter().map(|text| cell(text).into_owned()))?;
    }
    writer.into_inner().map_err(::csv::IntoInnerError::into_error)
}

fn cell(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if text.starts_with(FORMULAS) { format!("'{text}").into() } else { text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_a_separator_in_a_cell_is_none() {
        let hostile = ["=HYPERLINK(\"https://evil.example\")", "+1", "-1", "@SUM(A1)", "a,b\n\"c\"", "\u{202e}gnp"];
        let file = csv([hostile.map(str::to_owned)].into_iter(), ["a", "b", "c", "d", "e", "f"]).unwrap();
        let file = String::from_utf8(file).unwrap();
        assert_eq!(
            file,
            "a,b,c,d,e,f\r\n\"'=HYPERLINK(\"\"https://evil.example\"\")\",'+1,'-1,'@SUM(A1),\"a,b\n\"\"c\"\"\",\\u{202e}gnp\r\n"
        );
    }
}
