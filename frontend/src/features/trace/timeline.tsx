import type { Observation } from "@/lib/api/types";
import { formatDuration } from "@/lib/format";

const STAGES = ["queue", "prefill", "decode"] as const;

/** What the engine did with a call: waited, read the prompt, wrote the answer. Remote calls have none. */
export function Timeline({ observation, all }: { observation: Observation; all: Observation[] }) {
  const children = all.filter((o) => o.parent_id === observation.id);
  const stages = STAGES.flatMap((name) => {
    const stage = children.find((o) => o.name === name);
    return stage && stage.duration_ms !== null ? [{ name, ms: stage.duration_ms }] : [];
  });
  if (stages.length === 0) return null;
  return (
    <ol className="timeline" aria-label="Engine timeline">
      {stages.map((stage) => (
        <li key={stage.name} data-stage={stage.name} style={{ flexGrow: Math.max(stage.ms, 0.001) }} title={`${stage.name}: ${stage.ms} ms`}>
          <i />
          <span>
            {stage.name} <b>{formatDuration(stage.ms)}</b>
          </span>
        </li>
      ))}
    </ol>
  );
}
