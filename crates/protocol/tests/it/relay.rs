//! A relay returns the bytes that it was given.

use proptest::prelude::*;
use threadline_protocol::codec::{SseDecoder, encode_frame};
use threadline_protocol::stages::enforce::{Verdict, enforce};
use threadline_protocol::stages::translate::Translator;
use threadline_protocol::{Envelope, Limits, Received, UnknownWords};
use threadline_testkit::random::Random;
use threadline_testkit::{any_event, mutate};

/// Adds members to an event that the same members overrule at once, some of them known and some of them not.
fn repeat_members(json: &str, random: &mut Random) -> String {
    let earlier = [
        "\"type\":\"VENDOR\"",
        "\"type\":\"RUN_ERROR\"",
        "\"type\":5",
        "\"messageId\":null",
        "\"delta\":{\"a\":1}",
    ];
    let mut repeated = String::from("{");
    for member in earlier {
        let key = member.split(':').next().unwrap_or_default();
        // Only what the event has is overruled.
        if json.contains(&format!("{key}:")) && random.chance(50) {
            repeated.push_str(member);
            repeated.push(',');
        }
    }
    repeated + &json[1..]
}

/// Re-spells a JSON text without changing what it means: spaces, escapes, number spellings.
fn respell(json: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut in_string = false;
    let mut after_backslash = false;
    for character in json.chars() {
        match character {
            '"' if !after_backslash => {
                in_string = !in_string;
                out.push('"');
            }
            ',' | ':' | '{' | '}' | '[' | ']' if !in_string && random.chance(20) => {
                out.push(' ');
                out.push(character);
                out.push_str(if random.chance(30) { "\t" } else { " " });
            }
            'a'..='z' if in_string && !after_backslash && random.chance(5) => {
                out.push_str(&format!("\\u{:04X}", u32::from(character)));
            }
            other => out.push(other),
        }
        after_backslash = character == '\\' && !after_backslash;
    }
    out
}

proptest! {
    #[test]
    fn relayed_bytes_are_identical(seed: u64, chunk in 1..64_usize) {
        let mut random = Random::new(seed);
        let events: Vec<String> = (0..4)
            .map(|_| {
                let mut event = any_event(&mut random);
                if random.chance(30) {
                    mutate(&mut event, &mut random);
                }
                respell(&event.to_string(), &mut random)
            })
            .collect();
        let mut stream = Vec::new();
        for json in &events {
            encode_frame(&mut stream, json.as_bytes(), None);
        }
        let mut decoder = SseDecoder::new(Limits::default());
        let mut relayed = Vec::new();
        let mut drain = |decoder: &mut SseDecoder| {
            while let Some(frame) = decoder.next_event() {
                let data = frame.unwrap().data;
                if Envelope::read_bytes(data).is_ok() {
                    relayed.push(String::from_utf8(data.to_vec()).unwrap());
                }
            }
        };
        for piece in stream.chunks(chunk) {
            decoder.push(piece);
            drain(&mut decoder);
        }
        decoder.finish();
        drain(&mut decoder);
        let expected: Vec<String> = events.into_iter().filter(|json| Envelope::read(json).is_ok()).collect();
        prop_assert_eq!(relayed, expected);
    }

    /// The envelope and the typed reading agree on what an event is, and both keep the text.
    #[test]
    fn envelope_and_event_agree(seed: u64) {
        let mut random = Random::new(seed);
        let mut event = any_event(&mut random);
        mutate(&mut event, &mut random);
        let json = respell(&event.to_string(), &mut random);
        let envelope = Envelope::read(&json);
        match Received::read(&json) {
            Ok(received) => {
                prop_assert_eq!(received.json(), &json);
                let envelope = envelope.unwrap();
                prop_assert_eq!(envelope.type_name(), &received.event().type_name());
                // Nothing is lost in a rewrite either, but for nulls in place of absent fields.
                let again = received.event().to_json();
                let again = Received::read(&again).unwrap();
                prop_assert_eq!(again.event(), received.event());
            }
            Err(error) => prop_assert_eq!(envelope.is_err(), error.is_unreadable()),
        }
    }

    /// No bytes make a reader panic, and a text that is cut off anywhere is no event.
    #[test]
    fn any_bytes_are_refused_or_read(bytes: Vec<u8>, seed: u64, cut: prop::sample::Index) {
        let read = Received::read_bytes(&bytes);
        prop_assert_eq!(read.is_err_and(|error| error.is_unreadable()), Envelope::read_bytes(&bytes).is_err());
        let json = any_event(&mut Random::new(seed)).to_string();
        let cut = &json.as_bytes()[..cut.index(json.len())];
        prop_assert!(Received::read_bytes(cut).is_err_and(|error| error.is_unreadable()));
        prop_assert!(Envelope::read_bytes(cut).is_err());
    }

    /// Members that are overruled mean nothing.
    #[test]
    fn the_last_of_duplicates_counts(seed: u64) {
        let mut random = Random::new(seed);
        let json = any_event(&mut random).to_string();
        let repeated = repeat_members(&json, &mut random);
        let (once, again) = (Received::read(&json).unwrap(), Received::read(&repeated).unwrap());
        prop_assert_eq!(once.event(), again.event(), "{}", repeated);
        prop_assert_eq!(again.departures(), []);
        let envelope = Envelope::read(&repeated).unwrap();
        prop_assert_eq!(envelope.type_name(), &again.event().type_name());
    }

    /// The stages leave a good event alone, and what they let through departs from nothing.
    #[test]
    fn the_stages_are_idempotent(seed: u64, mutated: bool) {
        let mut random = Random::new(seed);
        let mut event = any_event(&mut random);
        if mutated {
            mutate(&mut event, &mut random);
        }
        let json = event.to_string();
        let Ok(received) = Received::read(&json) else { return Ok(()) };
        let translated = Translator::new().translate(received).unwrap().event;
        let again = Received::read(translated.json()).unwrap();
        prop_assert_eq!(&again, &translated);
        if !mutated {
            prop_assert_eq!(translated.json(), &json);
        }
        for words in [UnknownWords::Refuse, UnknownWords::Strip] {
            if let Verdict::Kept { event, removed } = enforce(translated.clone(), words) {
                if removed.is_empty() && translated.departures().is_empty() {
                    prop_assert_eq!(event.json(), translated.json());
                }
                let again = Received::read(event.json()).unwrap();
                prop_assert_eq!(again.departures(), []);
                prop_assert_eq!(enforce(again.clone(), words), Verdict::Kept { event: again, removed: vec![] });
            }
        }
    }
}
