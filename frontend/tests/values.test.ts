import { describe, expect, it } from "vitest";

import { fromText, toLine, toReading, toText } from "@/lib/json-text";
import { mediaIn } from "@/lib/media";

describe("values as people type them", () => {
  it("reads objects and lists as JSON, all else as text", () => {
    expect(fromText('{"a": 1}')).toEqual({ value: { a: 1 }, problem: null });
    expect(fromText(" 42 ")).toEqual({ value: " 42 ", problem: null });
    expect(fromText("  ")).toEqual({ value: null, problem: null });
  });
  it("says what is wrong with JSON", () => expect(fromText('{"a":').problem).toMatch(/^Not valid JSON/));
  it("shows what it reads", () => {
    for (const value of [{ a: [1] }, "text", null]) expect(fromText(toText(value)).value).toEqual(value);
    expect(toLine("a\n  b")).toBe("a b");
    expect(toLine({ city: "Paris", days: 2 })).toBe("city: Paris · days: 2");
    expect(toLine({ a: [1] }).replace(/ /g, "")).toBe('{"a":[1]}');
    expect(toReading({ city: "Paris", days: 2 })).toBe("city: Paris\ndays: 2");
    expect(toReading("Paris")).toBe("Paris");
  });
});

describe("files in payloads", () => {
  const token = (id: string) => `@@@langfuseMedia:type=image/png|id=${id}|source=base64_data_uri@@@`;
  it("finds each once, however deep", () => {
    const [a, b] = ["a".repeat(22), "b-_".padEnd(22, "b")];
    expect(mediaIn({ x: [token(a), `see ${token(b)} and ${token(a)}`] }).map((file) => file.id)).toEqual([a, b]);
  });
  it("passes over what is no token", () => expect(mediaIn(["@@@langfuseMedia:type=image/png|id=short|source=x@@@", null, 1])).toEqual([]));
});
