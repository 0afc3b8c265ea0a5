import { Grid, type Column } from "@/components/grid";
import { Link } from "@/components/link";
import { ModelTag } from "@/components/badge";
import { Progress } from "@/components/progress";
import { Ago } from "@/components/time";
import { useMedia } from "@/hooks/use-media";
import { useNow } from "@/hooks/use-now";
import { useProject } from "@/hooks/use-project";
import { formatCount, formatDuration } from "@/lib/format";
import { modelColor } from "@/lib/palette";
import type { Run } from "@/lib/api/types";

import { closedCount, isOpen, tookMs } from "./progress";
import { State } from "./run-state";

interface ListProps {
  rows: Run[];
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (run: Run) => void;
  onNearEnd?: () => void;
}

export function RunsList(props: ListProps) {
  const wide = useMedia("(min-width: 1180px)");
  const middle = useMedia("(min-width: 720px)");
  const columns = COLUMNS.filter(({ id }) => (wide || !["model", "took"].includes(id)) && (middle || ["name", "progress"].includes(id)));
  return <Grid label="Runs" rowHeight={44} columns={columns} keyOf={(run) => run.id} {...props} />;
}

const COLUMNS: Column<Run>[] = [
  { id: "name", title: "Name", width: "minmax(160px, 2.4fr)", cell: (run) => <Name run={run} /> },
  { id: "prompt", title: "Prompt", width: "minmax(120px, 1.6fr)", cell: ({ prompt }) => <span title={prompt.name}>{prompt.name} <span className="faint">v{prompt.version}</span></span> },
  { id: "model", title: "Model", width: "minmax(100px, 1fr)", cell: ({ model }) => <ModelTag model={model} color={modelColor(model)} /> },
  { id: "progress", title: "Answered", width: "minmax(110px, 1fr)", cell: (run) => <Answered run={run} /> },
  { id: "failed", title: "Failed", width: "52px", end: true, cell: ({ failed }) => <span className={failed > 0 ? "run-failed" : "faint"}>{formatCount(failed)}</span> },
  { id: "took", title: "Took", width: "84px", end: true, cell: (run) => <Took run={run} /> },
  { id: "created", title: "Created", width: "84px", end: true, cell: ({ created_at }) => <span className="muted"><Ago at={created_at} /></span> },
];

function Name({ run }: { run: Run }) {
  const { slug } = useProject();
  return (
    <span className="run-name">
      <State state={run.state} />
      <Link href={`/p/${slug}/runs/${run.id}`} className="table-name ellipsis" title={run.name}>
        {run.name || `Run ${run.id}`}
      </Link>
    </span>
  );
}

function Answered({ run }: { run: Run }) {
  const closed = closedCount(run);
  return (
    <span className="run-answered">
      <Progress done={run.done} failed={run.failed} total={run.total} label={`${closed} of ${run.total} answered`} />
      <span className="muted">{closed === run.total ? formatCount(run.total) : `${formatCount(closed)} of ${formatCount(run.total)}`}</span>
    </span>
  );
}

function Took({ run }: { run: Run }) {
  const now = useNow(1000);
  return <span className={isOpen(run) ? "" : "muted"}>{formatDuration(tookMs(run, now))}</span>;
}
