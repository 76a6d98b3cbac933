//! Who a request is for.

use crate::access::Identity;
use crate::error::{Code, Refusal};
use crate::input::Input;
use crate::settings::ScopeSettings;
use axum::http::HeaderMap;
use std::fmt;
use threadline_log::Scope;
use threadline_log::names::Owner;

/// Says which app and user a request is for, before anything else is done with it.
pub trait ScopeResolver: Send + Sync + fmt::Debug + 'static {
    /// The scope of a request.
    ///
    /// # Errors
    /// If the request does not say, or may not.
    fn scope(&self, asked: &Asked<'_>) -> Result<Scope, Refusal>;
}

/// What a request says about who it is for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What its caller has proved to be, if that must be proved.
    pub identity: Option<&'a Identity>,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its body, if it has one.
    pub input: Option<&'a Input>,
}

/// What a caller has proved comes before everything. Props are what a page says, so that they count only where nothing must be proved.
impl ScopeResolver for ScopeSettings {
    fn scope(&self, asked: &Asked<'_>) -> Result<Scope, Refusal> {
        let Asked { identity, headers, input } = *asked;
        let header = |name: &Option<String>| -> Result<Option<String>, Refusal> {
            let Some(value) = name.as_ref().and_then(|name| headers.get(name)) else { return Ok(None) };
            let text = std::str::from_utf8(value.as_bytes());
            let text = text.map_err(|_other| {
                Refusal::new(Code::InvalidParameter, "a header that names a scope is not UTF-8")
            })?;
            Ok(Some(text.to_owned()))
        };
        let input = input.filter(|_| identity.is_none());
        let prop = |name: &Option<String>| name.as_ref().and_then(|name| input?.prop(name));
        let (app, user) = identity.map_or((None, None), |known| (known.app.clone(), known.user.clone()));
        let owner = |said: Option<String>, default: &str| {
            let name = said.unwrap_or_else(|| default.to_owned());
            Owner::new(name).map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()))
        };
        Ok(Scope {
            app: match app {
                Some(app) => owner(Some(app), "")?,
                None => owner(header(&self.app_header)?.or_else(|| prop(&self.app_prop)), &self.app)?,
            },
            user: match user {
                Some(user) => owner(Some(user), "")?,
                None => owner(header(&self.user_header)?.or_else(|| prop(&self.user_prop)), &self.user)?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use bytes::Bytes;

    #[test]
    fn a_header_comes_before_a_prop_and_both_before_the_default() {
        let input =
            Input::read(&Bytes::from(r#"{"threadId":"t","forwardedProps":{"userId":"prop"}}"#)).unwrap();
        let mut headers = HeaderMap::new();
        let mut settings = ScopeSettings::default();
        let user = |settings: &ScopeSettings, headers: &HeaderMap| {
            settings.scope(&Asked { identity: None, headers, input: Some(&input) }).unwrap().user.to_string()
        };
        assert_eq!(user(&settings, &headers), "default");
        settings.user_prop = Some("userId".to_owned());
        assert_eq!(user(&settings, &headers), "prop");
        headers.insert("x-user", HeaderValue::from_static("header"));
        assert_eq!(user(&settings, &headers), "prop");
        settings.user_header = Some("X-User".to_owned());
        assert_eq!(user(&settings, &headers), "header");
        headers.insert("x-user", HeaderValue::from_bytes(b"\xff").unwrap());
        let asked = Asked { identity: None, headers: &headers, input: None };
        assert_eq!(settings.scope(&asked).unwrap_err().code, Code::InvalidParameter);
    }
}
