//! Bringing the database to the format that we know: forward only, by one instance at a time.

use crate::connection::{Connection, Failure};
use crate::open::OpenError;

/// What makes each format of the one before it. Never changed once it was released.
const STEPS: &[&str] =
    &[include_str!("schema/0001.sql"), include_str!("schema/0002.sql"), include_str!("schema/0003.sql")];

const SCHEMA: &str = "SELECT to_regnamespace($1) IS NOT NULL";
const FORMAT: &str = "SELECT to_regclass('format') IS NOT NULL";
const FORMAT_FOUND: &str = "SELECT coalesce(max(version), 0) FROM format";

/// Makes what is missing, but for the store as a whole where it must be there already.
pub(crate) async fn bring_up(
    connection: &Connection,
    schema: &str,
    must_exist: bool,
) -> Result<(), OpenError> {
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    // Whoever may not make tables can use those that are there.
    let found = found(connection).await?;
    if found == known {
        return Ok(());
    }
    // Formats are counted from 1.
    if found == 0 && must_exist {
        return Err(OpenError::Missing(schema.to_owned()));
    }
    // Others that start at the same time wait here, and find nothing left to do.
    connection
        .batch(&format!("BEGIN; SELECT pg_advisory_xact_lock(hashtext('threadline:{schema}'))"))
        .await?;
    let made = make(connection, schema, known).await;
    connection.batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    made
}

async fn found(connection: &Connection) -> Result<i32, Failure> {
    let is_there: bool = connection.query_one(FORMAT, &[]).await?.get(0);
    if !is_there {
        return Ok(0);
    }
    Ok(connection.query_one(FORMAT_FOUND, &[]).await?.get(0))
}

async fn make(connection: &Connection, schema: &str, known: i32) -> Result<(), OpenError> {
    // Somebody who may do more may have made it for us.
    let is_there: bool = connection.query_one(SCHEMA, &[&schema]).await?.get(0);
    if !is_there {
        connection.batch(&format!("CREATE SCHEMA \"{schema}\"")).await?;
    }
    let found = found(connection).await?;
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    if found == 0 {
        connection
            .batch(
                "CREATE TABLE format (version integer PRIMARY KEY, made timestamptz NOT NULL DEFAULT now())",
            )
            .await?;
    }
    for (version, step) in (1..).zip(STEPS).skip(usize::try_from(found).unwrap_or(0)) {
        connection.batch(step).await?;
        connection.batch(&format!("INSERT INTO format (version) VALUES ({version})")).await?;
    }
    Ok(())
}
