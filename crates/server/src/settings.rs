//! What the server can be told, with its defaults. `threadline.toml` has the same names.

mod auth;
mod limits;
mod retention;

pub use auth::{AuthSettings, JwtAlgorithm, JwtSettings};
pub use limits::LimitSettings;
pub use retention::RetentionSettings;

use crate::duration::optional_duration;
use axum::http::Uri;
use serde::{Deserialize, Deserializer, de};
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;
use thiserror::Error;
use threadline_log::delivery::UnknownEvents;
use threadline_log::names::Owner;

/// The shortest lease of a run: it is renewed each third of it.
const LEASE_MIN: Duration = Duration::from_millis(100);
/// The longest: nobody closes the run of an instance that is gone before it is over.
const LEASE_MAX: Duration = Duration::from_hours(1);

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Agents by name. If there is none, the demo agent is there.
    pub agents: BTreeMap<String, AgentSettings>,
    /// Whose routes have no name in them. If it is not said, the only agent, or the first by name.
    pub default_agent: Option<String>,
    /// Who may call.
    pub auth: AuthSettings,
    /// Who threads belong to.
    pub scope: ScopeSettings,
    /// Where routes are.
    pub paths: Paths,
    /// How runs are executed and kept.
    pub runs: RunSettings,
    /// The history route.
    pub history: HistorySettings,
    /// What is not kept for ever.
    pub retention: RetentionSettings,
    /// How much at once, and how fast.
    pub limits: LimitSettings,
    /// Figures for Prometheus.
    pub metrics: MetricsSettings,
    /// Connections.
    pub http: HttpSettings,
}

/// Settings that make no sense together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A path that is none.
    #[error("a path begins with / and has no braces. path={0}")]
    Path(String),
    /// An origin that is none.
    #[error("an origin is a scheme and a host, such as https://chat.example. origin={0}")]
    Origin(String),
    /// A path that is there already.
    #[error("two routes have the same path. path={0}")]
    PathTaken(String),
    /// A name of an app or a user that is none.
    #[error("no name for {0}: {1}")]
    Name(&'static str, String),
    /// A limit that leaves nothing.
    #[error("{0} must not be 0: nothing could be served")]
    Zero(&'static str),
}

impl Settings {
    /// Whether a server can be made of them.
    ///
    /// # Errors
    /// If a path or an origin is none, or a path is there twice; if a name is none; if a limit leaves nothing.
    pub fn check(&self) -> Result<(), SettingsError> {
        self.check_paths()?;
        for (name, value) in [("scope.app", &self.scope.app), ("scope.user", &self.scope.user)] {
            Owner::new(value).map_err(|error| SettingsError::Name(name, error.to_string()))?;
        }
        let (http, limits) = (&self.http, &self.limits);
        for (name, is_zero) in [
            ("http.request_bytes_max", http.request_bytes_max == 0),
            ("http.header_timeout", http.header_timeout.is_zero()),
            ("http.body_timeout", http.body_timeout.is_zero()),
            ("http.write_timeout", http.write_timeout.is_zero()),
            ("http.connections_max", http.connections_max == 0),
            ("limits.runs_max", limits.runs_max == 0),
            ("limits.runs_per_scope_max", limits.runs_per_scope_max == 0),
            ("limits.streams_max", limits.streams_max == 0),
            ("limits.streams_per_scope_max", limits.streams_per_scope_max == 0),
        ] {
            if is_zero {
                return Err(SettingsError::Zero(name));
            }
        }
        match self.http.origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(SettingsError::Origin(origin.clone())),
            None => Ok(()),
        }
    }

    fn check_paths(&self) -> Result<(), SettingsError> {
        let Paths { base, run, run_alias, connect, history, cancel, capabilities, socket } = &self.paths;
        let mut taken: HashSet<&str> = HashSet::from(["/agents", "/healthz", "/readyz", "/metrics"]);
        for path in [base, run, run_alias, connect, history, cancel, capabilities, socket] {
            if path.is_empty() {
                continue;
            }
            let is_path = path.starts_with('/') && !path.contains(['{', '}', '?', '#', '*', ':']);
            if !is_path {
                return Err(SettingsError::Path(path.clone()));
            }
            let is_page = path == "/" && (path == capabilities || path == socket);
            let is_ours =
                is_page || ["/agents/", "/assets/", "/v1/"].iter().any(|ours| path.starts_with(ours));
            if path != base && (is_ours || !taken.insert(path)) {
                return Err(SettingsError::PathTaken(path.clone()));
            }
        }
        Ok(())
    }
}

/// Whether a browser would write it like this. A pattern is none.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    uri.scheme().is_some()
        && uri.authority().is_some()
        && !text.contains('*')
        && !text.ends_with('/')
        && matches!(uri.path(), "" | "/")
        && uri.query().is_none()
        && text == text.to_lowercase()
}

/// An agent behind a URL.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// Where it takes runs.
    pub url: String,
    /// Headers that it is sent with every run.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Headers of a client's request that are sent on.
    #[serde(default)]
    pub forward_headers: Vec<String>,
    /// Whether it may answer in protobuf.
    #[serde(default)]
    pub protobuf: bool,
    /// How long connecting may take.
    #[serde(default = "ten_seconds", with = "crate::duration")]
    pub connect_timeout: Duration,
    /// How long it may take to begin its answer.
    #[serde(default = "one_minute", with = "crate::duration")]
    pub first_byte_timeout: Duration,
    /// How long it may be silent within its answer.
    #[serde(default = "five_minutes", with = "crate::duration")]
    pub idle_timeout: Duration,
}

impl AgentSettings {
    /// At a URL, with the defaults.
    #[must_use]
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: BTreeMap::new(),
            forward_headers: Vec::new(),
            protobuf: false,
            connect_timeout: ten_seconds(),
            first_byte_timeout: one_minute(),
            idle_timeout: five_minutes(),
        }
    }
}

const fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

const fn one_minute() -> Duration {
    Duration::from_mins(1)
}

const fn five_minutes() -> Duration {
    Duration::from_mins(5)
}

/// Who threads belong to, unless a request says it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSettings {
    /// The app.
    pub app: String,
    /// The user.
    pub user: String,
    /// A header that names the app.
    pub app_header: Option<String>,
    /// A header that names the user.
    pub user_header: Option<String>,
    /// A member of `forwardedProps` that names the app.
    pub app_prop: Option<String>,
    /// A member of `forwardedProps` that names the user.
    pub user_prop: Option<String>,
}

impl Default for ScopeSettings {
    fn default() -> Self {
        Self {
            app: "default".to_owned(),
            user: "default".to_owned(),
            app_header: None,
            user_header: None,
            app_prop: None,
            user_prop: None,
        }
    }
}

/// Where routes are. An empty path switches a route of the default agent off.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    /// Before all of them.
    pub base: String,
    /// Runs of the default agent.
    pub run: String,
    /// The same under another name.
    pub run_alias: String,
    /// Attaching to its threads.
    pub connect: String,
    /// Their history.
    pub history: String,
    /// Stopping its runs.
    pub cancel: String,
    /// What it can do.
    pub capabilities: String,
    /// All of that over a WebSocket.
    pub socket: String,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            base: String::new(),
            run: "/agui".to_owned(),
            run_alias: "/api/agent".to_owned(),
            connect: "/agui/connect".to_owned(),
            history: "/history".to_owned(),
            cancel: "/cancel".to_owned(),
            capabilities: "/capabilities".to_owned(),
            socket: "/agui/ws".to_owned(),
        }
    }
}

/// Who keeps the history of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// The client sends all of it with each run, and the agent gets what was sent.
    #[default]
    Client,
    /// The client may send only what is new, and the agent gets the whole branch.
    Server,
}

/// What becomes of a request for a run whose parent goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBusy {
    /// It is refused.
    #[default]
    Refuse,
    /// The parent is cancelled; what it said is kept.
    Supersede,
}

/// What clients can rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// What any client has seen survives a crash.
    #[default]
    Durable,
    /// Clients see everything at once; what they have seen last may not survive a crash.
    Buffered,
}

/// How runs are executed and kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// What clients can rely on.
    pub mode: Mode,
    /// Whether a buffered run is stored with adjacent pieces of a message merged.
    pub aggregate: bool,
    /// How often a buffered run is stored; none is only at its end.
    #[serde(with = "optional_duration")]
    pub flush_interval: Option<Duration>,
    /// How long the end of a buffered run may take to be stored; none is for as long as it takes.
    #[serde(with = "optional_duration")]
    pub finalization_timeout: Option<Duration>,
    /// Who keeps the history.
    pub history: History,
    /// What becomes of a request while its parent goes on.
    pub on_busy: OnBusy,
    /// What becomes of events of types that AG-UI does not have: `drop`, or `custom:PREFIX` to show them as CUSTOM events. They are
    /// kept as they came in any case.
    #[serde(deserialize_with = "unknown_events")]
    pub unknown: UnknownEvents,
    /// For how long a run is of the instance that executes it, unless it is renewed. So long after that instance is gone, another
    /// closes the run.
    #[serde(deserialize_with = "lease")]
    pub lease: Duration,
    /// The most that a run may have in bytes.
    pub run_bytes_max: u64,
    /// How long a run may go on; none is for ever. A source that never falls silent would have no other end.
    #[serde(with = "optional_duration")]
    pub run_timeout: Option<Duration>,
    /// How long a source may go on after the end of its run before it is cut off.
    #[serde(with = "crate::duration")]
    pub after_end_timeout: Duration,
    /// How long whoever appends the events of a run may be silent before it is closed as abandoned.
    #[serde(with = "crate::duration")]
    pub append_timeout: Duration,
    /// How long runs have to be closed when the server stops.
    #[serde(with = "crate::duration")]
    pub shutdown_timeout: Duration,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            aggregate: true,
            flush_interval: Some(Duration::from_secs(1)),
            finalization_timeout: Some(Duration::from_secs(5)),
            history: History::default(),
            on_busy: OnBusy::default(),
            unknown: UnknownEvents::Drop,
            lease: Duration::from_secs(6),
            run_bytes_max: 128 * 1024 * 1024,
            run_timeout: Some(Duration::from_hours(1)),
            after_end_timeout: Duration::from_secs(5),
            append_timeout: Duration::from_mins(5),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

fn lease<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let lease = crate::duration::deserialize(deserializer)?;
    if (LEASE_MIN..=LEASE_MAX).contains(&lease) {
        return Ok(lease);
    }
    Err(de::Error::custom(format!("expected {LEASE_MIN:?} to {LEASE_MAX:?}. lease={lease:?}")))
}

fn unknown_events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnknownEvents, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.split_once(':') {
        None if text == "drop" => Ok(UnknownEvents::Drop),
        Some(("custom", prefix)) => Ok(UnknownEvents::Custom(prefix.to_owned())),
        _ => Err(de::Error::custom(format!("expected drop or custom:PREFIX. unknown={text}"))),
    }
}

/// The history route. Requests may say `follow`, `lifecycle` and `state` otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistorySettings {
    /// Whether there is one.
    pub enabled: bool,
    /// Whether a run that goes on is followed to its end.
    pub follow: bool,
    /// How long it is followed at most; none is for ever.
    #[serde(with = "optional_duration")]
    pub follow_max_duration: Option<Duration>,
    /// Whether starts and ends of runs are shown as messages.
    pub lifecycle: bool,
    /// Whether the state is given as well.
    pub state: bool,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            follow: false,
            follow_max_duration: Some(Duration::from_hours(1)),
            lifecycle: false,
            state: false,
        }
    }
}

/// Figures for Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsSettings {
    /// Whether there are any.
    pub enabled: bool,
    /// Whether anybody may see them; else it takes the permission admin, where callers have permissions.
    pub public: bool,
}

impl Default for MetricsSettings {
    fn default() -> Self {
        Self { enabled: true, public: false }
    }
}

/// A way to compress a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestEncoding {
    /// As gzip does.
    Gzip,
    /// As zstd does, with windows of 4 MiB at most.
    Zstd,
}

/// Connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Names that the `Host` header may have, beside those of this machine itself.
    pub hosts: Vec<String>,
    /// Origins whose pages may call, exactly as browsers write them: `https://chat.example`.
    pub origins: Vec<String>,
    /// Whether their pages may send cookies and the like.
    pub credentials: bool,
    /// The largest body of a request.
    pub request_bytes_max: usize,
    /// The largest body of an import, which is never held as a whole.
    pub import_bytes_max: u64,
    /// How bodies may be compressed; not at all, if none is named.
    pub request_encodings: Vec<RequestEncoding>,
    /// How long the head of a request may take.
    #[serde(with = "crate::duration")]
    pub header_timeout: Duration,
    /// How long its body may take.
    #[serde(with = "crate::duration")]
    pub body_timeout: Duration,
    /// How long a client may take nothing of what it is sent.
    #[serde(with = "crate::duration")]
    pub write_timeout: Duration,
    /// After how much silence an event stream is sent a comment; none is never.
    #[serde(with = "optional_duration")]
    pub keep_alive: Option<Duration>,
    /// The most connections at once.
    pub connections_max: usize,
    /// The most of one address (of IPv6: of its /64 network); 0 is as many as come.
    pub connections_per_address_max: usize,
    /// Whether there are WebSockets.
    pub websocket: bool,
    /// Whether the inspector is at `/`.
    pub inspector: Inspector,
}

/// Where the inspector is shown. It is a page that asks what anybody may ask who may: it needs no token, what it shows does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inspector {
    /// If the server listens where only this machine can reach it. Whoever opens the listener says so, by [`Self::on`]; until then
    /// it is nowhere, so that who adds routes of their own has `/`.
    #[default]
    Loopback,
    /// Wherever it listens.
    Always,
    /// Nowhere.
    Never,
}

impl Inspector {
    /// What it comes to for a server that listens on this address.
    #[must_use]
    pub const fn on(self, address: IpAddr) -> Self {
        match self {
            Self::Loopback if address.is_loopback() => Self::Always,
            Self::Loopback => Self::Never,
            said => said,
        }
    }
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            credentials: false,
            request_bytes_max: 32 * 1024 * 1024,
            import_bytes_max: 64 * 1024 * 1024 * 1024,
            request_encodings: Vec::new(),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Some(Duration::from_secs(15)),
            connections_max: 10_000,
            connections_per_address_max: 0,
            websocket: true,
            inspector: Inspector::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the documentation shows is what there is, and its values are the defaults.
    #[test]
    fn the_documentation_shows_the_defaults() {
        let text = include_str!("../../../docs/configuration.md");
        let (_, rest) = text.split_once("```toml\n").unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        let mut table: toml::Table = example.parse().unwrap();
        for of_the_command_line in ["listen", "store", "log"] {
            assert!(table.remove(of_the_command_line).is_some());
        }
        let shown: Settings = toml::Value::Table(table).try_into().unwrap();
        let mut chat = AgentSettings::at("http://127.0.0.1:9000/");
        chat.headers.insert("authorization".to_owned(), "Bearer ...".to_owned());
        chat.forward_headers = vec!["x-request-id".to_owned()];
        let expected = Settings {
            agents: BTreeMap::from([("chat".to_owned(), chat)]),
            default_agent: Some("chat".to_owned()),
            ..Settings::default()
        };
        assert_eq!(shown, expected);
        assert_eq!(shown.check(), Ok(()));
        let sources = [
            include_str!("settings.rs"),
            include_str!("settings/auth.rs"),
            include_str!("settings/limits.rs"),
            include_str!("settings/retention.rs"),
        ];
        let fields = sources
            .iter()
            .flat_map(|source| source.lines())
            .filter_map(|line| line.strip_prefix("    pub ")?.split_once(": ").map(|(name, _)| name));
        for field in fields.filter(|name| name.chars().all(|one| one.is_ascii_lowercase() || one == '_')) {
            let is_shown = example.contains(&format!("{field} =")) || example.contains(&format!("{field}]"));
            assert!(is_shown || field == "agents", "{field} is not in the documentation");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let read = |text: &str| text.parse::<toml::Table>().unwrap().try_into::<Settings>();
        for wrong in [
            "histroy = {}",
            "[runs]\nunknown = \"custom\"",
            "[runs]\non_busy = \"wait\"",
            "[runs]\nlease = \"99ms\"",
            "[runs]\nlease = \"2h\"",
            "[http]\nkeep_alive = \"15\"",
            "[agents.a]\nurll = \"x\"",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("[http]\nkeep_alive = \"0\"").unwrap().http.keep_alive, None);
        assert_eq!(
            read("[runs]\nunknown = \"custom:x.\"").unwrap().runs.unknown,
            UnknownEvents::Custom("x.".to_owned())
        );
        for (paths, error) in [
            ("run = \"agui\"", SettingsError::Path("agui".to_owned())),
            ("run = \"/a/{b}\"", SettingsError::Path("/a/{b}".to_owned())),
            ("run = \"/history\"", SettingsError::PathTaken("/history".to_owned())),
            ("cancel = \"/v1/x\"", SettingsError::PathTaken("/v1/x".to_owned())),
        ] {
            assert_eq!(read(&format!("[paths]\n{paths}")).unwrap().check(), Err(error));
        }
        for origin in
            ["*", "chat.example", "https://*.example", "https://chat.example/", "https://Chat.example"]
        {
            let settings = read(&format!("[http]\norigins = [{origin:?}]")).unwrap();
            assert_eq!(settings.check(), Err(SettingsError::Origin(origin.to_owned())));
        }
        assert_eq!(read("[http]\norigins = [\"http://[::1]:3000\"]").unwrap().check(), Ok(()));
        assert_eq!(read("[paths]\nrun = \"\"\nbase = \"/x\"").unwrap().check(), Ok(()));
        let long = format!("[scope]\nuser = \"{}\"", "u".repeat(257));
        assert!(matches!(read(&long).unwrap().check(), Err(SettingsError::Name("scope.user", _))));
        for (http, name) in [
            ("body_timeout = \"0\"", "http.body_timeout"),
            ("header_timeout = \"0\"", "http.header_timeout"),
            ("write_timeout = \"0\"", "http.write_timeout"),
            ("connections_max = 0", "http.connections_max"),
            ("request_bytes_max = 0", "http.request_bytes_max"),
        ] {
            assert_eq!(read(&format!("[http]\n{http}")).unwrap().check(), Err(SettingsError::Zero(name)));
        }
    }
}
