"""Agents of Google's ADK behind the published ag-ui-adk middleware, on a port of loopback.

The language model alone is a stand-in: it plays fixed turns. The runner, the sessions, the tools, the translation
into AG-UI events, the endpoint and the web server are the real ones. Prints its URL in one line, and ends with stdin.

Each agent is at `/{name}`, and at `/{name}/snapshot` with `emit_messages_snapshot`. `plain` says something, `tool`
calls a tool of its own, `client` one of the client's (`confirm_refund`), `reasoning` thinks aloud, `error` fails in
the middle of a sentence and `refused` before the first word.
"""

import os
import socket
import sys
import threading

# Nothing is to leave the machine.
os.environ["OTEL_SDK_DISABLED"] = "true"

import uvicorn
from ag_ui_adk import ADKAgent, AGUIToolset, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    """Says the deltas of one turn after another, a turn for each answer of a tool in the request."""

    turns: list[list]

    async def generate_content_async(self, llm_request, stream=False):
        answered = 0
        for content in reversed(llm_request.contents):
            results = [part for part in content.parts or [] if part.function_response]
            if content.role == "user" and not results:
                break
            answered += len(results)
        said = []
        for part in self.turns[min(answered, len(self.turns) - 1)]:
            if isinstance(part, Exception):
                raise part
            # The runner writes ids into what it is given.
            part = part.model_copy(deep=True)
            said.append(part)
            if part.text:
                content = types.Content(role="model", parts=[part])
                yield LlmResponse(content=content, partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=merged(said)), partial=False)


def merged(parts):
    """The whole turn, as models repeat it after its deltas: texts of one kind in one part."""
    whole = []
    for part in parts:
        last = whole[-1] if whole else None
        if last and last.text and part.text and bool(last.thought) == bool(part.thought):
            whole[-1] = types.Part(text=last.text + part.text, thought=part.thought)
        else:
            whole.append(part)
    return whole


def say(*deltas):
    return [types.Part(text=delta) for delta in deltas]


def think(*deltas):
    return [types.Part(text=delta, thought=True) for delta in deltas]


def call(name, **arguments):
    return [types.Part(function_call=types.FunctionCall(name=name, args=arguments))]


def get_refund_status(order_id: str) -> dict:
    """Says how far a refund is."""
    return {"order_id": order_id, "status": "processing", "settles_in_days": 4}


def backend_error():
    return RuntimeError("model backend closed the stream")


SETTLED = say("Order A-1001 is ", "processing; it settles in 4 days.")
AGENTS = {
    "plain": ([say("Refunds take ", "five days.")], []),
    "tool": ([say("Let me look that up.") + call("get_refund_status", order_id="A-1001"), SETTLED], [get_refund_status]),
    "client": ([call("confirm_refund", order_id="A-1001"), say("Thank you, ", "it is on its way.")], [AGUIToolset()]),
    "reasoning": ([think("The order is known, ", "so I can answer.") + SETTLED], []),
    "error": ([say("I started the lookup, ") + [backend_error()]], []),
    "refused": ([[backend_error()]], []),
}


def main():
    app = FastAPI()
    for name, (turns, tools) in AGENTS.items():
        for path, snapshot in ((f"/{name}", False), (f"/{name}/snapshot", True)):
            model = Scripted(model="scripted", turns=turns)
            agent = LlmAgent(name="support_agent", model=model, instruction="Answer.", tools=tools)
            app_name = path.strip("/").replace("/", "_")
            wrapped = ADKAgent(adk_agent=agent, app_name=app_name, user_id="peer", emit_messages_snapshot=snapshot)
            add_adk_fastapi_endpoint(app, wrapped, path=path)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Whoever is told the address may come before the server is up, and waits.
    listener.listen(128)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    threading.Thread(target=end_with_stdin, args=(server,), daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])


def end_with_stdin(server):
    sys.stdin.read()
    server.should_exit = True
    server.force_exit = True


main()
