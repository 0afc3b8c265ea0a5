import { JsonTree } from "@/components/json-tree";
import type { Observation } from "@/lib/api/types";

/** What went in and what came out, as it was recorded. */
export default function JsonView({ observation }: { observation: Observation }) {
  return (
    <div className="observation-json">
      <h3>Input</h3>
      <JsonTree value={observation.input} open={3} />
      <h3>Output</h3>
      <JsonTree value={observation.output} open={3} />
    </div>
  );
}
