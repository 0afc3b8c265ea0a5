import { ModelTag } from "@/components/badge";
import type { Column } from "@/components/grid";
import { Link } from "@/components/link";
import { TypeIcon } from "@/components/type-icon";
import type { ObservationRow } from "@/lib/api/types";
import { formatCompact, formatCost, formatDuration, formatMoment, formatRate, formatTime, UNKNOWN } from "@/lib/format";
import { modelColor } from "@/lib/palette";

export interface ObservationColumn extends Column<ObservationRow> {
  name: string;
}

export const USUAL = ["time", "name", "input", "output", "model", "latency", "tokens", "cost"];

const text = (id: string, name: string, width: string, value: (row: ObservationRow) => string | null): ObservationColumn => ({
  id,
  name,
  title: name,
  width,
  cell: (row) => <span title={value(row) ?? undefined}>{value(row) ?? UNKNOWN}</span>,
});

const figure = (id: string, name: string, width: string, value: (row: ObservationRow) => string): ObservationColumn => ({ id, name, title: name, width, end: true, cell: value });

export const columnsOf = (slug: string): readonly ObservationColumn[] => [
  { id: "time", name: "Time", title: "Time", width: "84px", cell: (row) => <time dateTime={row.started_at} title={formatMoment(row.started_at)}>{formatTime(row.started_at)}</time> },
  { id: "name", name: "Name", title: "Name", width: "minmax(110px, 1fr)", cell: (row) => <Name row={row} slug={slug} /> },
  text("input", "Input", "minmax(110px, 1.6fr)", (row) => row.input_preview),
  text("output", "Output", "minmax(110px, 1.6fr)", (row) => row.status_message ?? row.output_preview),
  { id: "model", name: "Model", title: "Model", width: "minmax(100px, 0.8fr)", cell: ({ model }) => (model ? <ModelTag model={model} color={modelColor(model)} /> : UNKNOWN) },
  figure("latency", "Latency", "72px", (row) => formatDuration(row.duration_ms)),
  figure("ttft", "First token", "76px", (row) => formatDuration(row.ttft_ms)),
  figure("rate", "Speed", "86px", (row) => formatRate(row.tokens_per_second)),
  figure("tokens", "Tokens", "60px", (row) => formatCompact(row.total_tokens)),
  figure("cost", "Cost", "92px", (row) => formatCost(row.cost)),
  text("level", "Level", "80px", (row) => row.level),
  text("user", "User", "minmax(80px, 0.6fr)", (row) => row.user_id),
  text("session", "Session", "minmax(80px, 0.6fr)", (row) => row.session_id),
  text("environment", "Environment", "92px", (row) => row.environment),
  text("prompt", "Prompt", "minmax(80px, 0.6fr)", (row) => row.prompt && `${row.prompt.name}${row.prompt.version === null ? "" : ` v${String(row.prompt.version)}`}`),
  text("release", "Release", "80px", (row) => row.release),
  text("version", "Version", "80px", (row) => row.version),
];

function Name({ row, slug }: { row: ObservationRow; slug: string }) {
  return (
    <span className="observation-row-name" data-failed={row.status === "error"}>
      <TypeIcon type={row.type} failed={row.status === "error"} />
      <Link href={`/p/${slug}/traces/${row.trace_id}?o=${row.id}`} className="table-name" tabIndex={-1} title={row.name}>
        {row.name}
      </Link>
    </span>
  );
}
