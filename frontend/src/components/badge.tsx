import "./badge.css";

import { X } from "lucide-react";
import type { ReactNode } from "react";

type Tone = "neutral" | "accent" | "error" | "warning" | "success";

export function Badge({ tone = "neutral", children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span className={`badge badge-${tone}`} title={title}>
      {children}
    </span>
  );
}

/** A filter in force; its cross takes it away. */
export function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <span className="chip">
      <span className="faint">{name}</span>
      <span className="ellipsis">{value}</span>
      <button type="button" aria-label={`Remove filter ${name} ${value}`} onClick={onRemove}>
        <X size={12} />
      </button>
    </span>
  );
}

/** A model with the colour it has everywhere. */
export function ModelTag({ model, color }: { model: string; color: string }) {
  return (
    <span className="model-tag" title={model}>
      <i style={{ background: color }} />
      <span className="ellipsis">{model}</span>
    </span>
  );
}
