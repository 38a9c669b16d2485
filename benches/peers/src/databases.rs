//! The databases of the libraries.

use std::fs;
use std::io::ErrorKind;

use tokio_postgres::NoTls;

use crate::library::tokio_run;

/// The place in which each library of a series has a database of its own.
#[derive(Clone, Debug)]
pub(crate) enum Databases {
    /// Databases of the PostgreSQL server of this URL.
    Postgres(String),
    /// Files of SQLite, each in a folder of its own in the current one, with what stores keep beside it.
    Sqlite,
}

impl Databases {
    /// Returns those of this kind, as the arguments have it.
    pub(crate) fn of(backend: &str) -> Self {
        match backend {
            "postgres" => {
                let server = std::env::var("ACTIX_PERSISTENCE_TEST_POSTGRES_URL");
                Self::Postgres(server.expect("a server"))
            }
            "sqlite" => Self::Sqlite,
            other => panic!("no backend {other}"),
        }
    }

    /// Returns their kind, as the arguments have it.
    pub(crate) fn backend(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Sqlite => "sqlite",
        }
    }

    /// Returns the URL of the database of this library, or the path of its file.
    pub(crate) fn url(&self, library: &str) -> String {
        match self {
            Self::Postgres(server) => {
                let (base, _) = server.rsplit_once('/').expect("a URL with a database");
                format!("{base}/{}", name(library))
            }
            Self::Sqlite => format!("{}/store.db", name(library)),
        }
    }

    /// Makes the database of this library anew.
    pub(crate) fn make_anew(&self, library: &str) {
        self.remove(library);
        match self {
            Self::Postgres(server) => run(server, &format!("CREATE DATABASE {}", name(library))),
            Self::Sqlite => fs::create_dir(name(library)).unwrap(),
        }
    }

    /// Removes the database of this library.
    pub(crate) fn remove(&self, library: &str) {
        match self {
            Self::Postgres(server) => {
                let name = name(library);
                run(
                    server,
                    &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
                );
            }
            Self::Sqlite => match fs::remove_dir_all(name(library)) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed.unwrap(),
            },
        }
    }
}

fn name(library: &str) -> String {
    format!("actix_persistence_peers_{library}")
}

fn run(server: &str, statement: &str) {
    tokio_run(async {
        let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(statement).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    });
}
