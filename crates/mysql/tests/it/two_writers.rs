//! Two owners of one database, as two processes would be.

use crate::place::Place;

actix_persistence_sql_tests::test_two_writers!(server Place::new().await);
