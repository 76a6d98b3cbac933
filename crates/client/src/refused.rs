//! What a Threadline server says when it refuses.

use crate::ClientError;
use serde_json::Value;

/// A refusal that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// A stable word, such as `run_active`.
    pub code: String,
    /// The same for people.
    pub message: String,
    /// What else there is to know; null if nothing.
    pub details: Value,
}

impl Refused {
    /// What an error says, if a server made it and says something in this form.
    #[must_use]
    pub fn of(error: &ClientError) -> Option<Self> {
        let ClientError::Status { body, .. } = error else { return None };
        let mut body: Value = serde_json::from_str(body).ok()?;
        let said = body.get_mut("error")?;
        let text = |name: &str| said.get(name).and_then(Value::as_str).map(str::to_owned);
        let (code, message) = (text("code")?, text("message").unwrap_or_default());
        Some(Self { code, message, details: said.get_mut("details").map(Value::take).unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;

    #[test]
    fn refusals_are_read() {
        let said = |body: &str| {
            Refused::of(&ClientError::Status {
                status: StatusCode::CONFLICT,
                retry_after: None,
                body: body.to_owned(),
            })
        };
        let refused =
            said(r#"{"error":{"code":"run_active","message":"no","details":{"runId":"r"}}}"#).unwrap();
        assert_eq!((refused.code.as_str(), refused.message.as_str()), ("run_active", "no"));
        assert_eq!(refused.details, serde_json::json!({"runId": "r"}));
        for other in ["", "{}", r#"{"error":"no"}"#, r#"{"error":{"message":"no"}}"#, "<html>"] {
            assert_eq!(said(other), None, "{other}");
        }
    }
}
