import { describe, expect, it } from "vitest";

import { asText, plainMessages, turnsOf } from "@/lib/conversation";
import { diffMessages, diffWords } from "@/lib/diff";
import { asCurl, asPython } from "@/lib/snippets";
import { messagesOf, piecesOf, render, variablesIn } from "@/lib/template";

describe("templates", () => {
  it("finds each variable once, in order", () => {
    expect(variablesIn([{ content: "{{b}} {{ a }} {{b}}" }, { content: "{{c.d}} {{ }} {x}" }])).toEqual(["b", "a", "c.d"]);
  });
  it("fills in what is known and shows the rest", () => expect(render("{{a}}, {{ b }}", { a: "{{b}}" })).toBe("{{b}}, {{ b }}"));
  it("splits for marking without losing a character", () => {
    const text = "Hi {{name}}, \n{{x}}!";
    expect(piecesOf(text).map((p) => p.text).join("")).toBe(text);
    expect(piecesOf(text).map((p) => p.variable)).toEqual([null, "name", null, "x", null]);
  });
  it("reads a text prompt as one user message", () => expect(messagesOf("Hi")).toEqual([{ role: "user", content: "Hi" }]));
});

describe("differences", () => {
  it("are by words and give both sides back", () => {
    const changes = diffWords("the old cat", "the new cat");
    const side = (kind: "add" | "del") => changes.filter((c) => c.kind === "same" || c.kind === kind).map((c) => c.text).join("");
    expect(changes.map((c) => [c.kind, c.text])).toEqual([["same", "the "], ["del", "old"], ["add", "new"], ["same", " cat"]]);
    expect([side("del"), side("add")]).toEqual(["the old cat", "the new cat"]);
  });
  it("match messages by role and likeness", () => {
    const before = [{ role: "system", content: "S" }, { role: "user", content: "U" }];
    const after = [{ role: "system", content: "S" }, { role: "user", content: "example" }, { role: "assistant", content: "A" }, { role: "user", content: "U" }];
    expect(diffMessages(before, after).map((m) => [m.role, m.changed])).toEqual([["system", false], ["user", true], ["assistant", true], ["user", false]]);
  });
});

describe("conversations", () => {
  it("reads the shapes that come in", () => {
    expect(turnsOf("Hi", "user")).toEqual([{ role: "user", name: null, parts: [{ kind: "text", text: "Hi" }] }]);
    expect(turnsOf({ messages: [{ role: "user", content: "Hi" }] }, "user")).toHaveLength(1);
    expect(turnsOf({ choices: [{ message: { role: "assistant", content: "Yo" } }] }, "assistant")?.[0]?.role).toBe("assistant");
    expect(turnsOf({ role: "assistant", content: null, tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }] }, "assistant")?.[0]?.parts).toEqual([{ kind: "tool_call", name: "f", arguments: "{}", id: "1" }]);
    expect(turnsOf({ any: "thing" }, "user")).toBeNull();
    expect(turnsOf([1, 2], "user")).toBeNull();
  });
  it("keeps pictures only from addresses that are pictures", () => {
    const parts = turnsOf([{ role: "user", content: [{ type: "image_url", image_url: { url: "javascript:alert(1)" } }, { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }] }], "user")![0]!.parts;
    expect(parts.map((p) => p.kind)).toEqual(["json", "image"]);
  });
  it("goes out as plain messages and as text", () => {
    expect(plainMessages("Hi")).toEqual([{ role: "user", content: "Hi" }]);
    expect(asText([{ role: "system", content: "S" }, { role: "user", content: "U" }], "user")).toBe("system: S\n\nuser: U");
  });
});

describe("code to copy", () => {
  const call = { baseUrl: "http://h", model: "m", messages: [{ role: "user", content: "it's \"here\"\n" }], parameters: { temperature: 0.5, min_p: 0.1, stop: null } };
  it("quotes for the shell", () => {
    const body = /-d '([\s\S]*)'$/.exec(asCurl(call))![1]!.replaceAll("'\\''", "'");
    expect(JSON.parse(body)).toEqual({ model: "m", messages: call.messages, temperature: 0.5, min_p: 0.1, stop: null });
  });
  it("is Python, with what the SDK does not know in extra_body", () => {
    const code = asPython(call);
    expect(code).toContain("    temperature=0.5,\n    stop=None,\n");
    expect(code).toContain('extra_body={\n        "min_p": 0.1,\n    }');
    expect(code).toContain('"content": "it\'s \\"here\\"\\n",');
  });
});
