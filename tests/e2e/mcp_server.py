#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of the Model Context Protocol, 2025-11-25, over standard input and output.

Its first argument is a JSON file {"tools": [TOOL...]}, which is read for each list. What a call does is in the tool's
"does": an answer's text, or {"write": PATH}, {"environment": NAME}, {"read": PATH}, {"ask": MESSAGE, "form": SCHEMA}, {"die": true}.
Every start appends a line to the file of the second argument, if there is one.
"""
import json
import os
import sys


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools():
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file)["tools"]


NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def ask(message, form):
    send({"id": "question", "method": "elicitation/create", "params": {"message": message, "requestedSchema": form}})
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == "question":
            return json.dumps(answer.get("result"))
    return "gone"


def do(work):
    if isinstance(work, str):
        return work
    try:
        if "write" in work:
            with open(work["write"], "a", encoding="utf-8") as file:
                file.write("written\n")
            return "written"
        if "read" in work:
            with open(work["read"], encoding="utf-8") as file:
                return file.read()
        if "environment" in work:
            return os.environ.get(work["environment"], "(not set)")
        if "ask" in work:
            return ask(work["ask"], work.get("form", NAME))
        if "die" in work:
            os._exit(3)
    except OSError as error:
        return "failed: " + error.strerror
    return "nothing"


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "played", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{key: value for key, value in tool.items() if key != "does"} for tool in tools()]}
    if method == "tools/call":
        works = [tool["does"] for tool in tools() if tool["name"] == params["name"]]
        return {"content": [{"type": "text", "text": do(works[0]) if works else "no such tool"}]}
    return {} if method == "ping" else None


if len(sys.argv) > 2:
    with open(sys.argv[2], "a", encoding="utf-8") as starts:
        starts.write("start\n")
for text in sys.stdin:
    request = json.loads(text)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    if result is None:
        send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
    else:
        send({"id": request["id"], "result": result})
