//! Where the database is, and how it is used.

use crate::connection::said;
use crate::open::OpenError;
use crate::tls::Trust;
use percent_encoding::percent_decode_str;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, SslNegotiation, TargetSessionAttrs};

/// The schema that everything is in, unless the URL says another.
const SCHEMA: &str = "threadline";
/// The longest name that PostgreSQL takes, and what a channel's needs beside it.
const SCHEMA_BYTES_MAX: usize = 63 - "threadline:".len();
/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// After how long a network that does not answer is given up.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Where the database is, and how it is used.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) trust: Trust,
    /// Whether a database is taken that may lose what it has acknowledged.
    pub unsafe_durability: bool,
    /// Whether the store must be there already: for who only looks, a name that is mistyped must not become an empty store.
    pub must_exist: bool,
    /// How long appends wait for a database that is away before they fail.
    pub hold_back: Duration,
    /// For how long a run must have ended before its records are packed.
    pub seal_after: Duration,
}

impl PostgresOptions {
    /// Reads a URL such as `postgres://user:password@host:5432/database`. It may say what tokio-postgres knows, and `schema`.
    ///
    /// # Errors
    /// If it is none, or says something that is not known.
    pub fn new(url: &str) -> Result<Self, OpenError> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = Vec::new();
        let (mut schema, mut mode, mut root) = (SCHEMA.to_owned(), "prefer".to_owned(), None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "schema" => schema = value,
                "sslmode" => mode = value,
                "sslrootcert" => root = Some(PathBuf::from(value)),
                _ => rest.push(pair),
            }
        }
        // It stands in statements that take no parameters.
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if schema.is_empty() || schema.len() > SCHEMA_BYTES_MAX || !schema.bytes().all(is_plain) {
            return Err(OpenError::Url(format!(
                "a schema has letters a to z, digits and _. schema={schema:?}"
            )));
        }
        let url = if rest.is_empty() { place.to_owned() } else { format!("{place}?{}", rest.join("&")) };
        let mut config: Config =
            url.parse().map_err(|error: tokio_postgres::Error| OpenError::Url(said(&error)))?;
        let cannot = |what: &str| Err(OpenError::Url(what.to_owned()));
        // It would be refused by each connection, whatever the server can.
        if config.get_channel_binding() == ChannelBinding::Require {
            return cannot(
                "channel_binding=require cannot be had: the certificate is checked instead, with sslmode=verify-full",
            );
        }
        if config.get_ssl_negotiation() == SslNegotiation::Direct {
            return cannot(
                "sslnegotiation=direct cannot be had: TLS is begun as by PostgreSQL 16 and before",
            );
        }
        let trust = match (mode.as_str(), root) {
            ("disable", _) | ("prefer" | "require", None) => Trust::Anybody,
            ("require" | "verify-full", Some(root)) => Trust::File(root),
            ("verify-full", None) => Trust::System,
            ("prefer", Some(_)) => return cannot("sslrootcert needs sslmode=verify-full"),
            (other, _) => {
                let known = "disable, prefer, require, verify-full";
                return Err(OpenError::Url(format!("sslmode is unknown. given={other}, known={known}")));
            }
        };
        config.ssl_mode(match mode.as_str() {
            "disable" => SslMode::Disable,
            "prefer" => SslMode::Prefer,
            _ => SslMode::Require,
        });
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.application_name("threadline");
        // Where several hosts are named, the one that takes writes; and who is gone without a word is noticed.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.keepalives_idle(SILENCE_MAX).keepalives_interval(SILENCE_MAX).tcp_user_timeout(SILENCE_MAX);
        let said = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
        // Each statement sees what was committed before it, which is what the functions rely on; plans are made once.
        config.options(format!(
            "{said}-c search_path={schema} -c default_transaction_isolation=read\\ committed -c jit=off \
             -c plan_cache_mode=force_generic_plan -c client_min_messages=warning"
        ));
        Ok(Self {
            config,
            schema,
            trust,
            unsafe_durability: false,
            must_exist: false,
            hold_back: Duration::from_secs(5),
            seal_after: Duration::from_secs(60),
        })
    }

    /// Whether this is the URL of a database.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// The database, for people: without a password.
    #[must_use]
    pub fn shown(&self) -> String {
        let hosts: Vec<String> = (self.config.get_hosts().iter().enumerate())
            .map(|(place, host)| {
                let ports = self.config.get_ports();
                let port = ports.get(place).or_else(|| ports.first()).copied().unwrap_or(5432);
                match host {
                    Host::Tcp(name) => format!("{name}:{port}"),
                    #[cfg(unix)]
                    Host::Unix(path) => format!("{}:{port}", path.display()),
                }
            })
            .collect();
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("postgres://{user}{}/{database}?schema={}", hosts.join(","), self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_where_and_how() {
        let options = PostgresOptions::new("postgres://u:secret@db:1/x?schema=s&sslmode=disable").unwrap();
        assert_eq!(options.shown(), "postgres://u@db:1/x?schema=s");
        assert!(!format!("{options:?}").contains("secret"));
        // As the documentation has them.
        let names = "user=u&password=p&dbname=d&host=h&hostaddr=127.0.0.1&port=1&options=-ca%3Db&connect_timeout=2&keepalives=1&\
            keepalives_retries=2&load_balance_hosts=random&channel_binding=prefer&sslnegotiation=postgres&target_session_attrs=any&\
            application_name=a&keepalives_idle=1&keepalives_interval=1&tcp_user_timeout=1";
        let options = PostgresOptions::new(&format!("postgres://?{names}")).unwrap();
        assert_eq!(options.shown(), "postgres://u@h:1/d?schema=threadline");
        let options = PostgresOptions::new("postgresql://h/x").unwrap();
        assert_eq!((options.schema.as_str(), options.config.get_ssl_mode()), ("threadline", SslMode::Prefer));
        for (mode, root, trust) in [
            ("require", "", Trust::Anybody),
            ("verify-full", "", Trust::System),
            ("verify-full", "&sslrootcert=%2Fa%20b", Trust::File("/a b".into())),
        ] {
            let url = format!("postgres://h/x?sslmode={mode}{root}");
            let options = PostgresOptions::new(&url).unwrap();
            assert_eq!((options.trust, options.config.get_ssl_mode()), (trust, SslMode::Require), "{url}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said() {
        for (url, said) in [
            ("http://h/x", "invalid"),
            ("postgres://h/x?sslmode=maybe", "given=maybe"),
            ("postgres://h/x?schema=a%22b", "schema"),
            ("postgres://h/x?colour=red", "colour"),
            ("postgres://h/x?sslrootcert=f", "verify-full"),
            ("postgres://h/x?channel_binding=require&sslmode=require", "verify-full"),
            ("postgres://h/x?sslnegotiation=direct&sslmode=require", "sslnegotiation"),
            ("postgres://h/x?sslmode=verify-ca", "given=verify-ca"),
            ("postgres://h/x?sslcert=f", "sslcert"),
            ("postgres://h/x?passfile=f", "passfile"),
            ("postgres://h/x?service=s", "service"),
        ] {
            let error = PostgresOptions::new(url).unwrap_err().to_string();
            assert!(error.contains(said), "{url}: {error}");
        }
    }
}
