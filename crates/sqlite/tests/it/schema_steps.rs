//! The application's own tables, made step by step.

use crate::place::Place;

actix_persistence_sql_tests::test_schema_steps!(Place::new());
