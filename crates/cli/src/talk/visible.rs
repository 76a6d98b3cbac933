//! Text of somebody else on a terminal.

/// The text with everything escaped that would command the terminal, or turn the direction of what follows. Lines and tabs stay, and so does
/// what holds letters and pictures together.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' if rest.peek() == Some(&'\n') => {}
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || turns(character) => out.extend(character.escape_default()),
            _ => out.push(character),
        }
    }
    out
}

const fn turns(character: char) -> bool {
    matches!(character, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The beginning of a text on one line, of so many characters at most.
pub(crate) fn line(text: &str, characters_max: usize) -> String {
    let one: String = text
        .chars()
        .take(characters_max.saturating_add(1))
        .map(|it| if it == '\n' { ' ' } else { it })
        .collect();
    let shown = visible(&one);
    if one.chars().count() <= characters_max {
        return shown;
    }
    let mut short: String = shown.chars().take(characters_max.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_the_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\u{9b}2J\r\n\tc\rd"), "a\\u{1b}[31mb\\u{7}\\u{9b}2J\n\tc\\rd");
        assert_eq!(visible("\u{202e}x👩\u{200d}👩 für"), "\\u{202e}x👩\u{200d}👩 für");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(line("a\nb", 3), "a b");
        assert_eq!(line("abcd", 3), "ab…");
        assert_eq!(line("\u{1b}bcd", 9), "\\u{1b}bcd");
    }
}
