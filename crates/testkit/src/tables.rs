//! The shapes of AG-UI 1.0 as tables.
//!
//! Written from the protocol's description and not from our types, so that a slip in one of them is noticed.

/// What may stand in a field.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any string.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A JSON pointer.
    Pointer,
    /// An integer that JavaScript keeps exact.
    Integer,
    /// A count that JavaScript keeps exact.
    Count,
    /// True or false.
    Bool,
    /// Any JSON.
    Json,
    /// Any JSON but null.
    NonNull,
    /// Any JSON object.
    AnyObject,
    /// A string, or content parts.
    Content,
    /// A list with at least so many elements.
    List(&'static Self, usize),
    /// An object with these fields.
    Object(Fields),
    /// One of several objects, told apart by a word under a key.
    Union(&'static str, &'static [(&'static str, Fields)]),
}

/// The name of a field, what may stand in it, and whether it must be there.
pub type Fields = &'static [(&'static str, Kind, bool)];

const R: bool = true;
const O: bool = false;

const TOKENS: &[&str] = &["developer", "system", "assistant", "user"];

/// Fields of every event.
pub const BASE: Fields =
    &[("timestamp", Kind::Integer, O), ("rawEvent", Kind::NonNull, O), ("metadata", Kind::AnyObject, O)];

/// The field of events that may belong to a subagent.
pub const ATTRIBUTION: Fields = &[("subagentRunId", Kind::Text, O)];

/// Events that belong to no subagent, or name one themselves.
pub const UNATTRIBUTED: &[&str] = &[
    "RUN_STARTED",
    "RUN_FINISHED",
    "RUN_ERROR",
    "MESSAGES_SNAPSHOT",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
];

/// The events and their own fields.
pub const EVENTS: &[(&str, Fields)] = &[
    ("RUN_STARTED", &[
        ("threadId", Kind::Text, R), ("runId", Kind::Text, R), ("protocolVersion", Kind::Text, O),
        ("parentRunId", Kind::Text, O), ("input", Kind::Object(INPUT), O),
    ]),
    ("RUN_FINISHED", &[
        ("threadId", Kind::Text, R), ("runId", Kind::Text, R), ("result", Kind::NonNull, O),
        ("outcome", Kind::Union("type", &[
            ("success", &[("pendingToolCallIds", Kind::List(&Kind::Text, 0), O)]),
            ("interrupt", &[("interrupts", Kind::List(&Kind::Object(INTERRUPT), 1), R)]),
            ("cancelled", &[]),
        ]), O),
        ("usage", Kind::List(&Kind::Object(USAGE), 0), O),
    ]),
    ("RUN_ERROR", &[
        ("message", Kind::Text, R), ("code", Kind::Text, O), ("usage", Kind::List(&Kind::Object(USAGE), 0), O),
    ]),
    ("STEP_STARTED", &[("stepName", Kind::Text, R)]),
    ("STEP_FINISHED", &[("stepName", Kind::Text, R)]),
    ("TEXT_MESSAGE_START", &[("messageId", Kind::Text, R), ("role", Kind::Word(TOKENS), O), ("name", Kind::Text, O)]),
    ("TEXT_MESSAGE_CONTENT", &[("messageId", Kind::Text, R), ("delta", Kind::Text, R)]),
    ("TEXT_MESSAGE_END", &[("messageId", Kind::Text, R)]),
    ("TEXT_MESSAGE_CHUNK", &[
        ("messageId", Kind::Text, O), ("role", Kind::Word(TOKENS), O), ("delta", Kind::Text, O), ("name", Kind::Text, O),
    ]),
    ("TOOL_CALL_START", &[
        ("toolCallId", Kind::Text, R), ("toolCallName", Kind::Text, R), ("parentMessageId", Kind::Text, O),
    ]),
    ("TOOL_CALL_ARGS", &[("toolCallId", Kind::Text, R), ("delta", Kind::Text, R)]),
    ("TOOL_CALL_END", &[("toolCallId", Kind::Text, R)]),
    ("TOOL_CALL_CHUNK", &[
        ("toolCallId", Kind::Text, O), ("toolCallName", Kind::Text, O), ("parentMessageId", Kind::Text, O),
        ("delta", Kind::Text, O),
    ]),
    ("TOOL_CALL_RESULT", &[
        ("messageId", Kind::Text, R), ("toolCallId", Kind::Text, R), ("content", Kind::Content, R),
        ("role", Kind::Word(&["tool"]), O),
    ]),
    ("REASONING_START", &[("messageId", Kind::Text, R)]),
    ("REASONING_MESSAGE_START", &[("messageId", Kind::Text, R), ("role", Kind::Word(&["reasoning"]), R)]),
    ("REASONING_MESSAGE_CONTENT", &[("messageId", Kind::Text, R), ("delta", Kind::Text, R)]),
    ("REASONING_MESSAGE_END", &[("messageId", Kind::Text, R)]),
    ("REASONING_MESSAGE_CHUNK", &[("messageId", Kind::Text, O), ("delta", Kind::Text, O)]),
    ("REASONING_END", &[("messageId", Kind::Text, R)]),
    ("REASONING_ENCRYPTED_VALUE", &[
        ("subtype", Kind::Word(&["tool-call", "message"]), R), ("entityId", Kind::Text, R),
        ("encryptedValue", Kind::Text, R),
    ]),
    ("STATE_SNAPSHOT", &[("snapshot", Kind::Json, R)]),
    ("STATE_DELTA", &[("delta", Kind::List(&OPERATION, 0), R)]),
    ("MESSAGES_SNAPSHOT", &[("messages", Kind::List(&MESSAGE, 0), R)]),
    ("ACTIVITY_SNAPSHOT", &[
        ("messageId", Kind::Text, R), ("activityType", Kind::Text, R), ("content", Kind::AnyObject, R),
        ("replace", Kind::Bool, O),
    ]),
    ("ACTIVITY_DELTA", &[
        ("messageId", Kind::Text, R), ("activityType", Kind::Text, R), ("patch", Kind::List(&OPERATION, 0), R),
    ]),
    ("SUBAGENT_STARTED", &[
        ("subagentRunId", Kind::Text, R), ("name", Kind::Text, R), ("description", Kind::Text, O),
        ("parentSubagentRunId", Kind::Text, O), ("parentToolCallId", Kind::Text, O), ("parentMessageId", Kind::Text, O),
    ]),
    ("SUBAGENT_FINISHED", &[
        ("subagentRunId", Kind::Text, R), ("result", Kind::NonNull, O),
        ("outcome", Kind::Union("type", &[
            ("success", &[]),
            ("suspended", &[("interruptIds", Kind::List(&Kind::Text, 0), O)]),
        ]), O),
    ]),
    ("SUBAGENT_ERROR", &[("subagentRunId", Kind::Text, R), ("message", Kind::Text, R), ("code", Kind::Text, O)]),
    ("RAW", &[("event", Kind::Json, R), ("source", Kind::Text, O)]),
    ("CUSTOM", &[("name", Kind::Text, R), ("value", Kind::Json, R)]),
];

/// A run's request.
pub const INPUT: Fields = &[
    ("threadId", Kind::Text, R), ("runId", Kind::Text, R), ("protocolVersion", Kind::Text, O),
    ("parentRunId", Kind::Text, O), ("state", Kind::NonNull, O), ("messages", Kind::List(&MESSAGE, 0), R),
    ("tools", Kind::List(&Kind::Object(TOOL), 0), O),
    ("context", Kind::List(&Kind::Object(&[("description", Kind::Text, R), ("value", Kind::Text, R)]), 0), O),
    ("forwardedProps", Kind::NonNull, O),
    ("resume", Kind::List(&Kind::Object(&[
        ("interruptId", Kind::Text, R), ("status", Kind::Word(&["resolved", "cancelled"]), R),
        ("payload", Kind::NonNull, O), ("metadata", Kind::AnyObject, O),
    ]), 0), O),
];

const TOOL: Fields = &[
    ("name", Kind::Text, R), ("description", Kind::Text, R), ("parameters", Kind::NonNull, O),
    ("metadata", Kind::AnyObject, O),
];

const INTERRUPT: Fields = &[
    ("id", Kind::Text, R), ("reason", Kind::Text, R), ("message", Kind::Text, O), ("toolCallId", Kind::Text, O),
    ("responseSchema", Kind::AnyObject, O), ("expiresAt", Kind::Text, O), ("metadata", Kind::AnyObject, O),
    ("subagentRunId", Kind::Text, O),
];

const USAGE: Fields = &[
    ("provider", Kind::Text, O), ("model", Kind::Text, O), ("inputTokens", Kind::Count, O),
    ("outputTokens", Kind::Count, O), ("totalTokens", Kind::Count, O), ("reasoningTokens", Kind::Count, O),
    ("cachedInputTokens", Kind::Count, O), ("cacheWriteInputTokens", Kind::Count, O),
];

const MESSAGE: Kind = Kind::Union("role", &[
    ("developer", PLAIN_MESSAGE),
    ("system", PLAIN_MESSAGE),
    ("assistant", &[
        ("id", Kind::Text, R), ("content", Kind::Text, O),
        ("toolCalls", Kind::List(&Kind::Object(TOOL_CALL), 0), O), ("name", Kind::Text, O),
        ("encryptedValue", Kind::Text, O), ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
    ]),
    ("user", &[
        ("id", Kind::Text, R), ("content", Kind::Content, R), ("name", Kind::Text, O),
        ("encryptedValue", Kind::Text, O), ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
    ]),
    ("tool", &[
        ("id", Kind::Text, R), ("toolCallId", Kind::Text, R), ("content", Kind::Content, R), ("error", Kind::Text, O),
        ("encryptedValue", Kind::Text, O), ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
    ]),
    ("activity", &[
        ("id", Kind::Text, R), ("activityType", Kind::Text, R), ("content", Kind::AnyObject, R),
        ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
    ]),
    ("reasoning", &[
        ("id", Kind::Text, R), ("content", Kind::Text, R), ("encryptedValue", Kind::Text, O),
        ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
    ]),
]);

const PLAIN_MESSAGE: Fields = &[
    ("id", Kind::Text, R), ("content", Kind::Text, R), ("name", Kind::Text, O), ("encryptedValue", Kind::Text, O),
    ("metadata", Kind::AnyObject, O), ("subagentRunId", Kind::Text, O),
];

const TOOL_CALL: Fields = &[
    ("id", Kind::Text, R), ("type", Kind::Word(&["function"]), R),
    ("function", Kind::Object(&[("name", Kind::Text, R), ("arguments", Kind::Text, R)]), R),
    ("encryptedValue", Kind::Text, O), ("metadata", Kind::AnyObject, O),
];

pub(crate) const PART: Kind = Kind::Union("type", &[
    ("text", &[("text", Kind::Text, R), ("id", Kind::Text, O), ("metadata", Kind::NonNull, O)]),
    ("image", MEDIA),
    ("audio", MEDIA),
    ("video", MEDIA),
    ("document", MEDIA),
]);

const MEDIA: Fields = &[
    ("source", Kind::Union("type", &[
        ("data", &[("value", Kind::Text, R), ("mimeType", Kind::Text, R)]),
        ("url", &[("value", Kind::Text, R), ("mimeType", Kind::Text, O)]),
        ("file", &[("value", Kind::Text, R), ("provider", Kind::Text, O), ("mimeType", Kind::Text, O)]),
    ]), R),
    ("id", Kind::Text, O), ("metadata", Kind::NonNull, O),
];

const OPERATION: Kind = Kind::Union("op", &[
    ("add", &[("path", Kind::Pointer, R), ("value", Kind::Json, R)]),
    ("remove", &[("path", Kind::Pointer, R)]),
    ("replace", &[("path", Kind::Pointer, R), ("value", Kind::Json, R)]),
    ("move", &[("from", Kind::Pointer, R), ("path", Kind::Pointer, R)]),
    ("copy", &[("from", Kind::Pointer, R), ("path", Kind::Pointer, R)]),
    ("test", &[("path", Kind::Pointer, R), ("value", Kind::Json, R)]),
]);

/// What an agent says of itself.
pub const CAPABILITIES: Fields = &[
    ("identity", Kind::Object(&[
        ("name", Kind::Text, O), ("type", Kind::Text, O), ("description", Kind::Text, O), ("version", Kind::Text, O),
        ("provider", Kind::Text, O), ("documentationUrl", Kind::Text, O), ("metadata", Kind::AnyObject, O),
    ]), O),
    ("transport", Kind::Object(&[
        ("streaming", Kind::Bool, O), ("websocket", Kind::Bool, O), ("httpBinary", Kind::Bool, O),
        ("pushNotifications", Kind::Bool, O), ("resumable", Kind::Bool, O),
    ]), O),
    ("tools", Kind::Object(&[
        ("supported", Kind::Bool, O), ("items", Kind::List(&Kind::Object(TOOL), 0), O), ("parallelCalls", Kind::Bool, O),
        ("clientProvided", Kind::Bool, O),
    ]), O),
    ("output", Kind::Object(&[
        ("structuredOutput", Kind::Bool, O), ("supportedMimeTypes", Kind::List(&Kind::Text, 0), O),
    ]), O),
    ("state", Kind::Object(&[
        ("snapshots", Kind::Bool, O), ("deltas", Kind::Bool, O), ("memory", Kind::Bool, O),
        ("persistentState", Kind::Bool, O),
    ]), O),
    ("multiAgent", Kind::Object(&[
        ("supported", Kind::Bool, O), ("delegation", Kind::Bool, O), ("handoffs", Kind::Bool, O),
        ("subagents", Kind::List(&Kind::Object(&[("name", Kind::Text, R), ("description", Kind::Text, O)]), 0), O),
    ]), O),
    ("reasoning", Kind::Object(&[
        ("supported", Kind::Bool, O), ("streaming", Kind::Bool, O), ("encrypted", Kind::Bool, O),
    ]), O),
    ("multimodal", Kind::Object(&[
        ("input", Kind::Object(&[
            ("image", Kind::Bool, O), ("audio", Kind::Bool, O), ("video", Kind::Bool, O), ("pdf", Kind::Bool, O),
            ("file", Kind::Bool, O),
        ]), O),
        ("output", Kind::Object(&[("image", Kind::Bool, O), ("audio", Kind::Bool, O)]), O),
    ]), O),
    ("execution", Kind::Object(&[
        ("codeExecution", Kind::Bool, O), ("sandboxed", Kind::Bool, O), ("maxIterations", Kind::Count, O),
        ("maxExecutionTime", Kind::Count, O),
    ]), O),
    ("humanInTheLoop", Kind::Object(&[
        ("supported", Kind::Bool, O), ("approvals", Kind::Bool, O), ("interventions", Kind::Bool, O),
        ("feedback", Kind::Bool, O), ("interrupts", Kind::Bool, O), ("approveWithEdits", Kind::Bool, O),
    ]), O),
    ("custom", Kind::AnyObject, O),
];
