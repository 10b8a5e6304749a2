//! The same change to many dead letters. The operator is asked once, after seeing the difference in one of them.

use std::process::ExitCode;

use anyhow::bail;
use outbox_desk::{Author, Change, Selection};

use crate::changes::make;
use crate::session::{OutboxAccess, confirmed};
use outbox_console::edit::{Planned, Wanted};
use outbox_console::text::{Page, grouped, print};

/// Makes the change to each dead letter of the selection. A message that cannot be changed is left as it is, and the result
/// names it.
pub(super) async fn edit(
    outbox: &OutboxAccess,
    change: &Wanted,
    selection: &Selection,
    (yes, json): (bool, bool),
    author: &Author,
) -> anyhow::Result<ExitCode> {
    let desk = outbox.desk();
    if !(yes && json) {
        let groups = desk.dead_groups(selection).await?;
        if let Some(Planned { id, difference, .. }) = change.first(desk.as_ref(), selection, &groups, 1).await?.pop() {
            if !json {
                print(difference)?;
            }
            let found = grouped(groups.iter().map(|group| group.count).sum());
            let question = format!("write this to message {id}, and the like to the others of {found}?");
            if !yes && !confirmed(Page::default(), &question)? {
                bail!("nothing was changed");
            }
        }
    }
    let edit = Change::Edit { selection: selection.clone(), change: change.of_any.clone() };
    make(outbox, &edit, author, json).await
}
