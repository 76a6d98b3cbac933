//! Bearer tokens that somebody else signs.

use super::signatures::PROVIDER;
use super::{Caller, Identity, Permission};
use crate::settings::{JwtAlgorithm, JwtSettings};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use threadline_log::Timestamp;
use tokio_util::sync::CancellationToken;

/// How far the clocks of others may be off.
const LEEWAY_MS: i64 = 30_000;
/// The shortest secret that signatures may be made with: as many bits as they have.
const SECRET_BYTES_MIN: usize = 32;

/// Why keys cannot be used.
#[derive(Debug, Error)]
pub enum JwtError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file has no key of the algorithm.
    #[error("{}: no key that can be used: {reason}", file.display())]
    Key {
        /// Which file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no key, or more than one way to find it.
    #[error("auth.jwt takes either jwks, or key and algorithm")]
    Which,
}

/// The keys, and what else a token must have.
#[derive(Debug)]
pub(super) struct Jwt {
    keys: Vec<Key>,
    settings: JwtSettings,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Jwt {
    pub(super) fn open(settings: &JwtSettings) -> Result<Self, JwtError> {
        // Whoever was first has put the same there.
        let _ = PROVIDER.install_default();
        let keys = match (&settings.key, settings.algorithm, &settings.jwks) {
            (Some(file), Some(algorithm), None) => {
                let algorithm = of(algorithm);
                vec![Key { id: None, algorithm, key: key(file, algorithm)? }]
            }
            (None, None, Some(file)) => keys(file)?,
            _ => return Err(JwtError::Which),
        };
        Ok(Self { keys, settings: settings.clone() })
    }

    /// Who has this token.
    pub(super) fn identify(&self, token: &str, now: Timestamp) -> Option<Caller> {
        let header = decode_header(token).ok()?;
        let fits = |key: &&Key| {
            key.algorithm == header.alg && (header.kid.is_none() || key.id.is_none() || key.id == header.kid)
        };
        let claims = self.keys.iter().filter(fits).find_map(|key| self.claims(token, key))?;
        let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
        #[expect(clippy::cast_possible_truncation, reason = "what is beyond all time saturates")]
        let ms = |seconds: f64| (seconds * 1_000.0) as i64;
        let until = ms(seconds("exp")?).saturating_add(LEEWAY_MS);
        let from = seconds("nbf").map_or(i64::MIN, |seconds| ms(seconds).saturating_sub(LEEWAY_MS));
        if now.0 < from || now.0 >= until {
            return None;
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        // A token without the claim that says whose it is, is nobody's.
        let app = match &self.settings.app_claim {
            Some(claim) => Some(text(claim)?),
            None => None,
        };
        let permission = match claims.get(&self.settings.permission_claim) {
            Some(name) => Permission::from_name(name.as_str()?)?,
            None => self.settings.permission,
        };
        let identity = Identity {
            app,
            user: Some(text(&self.settings.user_claim)?),
            permission,
            thread: None,
            until: Some(Timestamp(until)),
        };
        Some(Caller::somebody(identity, CancellationToken::new()))
    }

    /// What a token claims, if it is signed with the key, and by and for whom the settings say. Times are looked at elsewhere: they
    /// are by our clock.
    fn claims(&self, token: &str, key: &Key) -> Option<Map<String, Value>> {
        let JwtSettings { issuer, audience, .. } = &self.settings;
        let mut validation = Validation::new(key.algorithm);
        validation.validate_exp = false;
        validation.validate_aud = audience.is_some();
        let mut required = vec!["exp"];
        if let Some(issuer) = issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        if let Some(audience) = audience {
            validation.set_audience(&[audience]);
            required.push("aud");
        }
        validation.set_required_spec_claims(&required);
        decode(token, &key.key, &validation).ok().map(|data| data.claims)
    }
}

const fn of(algorithm: JwtAlgorithm) -> Algorithm {
    match algorithm {
        JwtAlgorithm::HS256 => Algorithm::HS256,
        JwtAlgorithm::RS256 => Algorithm::RS256,
        JwtAlgorithm::ES256 => Algorithm::ES256,
        JwtAlgorithm::EdDSA => Algorithm::EdDSA,
    }
}

fn read(file: &Path) -> Result<Vec<u8>, JwtError> {
    fs::read(file).map_err(|error| JwtError::Read { file: file.to_owned(), error })
}

/// The only key of a file.
fn key(file: &Path, algorithm: Algorithm) -> Result<DecodingKey, JwtError> {
    let bytes = read(file)?;
    let unusable = |reason: String| JwtError::Key { file: file.to_owned(), reason };
    let key = match algorithm {
        Algorithm::RS256 => DecodingKey::from_rsa_pem(&bytes),
        Algorithm::ES256 => DecodingKey::from_ec_pem(&bytes),
        Algorithm::EdDSA => DecodingKey::from_ed_pem(&bytes),
        _ => {
            let secret = bytes.trim_ascii_end();
            if secret.len() < SECRET_BYTES_MIN {
                return Err(unusable(format!("a secret of HS256 has at least {SECRET_BYTES_MIN} bytes")));
            }
            Ok(DecodingKey::from_secret(secret))
        }
    };
    key.map_err(|error| unusable(error.to_string()))
}

/// The keys of a set, as far as they are for signatures that we know.
fn keys(file: &Path) -> Result<Vec<Key>, JwtError> {
    let unusable = |reason: String| JwtError::Key { file: file.to_owned(), reason };
    let set: JwkSet = serde_json::from_slice(&read(file)?).map_err(|error| unusable(error.to_string()))?;
    let usable = set.keys.iter().filter_map(|jwk| {
        let (algorithm, key) = (algorithm(jwk)?, DecodingKey::from_jwk(jwk).ok()?);
        Some(Key { id: jwk.common.key_id.clone(), algorithm, key })
    });
    let keys: Vec<Key> = usable.collect();
    if keys.is_empty() {
        return Err(unusable("the set has none of HS256, RS256, ES256 or EdDSA".to_owned()));
    }
    Ok(keys)
}

fn algorithm(jwk: &Jwk) -> Option<Algorithm> {
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        AlgorithmParameters::OctetKey(_) => (Algorithm::HS256, KeyAlgorithm::HS256),
        _ => return None,
    };
    // A key that is for something else is not for this.
    jwk.common.key_algorithm.is_none_or(|said| said == algorithm.1).then_some(algorithm.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;
    use tempfile::TempDir;

    /// The claims of the examples in RFC 7515, appendix A, which are Joe's until this second.
    const CLAIMS: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const UNTIL_MS: i64 = 1_300_819_380_000 + LEEWAY_MS;

    fn file(bytes: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("keys");
        fs::write(&file, bytes).unwrap();
        (dir, file)
    }

    fn settings(toml: &str) -> JwtSettings {
        toml::from_str(toml).unwrap()
    }

    fn of_set(key: &Value, said: &str) -> Jwt {
        let (_dir, file) = file(json!({ "keys": [key] }).to_string());
        Jwt::open(&JwtSettings { jwks: Some(file), ..settings(said) }).unwrap()
    }

    fn user(jwt: &Jwt, token: &str, now: i64) -> Option<String> {
        jwt.identify(token, Timestamp(now))?.identity()?.user.clone()
    }

    #[test]
    fn the_examples_of_the_standard_are_accepted_while_they_last() {
        let hmac = json!({"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"});
        let rsa = json!({"kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"});
        let ec = json!({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"});
        let examples = [
            (hmac, "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            (
                rsa,
                "eyJhbGciOiJSUzI1NiJ9",
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
            ),
            (
                ec,
                "eyJhbGciOiJFUzI1NiJ9",
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
            ),
        ];
        for (key, header, signature) in &examples {
            let jwt = of_set(key, "user_claim = 'iss'\nissuer = 'joe'");
            let token = format!("{header}.{CLAIMS}.{signature}");
            assert_eq!(user(&jwt, &token, UNTIL_MS - 1).as_deref(), Some("joe"), "{header}");
            assert_eq!(user(&jwt, &token, UNTIL_MS), None, "it has ended");
            let forged = format!("{header}.{}.{signature}", CLAIMS.replace("Jqb2Ui", "JqaW0i"));
            assert_eq!(user(&jwt, &forged, 0), None);
            for (other, other_header, _) in examples.iter().filter(|(other, ..)| other != key) {
                let other_key = of_set(other, "user_claim = 'iss'");
                assert_eq!(user(&other_key, &token, 0), None, "signed by another");
                let other = format!("{other_header}.{CLAIMS}.{signature}");
                assert_eq!(user(&jwt, &other, 0), None, "said to be signed otherwise");
            }
            for strict in ["issuer = 'jim'", "audience = 'us'", "app_claim = 'app'", "user_claim = 'sub'"] {
                let said = if strict.starts_with("user") {
                    strict.to_owned()
                } else {
                    format!("user_claim = 'iss'\n{strict}")
                };
                assert_eq!(user(&of_set(key, &said), &token, 0), None, "{strict}");
            }
        }
    }

    #[test]
    fn claims_say_who_and_what() {
        let secret = [7; 32];
        let pair = Ed25519KeyPair::from_seed_unchecked(&secret).unwrap();
        // What comes before the bytes of a key in the standard's wrapping.
        let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        der.extend_from_slice(pair.public_key().as_ref());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der));
        let (_dir, file) = file(pem);
        let said = settings("algorithm = 'EdDSA'\napp_claim = 'app'\naudience = 'us'");
        let jwt = Jwt::open(&JwtSettings { key: Some(file), ..said }).unwrap();
        let signed = |claims: Value| {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let text = format!("{}.{}", part(&json!({"alg":"EdDSA"})), part(&claims));
            let signature = URL_SAFE_NO_PAD.encode(pair.sign(text.as_bytes()));
            jwt.identify(&format!("{text}.{signature}"), Timestamp(1_000_000))
        };
        let good = json!({"sub":"ann","app":"shop","aud":["us","them"],"exp":2_000,"permission":"read"});
        let caller = signed(good.clone()).unwrap();
        let identity = caller.identity().unwrap();
        assert_eq!((identity.app.as_deref(), identity.user.as_deref()), (Some("shop"), Some("ann")));
        assert_eq!(identity.permission, Permission::Read);
        assert_eq!(identity.until, Some(Timestamp(2_000_000 + LEEWAY_MS)));
        let with = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            signed(claims)
        };
        assert!(with("nbf", json!(900)).is_some());
        for (name, value) in [
            ("permission", json!("root")),
            ("permission", json!(1)),
            ("exp", json!(900)),
            ("exp", Value::Null),
            ("nbf", json!(1_900)),
            ("aud", json!("them")),
            ("sub", json!(7)),
            ("app", Value::Null),
        ] {
            assert!(with(name, value.clone()).is_none(), "{name} {value}");
        }
    }

    #[test]
    fn keys_that_cannot_be_used_are_said() {
        for (name, bytes, said, expected) in [
            ("key", "short", "algorithm = 'HS256'", "at least 32 bytes"),
            (
                "key",
                "no key at all, whatever is said of it",
                "algorithm = 'RS256'",
                "no key that can be used",
            ),
            ("jwks", r#"{"keys":[]}"#, "", "the set has none of"),
            ("jwks", "[", "", "no key that can be used"),
        ] {
            let (_dir, file) = file(bytes);
            let said = settings(said);
            let said = match name {
                "key" => JwtSettings { key: Some(file), ..said },
                _ => JwtSettings { jwks: Some(file), ..said },
            };
            let error = Jwt::open(&said).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(matches!(Jwt::open(&settings("algorithm = 'HS256'")), Err(JwtError::Which)));
        assert!(matches!(
            Jwt::open(&settings("key = 'nowhere'\nalgorithm = 'HS256'")),
            Err(JwtError::Read { .. })
        ));
    }
}
