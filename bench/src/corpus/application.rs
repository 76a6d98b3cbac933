//! What applications keep and ask for.

use super::prose;
use super::random::Random;
use super::writer::Writer;

/// An object of an application.
pub(super) fn record(random: &mut Random) -> String {
    let words = random.within(3..9);
    let (cents, score) = (random.within(100..100_000), random.within(0..1000));
    Writer::object()
        .text("id", &random.uuid())
        .text("title", &prose::text(random, words))
        .json("price", &format!("{}.{:02}", cents / 100, cents % 100))
        .json("score", &format!("0.{score:03}"))
        .json("quantity", &random.within(1..100).to_string())
        .json("done", if random.once_in(2) { "true" } else { "false" })
        .json("tags", &format!(r#"["{}","{}"]"#, prose::word(random), prose::word(random)))
        .json("owner", &Writer::object().text("name", prose::word(random)).json("manager", "null").end())
        .end()
}

/// The arguments of a tool call.
pub(super) fn arguments(random: &mut Random) -> String {
    let words = random.within(4..20);
    Writer::object()
        .text("order_id", &format!("A-{}", random.within(1000..9999)))
        .text("comment", &prose::text(random, words))
        .json("limit", "10")
        .end()
}
