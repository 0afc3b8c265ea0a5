import { useQuery } from "@tanstack/react-query";

import { CallMenu } from "@/components/call-menu";
import { Preview as Panel, Problem, Said } from "@/components/preview";
import { Loaded } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { observationQuery } from "@/lib/api/queries";
import type { ObservationRow } from "@/lib/api/types";
import { formatCost, formatCount, formatDuration, formatRate } from "@/lib/format";

interface PreviewProps {
  row: ObservationRow;
  onClose: () => void;
  onOpen: () => void;
  onAdd: () => void;
}

/** The selected observation at the side, with what can be done with a call. */
export default function Preview({ row, onClose, onOpen, onAdd }: PreviewProps) {
  const { slug } = useProject();
  const whole = useQuery(observationQuery(slug, row.trace_id, row.id));
  const figures = {
    Latency: formatDuration(row.duration_ms),
    "First token": formatDuration(row.ttft_ms),
    Speed: formatRate(row.tokens_per_second),
    Tokens: formatCount(row.total_tokens),
    Cost: formatCost(row.cost),
  };
  return (
    <Panel name={row.name} failed={row.status === "error"} figures={figures} menu={<CallMenu traceId={row.trace_id} observation={whole.data} onAdd={onAdd} />} onClose={onClose} onOpen={onOpen}>
      <Loaded query={whole} what="The observation">
        {({ status_message, input, output }) => (
          <>
            <Problem text={status_message} />
            {isNothing(input) && isNothing(output) && <p className="preview-none faint">This observation recorded no input and no output.</p>}
            <Said value={input} role="user" />
            <Said value={output} role="assistant" />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

const isNothing = (value: unknown) => value === null || value === undefined;
