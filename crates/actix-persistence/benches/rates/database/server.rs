//! A database server, whose URL is in a variable; each series has databases of its own on it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence::{Builder, Persistence};

use super::{Database, SqlConnection, open, relay};

/// The properties of a server, besides the statements of its driver.
pub(crate) trait ServerConnection: SqlConnection {
    /// The `kind` of the plugin.
    const KIND: &'static str;
    /// The variable with the URL of the server.
    const VARIABLE: &'static str;
    /// The statements that make the tables for bare rows.
    const TABLES: &'static str;
    /// The end of the statement that drops a database.
    const DROP: &'static str;
    /// The statement that does now what else comes after many writes.
    const SETTLE: Option<&'static str>;
}

pub(crate) struct Server<C> {
    admin: C,
    name: String,
    url: String,
    settings: String,
}

impl<C: ServerConnection> Database for Server<C> {
    type Connection = C;
    const CONNECTIONS: usize = 2;

    async fn make() -> Self {
        let url = std::env::var(C::VARIABLE);
        let url = url.unwrap_or_else(|_| panic!("{} is not set", C::VARIABLE));
        let mut admin = C::connect(url.clone()).await;
        // One that was interrupted may have left its own under the same name.
        let name = next_name();
        let left = format!("DROP DATABASE IF EXISTS {name} {}", C::DROP);
        admin.run(&left).await;
        admin.run(&format!("CREATE DATABASE {name}")).await;
        let (place, parameters) = url.split_once('?').unwrap_or((&url, ""));
        let (server, _) = place.rsplit_once('/').expect("a URL names a database");
        let url = format!("{server}/{name}?{parameters}");
        C::connect(url.clone()).await.run(C::TABLES).await;
        Self {
            admin,
            name,
            url,
            settings: String::new(),
        }
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    async fn open(&self, kinds: &[&str], builder: Builder) -> Persistence {
        open(kinds, C::KIND, &self.url, &self.settings, builder).await
    }

    fn move_away(&mut self, one_way: Duration) {
        // PROTOCOL://USER:PASSWORD@HOST:PORT/DATABASE
        let (before, rest) = self.url.rsplit_once(':').expect("a URL with a port");
        let (port, path) = rest.split_once('/').expect("a URL with a database");
        let port = port.parse().expect("a number of a port");
        self.url = format!("{before}:{}/{path}", relay::start(port, one_way));
    }

    fn set(&mut self, settings: &str) {
        settings.clone_into(&mut self.settings);
    }

    async fn settle(&self) {
        if let Some(statement) = C::SETTLE {
            C::connect(self.url()).await.run(statement).await;
        }
    }

    async fn close(mut self) {
        let drop = format!("DROP DATABASE {} {}", self.name, C::DROP);
        self.admin.run(&drop).await;
    }
}

/// A name that no other database of this process has.
fn next_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("actix_persistence_bench_{}_{number}", std::process::id())
}
