//! Bodies that are compressed, decoded a piece at a time and not without bounds.

use crate::error::{Code, Refusal};
use crate::settings::RequestEncoding;
use axum::http::{HeaderMap, header};
use flate2::write::GzDecoder;
use std::borrow::Cow;
use std::io::{self, Write};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

/// So many times as large as it came may a body be.
const RATIO_MAX: u64 = 20;
/// Bodies up to this size may be of one letter.
const FREE_BYTES: u64 = 64 * 1024;
/// How much is decoded at once.
const PIECE_BYTES: usize = 32 * 1024;
/// The largest window of zstd, as a power of two: what its decoder holds.
const WINDOW_LOG_MAX: u32 = 22;

/// Decodes a body.
pub(super) struct Decoding {
    decoder: Decoder,
    encoded_bytes: u64,
    decoded_bytes: u64,
}

enum Decoder {
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
    Zstd { decoder: Box<ZstdDecoder<'static>>, is_within_frame: bool },
}

impl Decoding {
    /// As the head of a request says.
    ///
    /// # Errors
    /// If it is encoded in a way that is not taken.
    pub(super) fn of(headers: &HeaderMap, taken: &[RequestEncoding]) -> Result<Self, Refusal> {
        let mut said = headers.get_all(header::CONTENT_ENCODING).iter();
        let decoder = match (said.next().map(|value| value.as_bytes()), said.next()) {
            (None, _) => Decoder::Plain,
            (Some(b"gzip"), None) if taken.contains(&RequestEncoding::Gzip) => {
                Decoder::Gzip(Box::new(GzDecoder::new(Vec::new())))
            }
            (Some(b"zstd"), None) if taken.contains(&RequestEncoding::Zstd) => Decoder::zstd()?,
            _ => {
                let message = match taken {
                    [] => "compressed bodies are not taken".to_owned(),
                    taken => format!("bodies may be compressed in these ways: {taken:?}").to_lowercase(),
                };
                return Err(Refusal::new(Code::UnsupportedMediaType, message));
            }
        };
        Ok(Self { decoder, encoded_bytes: 0, decoded_bytes: 0 })
    }

    /// Takes a part of what came, and gives what comes of that, which may be nothing yet. None when all was taken.
    ///
    /// # Errors
    /// If it makes no sense, or too much comes of it.
    pub(super) fn step<'a>(&mut self, came: &mut &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
        if came.is_empty() {
            return Ok(None);
        }
        let before = came.len();
        let decoded = self.decoder.step(came).map_err(|error| unreadable(&error))?;
        self.count(before - came.len(), decoded.len())?;
        Ok(Some(decoded))
    }

    /// The end of what came.
    ///
    /// # Errors
    /// If it is not the end of the body.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, Refusal> {
        let decoded = self.decoder.finish().map_err(|error| unreadable(&error))?;
        self.count(0, decoded.len())?;
        Ok(decoded)
    }

    fn count(&mut self, encoded: usize, decoded: usize) -> Result<(), Refusal> {
        self.encoded_bytes += encoded as u64;
        self.decoded_bytes += decoded as u64;
        let max = self.encoded_bytes.saturating_mul(RATIO_MAX).max(FREE_BYTES);
        if !matches!(self.decoder, Decoder::Plain) && self.decoded_bytes > max {
            let message = format!("too much comes of so small a body. ratio_max={RATIO_MAX}");
            return Err(Refusal::new(Code::RequestTooLarge, message));
        }
        Ok(())
    }
}

impl Decoder {
    fn zstd() -> Result<Self, Refusal> {
        let decoder = ZstdDecoder::new().and_then(|mut decoder| {
            decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
            Ok(Self::Zstd { decoder: Box::new(decoder), is_within_frame: false })
        });
        decoder.map_err(|error| Refusal::new(Code::Internal, error.to_string()))
    }

    fn step<'a>(&mut self, came: &mut &'a [u8]) -> io::Result<Cow<'a, [u8]>> {
        match self {
            Self::Plain => Ok(std::mem::take(came).into()),
            Self::Gzip(decoder) => {
                // One call decodes no more than its buffer holds.
                let taken = decoder.write(came)?;
                if taken == 0 {
                    return Err(io::Error::other("something follows the end"));
                }
                *came = &came[taken..];
                Ok(std::mem::take(decoder.get_mut()).into())
            }
            Self::Zstd { decoder, is_within_frame } => {
                // It does not take the last byte before all that comes of it has been given.
                let mut decoded = vec![0; PIECE_BYTES];
                let mut output = OutBuffer::around(&mut decoded);
                let mut input = InBuffer::around(came);
                *is_within_frame = decoder.run(&mut input, &mut output)? > 0;
                let (taken, given) = (input.pos, output.pos());
                *came = &came[taken..];
                decoded.truncate(given);
                Ok(decoded.into())
            }
        }
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain | Self::Zstd { is_within_frame: false, .. } => Ok(Vec::new()),
            Self::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Self::Zstd { .. } => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn unreadable(error: &io::Error) -> Refusal {
    Refusal::input("", format!("the body cannot be decompressed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    const BOTH: [RequestEncoding; 2] = [RequestEncoding::Gzip, RequestEncoding::Zstd];

    fn encoded(name: &str) -> HeaderMap {
        [(header::CONTENT_ENCODING, HeaderValue::from_str(name).unwrap())].into_iter().collect()
    }

    fn compress(name: &str, bytes: &[u8]) -> Vec<u8> {
        match name {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            _ => zstd::encode_all(bytes, 3).unwrap(),
        }
    }

    /// All that comes of a body in pieces of some size, and the most that came at once.
    fn decode(name: &str, body: &[u8], piece: usize) -> Result<(Vec<u8>, usize), Refusal> {
        let mut decoding = Decoding::of(&encoded(name), &BOTH)?;
        let (mut all, mut most) = (Vec::new(), 0);
        for mut came in body.chunks(piece) {
            while let Some(decoded) = decoding.step(&mut came)? {
                most = most.max(decoded.len());
                all.extend_from_slice(&decoded);
            }
        }
        all.extend(decoding.finish()?);
        Ok((all, most))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_compressed_comes_back_in_pieces(
            text in prop::collection::vec(0_u8..4, 0..200_000), piece in 1_usize..50_000,
        ) {
            for name in ["gzip", "zstd"] {
                let (decoded, most) = decode(name, &compress(name, &text), piece).unwrap();
                prop_assert_eq!(&decoded, &text);
                prop_assert!(most <= 2 * PIECE_BYTES, "{}", most);
            }
        }

        #[test]
        fn whatever_comes_is_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            for name in ["gzip", "zstd"] {
                let _ = decode(name, &bytes, 100);
                let body = [&compress(name, b"abc")[..], &bytes].concat();
                let _ = decode(name, &body, 100);
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_changed_is_refused() {
        let text: Vec<u8> = (0..20_000_u32).flat_map(|number| number.to_le_bytes()).collect();
        for name in ["gzip", "zstd"] {
            let body = compress(name, &text);
            for length in [1, 5, 100, body.len() / 2, body.len() - 1] {
                assert_eq!(
                    decode(name, &body[..length], 700).unwrap_err().code,
                    Code::InvalidInput,
                    "{name} {length}"
                );
            }
        }
        let mut body = compress("gzip", &text);
        let last = body.len() - 1;
        body[last - 6] ^= 1;
        assert_eq!(decode("gzip", &body, 700).unwrap_err().code, Code::InvalidInput);
        let body = [compress("gzip", b"{}"), b"more".to_vec()].concat();
        assert_eq!(decode("gzip", &body, 700).unwrap_err().code, Code::InvalidInput);
    }

    #[test]
    fn a_bomb_is_refused_as_soon_as_it_is_one() {
        let zeros = vec![0; 64 * 1024 * 1024];
        for name in ["gzip", "zstd"] {
            let bomb = compress(name, &zeros);
            assert!(bomb.len() < 100_000, "{name}: {}", bomb.len());
            let mut decoding = Decoding::of(&encoded(name), &BOTH).unwrap();
            let (mut came, mut decoded) = (&bomb[..], 0);
            let refused = loop {
                match decoding.step(&mut came) {
                    Ok(piece) => decoded += piece.expect("a bomb").len(),
                    Err(refusal) => break refusal,
                }
            };
            assert_eq!(refused.code, Code::RequestTooLarge);
            assert!(decoded <= 20 * bomb.len() + 64 * 1024, "{name}: {decoded}");
        }
        // A letter may be said often in a small body.
        assert_eq!(decode("gzip", &compress("gzip", &zeros[..65_536]), 10).unwrap().0.len(), 65_536);
        assert_eq!(
            decode("gzip", &compress("gzip", &zeros[..65_537]), 10).unwrap_err().code,
            Code::RequestTooLarge
        );
    }

    #[test]
    fn a_window_that_would_take_much_memory_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(WINDOW_LOG_MAX + 1).unwrap();
        encoder.write_all(b"{}").unwrap();
        encoder.flush().unwrap();
        let body = encoder.finish().unwrap();
        assert_eq!(decode("zstd", &body, 100).unwrap_err().code, Code::InvalidInput);
    }

    #[test]
    fn only_what_is_named_is_taken() {
        let refused = |name: &str, taken: &[RequestEncoding]| {
            Decoding::of(&encoded(name), taken).map(|_| ()).map_err(|refusal| refusal.code)
        };
        assert_eq!(refused("gzip", &[RequestEncoding::Gzip]), Ok(()));
        for (name, taken) in [
            ("gzip", &[][..]),
            ("zstd", &[]),
            ("zstd", &[RequestEncoding::Gzip]),
            ("br", &BOTH),
            ("deflate", &BOTH),
            ("gzip, gzip", &BOTH),
            ("", &BOTH),
        ] {
            assert_eq!(refused(name, taken), Err(Code::UnsupportedMediaType), "{name}");
        }
        let mut twice = encoded("gzip");
        twice.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(Decoding::of(&twice, &BOTH).is_err());
    }
}
