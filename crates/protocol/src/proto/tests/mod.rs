//! Tests of the binary form as a whole.

mod build;
mod decoding;
mod encoding;
mod values;
mod vectors;
