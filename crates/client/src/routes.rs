//! Where a server has what the URL of its agent does not.

use crate::EndpointError;
use crate::address::Address;
use http::uri::PathAndQuery;

/// The paths of what goes with an agent, where they are not the usual ones.
///
/// The usual ones are `/connect`, `/cancel`, `/history` and `/capabilities` below the agent's URL. A URL that ends in `/agui` or
/// `/api/agent` is most likely that of a Threadline server's default agent, whose `/cancel`, `/history` and `/capabilities` stand beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// Attaching to a thread.
    pub connect: Option<String>,
    /// Stopping a run.
    pub cancel: Option<String>,
    /// The messages of a thread.
    pub history: Option<String>,
    /// What the agent can do.
    pub capabilities: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) connect: PathAndQuery,
    pub(crate) cancel: PathAndQuery,
    pub(crate) history: PathAndQuery,
    pub(crate) capabilities: PathAndQuery,
}

impl Paths {
    pub(crate) fn of(address: &Address, routes: &Routes) -> Result<Self, EndpointError> {
        let agent = address.run.path().trim_end_matches('/');
        let beside = ["/agui", "/api/agent"].iter().find_map(|name| agent.strip_suffix(name));
        let parse = |path: &str| {
            let query = address.run.query().filter(|_| !path.contains('?'));
            let text = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
            let parsed = PathAndQuery::try_from(text).ok().filter(|parsed| parsed.path().starts_with('/'));
            parsed.ok_or(EndpointError::Url { what: "it is not one with this path" })
        };
        let found = |given: &Option<String>, name: &str| match given {
            Some(path) => parse(path),
            None => parse(&format!("{}/{name}", beside.unwrap_or(agent))),
        };
        let connect = match (&routes.connect, beside) {
            (Some(path), _) => parse(path)?,
            (None, Some(base)) => parse(&format!("{base}/agui/connect"))?,
            (None, None) => parse(&format!("{agent}/connect"))?,
        };
        Ok(Self {
            connect,
            cancel: found(&routes.cancel, "cancel")?,
            history: found(&routes.history, "history")?,
            capabilities: found(&routes.capabilities, "capabilities")?,
        })
    }
}

/// The path with something more in its query.
pub(crate) fn with_query(path: &PathAndQuery, name: &str, value: &str) -> PathAndQuery {
    let sign = if path.query().is_some() { '&' } else { '?' };
    let value = percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC);
    format!("{path}{sign}{name}={value}").try_into().unwrap_or_else(|_too_long| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_the_url() {
        let paths = |url: &str, routes: &Routes| {
            let Paths { connect, cancel, history, capabilities } =
                Paths::of(&Address::parse(url).unwrap(), routes).unwrap();
            [connect, cancel, history, capabilities].map(|path| path.to_string())
        };
        let usual = Routes::default();
        let below = ["/a/connect", "/a/cancel", "/a/history", "/a/capabilities"];
        assert_eq!(paths("http://h/a/", &usual), below);
        assert_eq!(paths("http://h", &usual), ["/connect", "/cancel", "/history", "/capabilities"]);
        assert_eq!(paths("http://h/a?k=v", &usual), below.map(|path| format!("{path}?k=v")));
        let default_agent = ["/x/agui/connect", "/x/cancel", "/x/history", "/x/capabilities"];
        assert_eq!(paths("http://h/x/agui", &usual), default_agent);
        assert_eq!(paths("http://h/x/api/agent", &usual), default_agent);
        let own = Routes { cancel: Some("/stop?now".to_owned()), connect: Some("/join".to_owned()), ..usual };
        assert_eq!(
            paths("http://h/a?k", &own),
            ["/join?k", "/stop?now", "/a/history?k", "/a/capabilities?k"]
        );
        let wrong = Routes { cancel: Some("stop".to_owned()), ..Routes::default() };
        assert!(Paths::of(&Address::parse("http://h/").unwrap(), &wrong).is_err());
    }

    #[test]
    fn queries_are_added() {
        let path = |text: &'static str| PathAndQuery::from_static(text);
        assert_eq!(with_query(&path("/a"), "run", "r 1&"), path("/a?run=r%201%26"));
        assert_eq!(with_query(&path("/a?k=v"), "run", "r"), path("/a?k=v&run=r"));
    }
}
