import "./here.css";

import { queryOptions, useQuery } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { api, inProject } from "@/lib/api/client";
import type { components } from "@/lib/api/schema";

import { Avatar } from "./avatar";

type Presence = components["schemas"]["PresenceBody"];

const LOOK_MS = 5000;
const SHOWN = 4;

const hereQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "presence"],
    queryFn: async ({ signal }) => (await api.get<{ data: Presence[] }>(inProject(project, "presence"), signal)).data,
    staleTime: LOOK_MS,
    retry: false,
  });

/** Asks again and again while its page is looked at; one of these serves all that is shown. */
export function HereLook() {
  const { slug } = useProject();
  useQuery({ ...hereQuery(slug), refetchInterval: LOOK_MS });
  return null;
}

/** Who writes in the drafts of a prompt, or in one draft, at this moment; nothing where nobody does. */
export default function Here({ prompt, draft }: { prompt: string } & { draft?: string }) {
  const { slug } = useProject();
  const rows = useQuery({ ...hereQuery(slug), staleTime: Infinity }).data ?? [];
  const inside = rows.filter((row) => row.prompt === prompt && (draft === undefined || row.draft === draft)).flatMap(({ people }) => people);
  const people = [...new Map(inside.map((person) => [person.id, person])).values()];
  if (people.length === 0) return null;
  const names = people.map(({ name }) => name).join(", ");
  return (
    <span className="here" title={`Here now: ${names}`}>
      <span className="sr-only">Here now: {names}</span>
      <span className="here-people" aria-hidden="true">
        {people.slice(0, SHOWN).map((person) => (
          <Avatar key={person.id} name={person.name} color={person.color} small />
        ))}
      </span>
      {people.length > SHOWN && <span className="faint num">+{people.length - SHOWN}</span>}
    </span>
  );
}
