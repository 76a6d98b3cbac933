//! Whether what the database has acknowledged is durable.

use crate::connection::Connection;
use crate::open::OpenError;

/// The first version that waits for a backend to end when it is told to, in numbers of PostgreSQL.
const VERSION_MIN: i32 = 140_000;

const SETTINGS: &str = "SELECT current_setting('server_version_num')::integer, current_setting('server_version'), \
    pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'), \
    current_setting('synchronous_commit'), current_setting('data_sync_retry')";

/// What is unsafe about the server's settings.
pub(crate) async fn check(connection: &Connection) -> Result<Vec<String>, OpenError> {
    let row = connection.query_one(SETTINGS, &[]).await?;
    let version: i32 = row.get(0);
    if version < VERSION_MIN {
        return Err(OpenError::Old(row.get(1)));
    }
    if row.get(2) {
        return Err(OpenError::Database("it is a standby, which takes no writes".to_owned()));
    }
    let [fsync, pages, commit, retry] = [3, 4, 5, 6].map(|column| row.get::<_, String>(column));
    Ok(risks(&fsync, &pages, &commit, &retry))
}

fn risks(
    fsync: &str,
    full_page_writes: &str,
    synchronous_commit: &str,
    data_sync_retry: &str,
) -> Vec<String> {
    let mut risks = Vec::new();
    let mut note = |is_unsafe: bool, said: String| risks.extend(is_unsafe.then_some(said));
    note(fsync != "on", format!("fsync is {fsync}: set it to on"));
    note(full_page_writes != "on", format!("full_page_writes is {full_page_writes}: set it to on"));
    note(
        synchronous_commit == "off",
        "synchronous_commit is off: set it to on, local or stronger".to_owned(),
    );
    note(data_sync_retry != "off", format!("data_sync_retry is {data_sync_retry}: set it to off"));
    risks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_settings_are_named() {
        assert_eq!(risks("on", "on", "on", "off"), [""; 0]);
        assert_eq!(risks("on", "on", "remote_apply", "off"), [""; 0]);
        let all = risks("off", "off", "off", "on");
        let named = ["fsync", "full_page_writes", "synchronous_commit", "data_sync_retry"];
        assert!(named.iter().zip(&all).all(|(name, said)| said.starts_with(name)), "{all:?}");
    }
}
