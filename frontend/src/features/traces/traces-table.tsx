import { ArrowUp } from "lucide-react";
import { useEffect, useImperativeHandle, useMemo, useRef, type CSSProperties, type Ref, type RefObject } from "react";

import { Button } from "@/components/button";
import { Skeleton } from "@/components/states";
import { useIsPhone } from "@/hooks/use-media";
import { showRow, useWindow } from "@/hooks/use-window";
import type { TraceRow } from "@/lib/api/types";
import { plural } from "@/lib/format";

import { isNumeric, type TraceColumn } from "./columns";
import { Row } from "./row";

export interface TableHandle {
  show: (id: string) => void;
}

interface TableProps {
  ref: Ref<TableHandle>;
  columns: readonly TraceColumn[];
  /** Whether columns were chosen: then the room does not choose again. */
  custom: boolean;
  rows: TraceRow[];
  loading: boolean;
  loadingMore: boolean;
  hasMore: boolean;
  onMore: () => void;
  waiting: number;
  onWaiting: () => void;
  onTop: (atTop: boolean) => void;
  selected: string | null;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
}

const AHEAD = 30;
const HEAD = 32; // covers its own height of the rows

export function TracesTable(props: TableProps) {
  const { ref, columns, rows, selected, hasMore, loadingMore, onMore, onTop } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const height = useIsPhone() ? 60 : 32;
  const { first, last, measure } = useWindow(scroller, height);
  useImperativeHandle(ref, () => ({
    show: (id) => showRow(scroller.current, rows.findIndex((row) => row.id === id), height, HEAD),
  }));
  useLinkedRow(rows, selected, scroller, height);
  useMore(hasMore && !loadingMore && last > rows.length - AHEAD, onMore);
  const slowest = useMemo(() => scaleOf(rows), [rows]);

  return (
    <>
      <Waiting count={props.waiting} onShow={() => (scroller.current?.scrollTo({ top: 0 }), props.onWaiting())} />
      <div
        className={props.custom ? "tt tt-custom" : "tt"}
        style={{ "--tracks": columns.map((column) => column.track).join(" ") } as CSSProperties}
        ref={scroller}
        role="grid"
        aria-label="Traces"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-activedescendant={selected ? `trace-${selected}` : undefined}
        tabIndex={0}
        onScroll={(event) => (measure(event.currentTarget), onTop(event.currentTarget.scrollTop < 8))}
      >
        <Head columns={columns} />
        {props.loading && <Skeleton rows={16} height={height} />}
        <div role="rowgroup" style={{ height: rows.length * height, position: "relative" }}>
          {rows.slice(first, last).map((row, offset) => (
            <Row
              key={row.id}
              row={row}
              columns={columns}
              index={first + offset}
              top={(first + offset) * height}
              slowest={slowest}
              selected={row.id === selected}
              onSelect={props.onSelect}
              onOpen={props.onOpen}
            />
          ))}
        </div>
      </div>
    </>
  );
}

function Waiting({ count, onShow }: { count: number; onShow: () => void }) {
  if (count === 0) return null;
  return (
    <Button className="waiting" size="small" variant="primary" icon={<ArrowUp size={13} />} onClick={onShow}>
      {plural(count, "new", "new")}
    </Button>
  );
}

function Head({ columns }: { columns: readonly TraceColumn[] }) {
  return (
    <div className="tt-row tt-head" role="row" aria-rowindex={1}>
      {columns.map((column) => (
        <span key={column.id} role="columnheader" className={isNumeric(column) ? "num" : ""}>
          {column.name}
        </span>
      ))}
    </div>
  );
}

function useMore(near: boolean, onMore: () => void): void {
  useEffect(() => {
    if (near) onMore();
  }, [near, onMore]);
}

/** A link to a row, and the way back from a trace, show that row. */
function useLinkedRow(rows: TraceRow[], selected: string | null, scroller: RefObject<HTMLDivElement | null>, height: number) {
  const linked = useRef(selected);
  useEffect(() => {
    const at = linked.current === null ? -1 : rows.findIndex((row) => row.id === linked.current);
    if (at < 0) return;
    const box = scroller.current;
    box?.scrollTo({ top: at * height - (box.clientHeight - HEAD - height) / 2 });
    linked.current = null;
  }, [rows, scroller, height]);
}

/** Bars are scaled to the 95th percentile: one hung call must not flatten the rest. */
function scaleOf(rows: TraceRow[]): number {
  const sorted = rows.flatMap((row) => (row.duration_ms === null ? [] : [row.duration_ms])).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.95)] ?? 1;
}
