import { ChevronRight, Folder, MessageSquareText, TextCursorInput } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";

import { Badge } from "@/components/badge";
import { Grid, type Column } from "@/components/grid";
import { Link } from "@/components/link";
import { Ago } from "@/components/time";
import { useMedia } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import type { Prompt } from "@/lib/api/types";
import { formatCount, plural } from "@/lib/format";
import { promptHref } from "@/lib/api/prompts";

import type { ListRow } from "./folders";
import { LabelBadge } from "./label-badge";
import { spelled } from "./split";
import { CallsTrend, ScoreTrend } from "./trend";

const Here = lazy(() => import("@/components/here"));
const HereLook = lazy(async () => ({ default: (await import("@/components/here")).HereLook }));

interface ListProps {
  rows: ListRow[];
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (row: ListRow) => void;
}

export function PromptsList(props: ListProps) {
  const { onOpen } = props;
  const wide = useMedia("(min-width: 1180px)");
  const middle = useMedia("(min-width: 720px)");
  const columns = columnsOf(onOpen).filter((column) => (wide || !["tags", "score"].includes(column.id)) && (middle || ["name", "labels"].includes(column.id)));
  return (
    <>
      <Suspense>
        <HereLook />
      </Suspense>
      <Grid
        label="Prompts"
        columns={columns}
        keyOf={(row) => (row.kind === "folder" ? `folder ${row.path}` : row.prompt.name)}
        {...props}
      />
    </>
  );
}

const ofPrompt = (cell: (prompt: Prompt) => ReactNode) => (row: ListRow) => (row.kind === "prompt" ? cell(row.prompt) : null);

const columnsOf = (onOpen: ListProps["onOpen"]): Column<ListRow>[] => [
  { id: "name", title: "Name", width: "minmax(180px, 3fr)", cell: (row) => <Name row={row} onOpen={onOpen} /> },
  { id: "labels", title: "Labels", width: "minmax(120px, 2fr)", cell: ofPrompt((prompt) => <Labels prompt={prompt} />) },
  { id: "tags", title: "Tags", width: "minmax(90px, 1fr)", cell: ofPrompt((prompt) => <Tags tags={prompt.tags} />) },
  { id: "calls", title: "Calls, 7 days", width: "124px", end: true, cell: ofPrompt((prompt) => <CallsTrend name={prompt.name} />) },
  { id: "score", title: "Score", width: "124px", end: true, cell: ofPrompt((prompt) => <ScoreTrend name={prompt.name} />) },
  { id: "versions", title: "Versions", width: "64px", end: true, cell: ofPrompt((prompt) => formatCount(prompt.latest_version)) },
  { id: "updated", title: "Updated", width: "92px", end: true, cell: ofPrompt((prompt) => <span className="muted"><Ago at={prompt.updated_at} /></span>) },
];

function Name({ row, onOpen }: { row: ListRow; onOpen: ListProps["onOpen"] }) {
  const { slug } = useProject();
  const indent = { paddingLeft: row.depth * 20 };
  if (row.kind === "folder") {
    return (
      <button type="button" className="prompt-name" style={indent} aria-expanded={row.open} onClick={() => onOpen(row)}>
        <ChevronRight size={14} className="p-folder-mark" data-open={row.open} aria-hidden="true" />
        <Folder size={15} aria-hidden="true" />
        <span className="ellipsis">{row.name}</span>
        <span className="faint" title={plural(row.count, "prompt")}>
          {formatCount(row.count)}
        </span>
      </button>
    );
  }
  const { prompt } = row;
  const Icon = prompt.type === "chat" ? MessageSquareText : TextCursorInput;
  return (
    <span className="prompt-name" style={indent}>
      <i className="p-folder-room" />
      <Icon size={15} aria-label={prompt.type === "chat" ? "Chat" : "Text"} />
      <Link href={promptHref(slug, prompt.name)} className="table-name ellipsis" title={prompt.name}>
        {row.name}
      </Link>
      <Suspense>
        <Here prompt={prompt.name} />
      </Suspense>
    </span>
  );
}

/** `latest` is on every prompt and says nothing here; what code asks for comes first. */
function Labels({ prompt }: { prompt: Prompt }) {
  const labels = Object.entries(prompt.labels).filter(([label]) => label !== "latest");
  if (labels.length === 0) return <span className="faint">—</span>;
  return (
    <span className="p-badges">
      {labels.sort(([a], [b]) => (a === "production" ? -1 : b === "production" ? 1 : a < b ? -1 : 1)).map(([label, version]) => (
        <LabelBadge key={label} label={label} version={version} behind={prompt.latest_version - version} split={prompt.splits[label] && spelled(prompt.splits[label])} />
      ))}
    </span>
  );
}

function Tags({ tags }: { tags: string[] }) {
  return (
    <span className="p-badges" title={tags.join(", ")}>
      {tags.map((tag) => (
        <Badge key={tag}>{tag}</Badge>
      ))}
    </span>
  );
}
