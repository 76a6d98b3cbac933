//! What can be found, by name.

use crate::stages::expand::ExpandRule;
use crate::stages::verify::Rule;

macro_rules! codes {
    ($( $code:ident = $name:literal, $summary:literal, $advice:literal; )*) => {
        /// What was found.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $( #[doc = concat!("`", $name, "`: ", $summary, ".")] $code, )*
            /// A rule about the sequence of events.
            Sequence(Rule),
            /// A rule about chunks.
            Chunk(ExpandRule),
        }

        impl Code {
            /// The name, for programs. It never changes.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$code => $name, )*
                    Self::Sequence(rule) => rule.name(),
                    Self::Chunk(rule) => rule.name(),
                }
            }

            /// What it means, for people.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self {
                    $( Self::$code => $summary, )*
                    Self::Sequence(rule) => rule.describe(),
                    Self::Chunk(rule) => chunk_summary(rule),
                }
            }

            /// What to do about it, in general.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self {
                    $( Self::$code => $advice, )*
                    Self::Sequence(rule) => sequence_advice(rule),
                    Self::Chunk(rule) => chunk_advice(rule),
                }
            }

            /// All of them.
            #[must_use]
            pub fn all() -> Vec<Self> {
                let mut codes = vec![$( Self::$code, )*];
                codes.extend(Rule::ALL.iter().map(|&rule| Self::Sequence(rule)));
                codes.extend(CHUNK_RULES.map(Self::Chunk));
                codes
            }
        }
    };
}

codes! {
    Undecodable = "undecodable", "a part of the input holds no event",
        "send one JSON object an event, in UTF-8, framed as the format says";
    NotJson = "not_json", "the text is no JSON", "write one JSON object an event, in UTF-8";
    NotAnObject = "not_an_object", "the JSON is no object", "write one JSON object an event";
    NoType = "no_type", "the event has no type", "name the event in a member `type`";
    SseLineEnds = "sse_line_ends", "lines of the SSE stream end in CR, so that clients take several events for one",
        "end lines with LF alone";

    TypeMember = "type_member", "the type stands under another name", "name the event in a member `type`";
    TypeSpelling = "type_spelling", "the type is spelled in another way, and clients drop the event",
        "write types in SCREAMING_SNAKE_CASE";
    ForeignType = "foreign_type", "the type is that of another protocol, and clients drop the event",
        "write the events of AG-UI that say the same";
    UnknownType = "unknown_type", "AG-UI 1.0 has no such event, and clients drop it",
        "wrap it in CUSTOM, with a name such as `vendor.event_name` and the rest as `value`";

    MemberSpelling = "member_spelling", "a member's name is spelled in another way",
        "write names of members in camelCase";
    MemberName = "member_name", "a member has another name in AG-UI", "use the name of AG-UI";
    MissingMember = "missing_member", "a required member is not there", "add it";
    UnknownMember = "unknown_member", "AG-UI 1.0 has no such member there, and clients strip it",
        "leave it out, or put it into `metadata`";
    NullMember = "null_member", "null stands where a member should be left out", "leave the member out";
    WrongValue = "wrong_value", "a member holds what AG-UI does not allow there",
        "write a value of the kind that is expected";
    UnknownWord = "unknown_word", "a word is none of the allowed ones", "use one of the words of AG-UI 1.0";
    UnknownVariant = "unknown_variant", "AG-UI 1.0 has no such kind of object there, and clients drop it",
        "use one of the kinds of AG-UI 1.0";
    TimestampNotInteger = "timestamp_not_integer", "a timestamp is no integer",
        "write milliseconds since 1970 as an integer";
    PatchNotAList = "patch_not_a_list", "a patch is a single operation",
        "write a list of operations, also if it is one";
    PatchNotAppliable = "patch_not_appliable", "a patch does not fit what it should change, and clients skip it",
        "send a STATE_SNAPSHOT, or a patch that fits the state";
    TextInObject = "text_in_object", "an object stands where the text itself belongs",
        "write the text as a string";
    LostInProtobuf = "lost_in_protobuf", "a content part of an unknown kind was left out of a protobuf event",
        "use one of the kinds of AG-UI 1.0";

    MessageIsText = "message_is_text", "a message is a string",
        "write an object with `id`, `role` and `content`";
    MessageWithoutId = "message_without_id", "a message has no id",
        "give every message an `id` that is unique in the thread";
    UnknownRole = "unknown_role", "AG-UI 1.0 has no such role, and clients drop the message",
        "use developer, system, assistant, user, tool, activity or reasoning";
    FlatToolCall = "flat_tool_call", "name and arguments of a tool call are not in `function`",
        "write {\"id\", \"type\": \"function\", \"function\": {\"name\", \"arguments\"}}";
    ArgumentsNotText = "arguments_not_text", "arguments of a tool call are JSON, not text",
        "write the arguments as a string that holds JSON";
    ToolCallWithoutType = "tool_call_without_type", "a tool call has no type", "add \"type\": \"function\"";
    InputIncomplete = "input_incomplete", "`input` is not the whole RunAgentInput",
        "echo the whole RunAgentInput (threadId, runId, messages and the rest), or leave `input` out";

    ThinkingEvent = "thinking_event", "a THINKING event of 0.x, read by 1.0 clients until 2027-09-17",
        "write the REASONING event";
    ThinkingTitleLost = "thinking_title_lost", "the title of THINKING_START has no place in 1.0 and is lost",
        "show it as an activity, or put it into `metadata`";
    ThinkingOrphan = "thinking_orphan", "a THINKING event continues what nothing opened",
        "write REASONING events, whose ids say what they continue";
    LegacyNull = "legacy_null", "a null that 0.x wrote, read by 1.0 clients until 2027-09-17",
        "leave the member out";
    BinaryPart = "binary_part", "a binary part of 0.x, read by 1.0 clients until 2027-09-17",
        "write an image, audio, video or document part with a `source`";
    ReasoningRole = "reasoning_role",
        "a reasoning message in the role `assistant`, as releases up to 0.0.58 wrote it",
        "write the role `reasoning`; Threadline corrects it, the 1.0.0 client fails";
    VersionUndeclared = "version_undeclared",
        "RUN_STARTED declares no protocolVersion, so that the run counts as 0.x",
        "add \"protocolVersion\": \"1.0\"";
    VersionOther = "version_other", "RUN_STARTED declares a protocolVersion other than 1.0",
        "declare the version that the events are written in, as in \"1.0\"";

    NotAllChecked = "not_all_checked", "so much is wrong with the event that the rest was not looked at",
        "mend what was found, and check again";
}

const CHUNK_RULES: [ExpandRule; 5] = [
    ExpandRule::MissingId,
    ExpandRule::MissingToolCallName,
    ExpandRule::Ambiguous,
    ExpandRule::OwnerMismatch,
    ExpandRule::Conflict { field: "" },
];

const fn chunk_summary(rule: ExpandRule) -> &'static str {
    match rule {
        ExpandRule::MissingId => "a chunk continues nothing and has no id to open anything with",
        ExpandRule::MissingToolCallName => "the first chunk of a tool call does not name the tool",
        ExpandRule::Ambiguous => "a chunk has neither id nor tag, and could continue several things",
        ExpandRule::OwnerMismatch => "the tag of a chunk names another than the owner",
        ExpandRule::Conflict { .. } => "a chunk says something else than the first one said",
    }
}

const fn chunk_advice(rule: ExpandRule) -> &'static str {
    match rule {
        ExpandRule::MissingId => "give the first chunk its id",
        ExpandRule::MissingToolCallName => "give the first chunk `toolCallName`",
        ExpandRule::Ambiguous => "give every chunk its id while several are open",
        ExpandRule::OwnerMismatch => "keep `subagentRunId` the same from the first chunk to the last",
        ExpandRule::Conflict { .. } => "say it in the first chunk only",
    }
}

const fn sequence_advice(rule: Rule) -> &'static str {
    match rule {
        Rule::AfterRunError => "send nothing after RUN_ERROR but the RUN_STARTED of another run",
        Rule::AfterRunFinished => "send it before RUN_FINISHED, or begin another run with RUN_STARTED",
        Rule::BeforeRunStarted => "begin every run with RUN_STARTED",
        Rule::RunStillActive => "end a run with RUN_FINISHED or RUN_ERROR before the next one starts",
        Rule::OwnerMismatch => "keep `subagentRunId` the same from start to end",
        Rule::TextAlreadyOpen => "send TEXT_MESSAGE_END first, or use another messageId",
        Rule::TextNotOpen => "send TEXT_MESSAGE_START with this messageId first",
        Rule::CallAlreadyOpen => "send TOOL_CALL_END first, or use another toolCallId",
        Rule::CallNotOpen => "send TOOL_CALL_START with this toolCallId first",
        Rule::CallParentMismatch | Rule::CallMoved => "tag a tool call as its parent message is tagged",
        Rule::StepAlreadyOpen => "send STEP_FINISHED first, or use another stepName",
        Rule::StepNotOpen => "send STEP_STARTED with this stepName first",
        Rule::StepOfAnother => "tag STEP_FINISHED as STEP_STARTED was tagged",
        Rule::SpanAlreadyOpen => "send REASONING_END first, or use another messageId",
        Rule::SpanNotOpen => "send REASONING_START with this messageId first",
        Rule::ReasoningAlreadyOpen => "send REASONING_MESSAGE_END first, or use another messageId",
        Rule::ReasoningNotOpen => "send REASONING_MESSAGE_START with this messageId first",
        Rule::SubagentAlreadyActive | Rule::SubagentReused => {
            "give every invocation a subagentRunId of its own"
        }
        Rule::SubagentParentUnknown => "send SUBAGENT_STARTED for the parent first",
        Rule::SubagentNotActive => "send SUBAGENT_STARTED with this subagentRunId first",
        Rule::StepsLeftOpen => "send STEP_FINISHED for each before RUN_FINISHED",
        Rule::TextsLeftOpen => "send TEXT_MESSAGE_END for each before RUN_FINISHED",
        Rule::ReasoningLeftOpen => "send REASONING_MESSAGE_END for each before RUN_FINISHED",
        Rule::SpansLeftOpen => "send REASONING_END for each before RUN_FINISHED",
        Rule::CallsLeftOpen => "send TOOL_CALL_END for each before RUN_FINISHED",
        Rule::SubagentsLeftActive => "send SUBAGENT_FINISHED or SUBAGENT_ERROR for each before RUN_FINISHED",
        Rule::RunIdsDiffer => "repeat threadId and runId of RUN_STARTED",
        Rule::ThreadChanged => "keep the runs of one thread in a stream",
        Rule::RunReused => "give every run of a thread a runId of its own",
        Rule::InterruptRepeated => "give every interrupt an id of its own",
        Rule::RunNotEnded => "end every run with RUN_FINISHED or RUN_ERROR",
        Rule::ResultOfUnknownCall => "answer with the toolCallId of a call that was started",
        Rule::ResultOfOpenCall => "send TOOL_CALL_END before TOOL_CALL_RESULT",
        Rule::ResultRepeated => "answer every call once",
        Rule::PendingCallsDiffer => {
            "list the calls without a result in the order they were started, or leave the list out"
        }
    }
}
