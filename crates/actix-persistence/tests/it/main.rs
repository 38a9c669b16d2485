//! The facade as an application uses it.
#![allow(clippy::unwrap_used)]

mod altered_tables;
mod applied_writes;
mod change_events;
mod cleanup;
mod commands;
mod configuration_page;
mod configured;
mod counter;
mod durable_states;
mod event_queries;
mod extended_states;
mod handle;
mod held_states;
mod killed_projections;
mod live_versions;
mod managed_projections;
mod managed_retries;
mod metadata;
mod note;
mod notifications;
mod offsets_of_times;
#[cfg(feature = "encryption")]
mod parked_personal_data;
mod parked_projections;
#[cfg(all(feature = "encryption", feature = "zstd"))]
mod personal_states;
mod projection_bugs_of_others;
mod projection_health;
#[cfg(feature = "projection-test")]
mod projection_test;
mod projections;
mod projections_beside_slow_handlers;
mod projections_killed_at_each_step;
mod recovery_at_scale;
mod recovery_settings;
mod revived_projections;
mod schema_steps;
mod serializers;
mod settings_from_code;
mod state_queries;
#[cfg(unix)]
mod stop_signals;
mod stopping;
mod stopping_beside_snapshots;
mod stopping_from_inside;
mod stopping_in_a_flood;
mod stopping_one_of_two;
mod two_processes;
mod unawaited_requests;
mod weaker_snapshots;
