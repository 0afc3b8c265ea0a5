import "./graph.css";

import { useEffect, useMemo, useRef, type KeyboardEvent } from "react";

import { TypeIcon } from "@/components/type-icon";
import type { Observation } from "@/lib/api/types";
import { formatCount, formatDuration } from "@/lib/format";
import { typeColor } from "@/lib/palette";

import { graphOf, type GraphEdge, type GraphNode, type TraceGraph } from "./graph-data";
import { labelOf, layout, NODE, pathOf, type Placed, type Point } from "./graph-layout";

interface GraphProps {
  observations: Observation[];
  selected: string;
  onSelect: (id: string) => void;
}

/** What ran and what came after what; a step that ran often is one node, and choosing it again goes to its next run. */
export default function GraphView({ observations, selected, onSelect }: GraphProps) {
  const graph = useMemo(() => graphOf(observations), [observations]);
  const placed = useMemo(() => layout(graph.nodes.map((node) => node.id), graph.edges), [graph]);
  const current = graph.nodes.find((node) => node.observations.some((o) => o.id === selected));
  const frame = useShown(placed, current);
  return (
    <div className="graph">
      <p className="graph-legend faint">
        <span data-kind="calls">starts</span>
        <span data-kind="then">comes after</span>
        {graph.left > 0 && ` ${formatCount(graph.left)} rarer steps are not drawn.`}
      </p>
      <div className="graph-scroll" ref={frame}>
        <div className="graph-area" style={{ width: placed.width, height: placed.height }}>
          <Edges placed={placed} current={current?.id ?? null} />
          <Nodes graph={graph} placed={placed} current={current} selected={selected} onSelect={onSelect} />
        </div>
      </div>
    </div>
  );
}

/** Brings the chosen step into view. */
function useShown(placed: Placed<GraphEdge>, current: GraphNode | undefined) {
  const frame = useRef<HTMLDivElement>(null);
  const place = current && placed.places.get(current.id);
  useEffect(() => {
    const box = frame.current;
    if (!box || !place) return;
    if (place.x < box.scrollLeft || place.x + NODE.width > box.scrollLeft + box.clientWidth) box.scrollLeft = place.x + NODE.width / 2 - box.clientWidth / 2;
    if (place.y < box.scrollTop || place.y + NODE.height > box.scrollTop + box.clientHeight) box.scrollTop = place.y + NODE.height / 2 - box.clientHeight / 2;
  }, [place]);
  return frame;
}

function Edges({ placed, current }: { placed: Placed<GraphEdge>; current: string | null }) {
  return (
    <svg className="graph-edges" width={placed.width} height={placed.height} aria-hidden="true">
      <defs>
        <marker id="graph-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0,0.5L7.5,4L0,7.5z" />
        </marker>
      </defs>
      {placed.ways.map(({ link, points }) => (
        <Edge key={`${link.from}\0${link.to}\0${link.kind}`} edge={link} points={points} near={link.from === current || link.to === current} />
      ))}
    </svg>
  );
}

function Edge({ edge, points, near }: { edge: GraphEdge; points: Point[]; near: boolean }) {
  const label = labelOf(points);
  return (
    <g className="graph-edge" data-kind={edge.kind} data-near={near}>
      <path d={pathOf(points)} markerEnd="url(#graph-arrow)" />
      {edge.count > 1 && (
        <text x={label.x} y={label.y + 4} textAnchor={edge.from === edge.to ? "start" : "middle"}>
          {formatCount(edge.count)}×
        </text>
      )}
    </g>
  );
}

interface NodesProps extends Pick<GraphProps, "selected" | "onSelect"> {
  graph: TraceGraph;
  placed: Placed<GraphEdge>;
  current: GraphNode | undefined;
}

/** One stop for the Tab key; from there the arrow keys go to the neighbors. */
function Nodes({ graph, placed, current, selected, onSelect }: NodesProps) {
  const buttons = useRef(new Map<string, HTMLButtonElement>());
  const entry = current?.id ?? placed.layers[0]?.[0];
  const onKeyDown = (event: KeyboardEvent, id: string) => {
    const next = neighborOf(placed.layers, id, event.key);
    if (next === null) return;
    event.preventDefault();
    if (next) buttons.current.get(next)?.focus();
  };
  return graph.nodes.map((node) => {
    const place = placed.places.get(node.id)!;
    return (
      <button
        key={node.id}
        ref={(button) => void (button ? buttons.current.set(node.id, button) : buttons.current.delete(node.id))}
        type="button"
        className="graph-node"
        tabIndex={node.id === entry ? 0 : -1}
        aria-pressed={node === current}
        style={{ left: place.x, top: place.y, width: NODE.width, height: NODE.height, "--type": typeColor(node.type) } as React.CSSProperties}
        onClick={() => onSelect(nextIn(node, selected))}
        onKeyDown={(event) => onKeyDown(event, node.id)}
      >
        <span className="graph-name">
          <TypeIcon type={node.type} failed={node.failed > 0} />
          <span className="ellipsis" title={node.name}>
            {node.name}
          </span>
        </span>
        <span className="graph-figures faint">
          <span>{countOf(node, selected)}</span>
          <span>{formatDuration(node.totalMs)}</span>
        </span>
        <span className="sr-only">{spoken(node, graph)}</span>
      </button>
    );
  });
}

/** The node in the direction of an arrow key; undefined at the border, null for other keys. */
function neighborOf(layers: readonly string[][], id: string, key: string): string | undefined | null {
  const rank = layers.findIndex((layer) => layer.includes(id));
  const at = layers[rank]!.indexOf(id);
  if (key === "ArrowLeft") return layers[rank]![at - 1];
  if (key === "ArrowRight") return layers[rank]![at + 1];
  if (key !== "ArrowDown" && key !== "ArrowUp") return null;
  const layer = layers[rank + (key === "ArrowDown" ? 1 : -1)];
  const share = (at + 0.5) / layers[rank]!.length;
  return layer?.[Math.min(layer.length - 1, Math.floor(share * layer.length))];
}

function nextIn({ observations }: GraphNode, selected: string): string {
  const at = observations.findIndex((o) => o.id === selected);
  return observations[(at + 1) % observations.length]!.id;
}

function countOf({ observations }: GraphNode, selected: string): string {
  const at = observations.findIndex((o) => o.id === selected);
  const count = formatCount(observations.length);
  return at >= 0 && observations.length > 1 ? `${formatCount(at + 1)} of ${count}` : `${count}×`;
}

/** What the lines show, for those who hear the page. */
function spoken(node: GraphNode, graph: TraceGraph): string {
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]));
  const next = graph.edges.filter((edge) => edge.from === node.id).map((edge) => names.get(edge.to));
  const failed = node.failed > 0 ? `, ${node.failed} failed` : "";
  return `${failed}${next.length > 0 ? `, then ${next.join(", ")}` : ""}`;
}
