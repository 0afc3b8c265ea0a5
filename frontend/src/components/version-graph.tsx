import "./version-graph.css";

import { useMemo } from "react";

import { useProject } from "@/hooks/use-project";
import { promptHref, togetherHref } from "@/lib/api/prompts";
import type { PromptGraph } from "@/lib/api/types";
import { lanesOf, type LaneNode } from "@/lib/lanes";

import { Badge } from "./badge";
import { Link } from "./link";

const ROW = 32;
const LANE = 14;

type Version = PromptGraph["versions"][number];
type Draft = PromptGraph["drafts"][number];
type Item = LaneNode & ({ version: Version } | { draft: Draft });

interface GraphProps {
  name: string;
  graph: PromptGraph;
  /** What is on screen: `v3`, or a draft's id. */
  current?: string;
}

/** Versions with what each was made of, and the open drafts on them, newest first. */
export function VersionGraph({ name, graph, current }: GraphProps) {
  const { items, rows, count } = useMemo(() => arranged(graph), [graph]);
  const at = new Map(rows.map((row, index) => [row.key, index]));
  const width = count * LANE + 4;
  return (
    <div className="version-graph">
      <svg width={width} height={items.length * ROW} aria-hidden="true">
        {rows.map(({ key, lane, parent }, index) => parent !== null && <path key={key} d={line(lane, index, rows[at.get(parent)!]!.lane, at.get(parent)!)} />)}
        {rows.map(({ key, lane }, index) => (
          <circle key={key} cx={xOf(lane)} cy={yOf(index)} r={4} data-kind={kindOf(items[index]!)} />
        ))}
      </svg>
      <ol aria-label="Versions and drafts, newest first">
        {items.map((item) => (
          <li key={item.key} style={{ paddingLeft: width }}>
            {"version" in item ? <VersionLink name={name} version={item.version} current={current === item.key} /> : <DraftLink name={name} draft={item.draft} current={current === item.key} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

const xOf = (lane: number): number => lane * LANE + LANE / 2;
const yOf = (index: number): number => index * ROW + ROW / 2;

/** Down its own lane, and over to the parent's just before it. */
function line(lane: number, index: number, parentLane: number, parentIndex: number): string {
  const [x, y, px, py] = [xOf(lane), yOf(index), xOf(parentLane), yOf(parentIndex)];
  if (x === px) return `M${x} ${y}V${py}`;
  return `M${x} ${y}V${py - ROW / 2}C${x} ${py - 4} ${px} ${py - ROW / 2} ${px} ${py}`;
}

const kindOf = (item: Item): string => ("draft" in item ? "draft" : item.version.labels.some((label) => label !== "latest") ? "labeled" : "plain");

/** A draft stands above everything that is older than its latest edit, but never below its base. */
function arranged(graph: PromptGraph): { items: Item[]; rows: ReturnType<typeof lanesOf>["rows"]; count: number } {
  const versions = graph.versions.map((version): Item => ({ key: `v${version.version}`, parent: version.parent === null ? null : `v${version.parent}`, version }));
  const items = [...versions];
  for (const draft of graph.drafts) {
    const base = draft.base_version === null ? null : `v${draft.base_version}`;
    const place = items.findIndex((item) => item.key === base);
    items.splice(place < 0 ? 0 : place, 0, { key: draft.id, parent: base, draft });
  }
  return { items, ...lanesOf(items) };
}

interface LinkProps {
  name: string;
  current: boolean;
}

function VersionLink({ name, version, current }: LinkProps & { version: Version }) {
  const { slug } = useProject();
  return (
    <Link href={`${promptHref(slug, name)}?v=${version.version}`} aria-current={current || undefined} title={version.approvals.length > 0 ? `Approved by ${version.approvals.join(", ")}` : undefined}>
      <b>v{version.version}</b>
      {version.labels.map((label) => (
        <Badge key={label} tone={label === "production" ? "accent" : "neutral"}>
          {label}
        </Badge>
      ))}
      <span className="version-graph-said ellipsis">{version.message || version.author}</span>
    </Link>
  );
}

function DraftLink({ name, draft, current }: LinkProps & { draft: Draft }) {
  const { slug } = useProject();
  return (
    <Link href={togetherHref(slug, name, draft.name === "main" ? undefined : draft.id)} aria-current={current || undefined}>
      <b>{draft.name}</b>
      {draft.is_proposed && <Badge tone="warning">proposed</Badge>}
      <span className="version-graph-said ellipsis">draft{draft.people.length > 0 && ` · ${draft.people.join(", ")}`}</span>
    </Link>
  );
}
