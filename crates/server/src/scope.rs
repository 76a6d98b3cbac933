//! Who a request is for.

use crate::access::Identity;
use crate::error::{Code, Refusal};
use crate::input::{Input, prop_pointer};
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
            let value = name.as_ref().and_then(|name| headers.get(name)).filter(|value| !value.is_empty());
            let Some(value) = value else { return Ok(None) };
            let text = std::str::from_utf8(value.as_bytes());
            let text = text.map_err(|_other| {
                Refusal::new(Code::InvalidParameter, "a header that names a scope is not UTF-8")
            })?;
            Ok(Some(text.to_owned()))
        };
        let input = input.filter(|_| identity.is_none());
        let owner = |proved: Option<&String>,
                     header_name: &Option<String>,
                     prop_name: &Option<String>,
                     default: &str| {
            let in_head = match proved {
                Some(name) => Some(name.clone()),
                None => header(header_name)?,
            };
            if let Some(name) = in_head {
                return Owner::new(name)
                    .map_err(|error| Refusal::new(Code::InvalidParameter, error.to_string()));
            }
            if let (Some(prop_name), Some(input)) = (prop_name, input)
                && let Some(name) = input.prop(prop_name)?.filter(|name| !name.is_empty())
            {
                return Owner::new(name)
                    .map_err(|error| Refusal::input(&prop_pointer(prop_name), error.to_string()));
            }
            Owner::new(default).map_err(|error| Refusal::new(Code::Internal, error.to_string()))
        };
        let (app, user) = identity.map_or((None, None), |known| (known.app.as_ref(), known.user.as_ref()));
        Ok(Scope {
            app: owner(app, &self.app_header, &self.app_prop, &self.app)?,
            user: owner(user, &self.user_header, &self.user_prop, &self.user)?,
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
        headers.insert("x-user", HeaderValue::from_static(""));
        assert_eq!(user(&settings, &headers), "prop", "what says nothing is as good as none");
        let known = |user: Option<&str>| Identity {
            app: None,
            user: user.map(str::to_owned),
            permission: crate::access::Permission::Read,
            thread: None,
            until: None,
        };
        let proved = |user, headers: &HeaderMap| {
            let asked = Asked { identity: Some(&known(user)), headers, input: Some(&input) };
            settings.scope(&asked).unwrap().user.to_string()
        };
        assert_eq!(proved(Some("ann"), &headers), "ann");
        assert_eq!(proved(None, &headers), "default", "a prop proves nothing");
        headers.insert("x-user", HeaderValue::from_static("header"));
        assert_eq!(
            (proved(Some("ann"), &headers), proved(None, &headers)),
            ("ann".to_owned(), "header".to_owned())
        );
        headers.insert("x-user", HeaderValue::from_bytes(b"\xff").unwrap());
        let asked = Asked { identity: None, headers: &headers, input: None };
        assert_eq!(settings.scope(&asked).unwrap_err().code, Code::InvalidParameter);
        // Whoever names a user must not get another's threads.
        for (props, pointer) in [
            (r#"{"a/b":5}"#.to_owned(), "/forwardedProps/a~1b"),
            (format!(r#"{{"a/b":"{}"}}"#, "u".repeat(257)), "/forwardedProps/a~1b"),
        ] {
            let body = format!(r#"{{"threadId":"t","forwardedProps":{props}}}"#);
            let input = Input::read(&Bytes::from(body)).unwrap();
            let settings = ScopeSettings { user_prop: Some("a/b".to_owned()), ..ScopeSettings::default() };
            let refusal = settings
                .scope(&Asked { identity: None, headers: &HeaderMap::new(), input: Some(&input) })
                .unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput);
            assert_eq!(refusal.details.unwrap()["pointer"], pointer);
        }
    }
}
