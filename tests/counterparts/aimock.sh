#!/usr/bin/env bash
# A third party's mock of the three wires, for our client to talk to.
#
#   aimock.sh COMMAND [ARGUMENT...]   runs COMMAND with AIMOCK_URL (add /v1 for the OpenAI wires) and passes its exit on
#   aimock.sh cargo run --example ask lets our own client talk to it on all three wires
#   aimock.sh                         asks all three wires itself and prints `N passed, N failed`
#
# What it answers, by a word in the last user message:
#   AIMOCK_TEXT   text "Hello from the other side."
#   AIMOCK_THINK  thinking "Let me think.", then text "I have thought."
#   AIMOCK_TOOL   a call of `read` with {"path":"hello.txt"}; after its result, text "The file was read."
#   AIMOCK_LIMIT  429
# Installs it into a temporary folder. Skips loudly where that is not possible.
set -euo pipefail

AIMOCK_VERSION=1.43.0

here=$(cd "$(dirname "$0")" && pwd)

skip() { echo "SKIPPED: $*"; exit 0; }

command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
work=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

(cd "$work" && npm_config_cache="$work/npm" npm install --loglevel error --no-audit --no-fund --prefix "$work" "@copilotkit/aimock@$AIMOCK_VERSION") \
    >"$work/log" 2>&1 || skip "aimock cannot be installed: $(head -1 "$work/log")"

cat >"$work/fixtures.json" <<'JSON'
{
  "fixtures": [
    {"match": {"userMessage": "AIMOCK_TEXT"}, "response": {"content": "Hello from the other side."}},
    {"match": {"userMessage": "AIMOCK_THINK"}, "response": {"reasoning": "Let me think.", "content": "I have thought."}},
    {"match": {"userMessage": "AIMOCK_TOOL", "hasToolResult": true}, "response": {"content": "The file was read."}},
    {"match": {"userMessage": "AIMOCK_TOOL", "hasToolResult": false}, "response": {"toolCalls": [
      {"id": "call_hello", "name": "read", "arguments": "{\"path\":\"hello.txt\"}"}]}},
    {"match": {"userMessage": "AIMOCK_LIMIT"}, "response": {"status": 429, "error": {
      "message": "Rate limit reached.", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}}
  ]
}
JSON

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
"$work/node_modules/.bin/llmock" --port "$port" --strict --fixtures "$work/fixtures.json" >"$work/log" 2>&1 &
server=$!
export AIMOCK_URL="http://127.0.0.1:$port"
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || { cat "$work/log"; exit 1; }
    sleep 0.05
done

if [ $# -gt 0 ]; then "$@"; else node "$here/aimock_check.mjs"; fi
