"""A plain HTTP client with the models of the AG-UI 1.0.0 Python package.

One JSON request per line on stdin, exactly one JSON reply per line on stdout,
in order. The requests and replies of each op are in ../README.md.
"""

import json
import sys
import urllib.error
import urllib.request

from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

EVENT = TypeAdapter(Event)
INPUT = TypeAdapter(RunAgentInput)
# A test that waits longer than this has failed.
TIMEOUT_S = 60

streams = {}


def post(request):
    """Posts, and leaves the stream open if there is one."""
    body = request["body"]
    if request.get("model", True):
        body = INPUT.validate_python(body).model_dump(by_alias=True)
    headers = {"content-type": "application/json", **request.get("headers", {})}
    data = json.dumps(body).encode()
    call = urllib.request.Request(request["url"], data, headers, method="POST")
    return open_stream(request["client"], call)


def get(request):
    return open_stream(None, urllib.request.Request(request["url"]))


def open_stream(client, call):
    try:
        response = urllib.request.urlopen(call, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        return {"status": error.code, "json": json.load(error)}
    kind = response.headers.get_content_type()
    if kind == "application/json":
        return {"status": response.status, "json": json.load(response)}
    streams[client] = response
    return {"status": response.status, "type": kind}


def read(request):
    """So many frames, or all that are left; each is read by the models."""
    stream = streams[request["client"]]
    frames, ended = [], False
    while len(frames) < request.get("count", sys.maxsize):
        frame = next_frame(stream)
        if frame is None:
            ended = True
            break
        frames.append(frame)
    return {"frames": frames, "ended": ended}


def next_frame(stream):
    frame = {}
    for line in stream:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "data":
            EVENT.validate_json(value)
            frame["json"] = value
        elif name == "id":
            frame["id"] = value
        elif name == "" and "json" in frame:
            return frame
    return None


def close(request):
    streams.pop(request["client"]).close()
    return {}


OPS = {"post": post, "get": get, "read": read, "close": close}


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
