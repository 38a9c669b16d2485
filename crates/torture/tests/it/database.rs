//! Each test on each database.

use actix_persistence_torture::{Backend, Place};
use tempfile::TempDir;

/// A database, and the folder in which it lies if it is a file.
pub(crate) fn place(backend: Backend) -> (Place, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Place::new(backend, folder.path()).unwrap(), folder)
}

/// Makes of each function a test of the same name for each database, in a module called as its plugin.
macro_rules! on_every_database {
    ($($name:ident,)*) => {
        on_every_database! { @on sqlite Sqlite $($name,)* }
        on_every_database! { @on postgres Postgres $($name,)* }
        on_every_database! { @on mysql Mysql $($name,)* }
    };
    (@on $database:ident $backend:ident $($name:ident,)*) => {
        mod $database {
            $(
                #[actix::test]
                async fn $name() {
                    let backend = actix_persistence_torture::Backend::$backend;
                    let (place, _folder) = crate::database::place(backend);
                    super::$name(place).await;
                }
            )*
        }
    };
}
