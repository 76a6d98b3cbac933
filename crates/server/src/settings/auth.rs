//! Who may call.

use crate::access::Permission;
use serde::Deserialize;
use std::path::PathBuf;

/// Who may call. If nothing is said, anybody who can reach the server may do everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// A file of bearer tokens, which `threadline token` writes.
    pub tokens: Option<PathBuf>,
    /// Tokens that somebody else signs.
    pub jwt: Option<JwtSettings>,
}

impl AuthSettings {
    /// Whether callers must prove who they are.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.tokens.is_some() || self.jwt.is_some()
    }
}

/// Tokens that somebody else signs, as in RFC 7519.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtSettings {
    /// The file of a key: a public one in PEM, or for HS256 the secret itself.
    #[serde(default)]
    pub key: Option<PathBuf>,
    /// What the key is for.
    #[serde(default)]
    pub algorithm: Option<JwtAlgorithm>,
    /// The file of a set of keys, as in RFC 7517, instead of one.
    #[serde(default)]
    pub jwks: Option<PathBuf>,
    /// Who must have signed.
    #[serde(default)]
    pub issuer: Option<String>,
    /// Who it must be meant for.
    #[serde(default)]
    pub audience: Option<String>,
    /// The claim that names the app; if it is not said, requests or the settings name it.
    #[serde(default)]
    pub app_claim: Option<String>,
    /// The claim that names the user.
    #[serde(default = "subject")]
    pub user_claim: String,
    /// The claim that names the permission.
    #[serde(default = "permission")]
    pub permission_claim: String,
    /// The permission of tokens that do not name one.
    #[serde(default = "run")]
    pub permission: Permission,
}

fn subject() -> String {
    "sub".to_owned()
}

fn permission() -> String {
    "permission".to_owned()
}

const fn run() -> Permission {
    Permission::Run
}

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256.
    HS256,
    /// RSA with PKCS #1 v1.5 and SHA-256.
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// Ed25519.
    EdDSA,
}
