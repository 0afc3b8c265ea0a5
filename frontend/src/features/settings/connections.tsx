import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { RoleNote } from "@/components/role-note";
import { Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { Connection } from "@/lib/api/types";

import { connectionsQuery, useDeleteConnection } from "./api";
import { LocalEngine } from "./local-engine";
import { RemoteConnection } from "./remote-connection";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));
const ConnectionForm = lazy(() => import("./connection-form"));

type Open = { what: "form"; connection: Connection | null } | { what: "delete"; connection: Connection } | null;

export function Connections() {
  const { slug } = useProject();
  const may = useMay("admin");
  const query = useQuery(connectionsQuery(slug));
  const [open, setOpen] = useState<Open>(null);
  /** Tested at once, so that a wrong address or key shows where it was typed. */
  const [saved, setSaved] = useState<{ id: Connection["id"] | null; times: number }>({ id: null, times: 0 });
  const create = () => setOpen({ what: "form", connection: null });
  useHotkey("n", "New connection", create, { enabled: may });
  return (
    <section className="section">
      <SectionHead
        title="Connections"
        text="Where models are: the local engine, and any address that speaks OpenAI’s API. The gateway finds the connection by the model’s name."
        action={
          may && (
            <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
              New connection
            </Button>
          )
        }
      />
      {!may && <RoleNote needs="admin" what="Changing connections" />}
      <Loaded query={query} what="The connections">
        {(connections) => (
          <ul className="connections" aria-label="Connections">
            {connections.map((connection) =>
              connection.kind === "local" ? (
                <LocalEngine key={connection.id} connection={connection} />
              ) : (
                <RemoteConnection
                  key={`${connection.id} ${saved.id === connection.id ? saved.times : 0}`}
                  connection={connection}
                  may={may}
                  testAtOnce={saved.id === connection.id}
                  onEdit={() => setOpen({ what: "form", connection })}
                  onDelete={() => setOpen({ what: "delete", connection })}
                />
              ),
            )}
            {connections.every(({ kind }) => kind === "local") && <NoRemote engineIsThere={connections.length > 0} />}
          </ul>
        )}
      </Loaded>
      <Suspense>
        {open?.what === "form" && (
          <ConnectionForm
            connection={open.connection}
            onSaved={({ id }) => {
              setSaved({ id, times: saved.times + 1 });
              setOpen(null);
            }}
            onClose={() => setOpen(null)}
          />
        )}
        {open?.what === "delete" && <DeleteConnection connection={open.connection} onClose={() => setOpen(null)} />}
      </Suspense>
    </section>
  );
}

function NoRemote({ engineIsThere }: { engineIsThere: boolean }) {
  return (
    <li className="connection-none muted">
      {engineIsThere
        ? "No other address yet. Add one to reach models of OpenAI, Mistral, a vLLM server or anything that speaks the same API."
        : "Nothing yet. Start the local engine with “hone up --model PATH”, or add an address that speaks OpenAI’s API."}
    </li>
  );
}

function DeleteConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const remove = useDeleteConnection();
  const confirmed = () =>
    remove.mutate(connection.id, {
      onSuccess: () => announce(`${connection.name} is deleted`),
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
      onSettled: onClose,
    });
  return (
    <Confirm
      title={`Delete ${connection.name}?`}
      description={`Calls to its models fail from then on${connection.has_api_key ? ", and its key is forgotten" : ""}. Traces stay.`}
      action="Delete connection"
      busy={remove.isPending}
      onConfirm={confirmed}
      onClose={onClose}
    />
  );
}
