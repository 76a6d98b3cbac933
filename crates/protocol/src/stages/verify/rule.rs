//! The rules, and how severe it is to break them.

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The reference accepts it, the prose of the protocol does not.
    Warning,
    /// The reference's stream dies of it, or [`Options`] say that it is one.
    Error,
}

macro_rules! rules {
    ($( $(#[$meta:meta])* $severity:ident $rule:ident = $name:literal, $text:literal; )*) => {
        /// What a stream can violate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $( $(#[$meta])* $rule, )*
        }

        impl Rule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$( Self::$rule, )*];

            /// The name of the rule, for programs. It never changes.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$rule => $name, )*
                }
            }

            /// The rule of that name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$rule), )*
                    _ => None,
                }
            }

            /// A sentence about a violation, for people.
            #[must_use]
            pub const fn describe(self) -> &'static str {
                match self {
                    $( Self::$rule => $text, )*
                }
            }

            /// How severe a violation is unless [`Options`] say otherwise.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $( Self::$rule => Severity::$severity, )*
                }
            }
        }
    };
}

rules! {
    /// After RUN_ERROR comes nothing but a new run.
    Error AfterRunError = "after_run_error", "the run has failed, and this does not start a new one";
    /// After RUN_FINISHED comes nothing but a new run, or news that the run failed after all.
    Error AfterRunFinished = "after_run_finished", "the run has finished, and this does not start a new one";
    /// A stream begins with RUN_STARTED or RUN_ERROR.
    Error BeforeRunStarted = "before_run_started", "no run has started yet";
    /// One run at a time.
    Error RunStillActive = "run_still_active", "another run has not ended yet";
    /// Who continues or ends something is who began it. Events without a tag are anyone's.
    Error OwnerMismatch = "owner_mismatch", "the tag names another than the owner";
    /// A text message is not started while it is open.
    Error TextAlreadyOpen = "text_already_open", "the text message is already open";
    /// A text message is started before anything else is said of it.
    Error TextNotOpen = "text_not_open", "the text message is not open";
    /// A tool call is not started while it is open.
    Error CallAlreadyOpen = "call_already_open", "the tool call is already open";
    /// A tool call is started before anything else is said of it.
    Error CallNotOpen = "call_not_open", "the tool call is not open";
    /// A tool call belongs to whom the message belongs to that calls.
    Error CallParentMismatch = "call_parent_mismatch", "the tag names another than the parent message's owner";
    /// A tool call that is started again stays with its owner.
    Error CallMoved = "call_moved", "the tool call has another owner than its parent message";
    /// Of a producer's steps, no two of one name are open at a time.
    Error StepAlreadyOpen = "step_already_open", "the step is already open";
    /// A step is started before it is finished.
    Error StepNotOpen = "step_not_open", "the step is not open";
    /// Who finishes a step is who started it.
    Error StepOfAnother = "step_of_another", "the step is open, but another's";
    /// A span of reasoning is not started while it is open.
    Error SpanAlreadyOpen = "span_already_open", "the reasoning span is already open";
    /// A span of reasoning is started before it is ended.
    Error SpanNotOpen = "span_not_open", "the reasoning span is not open";
    /// A reasoning message is not started while it is open.
    Error ReasoningAlreadyOpen = "reasoning_already_open", "the reasoning message is already open";
    /// A reasoning message is started before anything else is said of it.
    Error ReasoningNotOpen = "reasoning_not_open", "the reasoning message is not open";
    /// A subagent is not started while it is active.
    Error SubagentAlreadyActive = "subagent_already_active", "the subagent is already active";
    /// A subagent's id names one invocation in a run.
    Error SubagentReused = "subagent_reused", "the subagent has already ended in this run";
    /// A subagent's parent was started before it, in the same run.
    Error SubagentParentUnknown = "subagent_parent_unknown", "the parent subagent was not started in this run";
    /// A subagent is started before it ends.
    Error SubagentNotActive = "subagent_not_active", "the subagent is not active";
    /// A run finishes after its steps.
    Error StepsLeftOpen = "steps_left_open", "the run finishes with open steps";
    /// A run finishes after its text messages.
    Error TextsLeftOpen = "texts_left_open", "the run finishes with open text messages";
    /// A run finishes after its reasoning messages.
    Error ReasoningLeftOpen = "reasoning_left_open", "the run finishes with open reasoning messages";
    /// A run finishes after its spans of reasoning.
    Error SpansLeftOpen = "spans_left_open", "the run finishes with open reasoning spans";
    /// A run finishes after its tool calls.
    Error CallsLeftOpen = "calls_left_open", "the run finishes with open tool calls";
    /// A run finishes after its subagents.
    Error SubagentsLeftActive = "subagents_left_active", "the run finishes with active subagents";

    /// RUN_FINISHED names the thread and the run that RUN_STARTED did.
    Warning RunIdsDiffer = "run_ids_differ", "RUN_FINISHED names another run than RUN_STARTED";
    /// All runs of a stream are on one thread.
    Warning ThreadChanged = "thread_changed", "the run is on another thread than the first one";
    /// No two runs of a thread have the same id.
    Warning RunReused = "run_reused", "the thread already had a run of this id";
    /// The interrupts of an outcome have different ids.
    Warning InterruptRepeated = "interrupt_repeated", "several interrupts have one id";
    /// A stream ends with the end of a run.
    Warning RunNotEnded = "run_not_ended", "the stream ends before its run";
    /// The call that a result answers was started in the stream, or is part of the history that the stream shows.
    Warning ResultOfUnknownCall = "result_of_unknown_call", "the result answers a tool call that was never started";
    /// A call is answered when its arguments are complete.
    Warning ResultOfOpenCall = "result_of_open_call", "the result answers a tool call that is still open";
    /// A call is answered once. One that a later run starts again may be answered again.
    Warning ResultRepeated = "result_repeated", "the tool call has already been answered";
    /// The pending calls that an outcome lists are those that the run started and nobody answered, in order, beside any
    /// that a snapshot of the run's messages shows without a result.
    Warning PendingCallsDiffer = "pending_calls_differ", "the pending tool calls are not those without a result";
}

/// Which warnings are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A bit a rule.
    errors: u64,
}

// Every rule has its bit.
const _: () = assert!(Rule::ALL.len() <= u64::BITS as usize);

impl Options {
    /// Errors are what the reference's stream dies of.
    #[must_use]
    pub const fn new() -> Self {
        Self { errors: 0 }
    }

    /// Makes an error of what would be a warning.
    #[must_use]
    pub const fn with_error(self, rule: Rule) -> Self {
        Self { errors: self.errors | Self::bit(rule) }
    }

    /// How severe it is to violate a rule.
    #[must_use]
    pub const fn severity(self, rule: Rule) -> Severity {
        if self.errors & Self::bit(rule) == 0 { rule.severity() } else { Severity::Error }
    }

    const fn bit(rule: Rule) -> u64 {
        1 << rule as u32
    }
}
