import type { Group } from "@/lib/api/types";
import { formatCompact, formatCost, formatCount, formatMoment, formatTime } from "@/lib/format";

import { costTitle } from "./group-columns";

/** The sums of a session or a user. */
export function GroupFigures({ group, user = false }: { group: Group; user?: boolean }) {
  const figures: [string, string, string?][] = [
    ["Traces", formatCount(group.trace_count)],
    ...(user ? ([["Sessions", formatCount(group.session_count)]] as [string, string][]) : []),
    ["With errors", formatCount(group.error_count)],
    ["Tokens", formatCompact(group.total_tokens || null), formatCount(group.total_tokens)],
    ["Cost", formatCost(group.cost), costTitle(group)],
    ["First trace", formatTime(group.first_at), formatMoment(group.first_at)],
    ["Last trace", formatTime(group.latest_at), formatMoment(group.latest_at)],
  ];
  return (
    <dl className="group-figures">
      {figures.map(([name, value, title]) => (
        <div key={name} title={title}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
