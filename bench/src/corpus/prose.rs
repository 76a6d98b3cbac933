//! What agents say.

use super::random::Random;

const WORDS: &[&str] = &[
    "the",
    "order",
    "a",
    "refund",
    "is",
    "of",
    "and",
    "to",
    "we",
    "can",
    "should",
    "customer",
    "shipping",
    "address",
    "status",
    "please",
    "check",
    "for",
    "in",
    "already",
    "processing",
    "database",
    "query",
    "result",
    "function",
    "returns",
    "value",
    "with",
    "that",
    "this",
    "it",
    "settles",
    "days",
    "within",
    "after",
    "before",
    "approval",
    "manager",
    "invoice",
    "total",
    "amount",
    "balance",
    "account",
    "error",
    "handling",
    "next",
    "step",
    "summary",
    "therefore",
    "because",
    "update",
    "table",
    "column",
    "index",
];

/// Words with characters beyond ASCII.
const FOREIGN: &[&str] = &[
    "größer",
    "Überweisung",
    "naïve",
    "façade",
    "señor",
    "данные",
    "заказ",
    "注文",
    "退款处理",
    "配送先",
    "→",
    "–",
    "✅",
    "🚀",
    "👍🏽",
];

/// What needs escapes in JSON.
const ESCAPED: &[&str] =
    &["\n", "\n\n", "\"quoted\"", "\n- ", "C:\\temp", "\t", "```json\n", "\n  \"key\": "];

/// Text of about `words` words. One in 25 is foreign, one in 25 needs an escape.
pub(super) fn text(random: &mut Random, words: u64) -> String {
    let mut out = String::new();
    for _ in 0..words {
        let word = match random.within(0..25) {
            0 => random.pick(FOREIGN),
            1 => random.pick(ESCAPED),
            _ => random.pick(WORDS),
        };
        out.push_str(word);
        out.push(' ');
    }
    out
}

/// One plain word.
pub(super) fn word(random: &mut Random) -> &'static str {
    random.pick(WORDS)
}
