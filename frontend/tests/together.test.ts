import { describe, expect, it } from "vitest";
import * as Y from "yjs";

import { pastOf, piecesOf } from "@/features/together/attribution";
import type { Room } from "@/features/together/room";
import { keptRun, keptRunOf, liveRun, sharedRunOf } from "@/features/together/runs";
import { isInterrupted, limitOf, requestOf, settle } from "@/features/together/use-run";
import { pointAt, pointsOf, seqsOf } from "@/features/together/timeline";
import { answerBegun } from "@/lib/answer-stream";
import type { DraftHistory } from "@/lib/api/types";

const ANN = { id: "u1", name: "Ann", color: "#123456" };
const AT = "2026-01-01T00:00:00Z";

const HISTORY: DraftHistory = {
  seq: 9,
  moments: [
    { seq: 0, people: [], version: null, created_at: AT },
    { seq: 3, people: ["Ann"], version: 2, created_at: AT },
    { seq: 7, people: ["Ann"], version: null, created_at: AT },
  ],
  strokes: [
    { first: 6, latest: 7, person: ANN, ended_at: AT },
    { first: 8, latest: 9, person: null, ended_at: AT },
  ],
  writers: [],
};

describe("the line of a draft's history", () => {
  it("has the kept moments and every number of the log", () => {
    expect(seqsOf(HISTORY)).toEqual([0, 3, 6, 7, 8, 9]);
  });

  it("has a point for each stretch of writing, once where a moment ends with it", () => {
    const points = pointsOf(HISTORY);
    expect(points.map(({ seq }) => seq)).toEqual([0, 3, 7, 9]);
    expect(points[2]!.people).toEqual([ANN]);
    expect(points[1]!.version).toBe(2);
    expect(pointAt(points, 8)!.seq).toBe(9);
    expect(pointAt(points, 99)!.seq).toBe(9);
  });
});

/** Two people write one text; the middle of the first one's words is gone. */
function written(): { document: Y.Doc; first: number; second: number } {
  const document = new Y.Doc();
  const other = new Y.Doc();
  document.getText("text").insert(0, "hello world");
  Y.applyUpdate(other, Y.encodeStateAsUpdate(document));
  other.getText("text").insert(5, ", dear");
  Y.applyUpdate(document, Y.encodeStateAsUpdate(other));
  document.getText("text").delete(0, 1);
  return { document, first: document.clientID, second: other.clientID };
}

describe("who wrote what", () => {
  it("is told by the letters that are left", () => {
    const { document, first, second } = written();
    const pieces = piecesOf(document.getText("text"), (a, b) => a === b);
    expect(pieces).toEqual([
      { client: first, text: "ello" },
      { client: second, text: ", dear" },
      { client: first, text: " world" },
    ]);
    expect(piecesOf(document.getText("text"), () => true)).toHaveLength(1);
  });

  it("is read from a stored state", () => {
    const { document } = written();
    document.getMap("meta").set("type", "text");
    document.getMap("config").set("top_p", 0.5);
    const state = btoa(String.fromCharCode(...Y.encodeStateAsUpdate(document)));
    const past = pastOf(state, () => true);
    expect(past.isChat).toBe(false);
    expect(past.messages[0]!.pieces[0]!.text).toBe("ello, dear world");
    expect(past.config).toEqual({ top_p: 0.5 });
  });
});

describe("a shared run", () => {
  it("goes through awareness with the end of a long answer", () => {
    const run = liveRun("r", { ...answerBegun("m"), state: "streaming", text: "x".repeat(9000) + "end" });
    expect(run.text).toHaveLength(4000);
    expect(run.text.endsWith("end")).toBe(true);
    expect(sharedRunOf(JSON.parse(JSON.stringify(run)))).toEqual(run);
  });

  it("is nothing where a browser sent something else", () => {
    for (const odd of [null, 3, "x", {}, { state: "odd" }]) expect(sharedRunOf(odd)).toBeNull();
    expect(keptRunOf({ state: "done", text: 5, by: null })).toMatchObject({ text: "", by: { name: "", color: "" }, at: 0 });
  });

  it("carries tools that are called, cut to what a person's state may hold", () => {
    const toolCalls = Array.from({ length: 20 }, (_, n) => ({ id: null, name: `tool${n}`, arguments: "a".repeat(5000) }));
    const run = liveRun("r", { ...answerBegun("m"), state: "streaming", text: "x".repeat(9000), toolCalls });
    expect(run.toolCalls).toHaveLength(8);
    expect(JSON.stringify(run).length).toBeLessThan(5500);
    expect(sharedRunOf(JSON.parse(JSON.stringify(run)))).toEqual(run);
  });

  it("is interrupted once its page is gone, and its own person marks it", () => {
    const { room, here } = roomOf();
    here.add(7);
    const answer = { ...answerBegun("m"), state: "streaming" as const };
    room.runs.set("0", keptRun("own", answer, { id: "u1", name: "Ada", color: "" }, 7));
    room.runs.set("1", keptRun("other's", answer, { id: "u2", name: "Bob", color: "" }, 8));
    const run = (slot: string) => keptRunOf(room.runs.get(slot))!;
    expect([isInterrupted(room, run("0")), isInterrupted(room, run("1"))]).toEqual([false, true]);
    settle(room, "u1");
    expect(run("0").state).toBe("streaming");
    here.clear();
    settle(room, "u1");
    expect([run("0").state, run("1").state]).toEqual(["interrupted", "streaming"]);
    expect(isInterrupted(room, { ...run("1"), state: "done" })).toBe(false);
  });

  it("ends at the room's limit unless the draft has its own or more is asked for", () => {
    const { room } = roomOf();
    expect(requestOf(room, "m")).toMatchObject({ max_tokens: 1024 });
    expect(limitOf(room)).toEqual({ tokens: 1024, isOwn: true });
    room.config.set("max_completion_tokens", 50);
    expect(requestOf(room, "m")).toMatchObject({ max_completion_tokens: 50 });
    expect(requestOf(room, "m")).not.toHaveProperty("max_tokens");
    expect(requestOf(room, "m", 100)).toMatchObject({ max_tokens: 100 });
    expect(requestOf(room, "m", 100)).not.toHaveProperty("max_completion_tokens");
    expect(room.config.toJSON()).toEqual({ max_completion_tokens: 50 });
  });
});

/** What of a room runs need: its document, and who is there. */
function roomOf() {
  const document = new Y.Doc();
  const here = new Set<number>();
  const map = (name: string) => document.getMap(name);
  const room = { document, runs: map("runs"), config: map("config"), meta: map("meta"), variables: map("variables"), text: document.getText("text"), messages: document.getArray("messages"), awareness: { getStates: () => here } };
  return { room: room as unknown as Room, here };
}
