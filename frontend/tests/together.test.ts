import { describe, expect, it } from "vitest";
import * as Y from "yjs";

import { pastOf, piecesOf } from "@/features/together/attribution";
import { keptRunOf, liveRun, sharedRunOf } from "@/features/together/runs";
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
});
