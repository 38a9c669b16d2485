//! The checker raises no false alarm, and finds what is planted.

mod generate;
mod generate_events;
mod generate_readers;
mod generate_states;
mod no_false_alarms;
mod planted;
mod random;
mod reading;
mod scale;
