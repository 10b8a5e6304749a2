//! What becomes of a push that FCM refuses.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox_tests::fcm::MANNERS;
use rustix::process::Signal;

use super::{ends, push, stand_in};
use crate::outboxes;
use crate::program::Program;

/// How a push to a device of each manner ends: as `outbox` tells it, and whether the target is kept as a dead one.
pub(super) const ENDS: [(&str, &str, bool); 15] = [
    ("unregistered-", "DEAD permanent 1 404", true),
    ("invalid-", "DEAD permanent 1 400", true),
    ("argument-", "DEAD permanent 1 400", false),
    ("apns-gone-", "DEAD permanent 1 400", true),
    ("mismatch-", "DEAD permanent 1 403", false),
    ("third-party-", "DEAD permanent 1 401", false),
    ("forbidden-", "PENDING - 0 403", false),
    ("lost-", "PENDING - 1 404", false),
    ("quota-", "PENDING - 1 429", false),
    ("quota-later-", "PENDING - 1 429", false),
    ("unavailable-", "PENDING - 1 503", false),
    ("unavailable-later-", "PENDING - 1 503", false),
    ("internal-", "PENDING - 1 500", false),
    ("unspecified-", "PENDING - 1 500", false),
    ("html-", "PENDING - 1 502", false),
];

/// What a row says, in words.
const ENDED: &str = "SELECT concat(status, ' ', coalesce(dead_reason, '-'), ' ', attempts, ' ', last_status_code) \
                     FROM outbox WHERE target = ";

/// Each on a channel of its own: a channel that waits keeps the others of it waiting.
fn channel(manner: &str) -> String {
    manner.trim_end_matches('-').to_owned()
}

#[tokio::test]
async fn every_refusal_ends_as_the_table_says_and_only_dead_targets_are_kept_as_such() {
    assert_eq!(MANNERS.map(|(manner, _)| manner).len(), ENDS.len());
    for outbox in outboxes::each().await {
        let stand_in = stand_in(Duration::ZERO);
        let mut settings = stand_in.channel("well");
        for (manner, ..) in ENDS {
            settings += &stand_in.channel(&channel(manner));
            push(&outbox, &channel(manner), [format!("token:{manner}1")]).await;
        }
        push(&outbox, "well", ["well".to_owned(), "topic:news".to_owned(), "fid:f".to_owned()]).await;
        push(&outbox, "well", ["condition:''a'' in topics".to_owned()]).await;
        let replica = Program::new(&outbox.test.url, &settings).start_for_good();
        ends(&outbox, 4, "status = 'SUCCESS' AND receipt LIKE 'projects/demo-project/messages/%'").await;
        ends(&outbox, 15, "last_status_code IS NOT NULL AND status <> 'SUCCESS'").await;

        for (manner, said, _) in ENDS {
            let ended = outbox.text(&format!("{ENDED}'token:{manner}1'")).await;
            assert_eq!(ended, said, "{:?}: {manner}", outbox.dialect());
        }
        let dead: BTreeSet<_> = ENDS.iter().filter(|(_, _, is_dead)| *is_dead).map(|(manner, ..)| manner).collect();
        for (manner, ..) in ENDS {
            let kept = format!("SELECT count(*) FROM outbox_invalid_target WHERE target = 'token:{manner}1'");
            assert_eq!(outbox.number(&kept).await == 1, dead.contains(&manner), "{manner}");
        }
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 3);
        assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
    }
}

#[tokio::test]
async fn what_fcm_could_not_take_is_sent_again_after_ten_seconds_and_no_earlier() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    push(&outbox, "push", ["unavailable-once-1", "internal-once-1", "html-once-1"].map(String::from)).await;
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    ends(&outbox, 3, "status = 'SUCCESS' AND attempts = 2").await;
    for device in ["unavailable-once-1", "internal-once-1", "html-once-1"] {
        let target = format!("token:{device}");
        let times: Vec<_> =
            stand_in.received().into_iter().filter(|sent| sent.target == target).map(|sent| sent.arrived).collect();
        let [first, second] = times[..] else { panic!("{device} came {} times", times.len()) };
        assert!(second - first >= Duration::from_secs(10), "{device} after {:?}", second - first);
        assert_eq!(stand_in.shown_on(&target).len(), 1);
    }
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn the_used_up_quota_of_a_device_delays_its_message_alone_and_counts_the_attempt() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    push(&outbox, "push", ["quota-later-once-1".to_owned()]).await;
    let replica = Program::new(&outbox.test.url, &stand_in.channel("push")).start_for_good();
    ends(&outbox, 1, "status = 'SUCCESS' AND attempts = 2").await;
    let [first, second] = stand_in.received().try_into().unwrap();
    assert_eq!((first.status, second.status), (429, 200));
    assert!(second.arrived - first.arrived >= Duration::from_secs(2));
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}

#[tokio::test]
async fn at_most_once_what_fcm_may_have_taken_is_not_sent_again() {
    let (outbox, stand_in) = (super::outbox().await, stand_in(Duration::ZERO));
    let settings = stand_in.channel("push") + "in_doubt = \"dead_letter\"\n";
    let devices = ["unavailable-1", "internal-1", "unspecified-1", "html-1", "quota-later-once-1", "well"];
    push(&outbox, "push", devices.map(String::from)).await;
    let replica = Program::new(&outbox.test.url, &settings).start_for_good();
    ends(&outbox, 4, "status = 'DEAD' AND dead_reason = 'in_doubt'").await;
    ends(&outbox, 2, "status = 'SUCCESS'").await;
    assert_eq!(stand_in.received().len(), devices.len() + 1, "only what was over the quota came twice");
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_invalid_target").await, 0);
    assert_eq!(replica.stop(Signal::TERM).await.0, Some(0));
}
