//! Hooks that act when code of the application comes to a certain place.

use std::sync::Mutex;

use crate::run::hold;

/// The places, in the code of the actors and handlers under test.
pub(crate) const PLACES: &[&str] = &[
    "started hook",
    "recovery",
    "end of a recovery",
    "recovery failure",
    "command",
    "event",
    "snapshot",
    "delete",
    "response of a store",
    "change handler",
    "stash",
    "stream",
    "timer",
    "future",
    "stopping hook",
    "stopped hook",
];

static PLAN: Mutex<Option<Plan>> = Mutex::new(None);

struct Plan {
    place: String,
    times_left: u32,
    act: Box<dyn FnOnce() + Send>,
}

/// Does this once, when a place is reached for the time of this number, from 1 on.
pub(crate) fn at(place: &str, time: u32, act: impl FnOnce() + Send + 'static) {
    *hold(&PLAN) = Some(Plan {
        place: place.to_owned(),
        times_left: time,
        act: Box::new(act),
    });
}

/// A place is reached.
pub(crate) fn reached(place: &str) {
    let mut plan = hold(&PLAN);
    let Some(planned) = plan.as_mut().filter(|plan| plan.place == place) else {
        return;
    };
    planned.times_left = planned.times_left.saturating_sub(1);
    if planned.times_left == 0
        && let Some(planned) = plan.take()
    {
        (planned.act)();
    }
}
