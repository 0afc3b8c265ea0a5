import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import { useCallback, useEffect, useImperativeHandle, useMemo, useRef, type CSSProperties, type Ref } from "react";

import { Button } from "@/components/button";
import { Skeleton } from "@/components/states";
import { useIsPhone } from "@/hooks/use-media";
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

export function TracesTable(props: TableProps) {
  const { ref, columns, rows, selected, hasMore, loadingMore, onMore, onTop } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const height = useIsPhone() ? 60 : 32;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: useCallback(() => height, [height]),
    // One and the same function while the rows are: another would have all of them measured anew.
    getItemKey: useCallback((index: number) => rows[index]!.id, [rows]),
    overscan: 12,
    scrollPaddingStart: 32,
  });
  useImperativeHandle(ref, () => ({
    show: (id) => virtual.scrollToIndex(rows.findIndex((row) => row.id === id), { align: "auto" }),
  }));
  useEffect(() => virtual.measure(), [height, virtual]);
  useLinkedRow(rows, selected, virtual);
  const items = virtual.getVirtualItems();
  useMore(hasMore && !loadingMore && (items.at(-1)?.index ?? 0) > rows.length - AHEAD, onMore);
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
        onScroll={(event) => onTop(event.currentTarget.scrollTop < 8)}
      >
        <Head columns={columns} />
        {props.loading && <Skeleton rows={16} height={height} />}
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {items.map((item) => (
            <Row
              key={item.key}
              row={rows[item.index]!}
              columns={columns}
              index={item.index}
              top={item.start}
              slowest={slowest}
              selected={rows[item.index]!.id === selected}
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
function useLinkedRow(rows: TraceRow[], selected: string | null, virtual: { scrollToIndex: (index: number, options: { align: "center" }) => void }) {
  const linked = useRef(selected);
  useEffect(() => {
    const at = linked.current === null ? -1 : rows.findIndex((row) => row.id === linked.current);
    if (at < 0) return;
    virtual.scrollToIndex(at, { align: "center" });
    linked.current = null;
  }, [rows, virtual]);
}

/** Bars are scaled to the 95th percentile: one hung call must not flatten the rest. */
function scaleOf(rows: TraceRow[]): number {
  const sorted = rows.flatMap((row) => (row.duration_ms === null ? [] : [row.duration_ms])).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.95)] ?? 1;
}
