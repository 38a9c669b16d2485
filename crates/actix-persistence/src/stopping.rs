//! The stop of everything: the deadline, the signals, and the report of what was left.

mod stop;
mod stop_report;
mod stop_signals;

pub use stop_report::StopReport;
