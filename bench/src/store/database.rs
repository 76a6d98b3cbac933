//! A PostgreSQL of the bench's own, or the one that `THREADLINE_TEST_POSTGRES` names.

use std::fs;
use std::io;
use std::path::Path;
use threadline_testkit::postgres::schema_url;

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
