//! The parts of which the tests of a plugin make their databases.

/// Gives a database of a test's own stores of their own types, initialised, each with connections of its own as in another
/// process, and a way around them; it has `options`, a `connection` of its own, and one that `look`
/// lends and `looked` takes back. After the word `server` it has `looked`, a mutex, in place of these two: there the
/// connection of one look serves the next one, for a test that waits for something looks often, and a server opens a
/// connection in a hundred times the time of an answer.
#[macro_export]
macro_rules! stores_in {
    (server $place:ty: $connection:ty, $($stores:ty),+) => {
        $crate::stores_in! { $place: $($stores),+ }

        impl $place {
            /// Returns the connection of the last look, or a new one if that is in use or was ended.
            async fn look(&self) -> $connection {
                let last = self.looked.lock().unwrap().take();
                if let Some(mut last) = last
                    && sqlx::Connection::ping(&mut last).await.is_ok()
                {
                    return last;
                }
                self.connection().await
            }

            fn looked(&self, connection: $connection) {
                *self.looked.lock().unwrap() = Some(connection);
            }
        }
    };
    ($place:ty: $options:ty, $journal:ty, $snapshot_store:ty, $state_store:ty) => {
        impl $place {
            pub(crate) async fn journal(&self) -> $journal {
                self.journal_with(self.options()).await
            }

            pub(crate) async fn journal_with(&self, options: $options) -> $journal {
                let journal = <$journal>::new(options).unwrap();
                journal.initialize().await.unwrap();
                journal
            }

            pub(crate) async fn snapshot_store(&self) -> $snapshot_store {
                let store = <$snapshot_store>::new(self.options()).unwrap();
                store.initialize().await.unwrap();
                store
            }

            pub(crate) async fn state_store_with(&self, options: $options) -> $state_store {
                let store = <$state_store>::new(options).unwrap();
                store.initialize().await.unwrap();
                store
            }

            /// Runs statements around the plugin.
            pub(crate) async fn run(&self, sql: impl Into<String>) {
                let sql = sql.into();
                sqlx::raw_sql(sqlx::AssertSqlSafe(sql.clone()))
                    .execute(&mut self.connection().await)
                    .await
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
            }

            /// Reads a number around the plugin.
            pub(crate) async fn number(&self, sql: &str) -> i64 {
                let mut connection = self.look().await;
                // A test may alter what the statement reads from one look to the next.
                let number =
                    sqlx::query_scalar(sqlx::AssertSqlSafe(sql.to_owned())).persistent(false);
                let number = number.fetch_one(&mut connection).await;
                let number = number.unwrap_or_else(|error| panic!("{sql}: {error}"));
                self.looked(connection);
                number
            }
        }
    };
}

/// Returns the URL of a server with another database in it, and perhaps another user with a password.
pub fn url_of(server: &str, database: &str, user: Option<(&str, &str)>) -> String {
    let (scheme, rest) = server.split_once("://").unwrap();
    let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let parameters = rest
        .split_once('?')
        .map_or(String::new(), |(_, parameters)| format!("?{parameters}"));
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let login = user.map_or(login.to_owned(), |(user, password)| {
        format!("{user}:{password}")
    });
    format!("{scheme}://{login}@{host}/{database}{parameters}")
}

/// Runs to its end what removes a database after its test, whose runtime may be ending.
///
/// # Panics
/// If it panics, unless the test panics already.
pub fn after_the_runtime(removal: impl Future<Output = ()> + Send + 'static) {
    let removal = std::thread::spawn(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(removal);
    });
    let removed = removal.join();
    assert!(removed.is_ok() || std::thread::panicking());
}
