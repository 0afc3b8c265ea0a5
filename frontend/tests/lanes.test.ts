import { describe, expect, it } from "vitest";

import { lanesOf } from "@/lib/lanes";

const node = (text: string) => {
  const [key = "", parent] = text.split("<");
  return { key, parent: parent ?? null };
};
const lanes = (...nodes: string[]) => lanesOf(nodes.map(node)).rows.map(({ key, lane }) => `${key}${lane}`);

describe("lanes of versions", () => {
  it("keeps one line in one lane", () => {
    expect(lanes("3<2", "2<1", "1")).toEqual(["30", "20", "10"]);
  });

  it("gives a branch a lane of its own until it meets its parent", () => {
    expect(lanes("4<1", "3<2", "2<1", "1")).toEqual(["40", "31", "21", "10"]);
    expect(lanesOf(["4<1", "3<2", "2<1", "1"].map(node)).count).toBe(2);
  });

  it("uses a lane again that came to its end", () => {
    expect(lanes("5<3", "4<3", "3<2", "d<2", "2")).toEqual(["50", "41", "30", "d1", "20"]);
  });

  it("draws no line to a parent that is not shown", () => {
    expect(lanesOf([node("9<8")]).rows).toEqual([{ key: "9", lane: 0, parent: null }]);
  });
});
