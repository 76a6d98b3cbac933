//! Whether what the database has acknowledged is durable.

use crate::connection::Connection;
use crate::open::OpenError;

/// The first version that waits for a backend to end when it is told to, in numbers of PostgreSQL.
const VERSION_MIN: i32 = 140_000;

const SETTINGS: &str = "SELECT current_setting('server_version_num')::integer, current_setting('server_version'), \
    pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'), \
    current_setting('synchronous_commit'), current_setting('data_sync_retry')";

/// What the server says of itself.
struct Said {
    version_no: i32,
    version: String,
    is_standby: bool,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    data_sync_retry: String,
}

/// What is unsafe about the server's settings.
pub(crate) async fn check(connection: &Connection) -> Result<Vec<String>, OpenError> {
    let row = connection.query_one(SETTINGS, &[]).await?;
    let [fsync, full_page_writes, synchronous_commit, data_sync_retry] =
        [3, 4, 5, 6].map(|column| row.get::<_, String>(column));
    let (version_no, version, is_standby) = (row.get(0), row.get(1), row.get(2));
    judged(Said {
        version_no,
        version,
        is_standby,
        fsync,
        full_page_writes,
        synchronous_commit,
        data_sync_retry,
    })
}

fn judged(said: Said) -> Result<Vec<String>, OpenError> {
    if said.version_no < VERSION_MIN {
        return Err(OpenError::Old(said.version));
    }
    if said.is_standby {
        return Err(OpenError::Database("it is a standby, which takes no writes".to_owned()));
    }
    let Said { fsync, full_page_writes, synchronous_commit, data_sync_retry, .. } = said;
    let mut risks = Vec::new();
    let mut note = |is_unsafe: bool, said: String| risks.extend(is_unsafe.then_some(said));
    note(fsync != "on", format!("fsync is {fsync}: set it to on"));
    note(full_page_writes != "on", format!("full_page_writes is {full_page_writes}: set it to on"));
    note(
        synchronous_commit == "off",
        "synchronous_commit is off: set it to on, local or stronger".to_owned(),
    );
    note(data_sync_retry != "off", format!("data_sync_retry is {data_sync_retry}: set it to off"));
    Ok(risks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that can be used.
    fn sound() -> Said {
        let [fsync, full_page_writes, synchronous_commit, data_sync_retry] =
            ["on", "on", "on", "off"].map(str::to_owned);
        Said {
            version_no: 150_018,
            version: "15.18".to_owned(),
            is_standby: false,
            fsync,
            full_page_writes,
            synchronous_commit,
            data_sync_retry,
        }
    }

    #[test]
    fn unsafe_settings_are_named() {
        assert_eq!(judged(sound()).unwrap(), [""; 0]);
        let waits = Said { synchronous_commit: "remote_apply".to_owned(), ..sound() };
        assert_eq!(judged(waits).unwrap(), [""; 0]);
        let [fsync, full_page_writes, synchronous_commit, data_sync_retry] =
            ["off", "off", "off", "on"].map(str::to_owned);
        let all = Said { fsync, full_page_writes, synchronous_commit, data_sync_retry, ..sound() };
        let all = judged(all).unwrap();
        let named = ["fsync", "full_page_writes", "synchronous_commit", "data_sync_retry"];
        assert_eq!(all.len(), named.len());
        assert!(named.iter().zip(&all).all(|(name, said)| said.starts_with(name)), "{all:?}");
    }

    #[test]
    fn what_is_too_old_or_takes_no_writes_is_refused() {
        let old = Said { version_no: 139_999, version: "13.22 (Debian)".to_owned(), ..sound() };
        assert!(matches!(judged(old), Err(OpenError::Old(version)) if version == "13.22 (Debian)"));
        judged(Said { version_no: 140_000, ..sound() }).expect("the first that will do");
        let standby = judged(Said { is_standby: true, ..sound() });
        assert!(matches!(&standby, Err(OpenError::Database(why)) if why.contains("standby")), "{standby:?}");
    }
}
