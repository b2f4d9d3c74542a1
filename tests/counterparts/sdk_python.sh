#!/usr/bin/env bash
# The vendors' own Python SDKs against the mock: if they accept it, it is a faithful stand-in.
# Installs them into a temporary folder. Skips loudly where that is not possible.
set -euo pipefail

ANTHROPIC_VERSION=2.8.0
OPENAI_VERSION=3.49.0

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

skip() { echo "SKIPPED: $*"; exit 0; }

command -v python3 >/dev/null || skip "python3 is not installed"
work=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

python3 -m venv "$work/venv" 2>"$work/log" || skip "python3 cannot make a virtual environment: $(tail -1 "$work/log")"
"$work/venv/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check \
    "anthropic==$ANTHROPIC_VERSION" "openai==$OPENAI_VERSION" 2>"$work/log" \
    || skip "the SDKs cannot be installed: $(tail -1 "$work/log")"

# A build that fails is a failure, not a reason to skip. CARGO names another cargo, MOCK_SERVER a built server.
if [ -z "${MOCK_SERVER:-}" ]; then
    (cd "$root" && "${CARGO:-cargo}" build --quiet --example mock-server)
    MOCK_SERVER="${CARGO_TARGET_DIR:-$root/target}/debug/examples/mock-server"
fi

mkfifo "$work/stdin"
"$MOCK_SERVER" <"$work/stdin" >"$work/address" &
server=$!
exec 3>"$work/stdin"
until grep -q '^listening on ' "$work/address"; do
    kill -0 "$server" 2>/dev/null || { echo "the mock server did not start"; exit 1; }
    sleep 0.05
done
url=$(sed -n 's/^listening on //p' "$work/address")

# Proxies are for the internet; the mock is on loopback. Keys of the user stay out.
env -u http_proxy -u https_proxy -u all_proxy -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY \
    -u ANTHROPIC_API_KEY -u ANTHROPIC_AUTH_TOKEN -u ANTHROPIC_BASE_URL -u OPENAI_API_KEY -u OPENAI_BASE_URL \
    MOCK_URL="$url" "$work/venv/bin/python" "$here/sdk_python.py"
