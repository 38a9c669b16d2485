//! The checker raises no false alarm, and finds what is planted.

mod generate;
mod generate_events;
mod generate_readers;
mod generate_states;
mod no_false_alarms;
mod planted;
mod planted_events;
mod planted_readers;
mod planted_snapshots;
mod planted_states;
mod plot;
mod random;
mod reading;
mod scale;
