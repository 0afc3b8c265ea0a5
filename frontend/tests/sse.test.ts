import { describe, expect, it } from "vitest";

import { EventParser, readEvents } from "@/lib/sse";

describe("EventParser", () => {
  it("gives the same events however the text is cut", () => {
    const text = ": ping\n\nevent: run\ndata: {\"a\":1}\n\ndata: one\ndata: two\n\ndata: [DONE]\n\n";
    const whole = new EventParser().push(text);
    expect(whole).toEqual([
      { event: "run", data: '{"a":1}' },
      { event: "message", data: "one\ntwo" },
      { event: "message", data: "[DONE]" },
    ]);
    for (let size = 1; size < 12; size++) {
      const parser = new EventParser();
      const events = [];
      for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
      expect(events).toEqual(whole);
    }
  });
  it("reads CRLF and keeps an unfinished event back", () => {
    const parser = new EventParser();
    expect(parser.push("data: a\r\n\r\ndata: b\r\n")).toEqual([{ event: "message", data: "a" }]);
    expect(parser.push("\r\n")).toEqual([{ event: "message", data: "b" }]);
  });
});

describe("readEvents", () => {
  it("joins characters cut across packets", async () => {
    const bytes = new TextEncoder().encode("data: blåbær 🫐\n\n");
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const events = [];
    for await (const event of readEvents(body)) events.push(event.data);
    expect(events).toEqual(["blåbær 🫐"]);
  });
});
