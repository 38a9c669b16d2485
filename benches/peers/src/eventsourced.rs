//! eventsourced, with its event log on PostgreSQL.

use std::num::NonZeroUsize;

use eventsourced::binarize::serde_json::SerdeJsonBinarize;
use eventsourced::snapshot_store::noop::NoopSnapshotStore;
use eventsourced::{Command, CommandEffect, EntityRef, EventSourcedExt};
use eventsourced_postgres::{PostgresEventLog, PostgresEventLogConfig};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::databases::Databases;
use crate::library::{Library, note, tokio_run};

pub(crate) struct EventSourced(PostgresEventLog<Uuid>);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notebook(usize);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Noted(String);

impl eventsourced::EventSourced for Notebook {
    type Id = Uuid;
    type Event = Noted;
    const TYPE_NAME: &'static str = "notebook";

    fn handle_event(self, _: Noted) -> Self {
        Self(self.0 + 1)
    }
}

/// Persists one event; a command of this library persists no more.
#[derive(Debug)]
struct Note;

#[derive(Debug)]
struct Count;

impl Command<Notebook> for Note {
    type Reply = usize;
    type Error = ();

    fn handle_command(self, _: &Uuid, _: &Notebook) -> CommandEffect<Notebook, usize, ()> {
        CommandEffect::emit_and_reply(Noted(note()), |notebook: &Notebook| notebook.0)
    }
}

impl Command<Notebook> for Count {
    type Reply = usize;
    type Error = ();

    fn handle_command(self, _: &Uuid, notebook: &Notebook) -> CommandEffect<Notebook, usize, ()> {
        CommandEffect::reply(notebook.0)
    }
}

impl Library for EventSourced {
    const NAME: &'static str = "eventsourced";
    const TAKES_SEVERAL: bool = false;
    type Entity = EntityRef<Notebook>;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio_run(work)
    }

    async fn open(databases: &Databases) -> Self {
        let url = databases.url(Self::NAME);
        let parsed: tokio_postgres::Config = url.parse().unwrap();
        let host = match &parsed.get_hosts()[0] {
            tokio_postgres::config::Host::Tcp(host) => host.clone(),
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        };
        let config = PostgresEventLogConfig {
            host,
            port: parsed.get_ports()[0],
            user: parsed.get_user().unwrap().to_owned(),
            password: String::from_utf8(parsed.get_password().unwrap_or_default().to_vec())
                .unwrap(),
            dbname: parsed.get_dbname().unwrap().to_owned(),
            sslmode: "disable".to_owned(),
            setup: true,
            ..PostgresEventLogConfig::default()
        };
        Self(PostgresEventLog::new(config).await.unwrap())
    }

    async fn start(&self, name: &str) -> Self::Entity {
        Notebook::default()
            .entity()
            .spawn(
                // Its table takes nothing else.
                Uuid::from_u128(name.parse().unwrap()),
                None,
                NonZeroUsize::new(16).unwrap(),
                self.0.clone(),
                NoopSnapshotStore::new(),
                SerdeJsonBinarize,
            )
            .await
            .unwrap()
    }

    async fn note(entity: &Self::Entity, events: usize) -> usize {
        match events {
            0 => entity.handle_command(Count).await.unwrap().unwrap(),
            _ => entity.handle_command(Note).await.unwrap().unwrap(),
        }
    }

    async fn stop(entity: Self::Entity) {
        drop(entity);
    }
}
