// Asks aimock on all three wires, streaming, so that a failure of our client later is known to be ours.

const url = process.env.AIMOCK_URL;
const headers = {
  "content-type": "application/json",
  "x-api-key": "sk-test",
  authorization: "Bearer sk-test",
  "anthropic-version": "2023-06-01",
};

const wires = {
  "/v1/messages": (text) => ({ model: "claude-opus-5-5", max_tokens: 1024, messages: [{ role: "user", content: text }] }),
  "/v1/responses": (text) => ({ model: "gpt-5.2", input: [{ role: "user", content: text }] }),
  "/v1/chat/completions": (text) => ({ model: "gpt-5.2", messages: [{ role: "user", content: text }] }),
};

const ends = { "/v1/messages": "message_stop", "/v1/responses": "response.completed", "/v1/chat/completions": "[DONE]" };

/** The words of a stream, whichever wire spelled them. */
function gather(stream) {
  let words = "";
  for (const line of stream.split("\n")) {
    if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
    const event = JSON.parse(line.slice(6));
    const delta = event.choices?.[0]?.delta ?? event.delta ?? {};
    const call = delta.tool_calls?.[0]?.function?.arguments;
    words += typeof delta === "string" ? delta : (delta.text ?? delta.partial_json ?? delta.content ?? call ?? "");
  }
  return words;
}

let passed = 0;
let failed = 0;
for (const [path, request] of Object.entries(wires)) {
  const cases = [
    ["AIMOCK_TEXT", 200, "Hello from the other side."],
    ["AIMOCK_THINK", 200, "I have thought."],
    ["AIMOCK_TOOL", 200, '{"path":"hello.txt"}'],
    ["AIMOCK_LIMIT", 429, null],
  ];
  for (const [word, status, expected] of cases) {
    const body = JSON.stringify({ ...request(word), stream: true });
    const response = await fetch(url + path, { method: "POST", headers, body });
    const stream = await response.text();
    const said = expected === null || (gather(stream).includes(expected) && stream.includes(ends[path]));
    const good = response.status === status && said;
    good ? passed++ : failed++;
    console.log(`${good ? "ok     " : "FAILED "} ${path} ${word}${good ? "" : ` ${response.status} ${stream}`}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
