import { useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import type { PromptTrend } from "@/lib/api/types";
import { formatCompact, formatCount } from "@/lib/format";

import { trendsQuery } from "./measures-api";

const WIDTH = 72;
const HEIGHT = 18;

/** Calls of the last seven days as bars, with their number. */
export function CallsTrend({ name }: { name: string }) {
  const { data, trend } = useTrend(name);
  if (!trend) return <span className="faint">{data ? "—" : ""}</span>;
  const total = trend.calls.reduce((sum, calls) => sum + calls, 0);
  const top = Math.max(...trend.calls, 1);
  const step = WIDTH / trend.calls.length;
  return (
    <span className="p-trend" title={`${formatCount(total)} calls in 7 days`}>
      <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
        {trend.calls.map((calls, index) => {
          const height = calls === 0 ? 0 : Math.max(1.5, (calls / top) * HEIGHT);
          return <rect key={index} x={index * step} y={HEIGHT - height} width={step - 1} height={height} />;
        })}
      </svg>
      <span>{formatCompact(total)}</span>
    </span>
  );
}

/** The commonest score over the same days as a line, with its latest mean. */
export function ScoreTrend({ name }: { name: string }) {
  const { data, trend } = useTrend(name);
  if (!trend?.score) return <span className="faint">{data ? "—" : ""}</span>;
  const points = trend.scores.flatMap((mean, index) => (mean === null ? [] : [{ mean, index }]));
  const latest = points.at(-1);
  return (
    <span className="p-trend" title={`${trend.score}: ${formatCount(trend.num_scores)} scores in 7 days; the latest mean is shown`}>
      <svg width={WIDTH} height={HEIGHT} aria-hidden="true">
        <polyline points={lineOf(points, trend.scores.length)} />
      </svg>
      <span>{latest ? String(Number(latest.mean.toPrecision(3))) : "—"}</span>
    </span>
  );
}

function lineOf(points: { mean: number; index: number }[], steps: number): string {
  const means = points.map((point) => point.mean);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const y = (mean: number) => (high === low ? HEIGHT / 2 : HEIGHT - 2 - ((mean - low) / (high - low)) * (HEIGHT - 4));
  const at = points.map(({ mean, index }) => [((index + 0.5) / steps) * WIDTH, y(mean)] as const);
  // One point alone is drawn as a short dash.
  const drawn = at.length === 1 ? [[at[0]![0] - 3, at[0]![1]] as const, [at[0]![0] + 3, at[0]![1]] as const] : at;
  return drawn.map(([x, height]) => `${x.toFixed(1)},${height.toFixed(1)}`).join(" ");
}

function useTrend(name: string): { data: boolean; trend: PromptTrend | undefined } {
  const { slug } = useProject();
  const query = useQuery(trendsQuery(slug));
  return { data: !query.isPending, trend: query.data?.trends[name] };
}
