import "./score-chip.css";

import type { Score, ScoreMean } from "@/lib/api/types";
import { formatCount, UNKNOWN } from "@/lib/format";

const SOURCES: Record<Score["source"], string> = { API: "from the application", EVAL: "by an evaluator", ANNOTATION: "by a person" };

/** One score: its name and its value, the rest on hover. */
export function ScoreChip({ score }: { score: Score }) {
  const about = [score.author ?? SOURCES[score.source], score.comment].filter(Boolean).join(": ");
  return (
    <span className="score-chip" title={`${score.name} ${scoreText(score)}, ${about}`}>
      <span className="ellipsis">{score.name}</span>
      <b className="ellipsis">{scoreText(score)}</b>
    </span>
  );
}

/** What several scores of one name come to; a mean says of how many. */
export function MeanChip({ mean }: { mean: ScoreMean }) {
  const value = mean.mean === null ? (mean.label ?? UNKNOWN) : formatMean(mean);
  const kind = mean.mean === null ? "most frequent of" : mean.type === "BOOLEAN" ? "share of true among" : "mean of";
  return (
    <span className="score-chip" title={`${mean.name}: ${kind} ${formatCount(mean.count)}${mean.mean === null ? "" : `, exactly ${mean.mean}`}`}>
      <span className="ellipsis">{mean.name}</span>
      <b className="ellipsis">{value}</b>
      {mean.count > 1 && <span className="faint">n {formatCount(mean.count)}</span>}
    </span>
  );
}

export function scoreText(score: Pick<Score, "type" | "number" | "text">): string {
  if (score.type === "BOOLEAN") return score.number ? "true" : "false";
  if (score.type === "NUMERIC") return score.number === null ? UNKNOWN : String(Number(score.number.toPrecision(3)));
  return score.text ?? "";
}

function formatMean({ mean, type }: ScoreMean): string {
  if (mean === null) return UNKNOWN;
  return type === "BOOLEAN" ? `${Number((mean * 100).toPrecision(3))} %` : String(Number(mean.toPrecision(3)));
}
