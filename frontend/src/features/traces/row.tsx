import { memo } from "react";

import { useProject } from "@/hooks/use-project";
import type { TraceRow } from "@/lib/api/types";

import type { TraceColumn } from "./columns";

interface RowProps {
  row: TraceRow;
  columns: readonly TraceColumn[];
  index: number;
  top: number;
  slowest: number;
  selected: boolean;
  onSelect: (id: string) => void;
  onOpen: (id: string) => void;
}

/** One trace. Its handlers must be stable: a key press renders two rows and not all that are in view. */
export const Row = memo(function Row({ row, columns, index, top, slowest, selected, onSelect, onOpen }: RowProps) {
  const { slug } = useProject();
  return (
    <div
      id={`trace-${row.id}`}
      className="tt-row tt-trace"
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-status={row.status}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(row.id)}
      onDoubleClick={() => onOpen(row.id)}
    >
      {columns.map((column) => (
        <span key={column.id} role="gridcell" className={column.className} title={column.title?.(row)}>
          {column.cell(row, { slug, slowest, onOpen })}
        </span>
      ))}
    </div>
  );
});
