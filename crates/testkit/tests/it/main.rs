//! The programs of the testkit.

mod with_postgres;
