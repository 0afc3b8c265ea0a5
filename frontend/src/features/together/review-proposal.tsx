import { useQuery } from "@tanstack/react-query";
import { Check, GitMerge, MessageSquareWarning } from "lucide-react";
import { useState, type FormEvent } from "react";

import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { Field, Input, Select } from "@/components/field";
import { Ago } from "@/components/time";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { graphQuery } from "@/lib/api/prompts";
import type { ProposalStand } from "@/lib/api/types";
import { plural } from "@/lib/format";

import type { PanelProps } from "./panels";
import { newerIn, policyQuery, useProposal } from "./review-api";

interface ProposalProps extends PanelProps {
  stand: ProposalStand | null;
}

export function Proposal({ stand, ...props }: ProposalProps) {
  const may = useMay("member");
  return (
    <section className="rv-proposal" aria-labelledby="rv-proposal">
      <h2 id="rv-proposal">Proposal</h2>
      {stand ? <Open stand={stand} {...props} /> : may ? <Propose {...props} /> : <p className="faint">This draft is not proposed for publishing.</p>}
    </section>
  );
}

/** Labels that are known here: those of the rules, and those of the prompt. */
function useLabels(name: string): { labels: string[]; rules: Record<string, number> } {
  const { slug } = useProject();
  const rules = useQuery(policyQuery(slug)).data ?? {};
  const graph = useQuery(graphQuery(slug, name)).data;
  const used = graph?.versions.flatMap((version) => version.labels) ?? [];
  const labels = [...new Set(["production", ...Object.keys(rules), ...used])].filter((label) => label !== "latest").sort();
  return { labels, rules };
}

function Propose({ draft, name }: PanelProps) {
  const { labels, rules } = useLabels(name);
  const { propose } = useProposal(draft.id);
  const [message, setMessage] = useState("");
  const [label, setLabel] = useState("production");
  const needed = rules[label];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    propose.mutate({ message, label });
  };
  return (
    <form className="rv-form" onSubmit={submit}>
      <Input aria-label="What the proposal changes" placeholder="What it changes, and why" maxLength={2000} value={message} onChange={(event) => setMessage(event.target.value)} />
      <Field label="Publish to" hint={needed ? `Needs ${plural(needed, "approval")} by others.` : label ? "Needs no approval." : "A version without a label of its own."}>
        <Select value={label} onChange={(event) => setLabel(event.target.value)}>
          {labels.map((known) => (
            <option key={known}>{known}</option>
          ))}
          <option value="">no label</option>
        </Select>
      </Field>
      {propose.error && <Refusal what="Not proposed" error={propose.error} />}
      <Button type="submit" busy={propose.isPending}>
        Propose
      </Button>
    </form>
  );
}

const Refusal = ({ what, error }: { what: string; error: unknown }) => (
  <p className="field-error" role="alert">
    {what}: {messageOf(error)}
  </p>
);

function Open({ stand, draft }: PanelProps & { stand: ProposalStand }) {
  const may = useMay("member");
  return (
    <>
      <p>
        <b>{stand.author}</b> proposes this draft for {stand.label ? <Badge tone="accent">{stand.label}</Badge> : "a version without a label"}
        <span className="faint">
          {" "}
          · <Ago at={stand.created_at} />
        </span>
      </p>
      {stand.message && <p className="rv-message">{stand.message}</p>}
      <Verdicts stand={stand} />
      <Reasons stand={stand} />
      {may && <Decide stand={stand} draft={draft.id} />}
    </>
  );
}

function Verdicts({ stand }: { stand: ProposalStand }) {
  if (stand.verdicts.length === 0) return null;
  return (
    <ul className="rv-verdicts" aria-label="Reviews">
      {stand.verdicts.map((verdict, index) => (
        <li key={index} data-kind={verdict.kind} data-stale={verdict.is_stale}>
          {verdict.kind === "approved" ? <Check size={14} aria-hidden="true" /> : <MessageSquareWarning size={14} aria-hidden="true" />}
          <div>
            <b>{verdict.author}</b> {verdict.kind === "approved" ? "approved" : "asks for changes"}
            {verdict.is_stale && <span className="faint"> an earlier text</span>}
            <span className="faint">
              {" "}
              · <Ago at={verdict.created_at} />
            </span>
            {verdict.note && <p>{verdict.note}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** Why it is not published yet, with the way on where there is one. */
function Reasons({ stand }: { stand: ProposalStand }) {
  const [, change] = useUrl();
  const newer = stand.reasons.map(newerIn).find(Boolean);
  if (stand.reasons.length === 0) return <p className="rv-ready">Ready to publish.</p>;
  return (
    <div className="rv-reasons">
      <p className="faint">Not published yet:</p>
      <ul>
        {stand.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      {newer && (
        <Button size="small" icon={<GitMerge size={14} />} onClick={() => change({ merge: `version:${newer}` }, true)}>
          Merge version {newer}
        </Button>
      )}
    </div>
  );
}

function Decide({ stand, draft }: { stand: ProposalStand; draft: string }) {
  const { judge, publish, withdraw } = useProposal(draft);
  const [note, setNote] = useState("");
  const give = (kind: "approved" | "changes") =>
    judge.mutate({ kind, content_hash: stand.content_hash, note }, { onSuccess: () => (setNote(""), announce(kind === "approved" ? "Approved" : "Changes asked for")) });
  const failed = judge.error ?? publish.error ?? withdraw.error;
  return (
    <div className="rv-form">
      {stand.is_own ? (
        stand.num_approvals < stand.num_needed && <p className="faint">Somebody else approves what you propose.</p>
      ) : (
        <>
          <Input aria-label="Note to your review" placeholder="Note (optional)" maxLength={2000} value={note} onChange={(event) => setNote(event.target.value)} />
          <div className="rv-buttons">
            <Button icon={<Check size={14} />} busy={judge.isPending} onClick={() => give("approved")}>
              Approve
            </Button>
            <Button busy={judge.isPending} onClick={() => give("changes")}>
              Ask for changes
            </Button>
          </div>
        </>
      )}
      {failed && <Refusal what="Refused" error={failed} />}
      <div className="rv-buttons">
        <Button variant="primary" busy={publish.isPending} disabled={stand.reasons.length > 0} title={stand.reasons.join("; ")} onClick={() => publish.mutate()}>
          {stand.label ? `Publish to ${stand.label}` : "Publish"}
        </Button>
        <Button variant="quiet" busy={withdraw.isPending} onClick={() => withdraw.mutate()}>
          Withdraw
        </Button>
      </div>
    </div>
  );
}
