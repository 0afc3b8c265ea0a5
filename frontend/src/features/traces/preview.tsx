import { useQuery } from "@tanstack/react-query";

import { CallMenu } from "@/components/call-menu";
import { Preview as Panel, Problem, Said } from "@/components/preview";
import { Loaded } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { traceQuery } from "@/lib/api/queries";
import type { TraceRow } from "@/lib/api/types";
import { mainOf } from "@/lib/call";
import { formatCost, formatCount, formatDuration, formatRate } from "@/lib/format";

interface PreviewProps {
  row: TraceRow;
  onClose: () => void;
  onOpen: () => void;
  onAdd: () => void;
}

/** The selected trace at the side: its words and its figures. */
export default function Preview({ row, onClose, onOpen, onAdd }: PreviewProps) {
  const { slug } = useProject();
  const detail = useQuery(traceQuery(slug, row.id));
  const figures = {
    Latency: formatDuration(row.duration_ms),
    "First token": formatDuration(row.ttft_ms),
    Speed: formatRate(row.tokens_per_second),
    Tokens: formatCount(row.total_tokens || null),
    Cost: formatCost(row.cost),
  };
  const menu = <CallMenu traceId={row.id} observation={detail.data && mainOf(detail.data.observations)} onAdd={onAdd} />;
  return (
    <Panel name={row.name} failed={row.status === "error"} figures={figures} menu={menu} onClose={onClose} onOpen={onOpen}>
      <Loaded query={detail} what="The trace">
        {({ trace, observations }) => (
          <>
            <Problem text={observations.find((o) => o.status === "error" && o.status_message)?.status_message} />
            <Said value={trace.input} role="user" />
            <Said value={trace.output} role="assistant" />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
