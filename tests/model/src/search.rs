//! Searching the model: to the end, or for the shortest way to a broken promise.

use std::collections::BTreeSet;
use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use super::Protocol;
use super::state::State;
use super::steps::Step;
use super::traces::Trace;
use crate::promise::Promise;

/// Searches all that can happen, and says how much that was.
///
/// # Panics
/// Where a promise is broken, with the steps to it, or where something that must be possible is not.
pub fn assert_holds(name: &str, protocol: Protocol) {
    let began = Instant::now();
    let checker = protocol.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    eprintln!("model {name:?}: {} unique states, {:.1?}", checker.unique_state_count(), began.elapsed());
    for promise in Promise::ALL {
        let broken = checker.discovery(promise.as_str()).map(stateright::Path::into_actions);
        assert!(broken.is_none(), "broken: {}\nby {broken:?}", promise.as_str());
    }
    checker.assert_properties();
}

/// The number of steps to the nearest state in which `promise` is broken.
///
/// # Panics
/// Where the promise holds.
pub fn steps_to_breach(protocol: Protocol, promise: Promise) -> usize {
    let found = |deeper_than: Option<usize>| {
        let checker = protocol.checker().finish_when(HasDiscoveries::AllOf(BTreeSet::from([promise.as_str()])));
        // The first of its states has depth 1.
        let checker = match deeper_than {
            Some(steps) => checker.target_max_depth(steps + 1),
            None => checker,
        };
        let checker = checker.spawn_bfs().join();
        eprintln!("model without {:?}: {} unique states", protocol.without, checker.unique_state_count());
        checker.discovery(promise.as_str()).map(|path| path.into_actions().len())
    };
    let mut steps = found(None).unwrap_or_else(|| panic!("holds without {:?}: {}", protocol.without, promise.as_str()));
    while let Some(fewer) = found(Some(steps)) {
        steps = fewer;
    }
    steps
}

/// Where the steps lead, or how many of them can be taken before one cannot.
pub fn follow(protocol: Protocol, steps: &[Step]) -> Result<State, usize> {
    let mut state = State::first(protocol.messages, 1);
    for (taken, step) in steps.iter().enumerate() {
        state = protocol.next_state(&state, *step).ok_or(taken)?;
    }
    Ok(state)
}

/// Asserts that without the guard the steps of the trace break its promise, and no fewer steps do. With it they cannot be taken, or
/// break nothing.
///
/// # Panics
/// Where that is not so.
pub fn assert_needed(trace: &Trace) {
    let unguarded = trace.protocol.without(trace.without);
    assert_eq!(follow(unguarded, trace.steps).map(|state| state.breaks(trace.breaks)), Ok(true));
    assert_eq!(steps_to_breach(unguarded, trace.breaks), trace.steps.len());
    let guarded = follow(trace.protocol, trace.steps);
    let kept = |state: &State| Promise::ALL.iter().all(|promise| !state.breaks(*promise));
    assert!(guarded.as_ref().map_or(true, kept), "{guarded:?}");
}
