"""Drives the mock with the vendors' SDKs: three wires, streaming and not, tools, thinking, errors.

Started by sdk_python.sh with MOCK_URL. Prints one line a case and `N passed, N failed` at the end.
"""

import json
import os
import sys
import traceback
import urllib.request

import anthropic
import openai

URL = os.environ["MOCK_URL"]
# Strict: a field that is missing or of the wrong type raises instead of being passed through.
STRICT = {"api_key": "sk-test", "max_retries": 0, "_strict_response_validation": True}
claude = anthropic.Anthropic(base_url=URL, **STRICT)
gpt = openai.OpenAI(base_url=f"{URL}/v1", **STRICT)

USER = [{"role": "user", "content": "Hello"}]
CLAUDE = {"model": "claude-opus-5-5", "max_tokens": 4096}
GPT = {"model": "gpt-5.2"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
CLAUDE_TOOLS = [{"name": "read", "description": "Reads a file.", "input_schema": SCHEMA}]
CHAT_TOOLS = [{"type": "function", "function": {"name": "read", "description": "Reads.", "parameters": SCHEMA}}]
RESPONSES_TOOLS = [{"type": "function", "name": "read", "description": "Reads.", "parameters": SCHEMA, "strict": False}]

RICH = {
    "say": [
        {"thinking": "First I think, then I speak."},
        {"redacted_thinking": "sealed"},
        {"text": "Let me look — “quoted”."},
        {"tool": {"name": "read", "input": {"path": "src/main.rs"}}},
    ]
}
END = {
    "expect": [{"on": {"result": 0}, "contains": "fn main"}, {"on": {"result_of": "read"}, "contains": "fn main"}],
    "say": [{"text": "It is a program."}],
}


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + path, data=data)) as response:
        return json.load(response)


def script(*turns, **more):
    ask("/__mock/script", {"turns": list(turns), "exhausted": "fail", **more})


def fault(fault):
    script({"faults": [fault], "say": [{"text": "fine"}]})


def raises(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def anthropic_text():
    script({"say": [{"text": "Hi there."}], "usage": {"input": 11, "output": 3}})
    message = claude.messages.create(messages=USER, **CLAUDE)
    assert message.content[0].text == "Hi there." and message.stop_reason == "end_turn"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 3)
    assert message.id.startswith("msg_") and message.role == "assistant"


@case
def anthropic_raw_stream():
    script({"say": [{"text": "Hi there, whoever you are."}]})
    kinds = [event.type for event in claude.messages.create(messages=USER, stream=True, **CLAUDE)]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"], kinds
    assert kinds.count("content_block_delta") > 1


@case
def anthropic_stream_helper():
    script({"say": [{"text": "Hi there, whoever you are."}]})
    with claude.messages.stream(messages=USER, **CLAUDE) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert text == "Hi there, whoever you are." == message.content[0].text
    assert message.usage.output_tokens > 1


def anthropic_round_trip(first):
    assert [block.type for block in first.content] == ["thinking", "redacted_thinking", "text", "tool_use"]
    assert first.content[0].thinking == "First I think, then I speak." and first.content[0].signature
    assert first.content[1].data == "sealed"
    call = first.content[3]
    assert call.input == {"path": "src/main.rs"} and first.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "fn main() {}"}
    messages = [*USER, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = claude.messages.create(messages=messages, tools=CLAUDE_TOOLS, **CLAUDE)
    assert second.content[0].text == "It is a program."


@case
def anthropic_tools_and_thinking():
    script(RICH, END)
    anthropic_round_trip(claude.messages.create(messages=USER, tools=CLAUDE_TOOLS, **CLAUDE))


@case
def anthropic_tools_and_thinking_streamed():
    script(RICH, END)
    with claude.messages.stream(messages=USER, tools=CLAUDE_TOOLS, **CLAUDE) as stream:
        anthropic_round_trip(stream.get_final_message())


@case
def anthropic_cache():
    script({"say": [{"text": "one"}]}, {"say": [{"text": "two"}]})
    mark = {"type": "ephemeral", "ttl": "1h"}
    system = [{"type": "text", "text": "Be brief. " * 200, "cache_control": mark}]
    first = claude.messages.create(messages=USER, system=system, **CLAUDE)
    more = [*USER, {"role": "assistant", "content": "one"}, {"role": "user", "content": "And?"}]
    second = claude.messages.create(messages=more, system=system, **CLAUDE)
    assert first.usage.cache_creation.ephemeral_1h_input_tokens > 400
    assert second.usage.cache_read_input_tokens == first.usage.cache_creation_input_tokens


@case
def anthropic_stop_reasons():
    reasons = {"max_tokens": "max_tokens", "refusal": "refusal", "pause": "pause_turn", "sequence": "stop_sequence"}
    for stop, expected in reasons.items():
        script({"say": [{"text": "So"}], "stop": stop})
        with claude.messages.stream(messages=USER, **CLAUDE) as stream:
            assert stream.get_final_message().stop_reason == expected


@case
def anthropic_counts_and_models():
    script()
    assert claude.messages.count_tokens(model=CLAUDE["model"], messages=USER).input_tokens > 0
    models = list(claude.models.list())
    assert any(model.id == CLAUDE["model"] and model.max_input_tokens == 1_000_000 for model in models)
    assert claude.models.retrieve("mock-small").max_tokens == 4096
    raises(anthropic.NotFoundError, lambda: claude.models.retrieve("nobody"))


@case
def anthropic_errors():
    classes = {
        "rate_limit": anthropic.RateLimitError,
        "unauthorized": anthropic.AuthenticationError,
        "forbidden": anthropic.PermissionDeniedError,
        "context_overflow": anthropic.BadRequestError,
        "unknown_model": anthropic.NotFoundError,
        "server": anthropic.InternalServerError,
        "overloaded": anthropic.InternalServerError,
        "unavailable": anthropic.InternalServerError,
    }
    for kind, expected in classes.items():
        fault({"http": {"kind": kind, "retry_after": "3"}})
        error = raises(expected, lambda: claude.messages.create(messages=USER, **CLAUDE))
        assert error.response.headers["retry-after"] == "3", kind


@case
def anthropic_retries_by_itself():
    fault({"http": {"kind": "rate_limit", "retry_after": "0"}})
    patient = claude.with_options(max_retries=2)
    assert patient.messages.create(messages=USER, **CLAUDE).content[0].text == "fine"


@case
def anthropic_error_in_mid_stream():
    fault({"error_event": {"after": 3, "kind": "overloaded"}})
    raises(anthropic.APIStatusError, lambda: list(claude.messages.create(messages=USER, stream=True, **CLAUDE)))


@case
def anthropic_connection_faults():
    for broken in ["close_without_response", {"reset_after": 0}]:
        fault(broken)
        raises(anthropic.APIConnectionError, lambda: claude.messages.create(messages=USER, **CLAUDE))


@case
def anthropic_violation_is_a_bad_request():
    script()
    orphan = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_x", "content": "x"}]}]
    error = raises(anthropic.BadRequestError, lambda: claude.messages.create(messages=orphan, **CLAUDE))
    assert "unexpected `tool_use_id`" in error.message
    assert [violation["rule"] for violation in ask("/__mock/violations")] == ["OrphanToolResult"]
    script()


@case
def responses_text():
    script({"say": [{"text": "Hi there."}], "usage": {"input": 11, "output": 3}})
    response = gpt.responses.create(input="Hello", instructions="Be brief.", **GPT)
    assert response.output_text == "Hi there." and response.status == "completed"
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (11, 3, 14)
    assert response.usage.input_tokens_details.cached_tokens == 0


@case
def responses_raw_stream():
    script(RICH)
    events = list(gpt.responses.create(input=USER, tools=RESPONSES_TOOLS, stream=True, **GPT))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created" and events[-1].type == "response.completed"
    types = {type(event).__name__ for event in events}
    assert "ResponseReasoningSummaryTextDeltaEvent" in types and "ResponseFunctionCallArgumentsDoneEvent" in types


def responses_round_trip(first):
    items = first.output
    assert [item.type for item in items] == ["reasoning", "reasoning", "message", "function_call"], items
    assert items[0].summary[0].text == "First I think, then I speak." and items[0].encrypted_content
    assert json.loads(items[3].arguments) == {"path": "src/main.rs"}
    history = [*USER, *[item.to_dict() for item in items]]
    for item in history:
        if isinstance(item, dict):
            item.pop("parsed_arguments", None)
    history.append({"type": "function_call_output", "call_id": items[3].call_id, "output": "fn main() {}"})
    include = ["reasoning.encrypted_content"]
    second = gpt.responses.create(input=history, tools=RESPONSES_TOOLS, store=False, include=include, **GPT)
    assert second.output_text == "It is a program."
    assert second.usage.input_tokens_details.cached_tokens > 0


@case
def responses_tools_and_reasoning():
    script(RICH, END)
    include = ["reasoning.encrypted_content"]
    responses_round_trip(gpt.responses.create(input=USER, tools=RESPONSES_TOOLS, store=False, include=include, **GPT))


@case
def responses_tools_and_reasoning_streamed():
    script(RICH, END)
    include = ["reasoning.encrypted_content"]
    events = list(gpt.responses.create(input=USER, tools=RESPONSES_TOOLS, store=False, include=include, stream=True, **GPT))
    responses_round_trip(events[-1].response)


@case
def responses_stream_helper():
    script(RICH)
    with gpt.responses.stream(input=USER, tools=RESPONSES_TOOLS, **GPT) as stream:
        for _ in stream:
            pass
        response = stream.get_final_response()
    assert response.output_text == "Let me look — “quoted”."


@case
def responses_incomplete_and_refused():
    script({"say": [{"text": "So"}], "stop": "max_tokens"})
    response = gpt.responses.create(input="Hello", **GPT)
    assert response.status == "incomplete" and response.incomplete_details.reason == "max_output_tokens"
    script({"say": [{"text": "I will not."}], "stop": "refusal"})
    events = list(gpt.responses.create(input="Hello", stream=True, **GPT))
    assert any(event.type == "response.refusal.done" and event.refusal == "I will not." for event in events)


@case
def responses_failed_in_mid_stream():
    fault({"error_event": {"after": 3, "kind": "server"}})
    events = list(gpt.responses.create(input="Hello", stream=True, **GPT))
    assert events[-1].type == "response.failed" and events[-1].response.error.message


@case
def chat_text():
    script({"say": [{"text": "Hi there."}], "usage": {"input": 11, "output": 3}})
    completion = gpt.chat.completions.create(messages=USER, **GPT)
    assert completion.choices[0].message.content == "Hi there." and completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 14


@case
def chat_stream_with_and_without_usage():
    for options in [{}, {"stream_options": {"include_usage": True}}]:
        script({"say": [{"text": "Hi there, whoever you are."}]})
        chunks = list(gpt.chat.completions.create(messages=USER, stream=True, **options, **GPT))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == "Hi there, whoever you are."
        assert any(chunk.usage is not None for chunk in chunks) == bool(options)


def chat_round_trip(message):
    call = message.tool_calls[0]
    assert call.function.name == "read" and json.loads(call.function.arguments) == {"path": "src/main.rs"}
    calls = [{"id": call.id, "type": "function", "function": {"name": "read", "arguments": call.function.arguments}}]
    history = [
        *USER,
        {"role": "assistant", "content": message.content, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call.id, "content": "fn main() {}"},
    ]
    second = gpt.chat.completions.create(messages=history, tools=CHAT_TOOLS, **GPT)
    assert second.choices[0].message.content == "It is a program."


@case
def chat_tools():
    script(RICH, END)
    first = gpt.chat.completions.create(messages=USER, tools=CHAT_TOOLS, **GPT)
    assert first.choices[0].finish_reason == "tool_calls"
    assert first.choices[0].message.reasoning_content == "First I think, then I speak."
    chat_round_trip(first.choices[0].message)


@case
def chat_tools_streamed():
    script(RICH, END)
    with gpt.chat.completions.stream(messages=USER, tools=CHAT_TOOLS, **GPT) as stream:
        for _ in stream:
            pass
        chat_round_trip(stream.get_final_completion().choices[0].message)


@case
def openai_errors():
    classes = {
        "rate_limit": openai.RateLimitError,
        "credit": openai.RateLimitError,
        "unauthorized": openai.AuthenticationError,
        "forbidden": openai.PermissionDeniedError,
        "context_overflow": openai.BadRequestError,
        "unknown_model": openai.NotFoundError,
        "server": openai.InternalServerError,
        "unavailable": openai.InternalServerError,
    }
    for kind, expected in classes.items():
        fault({"http": {"kind": kind}})
        raises(expected, lambda: gpt.chat.completions.create(messages=USER, **GPT))
        fault({"http": {"kind": kind}})
        raises(expected, lambda: gpt.responses.create(input="Hello", **GPT))
    fault({"http": {"kind": "context_overflow"}})
    error = raises(openai.BadRequestError, lambda: gpt.responses.create(input="Hello", **GPT))
    assert error.code == "context_length_exceeded"


@case
def chat_error_in_mid_stream():
    fault({"error_event": {"after": 2, "kind": "overloaded"}})
    raises(openai.APIError, lambda: list(gpt.chat.completions.create(messages=USER, stream=True, **GPT)))


@case
def openai_models():
    script()
    assert any(model.id == "gpt-5.2" for model in gpt.models.list())


def main():
    passed = failed = 0
    for function in CASES:
        try:
            function()
            violations = ask("/__mock/violations")
            assert not violations, violations
            passed += 1
            print(f"ok      {function.__name__}")
        except Exception:
            failed += 1
            print(f"FAILED  {function.__name__}")
            traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
