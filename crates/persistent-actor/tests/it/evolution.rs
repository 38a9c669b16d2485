//! Events and snapshots that older programs stored.

mod declarations;
mod ledger;
mod missing_steps;
mod mixed_versions;
mod older_forms;
mod same_version;
mod snapshots;
mod splitting;
