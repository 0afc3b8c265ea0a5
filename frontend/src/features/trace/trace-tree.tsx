import { ChevronRight } from "lucide-react";
import { memo, useCallback, useMemo, useRef } from "react";

import { useHotkey } from "@/hooks/use-hotkey";
import { useShown, useWindow } from "@/hooks/use-window";
import { formatDuration } from "@/lib/format";
import { typeColor } from "@/lib/palette";
import type { TreeRow } from "@/lib/tree";

import { TypeIcon } from "./type-icon";

interface TreeProps {
  rows: TreeRow[];
  /** The length of the whole trace, which the bars are drawn on. */
  totalMs: number;
  /** Whether there are more observations than were read. */
  cut: boolean;
  selected: string | null;
  onSelect: (id: string) => void;
  collapsed: ReadonlySet<string>;
  onCollapsed: (collapsed: ReadonlySet<string>) => void;
}

const ROW = 32;
const TICKS = [0, 0.25, 0.5, 0.75];

/** Tree and waterfall in the same rows, on one axis of time. */
export function TraceTree({ rows, totalMs, cut, selected, onSelect, collapsed, onCollapsed }: TreeProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const { first, last, measure } = useWindow(scroller, ROW);
  const at = useMemo(() => (selected === null ? -1 : rows.findIndex((row) => row.observation.id === selected)), [rows, selected]);
  useShown(scroller, at < 0 ? null : at, ROW);

  const move = (step: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next) onSelect(next.observation.id);
  };
  const fold = useCallback(
    (id: string, closed: boolean) => {
      const next = new Set(collapsed);
      if (closed) next.add(id);
      else next.delete(id);
      onCollapsed(next);
    },
    [collapsed, onCollapsed],
  );
  useHotkey("j", "Next observation", () => move(1));
  useHotkey("k", "Previous observation", () => move(-1));
  useHotkey("ArrowDown", "", () => move(1));
  useHotkey("ArrowUp", "", () => move(-1));
  useHotkey("ArrowLeft", "Close the branch", () => selected && fold(selected, true));
  useHotkey("ArrowRight", "Open the branch", () => selected && fold(selected, false));

  return (
    <div className="tree-pane">
      <div className="tree-head" aria-hidden="true">
        <span>Observation</span>
        <span className="tree-axis">
          {TICKS.map((tick) => (
            <i key={tick} style={{ left: `${tick * 100}%` }}>
              {tick === 0 ? "0" : formatDuration(tick * totalMs)}
            </i>
          ))}
        </span>
        <span className="num">Duration</span>
      </div>
      <div className="tree" ref={scroller} role="tree" aria-label="Observations" tabIndex={0} aria-activedescendant={selected ? `o-${selected}` : undefined} onScroll={(event) => measure(event.currentTarget)}>
        <div role="none" style={{ height: rows.length * ROW, position: "relative" }}>
          {rows.slice(first, last).map((row, offset) => (
            <TreeLine key={row.observation.id} row={row} top={(first + offset) * ROW} selected={first + offset === at} onSelect={onSelect} onFold={fold} />
          ))}
        </div>
        {cut && <p className="tree-cut faint">The rest of this trace is too long to show.</p>}
      </div>
    </div>
  );
}

/** Deep branches are indented less: names need the room. */
const indent = (depth: number) => Math.min(depth, 6) * 14 + Math.max(0, depth - 6) * 4;

interface LineProps {
  row: TreeRow;
  top: number;
  selected: boolean;
  onSelect: (id: string) => void;
  onFold: (id: string, closed: boolean) => void;
}

const TreeLine = memo(function TreeLine({ row, top, selected, onSelect, onFold }: LineProps) {
  const { observation, depth, childCount, expanded } = row;
  const failed = observation.status === "error" || observation.level.toLowerCase() === "error";
  return (
    <div
      id={`o-${observation.id}`}
      className="tree-row"
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={selected}
      aria-expanded={childCount > 0 ? expanded : undefined}
      data-failed={failed}
      style={{ transform: `translateY(${top}px)`, "--type": typeColor(observation.type) } as React.CSSProperties}
      onClick={() => onSelect(observation.id)}
    >
      <span className="tree-name" style={{ paddingLeft: indent(depth) }}>
        <span
          className="tree-fold"
          data-open={expanded}
          onClick={(event) => {
            if (childCount === 0) return;
            event.stopPropagation();
            onFold(observation.id, expanded);
          }}
        >
          {childCount > 0 && <ChevronRight size={13} aria-hidden="true" />}
        </span>
        <TypeIcon type={observation.type} failed={failed} />
        <span className="ellipsis" title={observation.name}>
          {observation.name}
        </span>
        {!expanded && <span className="tree-count faint">{childCount}</span>}
      </span>
      <Bar row={row} />
      <span className="num faint">{formatDuration(observation.duration_ms)}</span>
    </div>
  );
});

function Bar({ row }: { row: TreeRow }) {
  const { observation, start, width, firstToken } = row;
  const title = firstToken === null ? undefined : `First token after ${formatDuration(observation.ttft_ms)}`;
  return (
    <span className="tree-bar" title={title} aria-hidden="true">
      <i style={{ left: `${start * 100}%`, width: `${width * 100}%` }} />
      {firstToken !== null && <b style={{ left: `${firstToken * 100}%` }} />}
    </span>
  );
}
