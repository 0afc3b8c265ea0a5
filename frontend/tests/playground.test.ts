import { describe, expect, it } from "vitest";

import { blank, fromCall, fromObservation, fromVersion, limitOf, requestOf, type Draft } from "@/features/playground/draft";
import { isPacked, packed, unpacked } from "@/features/playground/share";
import { readAnswer, structureOf } from "@/features/playground/structure";
import { valuesOf } from "@/features/playground/values";
import type { Observation, PromptVersion } from "@/lib/api/types";
import { problemsOf } from "@/lib/json-schema";

const version = { version: 3, type: "chat", prompt: [{ role: "user", content: "Hi {{who}}" }], config: { temperature: 0.5, response_format: { type: "json_object" } }, labels: [] } as unknown as PromptVersion;
const request = (draft: Draft) => requestOf(draft, "m", draft.columns[0]!);

describe("a draft", () => {
  it("names an unchanged prompt, with its variables and the form of its answer", () => {
    const draft = { ...fromVersion("greet", version), variables: { who: "Ada", other: "x" } };
    expect(request(draft)).toMatchObject({ prompt: "greet@3", variables: { who: "Ada" }, temperature: 0.5, response_format: { type: "json_object" } });
  });
  it("lets a column ask for another version with that version's variables", () => {
    const draft = { ...fromVersion("greet", version), variables: { who: "Ada", mood: "gay" } };
    const first = { version: 1, prompt: "{{mood}}?", config: { max_tokens: 9 } } as unknown as PromptVersion;
    const sent = requestOf(draft, "m", { parameters: {}, version: 1 }, [version, first]);
    expect(sent).toMatchObject({ prompt: "greet@1", variables: { mood: "gay" } });
  });
  it("is bounded where neither the prompt nor the parameters say how long an answer may be", () => {
    const first = { version: 1, prompt: "Hi", config: { max_tokens: 9 } } as unknown as PromptVersion;
    const draft = fromVersion("greet", version);
    const sent = (parameters: Record<string, string>, number: number | null) => requestOf(draft, "m", { parameters, version: number }, [version, first]).max_tokens;
    expect(request(blank()).max_tokens).toBe(1024);
    expect(sent({}, null)).toBe(1024);
    expect(sent({ max_tokens: "7" }, null)).toBe(7);
    expect(sent({}, 1)).toBeUndefined(); // the version's own config says it, to the server
    expect(limitOf(draft, 1, [version, first])).toEqual({ tokens: 9, isOwn: false });
  });
  it("sends a past call again with its tools and tool calls", () => {
    const calls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
    const messages = [{ role: "user", content: "Q" }, { role: "assistant", content: null, tool_calls: calls }, { role: "tool", content: "R", tool_call_id: "1" }];
    const tools = [{ type: "function", function: { name: "f" } }];
    const draft = fromObservation({ input: messages, model: "m", model_parameters: { tools, stream: true } } as unknown as Observation);
    expect(request(draft)).toMatchObject({ messages: [{ role: "user", content: "Q" }, { role: "assistant", content: "", tool_calls: calls }, { role: "tool", content: "R", tool_call_id: "1" }], tools });
  });
  it("opens a call of a prompt as that version with the values it was made with", () => {
    const call = (content: string, number: unknown = 3) => ({ input: [{ role: "user", content }], model: "m", model_parameters: { max_tokens: 5 }, prompt: { name: "greet", version: number } }) as unknown as Observation;
    expect(request(fromCall(call("Hi Ada"), [version]))).toMatchObject({ prompt: "greet@3", variables: { who: "Ada" }, max_tokens: 5 });
    for (const odd of [call("Hello Ada"), call("Hi Ada", 9)]) expect(request(fromCall(odd, [version]))).toMatchObject({ messages: odd.input });
  });
  it("comes whole out of a link", async () => {
    const draft = { ...blank(), variables: { a: "ü ✓" }, tools: "[]" };
    const link = (await packed(draft))!;
    expect(isPacked(link)).toBe(true);
    expect(request(await unpacked(link))).toEqual(request(draft));
    await expect(unpacked(link.slice(0, -8))).rejects.toThrow("not whole");
  });
});

describe("values of a row", () => {
  it("go by name, and a lone variable takes the row as a whole", () => {
    expect(valuesOf({ a: 1, b: "x", c: null }, ["a", "b", "c"])).toEqual({ a: "1", b: "x" });
    expect(valuesOf("text", ["q"])).toEqual({ q: "text" });
    expect(valuesOf({ z: 1 }, ["q"])).toEqual({ q: '{\n  "z": 1\n}' });
    expect(valuesOf("text", ["a", "b"])).toEqual({});
  });
});

describe("the form of an answer", () => {
  it("may be a schema alone", () => {
    const { request: sent, schema } = structureOf({ tools: "", format: '{"type": "object"}' });
    expect(sent).toEqual({ response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } } });
    expect(schema).toEqual({ type: "object" });
  });
  it("says what is wrong with what is typed", () => {
    const problems = (tools: string, format: string) => structureOf({ tools, format }).problems;
    expect(problems("[1]", "[]")).toEqual({ tools: "Tool 1 has no function with a name", format: "Write a JSON object" });
    expect(problems("{", "").tools).toContain("Not valid JSON");
  });
  it("is told of what came", () => {
    expect(readAnswer("Hello", {})).toBeNull();
    expect(readAnswer('{"a": 1}', { required: ["b"] })?.problems).toEqual(["$: b is missing"]);
  });
});

describe("a JSON schema", () => {
  const person = { type: "object", properties: { age: { type: "integer", minimum: 0 }, name: { type: "string", pattern: "^A" }, next: { $ref: "#" } }, required: ["name"], additionalProperties: false };
  it.each<[unknown, unknown, string[]]>([
    [person, { name: "Ada", age: 36, next: { name: "Al" } }, []],
    [person, { age: -0.5, next: { name: "Bo" }, x: 1 }, ["$: name is missing", "$.age: is number, not integer", "$.age: is below 0", "$.next.name: does not match ^A", "$: x is not known"]],
    [{ type: ["string", "null"] }, null, []],
    [{ enum: [1, "a"] }, "b", ['$: is none of 1, "a"']],
    [{ items: { type: "string" }, maxItems: 1 }, ["a", 2], ["$: has more than 1 items", "$[1]: is number, not string"]],
    [{ anyOf: [{ type: "string" }, { const: 3 }] }, 4, ["$: fits none of the choices"]],
    [{ oneOf: [{ type: "number" }, { minimum: 1 }] }, 4, ["$: does not fit exactly one of the choices"]],
    [{ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }, 1, []],
    [{ unevaluatedProperties: false, pattern: "(" }, "x", []],
  ])("%#", (schema, value, problems) => expect(problemsOf(schema, value)).toEqual(problems));
});
