//! From a row to a receiver.

mod cloudevents;
mod destinations;
mod idle;
mod no_proxy;
mod order;
mod outcomes;
mod own_authority;
mod receivers;
mod retry;
mod slow_answers;
mod traces;
mod unmarkable;
mod wakeups;
mod webhooks;
