//! A PostgreSQL of the bench's own, or the one that `THREADLINE_TEST_POSTGRES` names.

use std::fs;
use std::io;
use std::path::Path;
use threadline_testkit::postgres::schema_url;
use tokio::runtime::{self, Runtime};
use tokio_postgres::{Client, NoTls};

/// The database that belongs to a folder: a schema of its own, which is made when the folder is first asked for.
pub(super) fn url_of(dir: &Path) -> io::Result<String> {
    let file = dir.join("url");
    match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let url = schema_url();
            fs::write(&file, &url)?;
            Ok(url)
        }
        url => url,
    }
}

/// The schema that a URL names.
pub(super) fn schema(url: &str) -> io::Result<&str> {
    url.split_once("?schema=")
        .map(|(_, schema)| schema)
        .ok_or_else(|| io::Error::other("no schema in the URL"))
}

/// A connection to the database that a URL names, and what it lives in.
pub(super) fn connect(url: &str) -> io::Result<(Runtime, Client)> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let place = url.split('?').next().unwrap_or(url);
    let connecting = async {
        let (client, connection) = tokio_postgres::connect(place, NoTls).await?;
        tokio::spawn(connection);
        Ok::<_, tokio_postgres::Error>(client)
    };
    let client = runtime.block_on(connecting).map_err(io::Error::other)?;
    Ok((runtime, client))
}

/// Removes what belongs to a folder from the database: a few gigabytes for each minute of appends.
pub(super) fn remove(dir: &Path) -> io::Result<()> {
    let url = url_of(dir)?;
    let (runtime, client) = connect(&url)?;
    let statement = format!("DROP SCHEMA IF EXISTS {} CASCADE", schema(&url)?);
    runtime.block_on(client.batch_execute(&statement)).map_err(io::Error::other)
}
