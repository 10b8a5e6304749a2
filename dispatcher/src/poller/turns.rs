//! Whether tenants take turns in the next claim, and where on the ring of tenants their turns begin.
//!
//! Nothing is paid while nothing is backed up: tenants take turns only once a claim left something. Turns begin at places that
//! divide the ring evenly, whatever was claimed. So each tenant is met after some claims. Those to whom something was sent lately
//! are looked at in each: however many others write for receivers that are not there, they wait for none of them.

use std::collections::HashSet;
use std::time::Duration;

use outbox_schema::{Claimed, Message, Tenant, Turns};
use tokio::time::Instant;

use crate::poller::hidden::HiddenMessages;
use crate::poller::leftover::Leftover;

/// How many tenants of each channel a claim looks at. Where some destination has answered, a claim that brought nothing for such a
/// one is followed by one that looks at more: tens of thousands of tenants may wait for receivers that are not there.
const TENANTS: u32 = 256;

/// The most tenants that a claim looks at.
const MOST_TENANTS: u32 = 4096;

/// After a claim that looked at more tenants, claims look at fewer for this many times as long: they bring what there is sooner.
const RESTS: u32 = 3;

/// The most tenants that are remembered as served lately.
const MOST_SERVED: usize = 128;

/// So many claims in a row may do without a walk, where few tenants have something that waits. Only the next one meets what these
/// leave out: messages of channels that are not configured, and the newest of a tenant whose oldest have no room.
const GLANCES: u32 = 7;

/// The golden ratio's part of the ring: each place that it leads to lies farthest from those before.
const STEP: u64 = 173_961_102_589_771;

/// What a poller knows about turns.
#[derive(Debug)]
pub struct TurnTaking {
    /// Whether more is due than the last claim took.
    backlog: bool,
    from: u64,
    /// Whether the newest go first in the next claim. They do in every other one that brings something, or that met rows of closed
    /// destinations only. Places for strangers that are silent become free at intervals, and claims between bring nothing.
    newest_first: bool,
    /// How many more claims may do without a walk.
    glances: u32,
    /// How many tenants the next claim looks at.
    tenants: u32,
    /// How many the next claim that looks at more will look at, and when there may be one.
    more: u32,
    rests_until: Instant,
    /// The tenants to whom something was sent lately. Those last claimed come first.
    served: Vec<Tenant>,
    /// What the last claim found and left.
    pub leftover: Leftover,
    /// The look for messages that no turn brings.
    pub hidden: HiddenMessages,
}

/// What a claim that brought nothing may have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Nothing is due.
    Nothing,
    /// What is due has no room: some destination has what it may have in flight.
    NoRoom,
    /// Others may wait behind rows of destinations that take nothing. The claim had not been told of those.
    BehindClosed,
}

impl Default for TurnTaking {
    fn default() -> Self {
        Self {
            backlog: true,
            from: STEP,
            newest_first: true,
            glances: 0,
            tenants: TENANTS,
            more: TENANTS,
            rests_until: Instant::now(),
            served: Vec::new(),
            leftover: Leftover::default(),
            hidden: HiddenMessages::default(),
        }
    }
}

impl TurnTaking {
    /// The turns of the next claim. None where nothing is backed up.
    pub fn next(&self) -> Option<Turns<'_>> {
        let from = (self.from & !1) | u64::from(self.newest_first);
        let glance = self.glances > 0 && self.tenants == TENANTS;
        self.backlog.then_some(Turns { from, tenants: self.tenants, served: &self.served, glance })
    }

    /// Learns from a claim, and how long it took. `left` says why there may be more where it brought nothing. `answering` are the
    /// messages for destinations that have answered, where there is such a destination. Where there is none, to look at more tenants
    /// would be in vain: no more strangers could be tried.
    pub fn learn(&mut self, claimed: &Claimed, left: Left, answering: Option<&[&Message]>, took: Duration) {
        let brought = !claimed.messages.is_empty();
        self.backlog = if brought { !claimed.took_all } else { left != Left::Nothing };
        self.from = (self.from + STEP) & Turns::LAST;
        self.newest_first ^= brought || left == Left::BehindClosed;
        self.glances = self.glances.checked_sub(1).unwrap_or(GLANCES);
        let missed = answering.is_some_and(<[_]>::is_empty);
        self.hidden.missed(missed);
        let now = Instant::now();
        if self.tenants > TENANTS {
            self.rests_until = now + took * RESTS;
        }
        self.more = if missed { (self.more * 2).min(MOST_TENANTS) } else { TENANTS };
        self.tenants = if now < self.rests_until { TENANTS } else { self.more };
        self.served(answering.unwrap_or_default());
    }

    /// Puts the tenants of these messages before those served earlier.
    pub fn served(&mut self, messages: &[&Message]) {
        let mut met = HashSet::new();
        let tenants = messages.iter().map(|message| (message.channel.as_str(), message.whose_turn()));
        let mut served: Vec<Tenant> = tenants
            .filter(|tenant| met.insert(*tenant))
            .map(|(channel, name)| Tenant { channel: channel.to_owned(), name: name.to_owned() })
            .collect();
        self.served.retain(|tenant| !met.contains(&(tenant.channel.as_str(), tenant.name.as_str())));
        served.append(&mut self.served);
        served.truncate(MOST_SERVED);
        self.served = served;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::message;

    fn claimed(messages: usize, took_all: bool) -> Claimed {
        Claimed { messages: (0..messages).map(|_| message(1)).collect(), took_all, ..Claimed::default() }
    }

    #[test]
    fn tenants_take_turns_only_while_claims_leave_something() {
        let mut turns = TurnTaking::default();
        turns.learn(&claimed(3, true), Left::Nothing, Some(&[&message(1)]), Duration::ZERO);
        assert_eq!(turns.next(), None);
        turns.learn(&claimed(3, false), Left::Nothing, Some(&[&message(1)]), Duration::ZERO);
        assert!(turns.next().is_some());
        turns.learn(&claimed(0, true), Left::NoRoom, Some(&[&message(1)]), Duration::ZERO);
        assert!(turns.next().is_some(), "what is left has no room");
        turns.learn(&claimed(0, true), Left::Nothing, Some(&[&message(1)]), Duration::ZERO);
        assert_eq!(turns.next(), None);
        turns.learn(&claimed(0, true), Left::NoRoom, Some(&[]), Duration::ZERO);
        assert!(turns.next().is_some(), "what came since has no room");
    }

    #[test]
    fn a_claim_looks_at_more_tenants_until_one_brings_something_for_a_destination_that_has_answered() {
        let mut turns = TurnTaking::default();
        let mut looked_at = Vec::new();
        let good = message(1);
        for answering in [Some(&[][..]), Some(&[]), Some(&[&good]), Some(&[]), None] {
            turns.learn(&claimed(3, false), Left::Nothing, answering, Duration::ZERO);
            looked_at.extend(turns.next().map(|turns| turns.tenants / TENANTS));
        }
        assert_eq!(looked_at, [2, 4, 1, 2, 1], "none has answered in the end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_that_looked_at_more_tenants_and_took_long_is_followed_by_claims_that_look_at_fewer() {
        let (mut turns, took) = (TurnTaking::default(), Duration::from_millis(500));
        let mut looked_at = Vec::new();
        for _ in 0..9 {
            turns.learn(&claimed(3, false), Left::Nothing, Some(&[]), took);
            looked_at.extend(turns.next().map(|turns| turns.tenants / TENANTS));
            tokio::time::advance(took).await;
        }
        assert_eq!(looked_at, [2, 1, 1, 1, 16, 1, 1, 1, 16]);
    }

    #[test]
    fn the_newest_go_first_in_every_other_claim_that_brings_something_however_many_bring_nothing_between() {
        let mut turns = TurnTaking::default();
        let mut first = Vec::new();
        for brought in [1, 0, 1, 0, 0, 1, 0] {
            first.push(turns.next().expect("there is a backlog").from % 2 == 1);
            turns.learn(&claimed(brought, false), Left::NoRoom, Some(&[]), Duration::ZERO);
        }
        assert_eq!(first, [true, false, false, true, true, true, false]);
        let mut first = Vec::new();
        for _ in 0..3 {
            first.push(turns.next().expect("others may wait behind them").from % 2 == 1);
            turns.learn(&claimed(0, true), Left::BehindClosed, Some(&[]), Duration::ZERO);
        }
        assert_eq!(first, [false, true, false], "nothing tells these rows from others before they are met");
    }

    #[test]
    fn claims_do_without_a_walk_but_for_one_in_eight() {
        let mut turns = TurnTaking::default();
        let mut glances = String::new();
        for _ in 0..17 {
            glances.push(if turns.next().is_some_and(|turns| turns.glance) { 'g' } else { 'w' });
            turns.learn(&claimed(1, false), Left::Nothing, Some(&[&message(1)]), Duration::ZERO);
        }
        assert_eq!(glances, "wgggggggwgggggggw");
        turns.learn(&claimed(3, false), Left::Nothing, Some(&[]), Duration::ZERO);
        assert!(turns.next().is_some_and(|turns| !turns.glance), "it is to look at more tenants");
    }

    #[test]
    fn those_last_served_are_remembered_first() {
        let of = |tenant: usize| Message { tenant: Some(tenant.to_string()), ..message(1) };
        let mut turns = TurnTaking::default();
        for tenants in [[1, 2], [3, 2]] {
            let messages = tenants.map(of);
            turns.learn(&claimed(2, false), Left::Nothing, Some(&messages.each_ref()), Duration::ZERO);
        }
        let served = |turns: &TurnTaking| -> Vec<String> {
            turns.next().expect("there is a backlog").served.iter().map(|tenant| tenant.name.clone()).collect()
        };
        assert_eq!(served(&turns), ["3", "2", "1"]);
        let many: Vec<_> = (100..100 + MOST_SERVED).map(of).collect();
        turns.learn(&claimed(2, false), Left::Nothing, Some(&many.iter().collect::<Vec<_>>()), Duration::ZERO);
        assert_eq!(served(&turns).len(), MOST_SERVED);
        assert_eq!(served(&turns)[0], "100");
    }

    #[test]
    fn turns_begin_all_over_the_ring_so_that_no_tenant_waits_long_for_its_own() {
        const PARTS: u64 = 64;
        let mut turns = TurnTaking::default();
        let mut met = std::collections::HashSet::new();
        for _ in 0..2 * PARTS {
            met.extend(turns.next().map(|turns| turns.from * PARTS / (Turns::LAST + 1)));
            turns.learn(&claimed(1, false), Left::Nothing, Some(&[&message(1)]), Duration::ZERO);
        }
        assert_eq!(met.len() as u64, PARTS);
    }
}
