import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Field, Input } from "@/components/field";
import { Page } from "@/components/page";
import { RoleNote } from "@/components/role-note";
import { Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { messageOf } from "@/lib/api/client";
import { allPromptsQuery } from "@/lib/api/prompts";
import { plural } from "@/lib/format";

import { useCreateRun } from "./api";
import { fitOf, type Fit } from "./check";
import type { Inputs } from "./inputs";
import { InputsField, InputsPreview } from "./inputs-field";
import { PromptChoice, useChoice, type Choice } from "./prompt-choice";
import { NoPromptsYet } from "./no-prompts-yet";
import { useInputs } from "./use-inputs";

export function NewRunPage() {
  const { slug } = useProject();
  const may = useMay("member");
  const prompts = useQuery(allPromptsQuery(slug));
  return (
    <Page title="New run" path={[{ title: "Runs", href: `/p/${slug}/runs` }]}>
      {may ? (
        <Loaded query={prompts} what="The prompts">
          {(list) => (list.length === 0 ? <NoPromptsYet /> : <Form names={list.map((prompt) => prompt.name)} />)}
        </Loaded>
      ) : (
        <div className="page-column">
          <RoleNote needs="member" what="Starting runs" />
        </div>
      )}
    </Page>
  );
}

function Form({ names }: { names: string[] }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [, change] = useUrl();
  const form = useForm();
  const { name, setName, choice, input, inputs, wanted, problems, unused, missing, start, create } = form;
  useHotkey("mod+Enter", "Start the run", start, { inFields: true });
  useHotkey("Escape", "Back to the runs", () => change({ new: null, prompt: null, version: null, label: null }));
  return (
    <>
      <div className="page-body">
        <div className="page-column new-run">
          <PromptChoice names={names} choice={choice} />
          <InputsField input={input} wanted={wanted} problems={problems} unused={unused} />
          {inputs && inputs.rows.length > 0 && <InputsPreview inputs={inputs} wanted={wanted} />}
          <Field label="Name" hint="Left empty, it is the prompt’s name and the time">
            <Input value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
          </Field>
        </div>
      </div>
      <footer className="run-bar">
        {create.error ? (
          <p className="field-error" role="alert">
            Not started: {messageOf(create.error)} Your inputs are kept.
          </p>
        ) : (
          <p className="muted">{missing}</p>
        )}
        <Button onClick={() => go(`/p/${slug}/runs`)}>Cancel</Button>
        <Button variant="primary" keys="mod+Enter" busy={create.isPending} disabled={missing !== null} onClick={start}>
          {inputs && inputs.rows.length > 0 ? `Run ${plural(inputs.rows.length, "input")}` : "Run"}
        </Button>
      </footer>
    </>
  );
}

function useForm() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const choice = useChoice();
  const input = useInputs(slug);
  const create = useCreateRun();
  const { inputs } = input;
  const wanted = choice.version?.variables ?? [];
  const { problems, unused } = judged(inputs, choice.version ? wanted : null);
  const missing = whatIsMissing(choice, inputs?.rows.length ?? 0, problems.length);

  const start = () => {
    const { reference, model } = choice;
    if (missing !== null || create.isPending || !inputs || !reference || !model) return;
    create.mutate(
      { name: name.trim(), prompt: reference, model, inputs: inputs.rows },
      {
        onSuccess: (run) => {
          input.clear();
          go(`/p/${slug}/runs/${run.id}`, { replace: true });
        },
      },
    );
  };
  return { name, setName, choice, input, inputs, wanted, problems, unused, missing, start, create };
}

/** What is wrong with the text itself goes before how it fits the prompt. */
function judged(inputs: Inputs | null, wanted: string[] | null): Fit {
  if (!inputs || inputs.problems.length > 0 || !wanted) return { problems: inputs?.problems ?? [], unused: [] };
  return fitOf(inputs, wanted);
}

function whatIsMissing({ reference, model, loading }: Pick<Choice, "reference" | "model" | "loading">, count: number, problems: number): string | null {
  if (loading) return "";
  if (!reference) return "Choose a prompt.";
  if (!model) return "No local model is there to answer.";
  if (problems > 0) return "The inputs do not fit yet.";
  return count > 0 ? null : "It needs inputs.";
}
