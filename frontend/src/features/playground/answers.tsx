import { ArrowUpRight, DatabaseZap, FlaskConical } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";

import { Badge, ModelTag } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { Link } from "@/components/link";
import { Empty, Failure } from "@/components/states";
import { useMay, useProject } from "@/hooks/use-project";
import { formatCost, formatCount, formatDuration, formatRate, UNKNOWN } from "@/lib/format";
import { modelColor } from "@/lib/palette";
import { raisedLimit } from "@/lib/parameters";

import { readAnswer } from "./structure";
import { isRunning, type Answer } from "./use-answers";
import { useCost } from "./use-cost";

const AddCall = lazy(() => import("@/components/add-call"));
const Structured = lazy(() => import("./structured"));
const Markdown = lazy(() => import("@/components/markdown"));
const Differences = lazy(() => import("./differences"));

interface AnswersProps {
  label: string;
  answers: Answer[];
  /** What answers are to fit; undefined where nothing was asked. */
  schema: unknown;
  /** The text that the newest answer is compared with. */
  against?: string;
  /** Runs it once more, with at most so many tokens. */
  onRaise?: (tokens: number) => void;
}

export function Answers({ label, answers, schema, against, onRaise }: AnswersProps) {
  if (answers.length === 0) {
    return (
      <Empty icon={<FlaskConical size={24} />} title="Run to see an answer">
        <p>Answers stream in here, the newest on top. Each one leaves a trace.</p>
      </Empty>
    );
  }
  return (
    <div className="answers" tabIndex={0} role="region" aria-label={label}>
      {answers.map((answer, index) => (
        <AnswerView key={answer.id} answer={answer} schema={schema} against={index === 0 ? against : undefined} onRaise={index === 0 ? onRaise : undefined} />
      ))}
    </div>
  );
}

function AnswerView({ answer, schema, against, onRaise }: { answer: Answer; schema: unknown; against: string | undefined; onRaise: AnswersProps["onRaise"] }) {
  const running = isRunning(answer);
  return (
    <article className="answer" data-state={answer.state} aria-label={`Answer ${answer.id}`} aria-busy={running}>
      <header>
        <ModelTag model={answer.model} color={modelColor(answer.model)} />
        <Ending answer={answer} onRaise={onRaise} />
        <span className="answer-actions">
          {answer.text && <CopyButton text={answer.text} label="Copy answer" />}
          {!running && answer.traceId && <Keep traceId={answer.traceId} />}
          <TraceLink answer={answer} running={running} />
        </span>
      </header>
      <Figures answer={answer} running={running} />
      <div className="answer-text">
        <Said answer={answer} running={running} schema={schema} against={against} />
      </div>
      {answer.error && <Failure what="The answer failed" error={answer.error} kept={answer.text ? "What had come is kept above." : undefined} />}
    </article>
  );
}

interface SaidProps {
  answer: Answer;
  running: boolean;
  schema: unknown;
  against: string | undefined;
}

/** The words of an answer, the JSON that was asked for, and the tools that it calls. */
function Said({ answer, running, schema, against }: SaidProps) {
  const { text, toolCalls } = answer;
  if (text === "" && toolCalls.length === 0) return running && <span className="answer-caret" />;
  return (
    <Suspense fallback={<p className="turn-plain">{text}</p>}>
      {against === undefined ? <Words text={text} calls={toolCalls} running={running} schema={schema} /> : <Differences before={against} after={text} />}
    </Suspense>
  );
}

function Words({ text, calls, running, schema }: { text: string; calls: Answer["toolCalls"]; running: boolean; schema: unknown }) {
  const read = useMemo(() => (running ? null : readAnswer(text, schema)), [running, text, schema]);
  const asked = schema !== undefined;
  if (read || calls.length > 0) return <Structured text={text} read={read} asked={asked} calls={calls} />;
  return (
    <>
      <Markdown text={text} />
      {asked && !running && <p className="answer-invalid">The answer is no JSON, though a schema was given.</p>}
    </>
  );
}

/** Keeps the call as an item of a dataset. */
function Keep({ traceId }: { traceId: string }) {
  const may = useMay("member");
  const [adding, setAdding] = useState(false);
  if (!may) return null;
  return (
    <>
      <IconButton label="Add to a dataset" icon={<DatabaseZap size={14} />} onClick={() => setAdding(true)} />
      <Suspense>{adding && <AddCall call={{ traceId }} onClose={() => setAdding(false)} />}</Suspense>
    </>
  );
}

const raised = ({ counted, tokens }: Answer): number => raisedLimit(counted ? tokens : 0);

function Ending({ answer, onRaise }: { answer: Answer; onRaise: AnswersProps["onRaise"] }) {
  if (answer.state === "stopped") return <Badge tone="warning">stopped</Badge>;
  if (answer.finishReason !== "length") return null;
  return (
    <>
      <Badge tone="warning" title="max_tokens was reached">
        cut at the limit
      </Badge>
      {onRaise && !isRunning(answer) && (
        <Button variant="quiet" size="small" title="Sets max tokens of this column and runs it once more" onClick={() => onRaise(raised(answer))}>
          Run with {formatCount(raised(answer))}
        </Button>
      )}
    </>
  );
}

function TraceLink({ answer, running }: { answer: Answer; running: boolean }) {
  const { slug } = useProject();
  if (!answer.traceId || running) return null;
  return (
    <Link className="answer-trace" href={`/p/${slug}/traces/${answer.traceId}`}>
      Trace <ArrowUpRight size={14} aria-hidden="true" />
    </Link>
  );
}

/** While it runs the figures are counted here, by pieces; at the end they are the server's. */
function Figures({ answer, running }: { answer: Answer; running: boolean }) {
  const cost = useCost(running ? null : answer.traceId);
  const about = answer.counted ? "" : "≈ ";
  const rate = answer.tokensPerSecond === null ? UNKNOWN : about + formatRate(answer.tokensPerSecond);
  return (
    <dl className="answer-figures">
      <Figure name="Speed" value={rate} title={answer.counted ? "As the server measured it" : "Counted here while it streams"} />
      <Figure name="First token" value={formatDuration(answer.ttftMs)} title="As seen by this browser" />
      <Figure name="Output" value={answer.tokens > 0 ? `${running ? about : ""}${formatCount(answer.tokens)} tok` : UNKNOWN} />
      <Figure name="Cost" value={formatCost(cost)} title={cost === null ? "No price is known for this model, or the trace is not here yet" : `$${cost}`} />
      <Figure name="Input" value={answer.inputTokens === null ? UNKNOWN : `${formatCount(answer.inputTokens)} tok`} />
    </dl>
  );
}

function Figure({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
