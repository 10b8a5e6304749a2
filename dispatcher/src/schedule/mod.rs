//! Who goes next.
//!
//! The database shows due rows by their *headers*. Here they wait for their turn, in memory, and [`Schedule::take`] says which
//! are claimed next. It knows no database and no clock: it is told what was found, what becomes of messages, and the time.
//!
//! **Whose message goes next?** Channels take turns, and within a channel its *lanes*: its tenants. A turn is 4 credits: a
//! message costs one, and one more for each full 16 KiB. A lane that had nothing here, and little in flight, goes before those
//! that wait for their next turn. Within a lane the message of the highest priority goes first, and of these the one due for
//! longest, among those that can go.
//!
//! **Why not mine?** [`Schedule::why_not`] says it for a message that is here:
//! - Its destination has no room: what that has in flight is what it may have, or it takes nothing for now. The message is parked
//!   with it, and holds up no other destination of its lane.
//! - Another message of its ordering key goes first.
//! - Its destination has never answered, and such destinations are in *slow start*, and have what they may have in flight, all
//!   together.
//! - It is large, and waits for bytes: what becomes free is kept for it.
//! - Its row belongs to a claim that is not settled, or is in quarantine.
//! - Others have their turns. While slots are scarce, the last eighth is for lanes with little in flight.
//!
//! What is not here waits in the database. Memory is bounded, whatever is due: a lane notes the *place* up to which all of its
//! rows are known, and is fed behind it as it runs low. Rows of others that found no place make another round over all lanes
//! necessary ([`Schedule::take_skipped`]).
//!
//! **Invariant:** a row is here once, or in flight, never both. It leaves flight with its mark, or when its claim is refused, so
//! that no other claim can have it.
//!
//! Read `rooms` (what is asked of destinations), `lane` (what a lane and its flows are), `ring` (turns) and `turns` (a take)
//! first. Then how headers come and go: `looks`, `feeding`, `buffer`, `keys` and `fate`. The rest is what holds messages back:
//! `parking`, `flight` (slots and bytes) and `slow_start`. `said` tells all that to people.

mod buffer;
mod destination;
mod fate;
mod feeding;
mod flight;
mod keys;
mod lane;
mod looks;
mod parking;
mod ring;
mod rooms;
mod said;
mod schedule;
mod slow_start;
mod turns;

pub use self::looks::{Added, Shows, Unseen};
pub use self::rooms::{Capacity, Rooms, Standing};
pub use self::said::{Waiting, WhyNot};
pub use schedule::Schedule;
