"""The AG-UI 1.0.0 Python package behind a line protocol.

One JSON request per line on stdin, exactly one JSON reply per line on stdout,
in order. The requests and replies of each op are in ../README.md.
"""

import json
import sys

from ag_ui.core import AgentCapabilities, Event, RunAgentInput
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter

EVENT = TypeAdapter(Event)
INPUT = TypeAdapter(RunAgentInput)
CAPABILITIES = TypeAdapter(AgentCapabilities)


def redump(adapter, request):
    # No exclude_none: the models themselves leave out an optional field
    # without a value, and excluding more would also lose nulls that are data,
    # such as the snapshot of a STATE_SNAPSHOT.
    model = adapter.validate_json(request["json"])
    return {"json": model.model_dump_json(by_alias=True)}


def encode(request):
    return {"sse": EventEncoder().encode(EVENT.validate_json(request["json"]))}


OPS = {
    "schema": lambda request: redump(EVENT, request),
    "input": lambda request: redump(INPUT, request),
    "capabilities": lambda request: redump(CAPABILITIES, request),
    "encode": encode,
}


def answer(line):
    # Everything is caught, because a request that fails in an unforeseen way
    # must still get its one reply.
    try:
        request = json.loads(line)
        return {"ok": True, **OPS[request["op"]](request)}
    except Exception as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


# Bytes, because text mode would also end a line at a carriage return.
for line in sys.stdin.buffer:
    # ASCII escapes keep a lone surrogate in an error message writable.
    sys.stdout.buffer.write(json.dumps(answer(line)).encode("ascii") + b"\n")
    sys.stdout.buffer.flush()
