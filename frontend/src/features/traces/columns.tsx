import type { ReactNode } from "react";

import { Badge, ModelTag } from "@/components/badge";
import { Link } from "@/components/link";
import type { TraceRow } from "@/lib/api/types";
import { formatCompact, formatCost, formatCount, formatDuration, formatMoment, formatRate, formatTime, UNKNOWN } from "@/lib/format";
import { modelColor } from "@/lib/palette";
import { inPath } from "@/lib/paths";

interface Context {
  slug: string;
  /** The latency that a full bar stands for. */
  slowest: number;
  onOpen: (id: string) => void;
}

export interface TraceColumn {
  id: string;
  name: string;
  /** A track of the CSS grid, where columns were chosen. */
  track: string;
  className: string;
  title?: (row: TraceRow) => string | undefined;
  cell: (row: TraceRow, context: Context) => ReactNode;
}

export const USUAL = ["time", "name", "input", "output", "model", "latency", "tokens", "cost", "who"];

export const COLUMNS: readonly TraceColumn[] = [
  { id: "time", name: "Time", track: "84px", className: "tt-time", title: (row) => formatMoment(row.started_at), cell: (row) => formatTime(row.started_at) },
  { id: "name", name: "Name", track: "minmax(110px, 0.8fr)", className: "tt-name ellipsis", cell: (row, context) => <Name row={row} {...context} /> },
  { id: "input", name: "Input", track: "minmax(140px, 1.6fr)", className: "tt-input ellipsis", cell: (row) => row.input_preview ?? UNKNOWN },
  { id: "output", name: "Output", track: "minmax(140px, 1.6fr)", className: "tt-output ellipsis", cell: (row) => row.output_preview ?? (row.status === "error" ? "failed" : UNKNOWN) },
  { id: "model", name: "Model", track: "minmax(110px, 0.9fr)", className: "tt-model", cell: (row) => (row.models[0] ? <ModelTag model={row.models.join(", ")} color={modelColor(row.models[0])} /> : UNKNOWN) },
  { id: "latency", name: "Latency", track: "118px", className: "tt-latency", title: latencyTitle, cell: (row, { slowest }) => <Latency row={row} slowest={slowest} /> },
  { id: "tokens", name: "Tokens", track: "52px", className: "num tt-tokens", title: tokensTitle, cell: (row) => formatCompact(row.total_tokens || null) },
  { id: "cost", name: "Cost", track: "92px", className: "num tt-cost", title: (row) => (row.cost === null ? "No price is known for this model" : `$${row.cost}`), cell: (row) => formatCost(row.cost) },
  { id: "who", name: "User, tags", track: "minmax(90px, 0.8fr)", className: "tt-who ellipsis", cell: (row) => <Who row={row} /> },
  { id: "session", name: "Session", track: "minmax(90px, 0.7fr)", className: "ellipsis", title: (row) => row.session_id ?? undefined, cell: (row, { slug }) => (row.session_id ? <Link href={`/p/${slug}/sessions/${inPath(row.session_id)}`} tabIndex={-1} className="table-name">{row.session_id}</Link> : UNKNOWN) },
  { id: "environment", name: "Environment", track: "92px", className: "ellipsis", cell: (row) => row.environment },
  { id: "ttft", name: "First token", track: "76px", className: "num", cell: (row) => formatDuration(row.ttft_ms) },
  { id: "rate", name: "Speed", track: "86px", className: "num", cell: (row) => formatRate(row.tokens_per_second) },
  { id: "observations", name: "Observations", track: "92px", className: "num", cell: (row) => formatCount(row.observation_count) },
  { id: "errors", name: "Errors", track: "56px", className: "num", cell: (row) => formatCount(row.error_count) },
  { id: "prompts", name: "Prompts", track: "minmax(90px, 0.7fr)", className: "ellipsis", cell: (row) => row.prompts.map(({ name, version }) => (version === null ? name : `${name} v${String(version)}`)).join(", ") || UNKNOWN },
  { id: "release", name: "Release", track: "80px", className: "ellipsis", cell: (row) => row.release ?? UNKNOWN },
  { id: "version", name: "Version", track: "80px", className: "ellipsis", cell: (row) => row.version ?? UNKNOWN },
];

export const isNumeric = (column: TraceColumn): boolean => column.className.startsWith("num") || column.id === "latency";

function Name({ row, slug, onOpen }: Context & { row: TraceRow }) {
  return (
    <Link href={`/p/${slug}/traces/${row.id}`} tabIndex={-1} title={row.name} onClick={(event) => openHere(event, () => onOpen(row.id))}>
      {row.name}
    </Link>
  );
}

/** A plain click opens as the keyboard does; with a modifier the browser opens its tab. */
function openHere(event: React.MouseEvent, open: () => void): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  event.stopPropagation();
  open();
}

function Latency({ row, slowest }: { row: TraceRow; slowest: number }) {
  const share = row.duration_ms === null ? 0 : Math.min(1, row.duration_ms / slowest);
  return (
    <>
      <span className="latency-track" aria-hidden="true">
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span className="num">{formatDuration(row.duration_ms)}</span>
    </>
  );
}

function Who({ row }: { row: TraceRow }) {
  return (
    <>
      {row.user_id && <span title={`User ${row.user_id}`}>{row.user_id}</span>}
      {row.tags.map((tag) => (
        <Badge key={tag}>{tag}</Badge>
      ))}
    </>
  );
}

function latencyTitle(row: TraceRow): string {
  const title = [row.duration_ms === null ? "Not finished" : `${row.duration_ms} ms`, row.ttft_ms !== null && `first token after ${formatDuration(row.ttft_ms)}`, row.tokens_per_second !== null && formatRate(row.tokens_per_second)];
  return title.filter(Boolean).join(" · ");
}

function tokensTitle(row: TraceRow): string {
  if (row.total_tokens === 0) return "The model reported no usage";
  return `${formatCount(row.input_tokens)} in, ${formatCount(row.output_tokens)} out`;
}
