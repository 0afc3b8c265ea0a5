import type { Column } from "@/components/grid";
import { Link } from "@/components/link";
import type { Group } from "@/lib/api/types";
import { formatCompact, formatCost, formatCount, formatDuration, formatMoment, formatTime, UNKNOWN } from "@/lib/format";
import { inPath } from "@/lib/paths";

export type GroupKind = "sessions" | "users";

export interface GroupColumn extends Column<Group> {
  name: string;
}

export const USUAL: Record<GroupKind, readonly string[]> = {
  sessions: ["id", "latest", "length", "traces", "errors", "tokens", "cost", "users"],
  users: ["id", "latest", "first", "sessions", "traces", "errors", "tokens", "cost"],
};
export const PHONE: readonly string[] = ["id", "latest", "traces"];

const at = (id: string, name: string, value: (row: Group) => string): GroupColumn => ({
  id,
  name,
  title: name,
  width: "104px",
  cell: (row) => (
    <time dateTime={value(row)} title={formatMoment(value(row))}>
      {formatTime(value(row))}
    </time>
  ),
});

const figure = (id: string, name: string, value: (row: Group) => string, title?: (row: Group) => string): GroupColumn => ({
  id,
  name,
  title: name,
  width: "92px",
  end: true,
  cell: (row) => <span title={title?.(row)}>{value(row)}</span>,
});

export const groupColumns = (kind: GroupKind, slug: string): readonly GroupColumn[] => [
  {
    id: "id",
    name: kind === "sessions" ? "Session" : "User",
    title: kind === "sessions" ? "Session" : "User",
    width: "minmax(140px, 1.4fr)",
    cell: (row) => (
      <Link href={`/p/${slug}/${kind}/${inPath(row.id)}`} className="table-name" tabIndex={-1} title={row.id}>
        {row.id}
      </Link>
    ),
  },
  at("latest", "Last trace", (row) => row.latest_at),
  at("first", "First trace", (row) => row.first_at),
  figure("length", "Length", (row) => (row.trace_count > 1 ? formatDuration(Date.parse(row.latest_at) - Date.parse(row.first_at)) : UNKNOWN), (row) => (row.trace_count > 1 ? "From the first trace's start to the last one's" : "One trace alone has no length")),
  ...(kind === "users" ? [figure("sessions", "Sessions", (row) => formatCount(row.session_count))] : []),
  figure("traces", "Traces", (row) => formatCount(row.trace_count)),
  figure("observations", "Observations", (row) => formatCount(row.observation_count)),
  figure("errors", "With errors", (row) => formatCount(row.error_count)),
  figure("tokens", "Tokens", (row) => formatCompact(row.total_tokens || null), (row) => formatCount(row.total_tokens)),
  figure("cost", "Cost", (row) => formatCost(row.cost), costTitle),
  ...(kind === "sessions" ? [{ id: "users", name: "Users", title: "Users", width: "minmax(90px, 1fr)", cell: (row: Group) => row.users.join(", ") || UNKNOWN }] : []),
];

export function costTitle(row: Group): string {
  const unknown = row.unpriced_count > 0 ? `, and ${formatCount(row.unpriced_count)} calls without a known price` : "";
  return row.cost === null ? "No price is known for these models" : `$${row.cost}${unknown}`;
}
