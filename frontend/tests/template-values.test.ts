import { describe, expect, it } from "vitest";

import { valuesIn, valuesOfMessages } from "@/lib/template-values";

describe("the values of a filled template", () => {
  it.each<[string, string, Record<string, string> | null]>([
    ["Hi {{who}}, welcome to {{shop}}.", "Hi Ada, welcome to Two Wheels.", { who: "Ada", shop: "Two Wheels" }],
    ["{{text}}", "a\nb {{x}}", { text: "a\nb {{x}}" }],
    ["Say {{a}} and {{ a }}!", "Say x and x!", { a: "x" }],
    ["Say {{a}} and {{a}}!", "Say x and y!", null],
    ["Ask: {{q}}?", "Ask: why? and how?", { q: "why? and how" }],
    ["{{> tone}}\n{{q}}", "Be kind.\nHello", { q: "Hello" }],
    ["@@@langfusePrompt:name=a/b|label=production@@@ Now: {{q}}", "Kind. Now: x", { q: "x" }],
    ["Plain", "Plain", {}],
    ["Plain", "Other", null],
    ["Hi {{who}}.", "Hi Ada", null],
    ["{{a}}.", "", null],
    ["{{a}}{{b}}", "xy", null],
  ])("%j says %j", (template, text, values) => expect(valuesIn(template, text)).toEqual(values));
  it("are one for all messages of a chat, whatever was said after them", () => {
    const template = [
      { role: "system", content: "You answer for {{shop}}." },
      { role: "user", content: "{{question}} ({{shop}})" },
    ];
    const sent = (shop: string) => [
      { role: "system", content: "You answer for Two Wheels." },
      { role: "user", content: `Open? (${shop})` },
      { role: "assistant", content: "Yes." },
    ];
    expect(valuesOfMessages(template, sent("Two Wheels"))).toEqual({ shop: "Two Wheels", question: "Open?" });
    expect(valuesOfMessages(template, sent("Another"))).toBeNull();
    expect(valuesOfMessages(template, [])).toBeNull();
  });
});
