//! The stores of a command about projections.

use std::path::PathBuf;

use actix_persistence::projection::Projections;
use actix_persistence::query::{EventOffset, EventQuery, EventSelection};
use actix_persistence::{Builder, Config, Persistence};
use anyhow::Context;

use crate::opening::NOTHING_MADE;
use crate::outcome::Outcome;

/// The arguments that say where projections are kept.
#[derive(Clone, clap::Args)]
pub(crate) struct Place {
    /// The config of the application, in TOML or HOCON.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The plugin id of the offset store, if it is not the default one.
    #[arg(long, value_name = "PLUGIN-ID")]
    offset_store: Option<String>,
}

/// The journals that a command opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Journal {
    /// None is opened.
    NotNeeded,
    /// The one with this plugin id, or the default one.
    Needed(Option<String>),
}

impl Journal {
    /// The one that was named, if one was.
    pub(super) fn if_named(plugin_id: Option<String>) -> Self {
        plugin_id.map_or(Self::NotNeeded, |plugin_id| Self::Needed(Some(plugin_id)))
    }
}

/// The stores of a command that were opened.
pub(super) struct Opened {
    pub(super) projections: Projections,
    /// The queries over the journal, if one is needed.
    pub(super) events: Option<EventQuery>,
}

impl Place {
    /// Opens the stores, runs a command on them, and waits for all that it has asked them.
    ///
    /// No other kind of store is opened, so that none can be in the way: a state store may need code that only the
    /// application has.
    pub(super) fn run(
        &self,
        builder: Builder,
        journal: &Journal,
        command: impl AsyncFnOnce(&Opened) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let config = Config::from_file(&self.config)?.with_environment();
        let mut builder = builder.config(config).without_making();
        builder = builder.without_snapshot_stores().without_state_stores();
        if *journal == Journal::NotNeeded {
            builder = builder.without_journals();
        }
        actix::System::new().block_on(async {
            let persistence = builder.open().await.context(NOTHING_MADE)?;
            let opened = self.stores(&persistence, journal)?;
            let outcome = command(&opened).await;
            persistence.drained().await;
            outcome
        })
    }

    fn stores(&self, persistence: &Persistence, journal: &Journal) -> anyhow::Result<Opened> {
        let events = match journal {
            Journal::NotNeeded => None,
            Journal::Needed(plugin_id) => Some(persistence.event_queries(plugin_id.as_deref())?),
        };
        let projections = persistence.projections(self.offset_store.as_deref())?;
        Ok(Opened {
            projections,
            events,
        })
    }
}

impl Opened {
    /// Returns the newest offset of the journal, if one is opened.
    pub(super) async fn newest(&self) -> anyhow::Result<Option<EventOffset>> {
        let Some(events) = &self.events else {
            return Ok(None);
        };
        let newest = events.newest_offset(&EventSelection::all()).await;
        Ok(Some(newest.context(
            "could not ask the journal for its newest offset",
        )?))
    }
}
