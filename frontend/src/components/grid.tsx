import "./grid.css";

import { useEffect, useRef, type CSSProperties, type MouseEvent, type ReactNode } from "react";

import { useHotkey } from "@/hooks/use-hotkey";
import { OVERSCAN, useShown, useWindow } from "@/hooks/use-window";

export interface Column<Row> {
  id: string;
  title: ReactNode;
  /** A track of the CSS grid, such as "minmax(160px, 2fr)". */
  width: string;
  end?: boolean;
  cell: (row: Row) => ReactNode;
}

interface GridProps<Row> {
  label: string;
  rows: readonly Row[];
  columns: Column<Row>[];
  keyOf: (row: Row) => string | number;
  rowHeight?: number;
  /** Rows that exist, where not all of them are here yet. */
  total?: number;
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (row: Row, index: number) => void;
  /** What a click does, where it is not to open. */
  onChoose?: (row: Row, index: number) => void;
  onNearEnd?: () => void;
  /** Told as one scrolls: whether the first row is in view. */
  onTop?: (atTop: boolean) => void;
  footer?: ReactNode;
}

const HEAD = 32; // covers its own height of the rows

/** A table of any length: only the rows in view exist. `j k` move, Enter or a click opens. */
export function Grid<Row>(props: GridProps<Row>) {
  const { label, rows, columns, keyOf, rowHeight = 40, total = rows.length, active, onActive, onOpen, onChoose = onOpen, onNearEnd, onTop, footer } = props;
  const frame = useRef<HTMLDivElement>(null);
  const { first, last, measure } = useWindow(frame, rowHeight);
  useNearEnd(last >= rows.length - OVERSCAN && rows.length > 0, rows.length, onNearEnd);
  useShown(frame, active, rowHeight, HEAD);
  useRowKeys(props);

  const onClick = (event: MouseEvent, row: Row, index: number) => {
    if ((event.target as Element).closest("a, button, input, label") || window.getSelection()?.toString()) return;
    onActive(index);
    onChoose(row, index);
  };
  const style = { "--columns": columns.map((column) => column.width).join(" "), "--row-height": `${rowHeight}px` } as CSSProperties;
  return (
    <div className="grid" role="table" aria-label={label} aria-rowcount={total + 1} ref={frame} tabIndex={0} style={style} onScroll={(event) => (measure(event.currentTarget), onTop?.(event.currentTarget.scrollTop < 8))}>
      <div role="rowgroup" className="grid-head">
        <div className="grid-row" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <span key={column.id} role="columnheader" className={column.end ? "num" : ""}>
              {column.title}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="grid-body" style={{ height: rows.length * rowHeight }}>
        {rows.slice(first, last).map((row, offset) => {
          const index = first + offset;
          return (
            <div key={keyOf(row)} className="grid-row" role="row" aria-rowindex={index + 2} data-active={index === active} style={{ top: index * rowHeight }} onClick={(event) => onClick(event, row, index)}>
              {columns.map((column) => (
                <div key={column.id} role="cell" className={column.end ? "num" : ""}>
                  {column.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {footer}
    </div>
  );
}

function useRowKeys<Row>({ rows, active, onActive, onOpen }: GridProps<Row>): void {
  const step = (by: number) => {
    if (rows.length > 0) onActive(active === null ? 0 : Math.min(rows.length - 1, Math.max(0, active + by)));
  };
  useHotkey("j", "Next row", () => step(1));
  useHotkey("k", "Previous row", () => step(-1));
  useHotkey("ArrowDown", "", () => step(1));
  useHotkey("ArrowUp", "", () => step(-1));
  useHotkey("Enter", "Open the row", () => active !== null && rows[active] !== undefined && onOpen(rows[active], active), {
    enabled: active !== null,
  });
}

function useNearEnd(near: boolean, count: number, onNearEnd: (() => void) | undefined): void {
  useEffect(() => {
    if (near) onNearEnd?.();
  }, [near, count, onNearEnd]);
}
