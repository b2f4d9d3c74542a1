#!/usr/bin/env bash
# Servers of external tools that others wrote, against our client: listing, calls, pictures, errors, cancellation, a
# server killed in mid-call. Installs them into a temporary folder. Skips loudly where that is not possible.
set -euo pipefail

NPM_VERSION=2026.8.31
PYTHON_VERSION=2026.10.19

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

skip() { echo "SKIPPED: $*"; exit 0; }

command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$work" && npm install --no-audit --no-fund --loglevel=error \
    "@modelcontextprotocol/server-everything@$NPM_VERSION" \
    "@modelcontextprotocol/server-filesystem@$NPM_VERSION" >"$work/log" 2>&1) \
    || skip "the servers cannot be installed with npm: $(tail -1 "$work/log")"
python3 -m venv "$work/venv" 2>"$work/log" || skip "python3 cannot make a virtual environment: $(tail -1 "$work/log")"
"$work/venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check \
    "mcp-server-time==$PYTHON_VERSION" "mcp-server-git==$PYTHON_VERSION" 2>"$work/log" \
    || skip "the servers cannot be installed with pip: $(tail -1 "$work/log")"

export MCP_NPM_BIN="$work/node_modules/.bin" MCP_PYTHON_BIN="$work/venv/bin"

# A build that fails is a failure, not a reason to skip. CARGO names another cargo.
cd "$root"
"${CARGO:-cargo}" test --quiet --test it mcp_real -- --ignored --nocapture --test-threads=1

# The same servers through the command line, beside one that cannot start.
MXD="${CARGO_TARGET_DIR:-$root/target}/debug/mxd"
export MXD_HOME="$work/home"
mkdir -p "$MXD_HOME"
cat >"$MXD_HOME/config.json" <<JSON
{"mcpServers": {
  "everything": {"command": "$MCP_NPM_BIN/mcp-server-everything", "args": ["stdio"]},
  "files": {"command": "$MCP_NPM_BIN/mcp-server-filesystem", "args": ["$work"]},
  "time": {"command": "$MCP_PYTHON_BIN/mcp-server-time"},
  "git": {"command": "$MCP_PYTHON_BIN/mcp-server-git"},
  "broken": {"command": "$MCP_NPM_BIN/mcp-server-filesystem", "args": ["/no/such/folder"]}
}}
JSON
cd "$work"
status=0
"$MXD" mcp test --json >"$work/tested" || status=$?
cat "$work/tested"
[ "$status" = 1 ] || { echo "FAILED: a broken server must be told by the exit code, not $status"; exit 1; }
[ "$(grep -c '"state":"ready"' "$work/tested")" = 4 ] || { echo "FAILED: not all four servers got ready"; exit 1; }
grep -q '"server":"broken","state":"failed".*exit code 1' "$work/tested" || { echo "FAILED: no reason given"; exit 1; }
if pgrep -f "$work/" >/dev/null; then echo "FAILED: a server was left running"; exit 1; fi
echo "PASSED: four servers over pipes, one over HTTP"
