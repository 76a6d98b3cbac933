"""What schemathesis cannot know of itself: lines of JSON, which forms answers come in, and threads to ask about."""

import json
import os
import zlib

import requests
import schemathesis
from hypothesis import strategies as st

LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")

texts = st.text(max_size=20)
events = st.one_of(
    st.builds(lambda text: {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": text}, texts),
    st.builds(lambda name, value: {"type": "CUSTOM", "name": name, "value": value}, texts, st.none() | st.integers() | texts),
    st.builds(lambda name: {"type": name}, texts),
)
# The routes that start runs.
STARTS = ("/agui", "/api/agent", "/agents/{agent}")
END = {"type": "RUN_ERROR", "message": "no more"}


def written(values):
    """Lines that end their run: who attaches to one that goes on waits for its end."""
    return "\n".join(json.dumps(value) for value in [*values, END]).encode()


for media_type in LINES:
    schemathesis.openapi.media_type(media_type, st.lists(events, max_size=4).map(written))


@schemathesis.serializer(*LINES)
def as_lines(_context, value):
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.hook
def after_load_schema(_context, _schema):
    """Two threads: one that the demo agent has answered in, one whose events came from outside."""
    url = os.environ["THREADLINE_URL"]
    with requests.Session() as session:
        session.headers["authorization"] = f"Bearer {os.environ['THREADLINE_TOKEN']}"
        for number, run in enumerate(["first", "second"]):
            message = {"id": f"u{number}", "role": "user", "content": "state"}
            body = {"threadId": "talk", "runId": run, "protocolVersion": "1.0", "messages": [message]}
            session.post(f"{url}/agui", json=body).raise_for_status()
        lines = written([{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "words"}])
        head = {"content-type": LINES[0]}
        session.post(f"{url}/v1/threads/outside/events?run=first", data=lines, headers=head).raise_for_status()


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Asks for every form that an answer has, and for runs that are not there yet. A case is always asked in the same way."""
    said = repr((case.path_parameters, case.query, case.body)).encode(errors="replace")
    number = zlib.crc32(said)
    forms = sorted(case.operation.definition.raw["responses"].get("200", {}).get("content", {}))
    if len(forms) > 1:
        case.headers["Accept"] = forms[number % len(forms)]
    if case.operation.path in STARTS and number % 4 and has_text(case.body, "threadId") and has_text(case.body, "runId"):
        case.body = {**case.body, "threadId": f"thread-{number % 32}", "runId": f"run-{number}"}


def has_text(body, name):
    return isinstance(body, dict) and isinstance(body.get(name), str)
