//! The databases of the libraries.

use tokio_postgres::NoTls;

use crate::library::tokio_run;

/// Returns the URL of the database of this library.
pub(crate) fn url(server: &str, library: &str) -> String {
    let (base, _) = server.rsplit_once('/').expect("a URL with a database");
    format!("{base}/{}", name(library))
}

/// Makes the database of this library anew.
pub(crate) fn make_anew(server: &str, library: &str) {
    remove(server, library);
    run(server, &format!("CREATE DATABASE {}", name(library)));
}

/// Removes the database of this library.
pub(crate) fn remove(server: &str, library: &str) {
    let name = name(library);
    run(
        server,
        &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
    );
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
