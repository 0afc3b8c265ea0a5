import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type PointerEvent } from "react";

import { useNow } from "@/hooks/use-now";
import { histogramQuery } from "@/lib/api/queries";
import type { Bucket } from "@/lib/api/types";
import { encodeFilters, spanOf, toQuery, type TraceFilters } from "@/lib/filters";
import { formatCount, formatTime, plural } from "@/lib/format";

interface HistogramProps {
  project: string;
  /** Of a list of traces all; of other lists the time only. */
  filters: TraceFilters;
  onChange: (filters: TraceFilters) => void;
}

const BUCKETS = 96;
const ROUND_MS = 15_000;

/** How many traces when; dragging over it narrows the range. */
export function Histogram({ project, filters, onChange }: HistogramProps) {
  const now = Math.floor(useNow(ROUND_MS) / ROUND_MS) * ROUND_MS + ROUND_MS;
  const query = toQuery(filters, now);
  if (!filters.to) query.set("to", spanOf(filters, now).to);
  const { data: buckets = [] } = useQuery({ ...histogramQuery(project, query.toString(), BUCKETS) });
  const span = spanOf(filters, now);
  const from = Date.parse(span.from);
  const length = Date.parse(span.to) - from;
  const brush = useBrush((a, b) => {
    const at = (share: number) => new Date(from + share * length).toISOString();
    onChange({ ...filters, range: "", from: at(a), to: at(b) });
  });
  const total = buckets.reduce((sum, b) => sum + b.ok + b.error, 0);
  const errors = buckets.reduce((sum, b) => sum + b.error, 0);
  return (
    <div className="histogram" key={encodeFilters(filters).toString()}>
      <div className="histogram-area" role="img" aria-label={`${plural(total, "trace")} in the range, ${formatCount(errors)} with errors`} {...brush.handlers}>
        <Bars buckets={buckets} from={from} length={length} />
        {brush.selection && <i className="histogram-brush" style={{ left: `${brush.selection[0] * 100}%`, width: `${(brush.selection[1] - brush.selection[0]) * 100}%` }} />}
      </div>
      <div className="histogram-axis" aria-hidden="true">
        <span>{formatTime(span.from)}</span>
        <span>
          {plural(total, "trace")}
          {errors > 0 && <b>, {plural(errors, "error")}</b>}
        </span>
        <span>{filters.to ? formatTime(span.to) : "now"}</span>
      </div>
    </div>
  );
}

function Bars({ buckets, from, length }: { buckets: Bucket[]; from: number; length: number }) {
  const most = Math.max(1, ...buckets.map((b) => b.ok + b.error));
  const width = 100 / Math.max(1, buckets.length);
  return (
    <svg viewBox="0 0 100 40" preserveAspectRatio="none" aria-hidden="true">
      {buckets.map((bucket) => {
        const x = (100 * (Date.parse(bucket.start) - from)) / length;
        const all = (40 * (bucket.ok + bucket.error)) / most;
        const bad = (40 * bucket.error) / most;
        return (
          <g key={bucket.start}>
            <title>{`${formatTime(bucket.start)}: ${plural(bucket.ok + bucket.error, "trace")}, ${bucket.error} failed`}</title>
            <rect className="histogram-ok" x={x} width={width * 0.82} y={40 - all} height={all - bad} />
            <rect className="histogram-error" x={x} width={width * 0.82} y={40 - bad} height={bad} />
          </g>
        );
      })}
    </svg>
  );
}

const SMALLEST = 0.008;

function useBrush(onDone: (from: number, to: number) => void) {
  const [selection, setSelection] = useState<[number, number] | null>(null);
  const origin = useRef(0);
  const share = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const handlers = {
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      origin.current = share(event);
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
      const at = share(event);
      setSelection([Math.min(origin.current, at), Math.max(origin.current, at)]);
    },
    onPointerUp: () => {
      setSelection(null);
      if (selection && selection[1] - selection[0] > SMALLEST) onDone(...selection);
    },
    onPointerCancel: () => setSelection(null),
  };
  return { selection, handlers };
}
