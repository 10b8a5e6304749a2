//! Which ordering keys the next claim looks at.
//!
//! A claim looks at each ordering key with waiting messages, due or not, and each takes some microseconds. With very
//! many keys a claim would look at little else. A destination that is down would slow all others down by the keys that
//! wait for it. So a claim looks at no more keys than [`KeyStretch::MOST`], and the next one goes on behind them. Where it leaves
//! some, it also looks at those of the newest messages.

use outbox_schema::{KeyStretch, OrderingKey};

/// A round of looks at all ordering keys: from a key on to the last, and then from the first on to that key.
#[derive(Debug, Default)]
pub struct OrderingKeys {
    /// Where the round began. None: at the first of all keys.
    began: Option<OrderingKey>,
    /// Whether the round has come by the last key.
    behind_the_last: bool,
    /// Where the next look begins. None: at the first of all keys.
    next: Option<OrderingKey>,
}

impl OrderingKeys {
    /// A round begins behind the keys of the last look.
    pub fn begin_round(&mut self) {
        self.began.clone_from(&self.next);
        self.behind_the_last = self.began.is_none();
    }

    /// The keys whose turn it is.
    pub fn stretch(&self) -> KeyStretch<'_> {
        KeyStretch { from: self.next.as_ref(), until: self.began.as_ref().filter(|_| self.behind_the_last) }
    }

    /// A claim has looked at the stretch, but for the keys from `left` on. Returns whether it was the last of the round: the
    /// next round then begins.
    pub fn looked(&mut self, left: Option<OrderingKey>) -> bool {
        // No look brings a round further that stops where it began.
        let left = left.filter(|left| self.next.as_ref() != Some(left));
        let is_over = left.is_none() && self.behind_the_last;
        if is_over {
            self.next.clone_from(&self.began);
            self.begin_round();
        } else {
            self.behind_the_last |= left.is_none();
            self.next = left;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> OrderingKey {
        OrderingKey { channel: "http".to_owned(), ordering_key: format!("{number:03}") }
    }

    /// A look at that stretch of these keys, at three at most: those, and the first behind them.
    fn look<'a>(all: &'a [OrderingKey], stretch: KeyStretch<'_>) -> (Vec<&'a OrderingKey>, Option<OrderingKey>) {
        let name = |key: &OrderingKey| key.ordering_key.clone();
        let mut keys: Vec<_> = all
            .iter()
            .filter(|key| stretch.from.is_none_or(|from| name(from) <= name(key)))
            .filter(|key| stretch.until.is_none_or(|until| name(key) < name(until)))
            .collect();
        let left = keys.get(3).map(|left| (*left).clone());
        keys.truncate(3);
        (keys, left)
    }

    #[test]
    fn a_round_looks_at_each_key_once_wherever_it_begins() {
        for count in 0..20 {
            let all: Vec<_> = (0..count).map(key).collect();
            for earlier_looks in 0..8 {
                let mut keys = OrderingKeys::default();
                keys.begin_round();
                for _ in 0..earlier_looks {
                    let (_, left) = look(&all, keys.stretch());
                    keys.looked(left);
                }
                keys.begin_round();
                let mut seen = Vec::new();
                loop {
                    let (looked_at, left) = look(&all, keys.stretch());
                    seen.extend(looked_at);
                    if keys.looked(left) {
                        break;
                    }
                }
                seen.sort_by_key(|key| key.ordering_key.clone());
                assert!(seen.iter().copied().eq(&all), "{count} keys, {earlier_looks} looks before: {seen:?}");
            }
        }
    }

    #[test]
    fn a_key_has_its_turn_however_many_new_ones_come_and_whether_or_not_a_round_is_ended() {
        let (mut keys, waiting) = (OrderingKeys::default(), key(500));
        for looks in 0..200 {
            // Whatever finds something ends its round early.
            keys.begin_round();
            let mut all: Vec<_> = (0..=looks).map(|new| key(new * 5 % 499)).chain([waiting.clone()]).collect();
            all.sort_by_key(|key| key.ordering_key.clone());
            let (looked_at, left) = look(&all, keys.stretch());
            if looks > 100 && looked_at.contains(&&waiting) {
                return;
            }
            keys.looked(left);
        }
        panic!("it had no turn");
    }

    #[test]
    fn a_look_that_brings_a_round_no_further_does_not_hold_it_up() {
        let mut keys = OrderingKeys::default();
        keys.begin_round();
        assert!(!keys.looked(Some(key(1))));
        assert!(keys.looked(Some(key(1))), "the same key was left again");
    }
}
