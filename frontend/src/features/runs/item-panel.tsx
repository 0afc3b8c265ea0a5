import { ListTree, X } from "lucide-react";

import { Button, IconButton } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { Link } from "@/components/link";
import { Turn } from "@/components/turn";
import { useProject } from "@/hooks/use-project";
import type { RunItem } from "@/lib/api/types";
import { prefetchRoute } from "@/lib/prefetch";
import { formatCount, plural } from "@/lib/format";
import { useLocation } from "wouter";

import { State } from "./run-state";

export function TraceLink({ item }: { item: RunItem }) {
  const { slug } = useProject();
  if (!item.trace_id) return <span className="faint">—</span>;
  return (
    <Link href={`/p/${slug}/traces/${item.trace_id}`} className="icon-button run-trace" aria-label={`Trace of input ${item.index}`} title="Open the trace">
      <ListTree size={15} aria-hidden="true" />
    </Link>
  );
}

interface PanelProps {
  item: RunItem;
  running: boolean;
  onClose: () => void;
}

/** One input in full. */
export function ItemPanel({ item, running, onClose }: PanelProps) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const trace = item.trace_id && `/p/${slug}/traces/${item.trace_id}`;
  return (
    <aside className="run-panel" aria-label={`Input ${item.index}`}>
      <header>
        <h2>Input {formatCount(item.index)}</h2>
        <State state={item.state} word />
        {item.attempt > 1 && <span className="faint">{plural(item.attempt, "attempt")}</span>}
        <span className="run-panel-room" />
        {trace && (
          <Button size="small" icon={<ListTree size={14} />} onPointerEnter={() => prefetchRoute(trace)} onClick={() => go(trace)}>
            Trace
          </Button>
        )}
        <IconButton label="Close" keys="Escape" icon={<X size={16} />} onClick={onClose} />
      </header>
      <div className="run-panel-body" tabIndex={0} role="group" aria-label="Variables and answer">
        <dl className="run-values">
          {Object.entries(item.variables).map(([name, value]) => (
            <div key={name}>
              <dt className="mono">
                <span className="ellipsis">{name}</span>
                <CopyButton text={value} label={`Copy ${name}`} />
              </dt>
              <dd>{value || <span className="faint">Empty</span>}</dd>
            </div>
          ))}
        </dl>
        <Answer item={item} running={running} />
      </div>
    </aside>
  );
}

function Answer({ item, running }: { item: RunItem; running: boolean }) {
  if (item.error) {
    return (
      <div className="failure" role="alert">
        <div>
          <strong>No answer</strong>
          <p>{item.error}</p>
        </div>
      </div>
    );
  }
  if (item.output !== null) {
    return <Turn turn={{ role: "assistant", name: null, parts: item.output === "" ? [] : [{ kind: "text", text: item.output }] }} reading="plain" />;
  }
  return <p className="run-waiting faint">{running ? "No answer yet; it appears here by itself." : "This input was not answered."}</p>;
}
