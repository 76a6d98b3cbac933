//! Keys: Ed25519, as PKCS#8 and SPKI in PEM, which OpenSSL reads and writes as well.

use crate::digest::sha256_hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;
use thiserror::Error;

/// What stands before the 32 bytes of a private key in PKCS#8, version 1.
const PKCS8_PREFIX: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
/// What stands before the 32 bytes of a public key in SPKI.
const SPKI_PREFIX: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";

/// Why a key cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// No PEM block of this label.
    #[error("no PEM block. expected={0}")]
    NoBlock(&'static str),
    /// The block has no base64.
    #[error("the PEM block is no base64")]
    NotBase64,
    /// Another kind of key, or none.
    #[error("no Ed25519 key")]
    NotEd25519,
    /// The system has no randomness to give.
    #[error("there are no random numbers")]
    NoRandomness,
}

/// A key that signs. Shows nothing of itself.
pub struct SigningKey(Ed25519KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.public().id()).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Makes a new key, and gives it with its PEM.
    ///
    /// # Errors
    /// If the system has no randomness to give.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).map_err(|_unspecified| KeyError::NoRandomness)?;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_rejected| KeyError::NotEd25519)?;
        Ok((Self(key), pem(PRIVATE_LABEL, &[PKCS8_PREFIX, &seed].concat())))
    }

    /// Reads a key, of PKCS#8 version 1 or 2.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let der = block(text, PRIVATE_LABEL)?;
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self).map_err(|_rejected| KeyError::NotEd25519)
    }

    /// What others know it by.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).as_ref().to_vec()
    }
}

/// A key that signatures are checked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads a key.
    ///
    /// # Errors
    /// If it is none.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let der = block(text, PUBLIC_LABEL)?;
        let key = der.strip_prefix(SPKI_PREFIX).and_then(|key| key.try_into().ok());
        key.map(Self).ok_or(KeyError::NotEd25519)
    }

    /// The key as PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem(PUBLIC_LABEL, &self.spki())
    }

    /// The SHA-256 of its SPKI: a hint which key it was, and nothing that a verdict may depend on.
    #[must_use]
    pub fn id(&self) -> String {
        sha256_hex(&self.spki())
    }

    fn spki(&self) -> Vec<u8> {
        [SPKI_PREFIX, &self.0].concat()
    }

    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// The bytes of the first block of this label.
fn block(text: &str, label: &'static str) -> Result<Vec<u8>, KeyError> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let inside = text.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    let (inside, _) = inside.ok_or(KeyError::NoBlock(label))?;
    let digits: String = inside.split_ascii_whitespace().collect();
    STANDARD.decode(digits).map_err(|_undecodable| KeyError::NotBase64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
    const OPENSSL: (&str, &str) = (
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHMQY6Ta0hcGZFWl9315lJoQO1ndt/rDvAQf6Hr2VzI3\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAl9u5Xuq6u4qEtzTVp5cdhONikIaXi5pafa0ZOZ8G+jo=\n-----END PUBLIC KEY-----\n",
    );

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let (key, pem) = SigningKey::generate().unwrap();
        let read = SigningKey::from_pem(&pem).unwrap();
        assert_eq!(read.public(), key.public());
        assert_eq!(PublicKey::from_pem(&key.public().to_pem()).unwrap(), key.public());
        let signature = read.sign(b"message");
        assert!(key.public().verifies(b"message", &signature));
        assert!(!key.public().verifies(b"Message", &signature));
        let (other, _) = SigningKey::generate().unwrap();
        assert!(!other.public().verifies(b"message", &signature));
        assert!(!format!("{key:?}").contains(pem.lines().nth(1).unwrap()));
    }

    #[test]
    fn keys_of_openssl_are_keys() {
        let key = SigningKey::from_pem(OPENSSL.0).unwrap();
        assert_eq!(key.public().to_pem(), OPENSSL.1);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let (key, private) = SigningKey::generate().unwrap();
        assert_eq!(SigningKey::from_pem("").unwrap_err(), KeyError::NoBlock(PRIVATE_LABEL));
        assert_eq!(
            SigningKey::from_pem(&key.public().to_pem()).unwrap_err(),
            KeyError::NoBlock(PRIVATE_LABEL)
        );
        assert_eq!(PublicKey::from_pem(&private).unwrap_err(), KeyError::NoBlock(PUBLIC_LABEL));
        assert_eq!(PublicKey::from_pem(&pem(PUBLIC_LABEL, b"x")).unwrap_err(), KeyError::NotEd25519);
        assert_eq!(SigningKey::from_pem(&pem(PRIVATE_LABEL, b"x")).unwrap_err(), KeyError::NotEd25519);
        let spoilt = key.public().to_pem().replace('M', "!");
        assert_eq!(PublicKey::from_pem(&spoilt).unwrap_err(), KeyError::NotBase64);
    }
}
