//! Any text is refused or read, kept as it is, and passed through the stages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use threadline_protocol::stages::enforce::{Verdict, enforce};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Envelope, Received, UnknownWords};

fuzz_target!(|bytes: &[u8]| {
    let envelope = Envelope::read_bytes(bytes);
    match Received::read_bytes(bytes) {
        Ok(received) => {
            assert!(envelope.is_ok());
            assert_eq!(received.json().as_bytes(), bytes);
            let again = received.event().to_json();
            assert_eq!(Received::read(&again).expect("what we write can be read").event(), received.event());
            if let Ok(translated) = Translator::new().translate(received)
                && let Verdict::Kept { event, .. } = enforce(translated.event, UnknownWords::Strip)
            {
                assert!(Received::read(event.json()).expect("readable").departures().is_empty());
            }
        }
        Err(error) => assert_eq!(envelope.is_err(), error.is_unreadable()),
    }
});
