#![doc = include_str!("../README.md")]

mod fixture;
mod fronts;
mod journal_perf;
mod kit;
mod plugin_fixture;

mod case;
mod not_there_yet;

mod durable_state_extensions_spec;
mod durable_state_store_spec;
mod event_queries_spec;
mod journal_serialization_spec;
mod journal_spec;
mod offset_store_spec;
mod snapshot_store_serialization_spec;
mod snapshot_store_spec;
mod specs;
mod state_queries_spec;

mod bytes_like_random;
mod capability;
mod event_query_steps;
mod extension_steps;
mod failure;
mod journal_steps;
mod my_payload;
mod odd_texts;
mod offset_steps;
mod offset_work;
mod parallel;
mod parking_steps;
mod query_ids;
mod query_steps;
mod runtime;
mod site;
mod snapshot_steps;
mod state_steps;
mod subject;
mod take_over_one;
mod writer;

pub use fixture::{BoxError, Fixture, NoOffsetStore};
pub use fronts::{Fronted, Fronts};
pub use journal_perf::JournalPerf;
pub use kit::{CaseOutcome, CaseReport, Kit};
pub use plugin_fixture::PluginFixture;
pub use take_over_one::TakeOverOne;

pub use case::CaseInfo;
pub use not_there_yet::{NOT_THERE_YET, NotThereYet};
pub use specs::{cases, cases_needing};
