import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { Code } from "@/components/code";
import { Select } from "@/components/field";
import { Segmented } from "@/components/segmented";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { modelsQuery } from "@/lib/api/queries";

import { codeFor, LANGUAGES, type Language } from "./code";
import type { Workspace } from "./use-workspace";

/** Code that calls this prompt: the choice of a label or a version, and the language. */
export function CodeTab({ name, work }: { name: string; work: Workspace }) {
  const { slug } = useProject();
  const [language, setLanguage] = useRemembered<Language>("language", "python");
  const labels = work.versions.flatMap((v) => v.labels.map((label) => ({ label, version: v })));
  const [chosen, setChosen] = useState<string | null>(null);
  const reference = chosen ?? usualReference(work);
  const version = work.versions.find((v) => v.labels.includes(reference) || String(v.version) === reference) ?? work.latest;
  const models = useQuery(modelsQuery(slug)).data;
  const model = typeof version.config.model === "string" ? version.config.model : (models?.[0]?.id ?? "MODEL");
  const variables = Object.fromEntries(version.variables.map((variable) => [variable, "…"]));
  const call = { baseUrl: window.location.origin, model, prompt: `${name}@${reference}`, variables };
  return (
    <div className="p-code-tab">
      <div className="p-code-choices">
        <Segmented label="Language" options={LANGUAGES} value={language} onChange={setLanguage} />
        <Select aria-label="Label or version" value={reference} onChange={(event) => setChosen(event.target.value)}>
          <optgroup label="Labels">
            {labels.map(({ label, version: of }) => (
              <option key={label} value={label}>
                @{label} (v{of.version} now)
              </option>
            ))}
          </optgroup>
          <optgroup label="Versions">
            {work.versions.map((v) => (
              <option key={v.version} value={v.version}>
                @{v.version}
              </option>
            ))}
          </optgroup>
        </Select>
      </div>
      <Code text={codeFor(language, call)} label="Copy the code" />
      <p className="field-hint">
        {Number.isNaN(Number(reference)) ? `Gets whichever version has the label “${reference}” when it is called.` : `Always gets version ${reference}.`} The key is in{" "}
        <Link href={`/p/${slug}/settings/keys`}>Settings, Keys</Link>. Messages you add follow the prompt’s own.
      </p>
    </div>
  );
}

/** The version in view, else what most code should ask for. */
function usualReference({ viewed, versions }: Workspace): string {
  if (viewed) return String(viewed.version);
  return versions.some((v) => v.labels.includes("production")) ? "production" : "latest";
}
