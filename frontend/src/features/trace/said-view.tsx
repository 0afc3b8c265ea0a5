import "./said.css";

import { MessageSquarePlus, Star, Trash2 } from "lucide-react";
import { useState } from "react";

import { IconButton } from "@/components/button";
import { scoreText } from "@/components/score-chip";
import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useAsk } from "@/components/use-ask";
import { useMay } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { Observation, Score } from "@/lib/api/types";

import { Comments } from "./comments";
import { useDeleteScore } from "./said-api";
import { ScoreForm } from "./score-form";
import { isHere, type useSaid } from "./use-said";

interface SaidProps {
  traceId: string;
  observation: Observation;
  said: ReturnType<typeof useSaid>;
}

/** Scores and comments: of this observation, and of the trace as a whole. */
export default function SaidView({ traceId, observation, said }: SaidProps) {
  const may = useMay("member");
  return (
    <div className="said">
      <section aria-label="Scores">
        <h3>
          <Star size={14} aria-hidden="true" /> Scores
        </h3>
        <Loaded query={said.scores} what="The scores">
          {(scores) => <Scores scores={scores.filter((s) => isHere(s, observation))} traceId={traceId} />}
        </Loaded>
        {may && <ScoreForm traceId={traceId} observationId={observation.id} />}
      </section>
      <section aria-label="Comments">
        <h3>
          <MessageSquarePlus size={14} aria-hidden="true" /> Comments
        </h3>
        <Loaded query={said.comments} what="The comments">
          {(comments) => <Comments comments={comments.filter((c) => c.object_type === "TRACE" || c.object_id === observation.id)} traceId={traceId} observationId={observation.id} />}
        </Loaded>
      </section>
    </div>
  );
}

function Scores({ scores, traceId }: { scores: Score[]; traceId: string }) {
  if (scores.length === 0) return <p className="faint">Nobody has scored this yet. Applications send scores through the API; people give them here.</p>;
  return (
    <ul className="said-scores">
      {scores.map((score) => (
        <ScoreRow key={score.id} score={score} traceId={traceId} />
      ))}
    </ul>
  );
}

function ScoreRow({ score, traceId }: { score: Score; traceId: string }) {
  const may = useMay("member");
  const remove = useDeleteScore(traceId);
  const [gone, setGone] = useState(false);
  const { ask, dialog } = useAsk();
  const del = () =>
    remove.mutate(score.id, {
      onSuccess: () => {
        setGone(true);
        announce(`Score ${score.name} deleted`);
      },
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
    });
  if (gone) return null;
  return (
    <li>
      <div className="said-score">
        <span className="said-name ellipsis" title={score.name}>
          {score.name}
        </span>
        <b className={score.type === "TEXT" || score.type === "CORRECTION" ? "said-text" : ""}>{scoreText(score)}</b>
        <span className="faint said-by">
          {score.observation_id === null && "Trace · "}
          {score.author ?? WHO[score.source]} · <Ago at={score.timestamp} />
        </span>
        {may && <IconButton label={`Delete score ${score.name}`} icon={<Trash2 size={14} />} disabled={remove.isPending} onClick={() => ask({ title: `Delete the score ${score.name}?`, description: `Its value ${scoreText(score)} is gone from the trace and from every mean. This cannot be undone.`, action: "Delete score", run: del })} />}
      </div>
      {score.comment && <p className="muted said-comment">{score.comment}</p>}
      {dialog}
    </li>
  );
}

const WHO: Record<Score["source"], string> = { API: "API", EVAL: "evaluator", ANNOTATION: "person" };
