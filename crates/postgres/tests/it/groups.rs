//! Groups of many ids.

use crate::place::Place;

actix_persistence_sql_tests::test_groups!(Place::new().await);
