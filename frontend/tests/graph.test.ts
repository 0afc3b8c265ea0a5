import { describe, expect, it } from "vitest";

import { graphOf } from "@/features/trace/graph-data";
import { layout, NODE, pathOf } from "@/features/trace/graph-layout";
import type { Observation } from "@/lib/api/types";

let nextId = 1;
const ran = (name: string, parent: Observation | null, startMs: number, durationMs: number, changes: Partial<Observation> = {}): Observation =>
  ({ id: String(nextId++), parent_id: parent?.id ?? null, type: "span", name, started_at: new Date(Date.UTC(2026, 0, 1) + startMs).toISOString(), ended_at: "", duration_ms: durationMs, level: "DEFAULT", status: "ok", ...changes }) as Observation;

const edges = (all: Observation[]) => graphOf(all).edges.map((edge) => `${edge.from.split(" ")[1]} ${edge.kind} ${edge.to.split(" ")[1]} ${edge.count}`);

describe("the graph of a trace", () => {
  const agent = ran("agent", null, 0, 100, { type: "agent" });
  it("draws a loop of model and tool as a cycle with counts", () => {
    const turns = [0, 20, 40].flatMap((at) => [ran("llm", agent, at + 1, 8, { type: "generation" }), ran("tool", agent, at + 10, 8, { type: "tool" })]);
    expect(edges([agent, ...turns])).toEqual(["agent calls llm 1", "llm then tool 3", "tool then llm 2"]);
  });
  it("says that siblings which run at once are all started by their parent", () => {
    const both = [ran("a", agent, 1, 50), ran("b", agent, 2, 50), ran("c", agent, 60, 5)];
    expect(edges([agent, ...both])).toEqual(["agent calls a 1", "agent calls b 1", "b then c 1"]);
  });
  it("counts runs, failures and time of a step", () => {
    const [node] = graphOf([ran("x", null, 0, 5), ran("x", null, 10, 7, { status: "error" })]).nodes;
    expect([node!.observations.length, node!.failed, node!.totalMs]).toEqual([2, 1, 12]);
  });
  it("leaves the engine's stages inside their generation", () => {
    const llm = ran("llm", null, 0, 10, { type: "generation" });
    expect(graphOf([llm, ran("prefill", llm, 0, 5), ran("search", llm, 5, 2, { type: "tool" })]).nodes.map((n) => n.name)).toEqual(["llm", "search"]);
  });
  it("takes numbered names together, and the most frequent ones, where there are too many", () => {
    const numbered = Array.from({ length: 500 }, (_, at) => ran(`step ${at}`, agent, at, 1));
    expect(graphOf([agent, ...numbered]).nodes.map((n) => [n.name, n.observations.length])).toEqual([["agent", 1], ["step #", 500]]);
    const letters = Array.from({ length: 90 }, (_, at) => ran(String.fromCodePoint(0x4e00 + at), agent, at, 1));
    const graph = graphOf([agent, ...letters]);
    expect([graph.nodes.length, graph.left]).toEqual([60, 31]);
  });
});

describe("the layout", () => {
  const place = (links: [string, string][]) => layout([...new Set(links.flat())], links.map(([from, to]) => ({ from, to })));
  it("puts what comes later below, and draws what closes a cycle upwards", () => {
    const { places, ways } = place([["a", "b"], ["b", "c"], ["c", "a"], ["a", "c"]]);
    expect(places.get("a")!.y).toBeLessThan(places.get("b")!.y);
    expect(places.get("b")!.y).toBeLessThan(places.get("c")!.y);
    expect(ways.filter((way) => way.back).map((way) => [way.link.from, way.points[0]!.y > way.points.at(-1)!.y])).toEqual([["c", true]]);
  });
  it("lets no two nodes overlap and keeps all inside", () => {
    const links = Array.from({ length: 40 }, (_, at): [string, string] => [`n${at % 7}`, `n${7 + ((at * 5) % 13)}`]);
    const { places, width, height } = place(links);
    const boxes = [...places.values()];
    for (const [at, a] of boxes.entries()) {
      expect(a.x >= 0 && a.x + NODE.width <= width && a.y >= 0 && a.y + NODE.height <= height).toBe(true);
      for (const b of boxes.slice(at + 1)) expect(Math.abs(a.x - b.x) >= NODE.width || Math.abs(a.y - b.y) >= NODE.height).toBe(true);
    }
  });
  it("leads a long edge around what lies between, and a step that repeats back to itself", () => {
    const { ways } = place([["a", "b"], ["b", "c"], ["a", "c"], ["b", "b"]]);
    expect(ways.map((way) => way.points.length)).toEqual([2, 2, 3, 2]);
    expect(pathOf(ways[3]!.points)).not.toContain("NaN");
  });
});
