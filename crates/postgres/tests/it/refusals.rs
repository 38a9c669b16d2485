//! Events and snapshots that PostgreSQL has no place for, and odd ones that it has one for.

use crate::place::Place;

actix_persistence_sql_tests::test_refusals!(server Place::new().await);
