//! DSSE: a statement with signatures over its exact bytes.

use crate::bounds::STATEMENT_BYTES_MAX;
use crate::json;
use crate::key::{PublicKey, SigningKey};
use crate::reason::Refusal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Why an envelope cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EnvelopeError {
    /// Its JSON is refused.
    #[error("{0}")]
    Json(Refusal),
    /// It is JSON, and no envelope.
    #[error("no DSSE envelope. line={line}, column={column}")]
    Shape {
        /// Where it went wrong.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// The payload is something else than a statement.
    #[error("the payload is of another type. expected={PAYLOAD_TYPE}")]
    PayloadType,
    /// The payload or a signature is no base64.
    #[error("not base64. member={0}")]
    Base64(&'static str),
    /// It has more bytes than it may have.
    #[error("too large. bytes={0}, max={max}", max = 2 * STATEMENT_BYTES_MAX)]
    TooLarge(usize),
}

/// A payload with its signatures. Says nothing about who signed until it is asked with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    payload: Vec<u8>,
    signatures: Vec<Signature>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Signature {
    /// A hint, for people.
    key_id: String,
    bytes: Vec<u8>,
}

/// As it is written. Readers pass over members that they do not know: nothing is signed but the payload and its type.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    payload_type: String,
    payload: String,
    signatures: Vec<WrittenSignature>,
}

#[derive(Serialize, Deserialize)]
struct WrittenSignature {
    #[serde(default)]
    keyid: String,
    sig: String,
}

impl Envelope {
    /// Signs a statement's bytes.
    #[must_use]
    pub fn sign(payload: &[u8], key: &SigningKey) -> Self {
        let bytes = key.sign(&pre_authentication_encoding(payload));
        Self { payload: payload.to_vec(), signatures: vec![Signature { key_id: key.public().id(), bytes }] }
    }

    /// Reads an envelope.
    ///
    /// # Errors
    /// If it is none, or one of something else.
    pub fn read(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > 2 * STATEMENT_BYTES_MAX {
            return Err(EnvelopeError::TooLarge(bytes.len()));
        }
        json::read(bytes).map_err(EnvelopeError::Json)?;
        let written: Written = serde_json::from_slice(bytes)
            .map_err(|error| EnvelopeError::Shape { line: error.line(), column: error.column() })?;
        if written.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType);
        }
        let decoded =
            |text: &str, member| STANDARD.decode(text).map_err(|_undecodable| EnvelopeError::Base64(member));
        let signatures = written.signatures.into_iter().map(|signature| {
            Ok(Signature { bytes: decoded(&signature.sig, "sig")?, key_id: signature.keyid })
        });
        Ok(Self {
            payload: decoded(&written.payload, "payload")?,
            signatures: signatures.collect::<Result<_, _>>()?,
        })
    }

    /// The envelope as it is written.
    ///
    /// # Panics
    /// Never: strings can be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        let signature = |signature: &Signature| WrittenSignature {
            keyid: signature.key_id.clone(),
            sig: STANDARD.encode(&signature.bytes),
        };
        let written = Written {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(&self.payload),
            signatures: self.signatures.iter().map(signature).collect(),
        };
        let mut json = serde_json::to_string_pretty(&written).expect("strings are JSON");
        json.push('\n');
        json
    }

    /// What was signed.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// One of these keys that has signed it. What an envelope says about keys decides nothing.
    #[must_use]
    pub fn signed_by<'k>(&self, trusted: &'k [PublicKey]) -> Option<&'k PublicKey> {
        let message = pre_authentication_encoding(&self.payload);
        trusted
            .iter()
            .find(|key| self.signatures.iter().any(|signature| key.verifies(&message, &signature.bytes)))
    }
}

/// What DSSE signs.
fn pre_authentication_encoding(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_what_dsse_says() {
        assert_eq!(pre_authentication_encoding(b"hi"), b"DSSEv1 28 application/vnd.in-toto+json 2 hi");
    }

    #[test]
    fn an_envelope_is_read_as_it_was_written() {
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let envelope = Envelope::sign(b"payload", &key);
        let read = Envelope::read(envelope.to_json().as_bytes()).unwrap();
        assert_eq!(read, envelope);
        assert_eq!(read.payload(), b"payload");
        let trusted = [other.public(), key.public()];
        assert_eq!(read.signed_by(&trusted), Some(&key.public()));
        assert_eq!(read.signed_by(&trusted[..1]), None);
        assert_eq!(read.signed_by(&[]), None);
    }

    #[test]
    fn a_key_id_decides_nothing() {
        let (key, _) = SigningKey::generate().unwrap();
        let mut envelope = Envelope::sign(b"payload", &key);
        envelope.signatures[0].key_id = "somebody else".to_owned();
        assert!(envelope.signed_by(&[key.public()]).is_some());
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        let read = |text: &str| Envelope::read(text.as_bytes()).unwrap_err();
        assert!(matches!(read("{"), EnvelopeError::Json(_)));
        assert!(matches!(read(r#"{"payload":"","payload":""}"#), EnvelopeError::Json(_)));
        assert!(matches!(read("{}"), EnvelopeError::Shape { .. }));
        let written = |payload_type: &str, payload: &str, signature: &str| {
            format!(
                r#"{{"payloadType":"{payload_type}","payload":"{payload}","signatures":[{{"sig":"{signature}"}}]}}"#
            )
        };
        assert_eq!(read(&written("text/plain", "", "")), EnvelopeError::PayloadType);
        assert_eq!(read(&written(PAYLOAD_TYPE, "!", "")), EnvelopeError::Base64("payload"));
        // Other digits for the same bytes are other digits.
        assert_eq!(read(&written(PAYLOAD_TYPE, "QR==", "")), EnvelopeError::Base64("payload"));
        assert_eq!(read(&written(PAYLOAD_TYPE, "QQ==", "=")), EnvelopeError::Base64("sig"));
        assert_eq!(read(&" ".repeat(600_000)), EnvelopeError::TooLarge(600_000));
    }
}
