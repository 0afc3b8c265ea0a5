import { ArrowLeftRight, X } from "lucide-react";
import { useMemo, useState } from "react";

import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { Select } from "@/components/field";
import type { Change } from "@/lib/diff";
import { plural } from "@/lib/format";

import { compared, type ComparedMessage, type ComparedSetting } from "./compare";
import type { Side, Workspace } from "./use-workspace";

interface CompareProps {
  work: Workspace;
  sides: { a: Side; b: Side };
}

/** Two texts as one, with what was taken out and what was put in. */
export default function CompareView({ work, sides: { a, b } }: CompareProps) {
  const { contentAt } = work;
  const before = contentAt(a)!;
  const after = contentAt(b)!;
  const { messages, settings, changed } = useMemo(() => compared(before, after), [before, after]);
  return (
    <div className="p-editor-pane">
      <div className="p-version-bar p-compare-bar">
        <SideSelect label="Before" work={work} side={a} onChange={(side) => work.go({ a: side, b })} />
        <IconButton label="Swap the sides" icon={<ArrowLeftRight size={14} />} onClick={() => work.go({ a: b, b: a })} />
        <SideSelect label="After" work={work} side={b} onChange={(side) => work.go({ a, b: side })} />
        <span className="p-compare-room" />
        <Button size="small" icon={<X size={14} />} keys="Escape" onClick={work.toEditor}>
          Close
        </Button>
      </div>
      <div className="p-editor">
        {!changed && <p className="p-compare-same muted">Both have the same text and the same config.</p>}
        {settings.length > 0 && <Settings settings={settings} />}
        {changed && messages.map((message, index) => <MessageDiffView key={index} message={message} />)}
      </div>
    </div>
  );
}

function SideSelect({ label, work, side, onChange }: { label: string; work: Workspace; side: Side; onChange: (side: Side) => void }) {
  return (
    <Select aria-label={label} value={String(side)} onChange={(event) => onChange(event.target.value === "draft" ? "draft" : Number(event.target.value))}>
      {(work.draft || side === "draft") && <option value="draft">Unsaved changes</option>}
      {work.versions.map((version) => (
        <option key={version.version} value={version.version}>
          {[`Version ${version.version}`, ...version.labels].join(" · ")}
        </option>
      ))}
    </Select>
  );
}

function Settings({ settings }: { settings: ComparedSetting[] }) {
  return (
    <dl className="p-compare-settings">
      {settings.map(({ name, before, after }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {before !== null && <del>{before}</del>}
            {after !== null && <ins>{after}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const STATES: Record<ComparedMessage["state"], { text: string; tone: "neutral" | "success" | "error" } | null> = {
  same: null,
  changed: null,
  added: { text: "added", tone: "success" },
  removed: { text: "removed", tone: "error" },
  moved: { text: "moved, same text", tone: "neutral" },
};

function MessageDiffView({ message }: { message: ComparedMessage }) {
  const [open, setOpen] = useState(false);
  const note = STATES[message.state];
  const folded = message.state === "same" && !open;
  const length = message.changes.reduce((sum, change) => sum + change.text.length, 0);
  return (
    <section className="p-message" data-role={message.role} aria-label={`${message.role}, ${message.state}`}>
      <header>
        <span className="p-message-role">{message.role}</span>
        {note && <Badge tone={note.tone}>{note.text}</Badge>}
        {folded && (
          <button type="button" className="p-compare-more" onClick={() => setOpen(true)}>
            Unchanged, {plural(length, "character")}
          </button>
        )}
      </header>
      {!folded && (
        <p className="p-compare-text">
          {message.changes.map((change, index) => (
            <Words key={index} change={change} />
          ))}
        </p>
      )}
    </section>
  );
}

function Words({ change: { kind, text } }: { change: Change }) {
  if (kind === "add") return <ins>{text}</ins>;
  return kind === "del" ? <del>{text}</del> : text;
}
