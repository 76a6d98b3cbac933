//! What a text in an artifact may be. Everything is refused that would have to be trimmed, cut or resolved.

use crate::bounds;
use crate::reason::Reason;

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Names a thread, a run or a message: opaque, portable, leading nowhere.
    Ref,
    /// What is said.
    Content,
    /// Who speaks.
    Name,
    /// Why a run failed.
    ErrorMessage,
    /// The same for programs.
    ErrorCode,
}

impl Use {
    const fn chars_max(self) -> usize {
        match self {
            Self::Ref => bounds::REF_CHARS_MAX,
            Self::Content => bounds::CONTENT_CHARS_MAX,
            Self::Name => bounds::NAME_CHARS_MAX,
            Self::ErrorMessage => bounds::ERROR_MESSAGE_CHARS_MAX,
            Self::ErrorCode => bounds::ERROR_CODE_CHARS_MAX,
        }
    }
}

/// What is wrong with a text, each with a few words.
pub(crate) fn faults(text: &str, of: Use) -> Vec<(Reason, String)> {
    let mut faults = Vec::new();
    let mut fault = |reason, message: &str| faults.push((reason, message.to_owned()));
    if text.trim().is_empty() {
        fault(Reason::Blank, "nothing is in it");
        return faults;
    }
    let (chars, max) = (text.chars().count(), of.chars_max());
    if chars > max {
        fault(Reason::TooLong, &format!("too long. chars={chars}, max={max}"));
    }
    if text.trim() != text {
        fault(Reason::Padded, "whitespace at the start or the end");
    }
    let may_break_lines = of == Use::Content;
    let is_bad = |character: char| {
        character.is_control() && !(may_break_lines && matches!(character, '\t' | '\n' | '\r'))
    };
    if text.chars().any(is_bad) {
        fault(Reason::ControlCharacter, "a control character, or a line break where there is one line");
    }
    match of {
        Use::Ref if has_address(text) => fault(Reason::ResolvingRef, "looks like an address"),
        Use::Ref if !text.bytes().all(is_unreserved) => {
            fault(Reason::UnsafeRef, "expected ASCII letters, digits, - . _ and ~ only");
        }
        Use::Name | Use::ErrorCode if has_address(text) => {
            fault(Reason::ResolvingRef, "looks like an address")
        }
        Use::Content if is_data_uri(text) => fault(Reason::DataUri, "a data URI is no plain text"),
        Use::ErrorMessage => {
            if has_address(text) {
                fault(Reason::LinkInError, "an address in an error message");
            }
            if is_stack_trace(text) {
                fault(Reason::StackTrace, "looks like a stack trace");
            }
        }
        _ => {}
    }
    faults
}

/// The characters that RFC 3986 calls unreserved: no scheme, no host and no path can be written with them.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether there is something in it that a browser would open: a scheme with slashes, a host without one, or one of the
/// schemes that need no slashes.
fn has_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let schemes = ["javascript:", "data:", "urn:", "mailto:", "file:", "tel:", "blob:"];
    let begins_word = |at: usize| !lower[..at].ends_with(|before: char| before.is_alphanumeric());
    lower.contains("://")
        || lower.starts_with("//")
        || lower.match_indices("www.").any(|(at, _)| begins_word(at))
        || schemes.iter().any(|scheme| {
            lower.match_indices(scheme).any(|(at, _)| {
                begins_word(at)
                    && lower[at + scheme.len()..].starts_with(|after: char| !after.is_whitespace())
            })
        })
}

fn is_data_uri(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("data:") && lower.contains(";base64,")
}

/// The marks of traces of Python, JavaScript, the JVM, Go and Rust.
fn is_stack_trace(text: &str) -> bool {
    let python = text.contains("Traceback (most recent call last)")
        || (text.contains("File \"") && text.contains(", line "));
    let others = ["stack backtrace:", "stack trace:", "goroutine ", "Caused by: "];
    python || others.iter().any(|mark| text.contains(mark)) || has_frame(text)
}

/// Whether it has `at name (file:12` or `at file.js:12`.
fn has_frame(text: &str) -> bool {
    text.split("at ").skip(1).any(|rest| {
        let frame: String = rest.chars().take(120).collect();
        let place = frame.split_once('(').map_or(frame.as_str(), |(_, place)| place);
        let place = place.split([' ', ')', ',']).next().unwrap_or_default();
        let line = place
            .rsplit(':')
            .next()
            .is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()));
        line && [".py", ".js", ".ts", ".mjs", ".java", ".kt", ".go", ".rs", ".rb"]
            .iter()
            .any(|kind| place.contains(&format!("{kind}:")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reasons(text: &str, of: Use) -> Vec<Reason> {
        faults(text, of).into_iter().map(|(reason, _)| reason).collect()
    }

    #[test]
    fn references_lead_nowhere() {
        for good in ["thread_123", "88cb57b0-9a2f-42bc-b6c7-8de32441d73f", "a.b~c", "x", &"r".repeat(96)] {
            assert_eq!(reasons(good, Use::Ref), [], "{good}");
        }
        for address in [
            "https://x/y",
            "//host/x",
            "www.x/y",
            "WWW.example.com",
            "javascript:alert(1)",
            "data:text/plain,x",
            "urn:uuid:1",
            "mailto:a@b",
            "x://y",
        ] {
            assert_eq!(reasons(address, Use::Ref), [Reason::ResolvingRef], "{address}");
        }
        for odd in ["a/b", "a b", "a:b", "a@b", "ünicode", "a?b", "a%20b", "a\u{200B}b"] {
            assert_eq!(reasons(odd, Use::Ref), [Reason::UnsafeRef], "{odd}");
        }
        assert_eq!(reasons("a\nb", Use::Ref), [Reason::ControlCharacter, Reason::UnsafeRef]);
        assert_eq!(reasons("a\0", Use::Ref), [Reason::ControlCharacter, Reason::UnsafeRef]);
        assert_eq!(reasons(" ", Use::Ref), [Reason::Blank]);
        assert_eq!(reasons("", Use::Ref), [Reason::Blank]);
        assert_eq!(reasons(&"r".repeat(97), Use::Ref), [Reason::TooLong]);
    }

    #[test]
    fn content_is_plain_text_of_a_bounded_length() {
        for good in ["Hello", "two\nlines\tand\r\nmore", "see https://example.com", "😀", &"é".repeat(400)]
        {
            assert_eq!(reasons(good, Use::Content), [], "{good}");
        }
        assert_eq!(reasons(" lead", Use::Content), [Reason::Padded]);
        assert_eq!(reasons("end\n", Use::Content), [Reason::Padded]);
        assert_eq!(reasons("\u{A0}x", Use::Content), [Reason::Padded]);
        assert_eq!(reasons(&"é".repeat(401), Use::Content), [Reason::TooLong]);
        assert_eq!(reasons("a\x1B[2J", Use::Content), [Reason::ControlCharacter]);
        assert_eq!(reasons("a\u{85}b", Use::Content), [Reason::ControlCharacter]);
        assert_eq!(reasons("data:image/png;base64,AAAA", Use::Content), [Reason::DataUri]);
    }

    #[test]
    fn errors_are_one_line_without_internals() {
        for good in [
            "agent run ended before a final reply was completed",
            "model backend closed the stream",
            "quota: 5 of 5 used at 12:30",
            "no data: try again",
            "look at line 5",
        ] {
            assert_eq!(reasons(good, Use::ErrorMessage), [], "{good}");
        }
        assert_eq!(reasons("a\nb", Use::ErrorMessage), [Reason::ControlCharacter]);
        assert_eq!(reasons("POST http://10.0.0.1/x failed", Use::ErrorMessage), [Reason::LinkInError]);
        assert_eq!(reasons("see www.example.com", Use::ErrorMessage), [Reason::LinkInError]);
        for trace in [
            "Traceback (most recent call last): x",
            r#"boom File "/app/x.py", line 3, in f"#,
            "Error: x at run (/app/index.js:12:5)",
            "TypeError at /app/index.ts:7",
            "panicked at src/main.rs:4:5",
            "x at com.acme.Main.run(Main.java:10)",
            "goroutine 1 [running]",
        ] {
            assert_eq!(reasons(trace, Use::ErrorMessage), [Reason::StackTrace], "{trace}");
        }
        assert_eq!(reasons(&"x".repeat(201), Use::ErrorMessage), [Reason::TooLong]);
        assert_eq!(reasons(&"x".repeat(49), Use::ErrorCode), [Reason::TooLong]);
        assert_eq!(reasons("https://x", Use::ErrorCode), [Reason::ResolvingRef]);
        assert_eq!(reasons(&"x".repeat(61), Use::Name), [Reason::TooLong]);
        assert_eq!(reasons("Anna Müller", Use::Name), []);
    }

    proptest! {
        #[test]
        fn nothing_crashes_it(text in any::<String>()) {
            for of in [Use::Ref, Use::Content, Use::Name, Use::ErrorMessage, Use::ErrorCode] {
                let _ = faults(&text, of);
            }
        }
    }
}
