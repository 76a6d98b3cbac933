//! What the demo can do in one run.

use crate::context::RunContext;
use crate::error::AgentError;
use crate::finish::Finish;
use crate::writer::RunWriter;
use serde_json::{Map, Value, json};
use std::time::Duration;

type Played = Result<Finish, AgentError>;

/// The demo's own tool.
pub(super) const COUNT_WORDS: &str = "count_words";
/// The demo's subagent.
pub(super) const RESEARCHER: &str = "researcher";
/// How many pieces `slow` has.
const SLOW_PIECES: u32 = 60;

macro_rules! scenes {
    ($( $scene:ident = $word:literal, $shows:literal; )*) => {
        /// What the demo can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Scene {
            $( #[doc = $shows] $scene, )*
        }

        impl Scene {
            /// Each with its word and what it shows.
            const ALL: &'static [(Self, &'static str, &'static str)] = &[$( (Self::$scene, $word, $shows), )*];
        }
    };
}

scenes! {
    Hello = "hello", "a text message, piece by piece";
    Think = "think", "reasoning before an answer";
    Tool = "tool", "a tool of mine";
    Ask = "ask", "a tool of yours: I wait for its result";
    State = "state", "shared state";
    Activity = "activity", "a plan that changes";
    Steps = "steps", "a run in three steps";
    Team = "team", "a subagent";
    Approve = "approve", "a question that I wait for";
    Fail = "fail", "a run that fails";
    Slow = "slow", "an answer that takes six seconds";
    Help = "help", "this list";
}

impl Scene {
    /// The first of the words in what the user says.
    pub(super) fn asked_for(text: &str) -> Self {
        let words = text.split(|it: char| !it.is_alphanumeric());
        let scene = |word: &str| Self::ALL.iter().find(|(_, name, _)| word.eq_ignore_ascii_case(name));
        words.into_iter().find_map(scene).map_or(Self::Help, |(scene, ..)| *scene)
    }
}

pub(super) async fn help(writer: &RunWriter) -> Played {
    let mut message = writer.text().await?;
    message.push("I am a demo without a model. Say one of these words:\n").await?;
    for (_, word, shows) in Scene::ALL {
        message.push(&format!("\n- {word}: {shows}")).await?;
    }
    Ok(Finish::done())
}

pub(super) async fn hello(writer: &RunWriter) -> Played {
    let mut message = writer.text().await?;
    for piece in ["Hello", "! ", "I am ", "a demo ", "without ", "a model. ", "Say help", "."] {
        message.push(piece).await?;
    }
    message.end().await?;
    writer.custom("threadline.demo.greeted", &json!({"pieces": 8})).await?;
    Ok(Finish::done())
}

pub(super) async fn think(writer: &RunWriter) -> Played {
    let mut thought = writer.reasoning().await?;
    for piece in ["The user wants ", "to see me think. ", "I do not think, ", "but I can say so."] {
        thought.push(piece).await?;
    }
    thought.end().await?;
    writer.say("I have thought about it, and the answer is 42.").await?;
    Ok(Finish::done())
}

pub(super) async fn tool(run: &RunContext, writer: &RunWriter) -> Played {
    let text = run.user_text();
    let arguments = json!({"text": text}).to_string();
    let mut call = writer.tool_call(COUNT_WORDS).await?;
    for piece in pieces(&arguments) {
        call.push(piece).await?;
    }
    let count = text.split_whitespace().count();
    call.end().await?.result(json!({"words": count}).to_string()).await?;
    writer.say(&format!("You wrote {count} words.")).await?;
    Ok(Finish::with_result(&json!({"words": count}))?)
}

pub(super) async fn state(run: &RunContext, writer: &RunWriter) -> Played {
    // A state that is no object has no place for a count, and is replaced.
    let mut state: Map<String, Value> = run.state().unwrap_or_default();
    let visits = state.get("visits").and_then(Value::as_u64).unwrap_or(0).saturating_add(1);
    state.insert("visits".to_owned(), visits.into());
    state.insert("status".to_owned(), "counting".into());
    writer.set_state(&state).await?;
    writer.say(&format!("Visits of this thread: {visits}.")).await?;
    state.insert("status".to_owned(), "done".into());
    writer.set_state(&state).await?;
    Ok(Finish::done())
}

pub(super) async fn activity(writer: &RunWriter) -> Played {
    const PLAN: [&str; 3] = ["Read the question", "Look for an answer", "Write it down"];
    let shown = |done: usize| {
        let steps = PLAN.iter().enumerate().map(|(at, title)| {
            let status = if at < done { "done" } else { "open" };
            json!({"title": title, "status": status})
        });
        json!({"title": "A plan", "steps": steps.collect::<Vec<Value>>()})
    };
    let mut plan = writer.activity("PLAN", &shown(0)).await?;
    for done in 1..=PLAN.len() {
        plan.update(&shown(done)).await?;
    }
    writer.say("The plan is carried out.").await?;
    Ok(Finish::done())
}

pub(super) async fn steps(writer: &RunWriter) -> Played {
    for (name, says) in [("read", "I read. "), ("weigh", "I weigh. "), ("answer", "I answer.")] {
        let step = writer.step(name).await?;
        writer.say(says).await?;
        step.finish().await?;
    }
    Ok(Finish::done())
}

pub(super) async fn team(writer: &RunWriter) -> Played {
    writer.say("I ask a colleague.").await?;
    let researcher = writer.subagent(RESEARCHER).await?;
    let step = researcher.step("look up").await?;
    let mut call = researcher.tool_call("count_pages").await?;
    call.arguments(&json!({"book": "Moby-Dick"})).await?;
    call.end().await?.result("635").await?;
    step.finish().await?;
    researcher.say("It has 635 pages.").await?;
    researcher.finish_with(&json!({"pages": 635})).await?;
    writer.raw("threadline.demo", &json!({"asked": RESEARCHER})).await?;
    writer.say("My colleague says: 635 pages.").await?;
    Ok(Finish::done())
}

pub(super) async fn fail(writer: &RunWriter) -> Played {
    let mut message = writer.text().await?;
    message.push("I was about to say ").await?;
    Err(AgentError::new("the demo fails when it is asked to").with_code("demo_failed"))
}

pub(super) async fn slow(writer: &RunWriter, interval: Duration) -> Played {
    let mut message = writer.text().await?;
    for count in 1..=SLOW_PIECES {
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = writer.cancelled() => break,
        }
        message.push(&format!("{count} ")).await?;
    }
    Ok(Finish::done())
}

/// A text in pieces of a few characters, as a model would write it.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    const CHARACTERS: usize = 8;
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(CHARACTERS).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_counts() {
        for (text, scene) in [
            ("hello", Scene::Hello),
            ("Please THINK, then call a tool.", Scene::Think),
            ("othello", Scene::Help),
            ("", Scene::Help),
            ("help me to be slow", Scene::Help),
            ("slow-down", Scene::Slow),
        ] {
            assert_eq!(Scene::asked_for(text), scene, "{text}");
        }
    }

    #[test]
    fn pieces_are_the_text() {
        let text = "áéíóú and more than eight characters 🙂🙂🙂";
        assert_eq!(pieces(text).collect::<String>(), text);
        assert!(pieces(text).count() > 4);
        assert_eq!(pieces("").count(), 0);
    }
}
