import "./json-tree.css";

import { ChevronRight } from "lucide-react";
import { useState, type ReactNode } from "react";

interface NodeProps {
  name?: string;
  value: unknown;
  depth?: number;
  /** Levels that are open at first. */
  open?: number;
}

const MANY = 100;

/** JSON that opens and closes; long lists show their first hundred until asked. */
export function JsonTree({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div className="json">
      <Node value={value} open={open} />
    </div>
  );
}

function Node({ name, value, depth = 0, open = 2 }: NodeProps) {
  const label = name === undefined ? null : <span className="json-key">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-line">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  return <Branch label={label} value={value} depth={depth} open={open} />;
}

function Branch({ label, value, depth, open }: { label: ReactNode; value: object; depth: number; open: number }) {
  const [expanded, setExpanded] = useState(depth < open);
  const [limit, setLimit] = useState(MANY);
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  const summary = list ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div className="json-line">
        {label}
        <span className="faint">{list ? "[]" : "{}"}</span>
      </div>
    );
  }
  return (
    <div>
      <button type="button" className="json-toggle" aria-expanded={expanded} onClick={() => setExpanded(!expanded)}>
        <ChevronRight size={12} aria-hidden="true" />
        {label}
        <span className="faint">{summary}</span>
      </button>
      {expanded && (
        <div className="json-children">
          {entries.slice(0, limit).map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} open={open} />
          ))}
          {entries.length > limit && (
            <button type="button" className="json-more" onClick={() => setLimit(limit + 10 * MANY)}>
              {entries.length - limit} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span className="json-string">{value === "" ? '""' : value}</span>;
  return <span className="json-value">{String(value)}</span>;
}
