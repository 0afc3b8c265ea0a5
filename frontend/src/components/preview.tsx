import "./preview.css";

import { X } from "lucide-react";
import type { ReactNode } from "react";

import { turnsOf } from "@/lib/conversation";

import { Badge } from "./badge";
import { Button, IconButton } from "./button";
import { JsonTree } from "./json-tree";
import { Turn } from "./turn";

interface PreviewProps {
  name: string;
  failed: boolean;
  figures: Record<string, string>;
  /** What can be done with it. */
  menu: ReactNode;
  onClose: () => void;
  onOpen: () => void;
  children: ReactNode;
}

/** The selected row of a list at its side: its figures and its words. */
export function Preview({ name, failed, figures, menu, onClose, onOpen, children }: PreviewProps) {
  return (
    <aside className="preview" aria-label={`Preview of ${name}`}>
      <header>
        <h2 className="ellipsis" title={name}>
          {name}
        </h2>
        {failed && <Badge tone="error">error</Badge>}
        {menu}
        <Button size="small" keys="Enter" onClick={onOpen}>
          Open
        </Button>
        <IconButton label="Close the preview" keys="Esc" icon={<X size={16} />} onClick={onClose} />
      </header>
      <dl className="preview-figures">
        {Object.entries(figures).map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className="preview-body">{children}</div>
    </aside>
  );
}

export function Problem({ text }: { text: string | null | undefined }) {
  return text ? <p className="preview-problem">{text}</p> : null;
}

/** An input or an output, as a conversation where it is one. */
export function Said({ value, role }: { value: unknown; role: string }) {
  if (value === null || value === undefined) return null;
  const turns = turnsOf(value, role);
  if (!turns) return <JsonTree value={value} />;
  return turns.map((turn, index) => <Turn key={index} turn={turn} reading="plain" />);
}
