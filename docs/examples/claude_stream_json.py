#!/usr/bin/env python3
"""Lets Matrix drive `claude -p --output-format stream-json` over JSON lines (docs/backends.md).

    mxd config set --global backends.claude-p.command /path/to/claude_stream_json.py
    mxd config set --global backends.claude-p.protocol json
"""
import json, signal, subprocess, sys

CLAUDE = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
opened, child, cancelled = {}, None, False


def say(**message):
    print(json.dumps(message), flush=True)


def on_term(*_):
    if child:
        child.terminate()
    sys.exit(143)


def command(session):
    line = list(CLAUDE)
    if opened.get("system"):
        line += ["--append-system-prompt", opened["system"]]
    if opened.get("model"):
        line += ["--model", opened["model"]]
    if session:
        line += ["--resume", session]
    if opened.get("mcp"):
        mcp = opened["mcp"]
        server = {"command": mcp["command"], "args": mcp["args"], "env": mcp["env"]}
        line += ["--mcp-config", json.dumps({"mcpServers": {mcp["name"]: server}}), "--allowedTools", "mcp__" + mcp["name"]]
    return line


def turn(text, session):
    """Runs one turn. Returns the id of the session."""
    global child
    child = subprocess.Popen(command(session), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=opened.get("cwd"))
    child.stdin.write(text)
    child.stdin.close()
    end = {"type": "end", "error": "claude ended without a result"}
    for line in child.stdout:
        event = json.loads(line)
        if event.get("session_id"):
            session = event["session_id"]
            say(type="session", id=session)
        for block in event.get("message", {}).get("content", []) if isinstance(event.get("message"), dict) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text":
                say(type="text", text=block["text"])
            elif block.get("type") == "tool_use":
                kind = "execute" if block["name"] == "Bash" else "other"
                say(type="tool", id=block["id"], name=block["name"], kind=kind, input=block["input"], status="in_progress")
            elif block.get("type") == "tool_result":
                status = "failed" if block.get("is_error") else "completed"
                say(type="tool", id=block["tool_use_id"], output=str(block.get("content", "")), status=status)
        if event.get("type") == "result":
            usage = event.get("usage", {})
            say(type="usage", inputTokens=usage.get("input_tokens", 0), outputTokens=usage.get("output_tokens", 0),
                costUsd=event.get("total_cost_usd"))
            end = {"type": "end", "error": event.get("result")} if event.get("is_error") else {"type": "end"}
    child.wait()
    say(**end)
    return session


def main():
    signal.signal(signal.SIGTERM, on_term)
    session = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "open":
            opened.update(message)
            session = message.get("session")
            say(type="ready", program="claude -p", session=session, system=True)
        elif message["type"] == "prompt":
            session = turn(message["text"], session)


main()
