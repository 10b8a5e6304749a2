//! What a change of messages means: those that somebody selected, or all that the filter of the list means.

use std::sync::Arc;
use std::time::Duration;

use maud::{Markup, html};
use outbox_desk::{Action, CountedGroups, MessageFilter, MessageGroup, MessageSelection};
use outbox_schema::MessageId;

use super::fields::Fields;
use super::parts::{looked_before, message, number, table, target, text, time};
use super::request_context::RequestContext;
use super::searches::{FORM_PATIENCE, Found, not_counted};
use super::tables::{Row, Shape, head};
use super::{PageState, paths};
use crate::api::{Kind, Problem, checked};

/// The field that names a message in place of a filter. There is one for each message.
pub(super) const ID: &str = "id";

/// The field of a list by which its form says that it means what is selected, and not everything where nothing is.
pub(super) const SELECTED: &str = "selected";

/// How long messages are counted for a form.
const COUNTS_FOR: Duration = Duration::from_secs(2);

/// What the address of a form means, without what is for the form alone.
///
/// # Errors
/// The form of a list was sent, and nothing in the list is selected.
pub(super) fn meant(asked: &Fields) -> Result<Fields, Problem> {
    MESSAGES.selected(asked)
}

/// The messages that the fields name. None where they have a filter.
pub(super) fn named(meant: &Fields) -> Result<Option<Vec<MessageId>>, Problem> {
    let wrong = |why: String| Problem::new(Kind::BadRequest, why);
    if !meant.has(ID) {
        return Ok(None);
    }
    if !meant.among(&[ID], false).is_empty() {
        return Err(wrong("messages are meant by their ids, or by a filter: one of the two".to_owned()));
    }
    let id = |id: &str| id.parse().map(MessageId).map_err(|_| wrong(format!("id = {id:?}: no row has it")));
    meant.all(ID).map(id).collect::<Result<_, _>>().map(Some)
}

/// The messages that the fields mean, for a change of them.
pub(super) fn selection(meant: &Fields, action: Action) -> Result<MessageSelection, Problem> {
    let selection = match named(meant)? {
        Some(ids) => MessageSelection::Ids(ids),
        None => MessageSelection::Filter(meant.read::<MessageFilter>()?),
    };
    checked(&selection, action)?;
    Ok(selection)
}

/// The messages that the form of a change means, as far as they can be counted while somebody waits. None where even that takes
/// longer.
pub(super) async fn counted(
    page_state: &PageState,
    meant: &Fields,
    action: Action,
) -> Result<Option<Found<Arc<CountedGroups>>>, Problem> {
    let (database, selection) = (page_state.api_state.database.clone(), selection(meant, action)?);
    let count = move || async move {
        Ok(Arc::new(outbox_desk::message_groups_within(&database, COUNTS_FOR, action, &selection).await?))
    };
    let found = page_state.counts.find_within(FORM_PATIENCE, meant.at(action.as_str()), count).await;
    found.map(|(groups, age)| Ok((groups?, age))).transpose()
}

/// The first words of a form: how many messages of a kind it means, as in `1 delivered message`, and what would become of them.
pub(super) fn would(counted: &CountedGroups, kind: &str, become_of_them: &str) -> Markup {
    let count = counted.groups.iter().map(|group| group.count).sum::<u64>();
    let messages = if count == 1 { "message" } else { "messages" };
    html! {
        strong {
            @match (counted.more, count) {
                // Among those that were looked at there is none.
                (true, 0) => { "An unknown number of" }
                (true, _) => { "At least " (number(count)) }
                (false, _) => { (number(count)) }
            }
            " " (kind) " " (messages)
        }
        " " (become_of_them) " Nothing is changed yet."
    }
}

/// The groups as a table of this name, and how far they were counted.
pub(super) fn table_of((counted, age): &Found<Arc<CountedGroups>>, name: &str) -> Markup {
    let heading = ["Messages", "Channel", "Destination", "First created", "Last created", "Example"];
    html! {
        @if !counted.groups.is_empty() { (table(name, heading, counted.groups.iter().map(row))) }
        @if counted.more {
            p.hint { "There are more than can be counted while somebody waits. The form means all of them, and its operation says how many they are." }
        }
        (looked_before(*age))
    }
}

/// Stands in place of the first words of a form, where what it means is counted still.
pub(super) fn uncounted(meant: &Fields, action: Action) -> Markup {
    not_counted(&meant.at(&format!("{}/{}", paths::MESSAGES, action.as_str())))
}

fn row(group: &MessageGroup) -> Row {
    Row::of_shape(Shape::Number, number(group.count))
        .cell(text(&group.channel))
        .shaped(Shape::Target, target(&group.destination))
        .cell(time(&group.first_created))
        .cell(time(&group.last_created))
        .shaped(Shape::Whole, message(group.example))
}

/// Leads back to where the messages were chosen.
pub(super) fn back(meant: &Fields) -> Markup {
    let address = match (meant.all(ID).count(), meant.get(ID)) {
        (1, Some(id)) => format!("{}/{id}", paths::MESSAGES),
        _ => meant.among(&[ID], false).at(paths::MESSAGES),
    };
    html! { p { a href=(address) { "Back" } } }
}

/// The boxes of a list, by which some of it is selected.
pub(super) struct Boxes {
    /// The field that names one. There is one for each that is ticked.
    pub(super) field: &'static str,
    /// What one of them is called.
    pub(super) noun: &'static str,
}

/// Those of a list of messages.
pub(super) const MESSAGES: Boxes = Boxes { field: ID, noun: "message" };

impl Boxes {
    /// What the fields mean, without what is for the form of the list alone.
    ///
    /// # Errors
    /// The form of the list was sent, and nothing in it is ticked.
    pub(super) fn selected(&self, asked: &Fields) -> Result<Fields, Problem> {
        if asked.has(SELECTED) && !asked.has(self.field) {
            let noun = self.noun;
            let why = format!("nothing is selected: go back, and tick the boxes of the {noun}s that you mean");
            return Err(Problem::new(Kind::BadRequest, why));
        }
        Ok(asked.filter().among(&[SELECTED], false))
    }
}

/// A change of what is selected in a list: the address of its form, and the words of its button.
pub(super) type Choice = (&'static str, &'static str);

/// Of these changes of what is selected, those that the person may make. None where there is none.
pub(super) fn choices_of(context: &RequestContext, all: &[(Action, Choice)]) -> Option<Vec<Choice>> {
    let may = all.iter().filter(|(change, _)| context.may(*change));
    Some(may.map(|(_, choice)| *choice).collect::<Vec<_>>()).filter(|choices| !choices.is_empty())
}

/// A list in which some are selected, each row with what names it, and the changes of what is selected. It is a plain form, and
/// leads to the form of the change, with what is `kept` of the filter. Without choices it is a table.
pub(super) fn to_select<'a>(
    name: &str,
    boxes: &Boxes,
    choices: Option<&[Choice]>,
    kept: &Fields,
    heading: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = (String, Row)>,
) -> Markup {
    let Some(choices) = choices else { return table(name, heading, rows.into_iter().map(|(_, row)| row)) };
    let rows: Vec<(String, Row)> = rows.into_iter().collect();
    html! {
        form.choice method="get" {
            input type="hidden" name=(SELECTED) value="yes";
            (kept.hidden())
            div.actions {
                @for (address, label) in choices { button type="submit" formaction=(address) { (label) } }
                span.hint { "what is ticked in this list" span.scripted-only { ", which stays as it is meanwhile" } }
            }
            div.table role="region" aria-label=(name) tabindex="0" {
                table {
                    thead {
                        tr {
                            th scope="col" {
                                span.unseen { "Select" }
                                input.all type="checkbox" aria-label="Select all on this page";
                            }
                            (head(heading, rows.first().map(|(_, row)| row)))
                        }
                    }
                    tbody {
                        @for (one, row) in &rows {
                            tr {
                                td { input type="checkbox" name=(boxes.field) value=(one) aria-label={ "Select " (boxes.noun) " " (text(one)) }; }
                                (row.cells(None))
                            }
                        }
                    }
                }
            }
        }
    }
}
