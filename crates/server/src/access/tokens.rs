//! Bearer tokens: a file of their digests, one to a line.
//!
//! A token is `tl_ID_SECRET`. The id finds its line; the secret is 256 random bits, of which the file has only the SHA-256, so that
//! who reads the file has no token.

use super::{Caller, Identity, Permission};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use subtle::ConstantTimeEq;
use thiserror::Error;
use threadline_log::Timestamp;
use tokio_util::sync::CancellationToken;

/// What a token begins with, so that scanners for secrets find it.
const PREFIX: &str = "tl_";
/// How many letters an id has.
const ID_LEN: usize = 12;

/// What the file knows about a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// Its public part, by which it is revoked.
    pub id: String,
    /// The SHA-256 of its secret part, in hex.
    pub sha256: String,
    /// The app whose threads it may see; if there is none, requests say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// The user whose threads it may see; if there is none, requests say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it may do.
    pub permission: Permission,
    /// When it was made, in milliseconds since 1970.
    pub created: Timestamp,
    /// When it ends, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What it is for, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A line of a token file that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct TokenFileError {
    /// Which line, from one.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// A new token: its text, which is shown once, and its id and digest for the file.
///
/// # Errors
/// If the system has no random numbers.
pub fn mint() -> Result<(String, String, String), getrandom::Error> {
    let id = hex(&random()?[..ID_LEN / 2]);
    let secret = hex(&random()?);
    let text = format!("{PREFIX}{id}_{secret}");
    Ok((text, id, hex(&digest(&secret))))
}

/// Reads a token file. Empty lines and those that begin with `#` mean nothing.
///
/// # Errors
/// If a line is no token, or an id is there twice.
pub fn read(text: &str) -> Result<Vec<Token>, TokenFileError> {
    let mut tokens: Vec<Token> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |message: String| TokenFileError { line: index + 1, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let token: Token = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if unhex(&token.sha256).is_none() {
            return Err(wrong("sha256 is not 64 hexadecimal digits".to_owned()));
        }
        if tokens.iter().any(|other| other.id == token.id) {
            return Err(wrong(format!("the id is there twice. id={}", token.id)));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

/// The tokens that are good now.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    by_id: HashMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    token: Token,
    digest: [u8; 32],
    revoked: CancellationToken,
}

impl Tokens {
    /// Takes over what the file has now: callers whose token is gone or changed are told.
    pub(super) fn replace(&mut self, tokens: Vec<Token>) {
        let mut before = std::mem::take(&mut self.by_id);
        for token in tokens {
            let revoked = match before.remove(&token.id) {
                Some(entry) if entry.token == token => entry.revoked,
                Some(entry) => {
                    entry.revoked.cancel();
                    CancellationToken::new()
                }
                None => CancellationToken::new(),
            };
            let Some(digest) = unhex(&token.sha256) else { continue };
            self.by_id.insert(token.id.clone(), Entry { token, digest, revoked });
        }
        for gone in before.into_values() {
            gone.revoked.cancel();
        }
    }

    /// Who has this token.
    pub(super) fn identify(&self, text: &str, now: Timestamp) -> Option<Caller> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let entry = self.by_id.get(id);
        // Somebody who guesses ids must not learn from the time that one is there.
        let expected = entry.map_or([0; 32], |entry| entry.digest);
        let is_same = bool::from(digest(secret).ct_eq(&expected));
        let entry = entry.filter(|_| is_same)?;
        let Token { app, user, permission, expires, .. } = &entry.token;
        if expires.is_some_and(|expires| expires <= now) {
            return None;
        }
        let identity = Identity {
            app: app.clone(),
            user: user.clone(),
            permission: *permission,
            thread: None,
            until: *expires,
        };
        Some(Caller::somebody(identity, entry.revoked.clone()))
    }
}

/// 256 random bits.
pub(super) fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// In hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(expires: Option<i64>) -> (String, Token) {
        let (text, id, sha256) = mint().unwrap();
        let token = Token {
            id,
            sha256,
            app: None,
            user: Some("ann".to_owned()),
            permission: Permission::Run,
            created: Timestamp(0),
            expires: expires.map(Timestamp),
            note: None,
        };
        (text, token)
    }

    #[test]
    fn only_the_whole_token_is_good_and_only_until_it_ends() {
        let (text, token) = token(Some(100));
        let mut tokens = Tokens::default();
        tokens.replace(vec![token]);
        let caller = tokens.identify(&text, Timestamp(99)).unwrap();
        assert!(caller.may(Permission::Run) && !caller.may(Permission::Admin));
        assert!(tokens.identify(&text, Timestamp(100)).is_none());
        for wrong in
            ["", "tl_", &text[3..], &text[..text.len() - 1], &format!("{text}0"), &text.to_uppercase()]
        {
            assert!(tokens.identify(wrong, Timestamp(0)).is_none(), "{wrong}");
        }
    }

    #[test]
    fn who_is_gone_from_the_file_is_told_and_nobody_else() {
        let ((first, one), (second, two)) = (token(None), token(None));
        let mut tokens = Tokens::default();
        tokens.replace(vec![one, two.clone()]);
        let [first, second] = [first, second].map(|text| tokens.identify(&text, Timestamp(0)).unwrap());
        tokens.replace(vec![two.clone()]);
        assert!(first.revoked().is_cancelled() && !second.revoked().is_cancelled());
        tokens.replace(vec![Token { permission: Permission::Read, ..two }]);
        assert!(second.revoked().is_cancelled());
    }

    #[test]
    fn a_file_says_where_it_is_wrong() {
        let (_, token) = token(None);
        let line = serde_json::to_string(&token).unwrap();
        assert_eq!(read(&format!("# mine\n\n{line}\n")).unwrap(), [token]);
        for (text, at) in [
            (format!("{line}\n{line}"), 2),
            ("\n{}".to_owned(), 2),
            (line.replace("\"sha256\":\"", "\"sha256\":\"g"), 1),
        ] {
            assert_eq!(read(&text).unwrap_err().line, at, "{text}");
        }
    }
}
