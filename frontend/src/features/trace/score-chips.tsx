import { ScoreChip } from "@/components/score-chip";
import type { Score } from "@/lib/api/types";

const MOST = 8;

/** Scores at a glance. */
export default function ScoreChips({ scores }: { scores: Score[] }) {
  if (scores.length === 0) return null;
  return (
    <div className="score-chips" role="group" aria-label="Scores at a glance">
      {scores.slice(0, MOST).map((score) => (
        <ScoreChip key={score.id} score={score} />
      ))}
      {scores.length > MOST && <span className="faint">and {scores.length - MOST} more</span>}
    </div>
  );
}
