//! Queries over the events of all ids.

use crate::place::Place;

actix_persistence_sql_tests::test_event_queries!(Place::new());
