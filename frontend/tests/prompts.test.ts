import { describe, expect, it } from "vitest";

import { codeFor } from "@/features/prompts/code";
import { compared } from "@/features/prompts/compare";
import { contentOf, converted, isBlank, messagesIn, moved, nextRole, sameContent, toSend, type Content } from "@/features/prompts/content";
import { keepDraft, keptDraft, type Draft } from "@/features/prompts/draft";
import { found, nameProblem, rowsOf } from "@/features/prompts/folders";
import { labelChange, labelProblem, labelsToOffer, needsConfirm } from "@/features/prompts/labels";
import { fieldText, normalized, parseConfig, problemOf, problemsOf } from "@/features/prompts/parameters";
import type { Prompt, PromptVersion } from "@/lib/api/types";
import { diffWords } from "@/lib/diff";

const prompt = (name: string, more: Partial<Prompt> = {}): Prompt => ({
  name,
  type: "chat",
  description: "",
  tags: [],
  labels: { latest: 1 },
  splits: {},
  latest_version: 1,
  archived_at: null,
  created_at: "2026-11-01T00:00:00Z",
  updated_at: "2026-11-01T00:00:00Z",
  ...more,
});

const version = (number: number, labels: string[] = [], content: Partial<Content> = {}): PromptVersion =>
  ({ version: number, labels, type: "text", prompt: `Text ${number}`, config: {}, variables: [], message: "", ...content }) as unknown as PromptVersion;

const chat = (...messages: [string, string][]): Content => ({ type: "chat", prompt: messages.map(([role, content]) => ({ role, content })), config: {} });
const text = (prompt: string, config: Content["config"] = {}): Content => ({ type: "text", prompt, config });

describe("folders", () => {
  const prompts = [prompt("support/answer"), prompt("zebra"), prompt("support/email/reply"), prompt("support/email/subject"), prompt("alpha")];
  const shown = (closed: string[] = []) => rowsOf(prompts, new Set(closed)).map((row) => `${" ".repeat(row.depth)}${row.name}${row.kind === "folder" ? `/${row.count}` : ""}`);

  it("come first, each with what it holds under it", () =>
    expect(shown()).toEqual(["support/3", " email/2", "  reply", "  subject", " answer", "alpha", "zebra"]));
  it("hide what they hold when closed, and still count it", () => expect(shown(["support"])).toEqual(["support/3", "alpha", "zebra"]));
  it("keep a prompt that is named like a folder", () =>
    expect(rowsOf([prompt("a"), prompt("a/b")], new Set()).map((row) => row.kind)).toEqual(["folder", "prompt", "prompt"]));
  it("sort numbers as numbers", () => expect(rowsOf([prompt("p10"), prompt("p2")], new Set()).map((row) => row.name)).toEqual(["p2", "p10"]));
});

describe("search", () => {
  const prompts = [prompt("support/answer", { tags: ["Tier-1"], labels: { latest: 2, production: 1 } }), prompt("judge", { type: "text", tags: ["evals"] })];
  it.each([
    ["answ", ["support/answer"]],
    ["tier support", ["support/answer"]],
    ["label:production", ["support/answer"]],
    ["label:prod", []],
    ["tag:evals", ["judge"]],
    ["type:text", ["judge"]],
    ["", ["support/answer", "judge"]],
    ["nothing", []],
  ])("%s", (query, names) => expect(found(prompts, query).map((p) => p.name)).toEqual(names));
});

describe("names", () => {
  it.each(["support/answer", "a", "With space/x", "v1.2_final-b"])("%s may be one", (name) => expect(nameProblem(name)).toBeNull());
  it.each(["/a", "a/", "a//b", "a@b", "x/versions", "labels", "a/ b", "a/.."])("%s may not", (name) => expect(nameProblem(name)).not.toBeNull());
});

describe("parameters", () => {
  it("are numbers when sent, whatever was typed", () =>
    expect(normalized({ temperature: "0.50", max_tokens: 12, stop: "END | \\n\\n", top_p: "", extra: { a: 1 } })).toEqual({ temperature: 0.5, max_tokens: 12, stop: ["END", "\n\n"], extra: { a: 1 } }));
  it("show a list as it can be typed", () => expect(fieldText("stop", ["END", "\n\n"])).toBe("END | \\n\\n"));
  it.each([
    ["temperature", "2.1"],
    ["temperature", "hot"],
    ["max_tokens", "1.5"],
    ["max_tokens", 0],
    ["top_p", -0.1],
  ])("%s is not %s", (name, value) => expect(problemOf(name, value)).toMatch(/^Wanted a/));
  it.each([
    ["temperature", "0"],
    ["seed", "-3"],
    ["presence_penalty", "-2"],
    ["unknown", "anything"],
    ["max_tokens", ""],
  ])("%s may be %s", (name, value) => expect(problemOf(name, value)).toBeNull());
  it("name each that is wrong", () => expect(problemsOf({ temperature: "9", seed: 1 })).toEqual(["temperature: wanted a number from 0 to 2"]));
  it("can be typed as JSON", () => expect(parseConfig('{"tools": []}')).toEqual({ tools: [] }));
  it.each(["{", "[1]", "3"])("are told of when %s is typed", (json) => expect(() => parseConfig(json)).toThrow());
});

describe("content", () => {
  it("is the same whatever the order of its keys", () => expect(sameContent(text("a", { x: 1, y: "2" }), text("a", { y: "2", x: 1 }))).toBe(true));
  it("is the same when a number was typed", () => expect(sameContent(text("a", { temperature: "0.20" }), text("a", { temperature: 0.2 }))).toBe(true));
  it("is another when messages change places", () => expect(sameContent(chat(["user", "a"], ["user", "b"]), chat(["user", "b"], ["user", "a"]))).toBe(false));
  it("keeps what is no text", () => {
    const stored = { type: "chat", prompt: [{ role: "user", content: [{ type: "text", text: "Look" }] }], config: {} } as unknown as PromptVersion;
    expect(toSend(contentOf(stored)).prompt).toEqual(stored.prompt);
    expect(messagesIn(contentOf(stored))[0]!.content).toContain('"Look"');
  });
  it("becomes a text and a chat again", () => {
    const both = chat(["system", "Be kind."], ["user", "{{q}}"]);
    expect(converted(both, "text").prompt).toBe("Be kind.\n\n{{q}}");
    expect(converted(text("{{q}}"), "chat").prompt).toEqual([{ role: "user", content: "{{q}}" }]);
  });
  it("is blank without text", () => expect([isBlank(chat(["user", " \n"])), isBlank(text("x"))]).toEqual([true, false]));
  it("goes on with the role that comes next", () => expect([nextRole([]), nextRole([{ role: "user", content: "" }]), nextRole([{ role: "system", content: "" }])]).toEqual(["system", "assistant", "user"]));
  it("moves a message", () => expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]));
});

describe("a draft", () => {
  const draft: Draft = { content: text("half a"), base: 3, message: "why", kept_at: "2026-11-30T10:00:00Z" };
  const storage = () => {
    const map = new Map<string, string>();
    return { getItem: (key: string) => map.get(key) ?? null, setItem: (key: string, value: string) => void map.set(key, value), removeItem: (key: string) => void map.delete(key) };
  };
  it("comes back as it was, for its own prompt only", () => {
    const kept = storage();
    expect(keepDraft("p", "a/b", draft, kept)).toBe(true);
    expect(keptDraft("p", "a/b", kept)).toEqual(draft);
    expect(keptDraft("p", "a", kept)).toBeNull();
    expect(keptDraft("p", null, kept)).toBeNull();
  });
  it("is gone when it is let go", () => {
    const kept = storage();
    keepDraft("p", "a", draft, kept);
    keepDraft("p", "a", null, kept);
    expect(keptDraft("p", "a", kept)).toBeNull();
  });
  it("says when the browser refuses it", () => {
    const full = { ...storage(), setItem: () => { throw new Error("QuotaExceededError"); } };
    expect(keepDraft("p", "a", draft, full)).toBe(false);
  });
  it.each(["nonsense", "{}", '{"content": {"prompt": 3, "config": {}}}', '{"content": {"prompt": "x"}}'])("is not read out of %s", (stored) =>
    expect(keptDraft("p", "a", { getItem: () => stored })).toBeNull());
});

describe("comparing", () => {
  it("takes a variable as one word", () =>
    expect(diffWords("Hi {{name}}", "Hi {{user_name}}")).toEqual([
      { kind: "same", text: "Hi " },
      { kind: "del", text: "{{name}}" },
      { kind: "add", text: "{{user_name}}" },
    ]));
  it("loses no character of either side", () => {
    const [before, after] = ["Größe: 3 €\n\nEnde.", "Die Größe: 30 €\nEnde!"];
    const changes = diffWords(before, after);
    expect(changes.filter((c) => c.kind !== "add").map((c) => c.text).join("")).toBe(before);
    expect(changes.filter((c) => c.kind !== "del").map((c) => c.text).join("")).toBe(after);
  });
  it("does not hold up the page over long texts with nothing in common", () => {
    const words = (from: number) => Array.from({ length: 6000 }, (_, i) => `w${(i * from) % 911}`).join(" ");
    const begun = performance.now();
    const changes = diffWords(words(7), words(13));
    expect(performance.now() - begun).toBeLessThan(3000);
    expect(changes.filter((c) => c.kind !== "del").map((c) => c.text).join("")).toBe(words(13));
  });
  it("tells changed, added and removed messages apart", () => {
    const { messages, changed } = compared(chat(["system", "Be kind."], ["user", "{{q}}"]), chat(["system", "Be very kind."], ["user", "{{q}}"], ["assistant", "Yes."]));
    expect(messages.map((m) => m.state)).toEqual(["changed", "same", "added"]);
    expect(changed).toBe(true);
  });
  it("knows a message that only moved", () => {
    const { messages } = compared(chat(["system", "A"], ["user", "B"], ["assistant", "C"]), chat(["assistant", "C"], ["system", "A"], ["user", "B"]));
    expect(messages.map((m) => `${m.role} ${m.state}`)).toEqual(["assistant moved", "system same", "user same"]);
  });
  it("lists settings by name with both values", () => {
    const { settings } = compared(text("a", { temperature: 0.2, model: "m", seed: 1 }), text("a", { temperature: 0.7, model: "m", stop: ["x"] }));
    expect(settings).toEqual([
      { name: "seed", before: "1", after: null },
      { name: "stop", before: null, after: '["x"]' },
      { name: "temperature", before: "0.2", after: "0.7" },
    ]);
  });
  it("finds nothing between equals", () => expect(compared(text("a"), text("a")).changed).toBe(false));
});

describe("labels", () => {
  const versions = [version(3, ["latest", "canary"]), version(2, ["staging"]), version(1)];
  it("offer the usual ones and those in use, but never latest", () => expect(labelsToOffer(versions)).toEqual(["production", "staging", "canary"]));
  it("come, or go where they are", () => expect([labelChange("canary", versions[1]!), labelChange("canary", versions[0]!)]).toEqual([{ label: "canary", version: 2 }, { label: "canary", version: null }]));
  it("ask before production moves", () => expect([needsConfirm({ label: "production", version: 2 }), needsConfirm({ label: "canary", version: 2 })]).toEqual([true, false]));
  it.each(["latest", "12", "Mine", "a b", "-x", ""])("are not named %j", (label) => expect(labelProblem(label)).not.toBeNull());
  it.each(["canary", "team-a", "v2.1", "2nd"])("may be named %s", (label) => expect(labelProblem(label)).toBeNull());
});

describe("code", () => {
  const call = { baseUrl: "http://h", model: "m", prompt: "it's/\"quoted\"@production", variables: { question: "…" } };
  it("names the prompt in each language", () => {
    for (const language of ["python", "javascript", "curl"] as const) expect(codeFor(language, call)).toContain("http://h/v1");
    expect(codeFor("python", call)).toContain('"prompt": "it\'s/\\"quoted\\"@production"');
  });
  it("closes no quote of the shell by accident", () => expect(codeFor("curl", call)).toContain("it'\\''s"));
});
