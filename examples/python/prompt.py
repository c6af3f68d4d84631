"""Runs a prompt in a new session, prints the answer as it arrives, and answers permission requests.

    CAIRN_URL=http://127.0.0.1:4096 CAIRN_TOKEN=… python3 prompt.py [--allow] "Which files are here?"

CAIRN_TOKEN is a token of "cairn token create --scope approve". A server on this machine needs none from its own user.
With --allow the commands of tools may run; without it they are denied.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from cairn_client import AuthenticatedClient, Client
from cairn_client.api.session import (
    v2_session_create,
    v2_session_messages,
    v2_session_permission_reply,
    v2_session_prompt,
)
from cairn_client.models import (
    Assistant,
    Error,
    V2SessionCreateBody,
    V2SessionMessagesOrder,
    V2SessionPermissionReplyBody,
    V2SessionPromptBody,
)

T = TypeVar("T")


def connect() -> Client | AuthenticatedClient:
    url = os.environ.get("CAIRN_URL", "http://127.0.0.1:4096")
    token = os.environ.get("CAIRN_TOKEN")
    if token:
        return AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)
    return Client(base_url=url, raise_on_unexpected_status=True)


def check(answer: T | Error | None) -> T | None:
    """Returns the answer of an operation, None if it has none, or ends the program with the words of the error."""
    if isinstance(answer, Error):
        sys.exit(f"{answer.field_tag}: {answer.message}")
    return answer


def follow(client: Client | AuthenticatedClient) -> Iterator[dict[str, Any]]:
    """Yields the events of all sessions. The generator has no server-sent events, so that this reads the stream."""
    with client.get_httpx_client().stream("GET", "/api/event", timeout=None) as stream:
        stream.raise_for_status()
        for line in stream.iter_lines():
            if line.startswith("data:"):
                yield json.loads(line[len("data:") :])


def main() -> int:
    words = sys.argv[1:]
    reply = "once" if "--allow" in words else "reject"
    text = " ".join(word for word in words if word != "--allow")
    client = connect()

    # Create a session in this directory. Its rules ask before each command.
    created = check(
        v2_session_create.sync(
            client=client,
            body=V2SessionCreateBody.from_dict(
                {
                    "location": {"directory": os.getcwd()},
                    "permissions": [{"action": "bash", "resource": "*", "effect": "ask"}],
                }
            ),
        )
    )
    assert created is not None
    session = created.data.id

    # The prompt is sent once the stream stands, so that none of its events is missed.
    code = 0
    for event in follow(client):
        kind, data = event["type"], event["data"]
        if kind == "server.connected":
            check(
                v2_session_prompt.sync(
                    session, client=client, body=V2SessionPromptBody.from_dict({"prompt": {"text": text}})
                )
            )
        if data.get("sessionID") != session:
            continue
        if kind == "session.next.text.delta":
            print(data.get("delta", ""), end="", flush=True)
        elif kind == "session.next.tool.called":
            print(f"→ {data['tool']} {json.dumps(data['input'])}")
        elif kind == "permission.v2.asked":
            print(f"? {data['action']} {' '.join(data['resources'])}: {reply}")
            check(
                v2_session_permission_reply.sync(
                    session, data["id"], client=client, body=V2SessionPermissionReplyBody.from_dict({"reply": reply})
                )
            )
        elif kind == "session.next.step.failed":
            print(f"! {data['error']['message']}", file=sys.stderr)
            code = 1
        elif kind == "session.status" and data["status"]["type"] == "idle":
            break  # the prompt was run to its end

    # The stored messages are the whole truth; the events were only the way there.
    messages = check(v2_session_messages.sync(session, client=client, order=V2SessionMessagesOrder.ASC))
    assert messages is not None
    answers = [message for message in messages.data if isinstance(message, Assistant)]
    print(f"\n{len(answers)} answers in {session}")
    return code


if __name__ == "__main__":
    sys.exit(main())
