//! Messages that no turn brings: those of a tenant that stand behind others of its own, for destinations that take nothing.

use outbox_schema::look::Place;
use outbox_schema::store::HiddenLook;
use outbox_schema::{ClaimId, ClaimRequest, MessageId, Shard, TermId};

use super::turns::to;
use super::{Outbox, http, ids, request};

/// The destination that takes messages.
const OPEN: &str = "https://open.example:443";

async fn write(outbox: &Outbox, tenant: &str, host: &str, more: &[(&str, &str)]) -> i64 {
    let (tenant, target) = (format!("'{tenant}'"), to(host));
    outbox.insert(&[&[("tenant", tenant.as_str()), ("target", target.as_str())], more].concat()).await.0
}

/// What a claim takes of the messages that steps bring which look at so many rows and bring so many messages; and the number of steps.
async fn hidden(outbox: &Outbox, term: &TermId, (rows, limit): (u32, u32), excluded: &[i64]) -> (Vec<i64>, usize) {
    let (open, channels) = ([OPEN.to_owned()], [http()]);
    let mut excluded: Vec<MessageId> = excluded.iter().copied().map(MessageId).collect();
    let (mut from, mut taken, mut steps) = (Some(Place::FIRST), Vec::new(), 0);
    while let Some(place) = from {
        let look = HiddenLook { from: place, rows, limit, open: &open, excluded: &excluded };
        let hidden = outbox.store.hidden(Shard(0), &look).await.unwrap();
        let ask = ClaimRequest { claim: ClaimId::mint(), found: Some(&hidden.found), ..request(&channels) };
        let claimed = outbox.store.claim(term, &ask).await.unwrap();
        let ids = ids(&claimed.messages);
        excluded.extend(ids.iter().copied().map(MessageId));
        taken.extend(ids);
        (from, steps) = (hidden.next, steps + 1);
    }
    (taken, steps)
}

/// Only these: of all others a turn brings the first, or nobody can send it.
pub async fn what_a_tenant_has_for_others_is_found_behind_its_messages_for_a_silent_destination(outbox: &Outbox) {
    let term = outbox.term(&[http()]).await;
    outbox.insert(&[("target", &to("open"))]).await;
    write(outbox, "well", "open", &[]).await;
    write(outbox, "well", "silent", &[]).await;
    write(outbox, "well", "open", &[]).await;
    write(outbox, "mute", "silent", &[]).await;
    write(outbox, "mute", "other", &[]).await;
    write(outbox, "shop", "silent", &[]).await;
    let first = write(outbox, "shop", "open", &[]).await;
    let in_flight = write(outbox, "shop", "open", &[]).await;
    write(outbox, "shop", "silent", &[("priority", "3")]).await;
    let urgent = write(outbox, "shop", "open", &[("priority", "3")]).await;
    write(outbox, "shop", "open", &[("ordering_key", "'key'")]).await;
    let last = write(outbox, "shop", "open", &[]).await;
    assert_eq!(hidden(outbox, &term, (100, 100), &[in_flight]).await, (vec![urgent, first, last], 1));
}

/// However few rows a step looks at, and however few it brings.
pub async fn a_look_for_hidden_messages_comes_to_all_of_them(outbox: &Outbox) {
    for (rows, limit, steps) in [(3, 100, 6), (100, 2, 5)] {
        let term = outbox.term(&[http()]).await;
        let mut hosts = vec![];
        for row in 0..16 {
            let (host, priority) = (if row % 2 == 0 { "silent" } else { "open" }, if row < 4 { "2" } else { "0" });
            hosts.push((host, write(outbox, "shop", host, &[("priority", priority)]).await));
        }
        let open: Vec<i64> = hosts.iter().filter(|(host, _)| *host == "open").map(|(_, id)| *id).collect();
        let (found, took) = hidden(outbox, &term, (rows, limit), &[]).await;
        assert_eq!(found, open);
        assert!(took <= steps, "{took} steps");
        outbox.execute("DELETE FROM outbox").await;
    }
}
