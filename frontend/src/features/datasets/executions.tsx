import { ListTree } from "lucide-react";

import { Badge } from "@/components/badge";
import { Link } from "@/components/link";
import { ScoreChip } from "@/components/score-chip";
import { useProject } from "@/hooks/use-project";
import type { Execution } from "@/lib/api/types";
import { formatDuration } from "@/lib/format";
import { toReading } from "@/lib/json-text";

/** What one execution answered, with its scores and the way to its trace. */
export function Answer({ execution: one }: { execution: Execution }) {
  const { slug } = useProject();
  return (
    <div className="ds-answer">
      {one.level === "ERROR" && <Badge tone="error">error</Badge>}
      <Text value={one.output} />
      <div className="ds-answer-foot">
        {one.scores.map((score) => (
          <ScoreChip key={score.id} score={score} />
        ))}
        <span className="faint">{formatDuration(one.duration_ms)}</span>
        {one.has_trace ? (
          <Link href={`/p/${slug}/traces/${one.trace_id}${one.observation_id ? `?o=${one.observation_id}` : ""}`} className="icon-button" aria-label="Open the trace" title="Open the trace">
            <ListTree size={14} aria-hidden="true" />
          </Link>
        ) : (
          <span className="faint" title="The trace of this execution has not arrived, or was deleted">no trace</span>
        )}
      </div>
    </div>
  );
}

export function Text({ value }: { value: unknown }) {
  const text = toReading(value);
  if (!text) return <span className="faint">—</span>;
  return <p className="ds-text ds-clamp">{text}</p>;
}
