//! What is looked for at an endpoint, beyond what is looked for in every stream. `docs/check.md` has the same table.

use super::finding::{Affects, Area};
use threadline_protocol::check::Severity;

macro_rules! rules {
    ($( $rule:ident = $name:literal, $area:ident, $severity:ident, $affects:ident,
        $summary:literal, $says:literal, $remedy:literal; )*) => {
        /// Something that an endpoint may do otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Rule {
            $( $rule, )*
        }

        impl Rule {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$( Self::$rule, )*];

            /// The name, for programs. It never changes its meaning.
            pub(crate) const fn name(self) -> &'static str {
                match self { $( Self::$rule => $name, )* }
            }

            pub(crate) const fn area(self) -> Area {
                match self { $( Self::$rule => Area::$area, )* }
            }

            pub(crate) const fn severity(self) -> Severity {
                match self { $( Self::$rule => Severity::$severity, )* }
            }

            pub(crate) const fn affects(self) -> Affects {
                match self { $( Self::$rule => Affects::$affects, )* }
            }

            /// What it is, in general.
            pub(crate) const fn summary(self) -> &'static str {
                match self { $( Self::$rule => $summary, )* }
            }

            /// What the specification says.
            pub(crate) const fn says(self) -> &'static str {
                match self { $( Self::$rule => $says, )* }
            }

            /// What to do, in general.
            pub(crate) const fn remedy(self) -> &'static str {
                match self { $( Self::$rule => $remedy, )* }
            }
        }
    };
}

rules! {
    UrlFails = "url_fails", Discovery, Warning, Both,
        "the URL answers a browser with a server error",
        "the endpoint takes POST; for anything else HTTP has 404 and 405",
        "answer GET with 405, or with a page";
    NoCapabilities = "no_capabilities", Discovery, Note, V1,
        "the agent does not say what it can do",
        "AgentCapabilities has ten groups that an agent describes itself by; what is left out is undeclared",
        "answer GET on the URL with /capabilities behind it with AgentCapabilities as JSON";
    CapabilitiesNotJson = "capabilities_not_json", Discovery, Warning, V1,
        "the capabilities are no JSON object",
        "AgentCapabilities is a JSON object",
        "answer with a JSON object, or with 404";
    CapabilitiesMalformed = "capabilities_malformed", Discovery, Warning, V1,
        "the capabilities are not those of AG-UI 1.0",
        "AgentCapabilities has the groups identity, transport, tools, output, state, multiAgent, reasoning, multimodal, execution, \
         humanInTheLoop and custom, whose members have fixed names and kinds",
        "use the members of AG-UI 1.0, and `custom` for everything else";
    CapabilityNotKept = "capability_not_kept", Discovery, Warning, V1,
        "the agent says that it can do something which it does not do",
        "capabilities inform clients about what they can expect",
        "do it, or do not declare it";

    NoRun = "no_run", Transport, Error, Both,
        "a RunAgentInput that is posted is not answered by events",
        "POST of a RunAgentInput is answered by 200 and text/event-stream",
        "take a RunAgentInput by POST, and answer with a stream of events";
    NoAnswer = "no_answer", Transport, Error, Both,
        "a request is not answered at all",
        "every request has an answer; one that is refused has an error status",
        "answer, whatever the request is, and do not fail with it";
    WebsocketOnly = "websocket_only", Transport, Error, Both,
        "there are runs over a WebSocket only",
        "the standard binding is HTTP: POST of a RunAgentInput, server-sent events back; a WebSocket may be there beside it",
        "add a POST route that answers with server-sent events; the WebSocket can stay";
    NoRunAgentInput = "no_run_agent_input", Transport, Error, Both,
        "a RunAgentInput is not understood, only messages of another protocol are",
        "a run begins with a RunAgentInput: threadId, runId, state, messages, tools, context, forwardedProps",
        "take a RunAgentInput in place of connect and userMessage";
    NoEvents = "no_events", Transport, Error, Both,
        "a run has no events at all",
        "a run is RUN_STARTED, what happens, and RUN_FINISHED or RUN_ERROR",
        "send at least RUN_STARTED and RUN_FINISHED";
    ContentType = "content_type", Transport, Warning, Both,
        "server-sent events are called something else",
        "the answer to a run is text/event-stream, or application/vnd.ag-ui.event+proto",
        "answer with content-type: text/event-stream";
    ContentTypeParameters = "content_type_parameters", Transport, Error, Both,
        "the content type of protobuf has parameters",
        "clients compare it whole, and read anything else than application/vnd.ag-ui.event+proto as server-sent events",
        "answer with content-type: application/vnd.ag-ui.event+proto and nothing behind it";
    ContentEncoding = "content_encoding", Transport, Warning, Both,
        "the answer is compressed although that was not asked for",
        "HTTP lets a server choose among the encodings that the request accepts; this one names none",
        "compress only what accept-encoding allows, and never hold back events for it";
    SseDone = "sse_done_marker", Transport, Error, Both,
        "the stream has a marker that is no event",
        "the data of every frame is one event as JSON; a client ends the stream at anything else",
        "leave `[DONE]` out: the run ends with RUN_FINISHED, the answer with its body";
    SseEmptyData = "sse_empty_data", Transport, Error, Both,
        "a frame has empty data",
        "the data of every frame is one event as JSON; comments are what keeps a connection alive",
        "send a comment, such as `: ping`, in place of empty data";
    BodyCut = "body_cut", Transport, Error, Both,
        "the connection breaks in the middle of the answer",
        "an answer ends with its run; a stream without an end of its run is a truncated one",
        "send RUN_ERROR and end the body";
    BodyNotClosed = "body_not_closed", Transport, Warning, Both,
        "the answer stays open after its run has ended",
        "the body is closed after the terminal event of the last run",
        "end the body after RUN_FINISHED and RUN_ERROR";
    SilentRun = "silent_run", Transport, Warning, Both,
        "the run does not end in the time that it had",
        "every run ends with RUN_FINISHED or RUN_ERROR",
        "end the run; if it needs longer, check with a larger --timeout";
    NoKeepAlive = "no_keep_alive", Transport, Note, Both,
        "nothing comes for so long that proxies cut the connection",
        "comments are allowed at any time to keep the connection alive",
        "send a comment, such as `: ping`, every 15 seconds";
    NotStreamed = "not_streamed", Transport, Warning, Both,
        "all events arrive at once, at the end",
        "events are sent as they happen",
        "flush each event, and switch buffering off in proxies (`X-Accel-Buffering: no`)";
    ProtobufRefused = "protobuf_refused", Transport, Error, Both,
        "a client that prefers protobuf and reads server-sent events is refused",
        "a server answers in protobuf if the request admits it, and in server-sent events otherwise",
        "answer with server-sent events where protobuf is not there";
    ProtobufMislabelled = "protobuf_mislabelled", Transport, Error, Both,
        "the answer is called protobuf and is none",
        "a frame is four bytes of length in network order and one ag_ui.Event",
        "write length-prefixed frames, or name the type that it is";
    CorsIncomplete = "cors_incomplete", Transport, Error, Both,
        "pages are told that they may call, but not with what a run needs",
        "a run is a POST with content-type application/json, for which browsers ask first",
        "allow the method POST and the header content-type, too";
    CorsAnyWithCredentials = "cors_any_with_credentials", Transport, Warning, Both,
        "pages of any origin may call with the user's credentials",
        "AG-UI leaves authentication to HTTP, whose rule for credentials is one origin that is trusted",
        "list the origins that may call with credentials";
    PreflightFails = "preflight_fails", Transport, Warning, Both,
        "the question whether pages may call is answered by a server error",
        "browsers ask with OPTIONS before they post JSON to another origin",
        "answer OPTIONS, with or without permission";

    BadInputStarts = "bad_input_starts_run", Errors, Warning, Both,
        "input that must be refused starts a run",
        "a producer rejects malformed known fields before RUN_STARTED, by an error status",
        "answer 400 or 422, and start nothing";
    BadInputStreams = "bad_input_streams", Errors, Warning, Both,
        "input that must be refused is answered by a stream with an error",
        "input that is rejected is an error status and no stream; RUN_ERROR is for failures of runs",
        "answer 400 or 422 in place of a stream";
    BadInputFails = "bad_input_fails", Errors, Warning, Both,
        "input that must be refused is taken for a fault of the server",
        "input that is rejected is an error of the client, which must not be tried again",
        "answer 400 or 422";

    OtherIds = "other_ids", Lifecycle, Warning, Both,
        "the run has other ids than it was asked for with",
        "threadId and runId of RUN_STARTED and RUN_FINISHED are those of the RunAgentInput",
        "repeat threadId and runId of the input";
    OpenAtRunError = "open_at_run_error", Lifecycle, Warning, Both,
        "a run that fails leaves open what it began",
        "RUN_ERROR may come at any time and closes nothing: a half-written message or call stays as it is in the client, and \
         compacting the stream makes it invalid",
        "send the ends of what is open, and a TOOL_CALL_RESULT that says so for calls, before RUN_ERROR";
    LifecycleNames = "lifecycle_names", Lifecycle, Error, Both,
        "runs begin and end with events of another protocol",
        "a run is RUN_STARTED with threadId and runId, and RUN_FINISHED or RUN_ERROR",
        "write RUN_STARTED, RUN_FINISHED and RUN_ERROR";
    SessionId = "session_id", Lifecycle, Error, Both,
        "the thread is named in `sessionId`",
        "RUN_STARTED and RUN_FINISHED name the thread in `threadId`",
        "write threadId";
    EndReason = "end_reason", Lifecycle, Warning, Both,
        "the end of a run has a `reason`",
        "RUN_FINISHED has `outcome` (success, interrupt or cancelled) and `result`; clients strip anything else",
        "write outcome, and result if there is one";
    CamelCaseTypes = "camel_case_types", Lifecycle, Error, Both,
        "types of events are in camelCase",
        "types are in SCREAMING_SNAKE_CASE; a client of 1.0 drops others, one of 0.x fails",
        "write types in SCREAMING_SNAKE_CASE, as in TEXT_MESSAGE_START";
    MessageDelta = "message_delta", Text, Error, Both,
        "text comes in events `messageDelta`",
        "a message is TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END with one messageId, or TEXT_MESSAGE_CHUNK",
        "write TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END";
    ToolCallAtOnce = "tool_call_at_once", ToolCalls, Error, Both,
        "a tool call is one event with all of its arguments",
        "a call is TOOL_CALL_START, TOOL_CALL_ARGS piece by piece and TOOL_CALL_END, or TOOL_CALL_CHUNK",
        "write TOOL_CALL_START, TOOL_CALL_ARGS and TOOL_CALL_END";
    ToolResultEvent = "tool_result_event", ToolCalls, Error, Both,
        "results of tools come in events of another protocol",
        "a result is TOOL_CALL_RESULT with messageId, toolCallId and content",
        "write TOOL_CALL_RESULT with messageId, toolCallId and content";
    FlatToolCall = "flat_tool_call", ToolCalls, Error, Both,
        "name and arguments of a tool call are not in `function`",
        "a tool call of a message is {\"id\", \"type\": \"function\", \"function\": {\"name\", \"arguments\"}}, an event names the tool in \
         toolCallName",
        "nest name and arguments in `function`; write toolCallName in events";
    PatchForDelta = "patch_for_delta", State, Error, Both,
        "STATE_DELTA has its operations in `patch`",
        "STATE_DELTA has its operations in `delta`; `patch` is that of ACTIVITY_DELTA",
        "write delta";
    EventId = "event_id", State, Warning, V1,
        "events have an `eventId`",
        "no event of 1.0 has an `eventId`; clients strip it",
        "leave it out; the id of an SSE frame is for coming back, `metadata` for everything else";
    TypingEvent = "typing_event", Activity, Error, Both,
        "typing has events of its own",
        "what an agent is at is an activity: ACTIVITY_SNAPSHOT and ACTIVITY_DELTA",
        "write ACTIVITY_SNAPSHOT when it begins and ACTIVITY_DELTA when it ends, with an activityType such as TYPING";
    TaskEvent = "task_event", Lifecycle, Error, Both,
        "tasks have events of their own",
        "what a run goes through are steps: STEP_STARTED and STEP_FINISHED",
        "write STEP_STARTED and STEP_FINISHED, with the task as stepName";
    ConfigurationEvent = "configuration_event", State, Error, Both,
        "configuration has events of its own",
        "what agent and client share is the state: STATE_SNAPSHOT and STATE_DELTA",
        "write STATE_SNAPSHOT, and STATE_DELTA for changes, with the configuration as a part of the state";
    CustomEvent = "custom_event", Extensions, Error, Both,
        "an event is none of AG-UI",
        "what 1.0 has no event for is CUSTOM with a name and a value; a client of 1.0 drops unknown types, one of 0.x fails",
        "wrap it in CUSTOM, with a dotted name";

    UnknownMembersRefused = "unknown_members_refused", UnknownFields, Error, V1,
        "input with members that AG-UI 1.0 does not have is not taken",
        "a producer strips members it does not know, with a warning, so that newer clients can talk to it",
        "ignore unknown members of the input";
    MissingRole = "missing_role", Roles, Error, Both,
        "messages of a role are not taken, or not given back",
        "there are seven roles: developer, system, assistant, user, tool, activity and reasoning; all but activity are sent to agents",
        "take messages of this role; leave out for the model what it has no use for";
    PartsRefused = "parts_refused", Multimodal, Error, Both,
        "a message with parts is not taken",
        "the content of a user is text or a list of parts; a producer that cannot use a part skips it and must not fail",
        "take lists of parts, and skip those that the model has no use for";
    ToolsRefused = "tools_refused", ToolCalls, Error, Both,
        "a run that offers a tool is not taken",
        "a RunAgentInput may have tools of the client's, each with name, description and parameters",
        "take `tools`, also if they are not used";
    ToolResultRefused = "tool_result_refused", ToolCalls, Error, Both,
        "the result of a tool that the agent has called is not taken",
        "a call of a client's tool is answered in the next run, by a message of role `tool` with its toolCallId",
        "go on from the tool message";
    RunFails = "run_fails", Lifecycle, Error, Both,
        "a run that should go well is refused",
        "a RunAgentInput that is well formed starts a run, whose failures are RUN_ERROR in the stream",
        "answer with a stream of events";
    PlainRunFails = "plain_run_fails", Lifecycle, Note, Both,
        "a plain run ends with an error, so that not much could be seen",
        "a run that fails says so with RUN_ERROR, which is how it should be",
        "check again when the agent works, or say with --say what it needs";
    LegacyRefused = "legacy_refused", Lifecycle, Error, V0,
        "a run of a client of 0.x is not taken",
        "protocolVersion is optional; an input without one is that of a client from before 1.0",
        "take input without protocolVersion";
    LegacySubagents = "legacy_subagents", Subagents, Error, V0,
        "a client of 0.x is sent events of subagents",
        "clients of 0.x fail at types they do not know; an input without protocolVersion is theirs",
        "leave SUBAGENT events and `subagentRunId` out for input without protocolVersion";
    LegacyOutcome = "legacy_outcome", Interrupts, Error, V0,
        "a client of 0.x is sent an outcome that it does not know",
        "0.x has the outcomes success, without members, and interrupt; an input without protocolVersion is that of a client of 0.x",
        "leave `cancelled` and `pendingToolCallIds` out for input without protocolVersion";
    ResumeRefused = "resume_refused", Interrupts, Warning, V1,
        "an answer to an unknown question is refused",
        "a producer goes on at entries of `resume` that it does not know, with a warning; a stateless one never knows any",
        "ignore entries of `resume` that name no open interrupt";
    AnswerRefused = "answer_refused", Interrupts, Error, V1,
        "an answer to an interrupt is not taken",
        "a run with `resume` that covers every interrupt, each resolved or cancelled, continues the thread",
        "take `resume`, also where every entry is cancelled";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use threadline_protocol::check::Code;

    #[test]
    fn names_are_unique_and_documented() {
        let names: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        let docs = include_str!("../../../../../docs/check.md");
        let (_, docs) = docs.split_once("### Codes of endpoints").expect("a table");
        let rows = docs.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        assert_eq!(rows.collect::<BTreeSet<_>>(), names);
        for rule in Rule::ALL {
            let row = format!("| `{}` | {} | {}", rule.name(), rule.severity().name(), rule.summary());
            assert!(docs.contains(&row), "docs/check.md has no row: {row} | {} |", rule.remedy());
        }
        // One name is both: what is found in a message of a stream is found in events, too.
        let shared: Vec<&str> =
            Code::all().iter().map(|code| code.name()).filter(|name| names.contains(name)).collect();
        assert_eq!(shared, ["flat_tool_call"]);
    }
}
