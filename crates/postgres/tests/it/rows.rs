//! The contents of the tables, and the rows that they refuse.

use crate::place::Place;

actix_persistence_sql_tests::test_rows!(Place::new().await);
